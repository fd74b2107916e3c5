//! Sentences for whoever should take them, and what became of them.

use std::sync::Arc;

use axum::extract::{Request, State};
use folkmoot_core::ids::RouteId;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::record::Filter;
use folkmoot_core::refusal;
use folkmoot_core::route::{InputMethod, Route};
use folkmoot_doors::smarthole::objects::{ClientObject, InputWord, OutcomeObject, RouteObject};
use folkmoot_hub::request::bounds::{GivenRoute, Limit};
use folkmoot_hub::request::upload::{UploadForm, receive};
use folkmoot_hub::request::{Answer, ApiError, Body, Caller, Path, Query, query, reply};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Routing, Sentence, clients as registry};

#[derive(Deserialize, ToSchema)]
pub struct SentenceBody {
    #[schema(example = "notebook: remember to buy milk", min_length = 1, max_length = 10000, pattern = "text")]
    text: String,
    /// `text` when left out.
    #[serde(default)]
    #[schema(value_type = InputWord, required = false, example = "text")]
    input_method: InputMethod,
}

/// Hand a sentence to whoever should take it. Answers when it is delivered; what happens later is told in notifications and
/// at `GET /v1/route/{message_id}`.
#[utoipa::path(post, path = "/v1/route", tag = "routing", request_body = SentenceBody,
    responses((status = 409, description = "the sentence of an agent waits for people"), (status = 200, body = OutcomeObject<'static>)))]
pub async fn say(caller: Caller, State(routing): State<Routing>, Body(body): Body<SentenceBody>) -> Answer {
    let sentence = Sentence { text: body.text, input: body.input_method, confidence: None, source: None };
    let route = routed(&routing, &caller, sentence).await?;
    reply::ok(&outcome(&routing, &caller, &route))
}

async fn routed(routing: &Routing, caller: &Caller, sentence: Sentence) -> Result<Arc<Route>, ApiError> {
    Ok(super::say(routing, caller.actor, sentence).await?)
}

fn outcome<'a>(routing: &Routing, caller: &Caller, route: &'a Route) -> OutcomeObject<'a> {
    OutcomeObject { candidates: registry::candidates(routing, caller.id(), route), ..route.into() }
}

#[derive(Serialize, ToSchema)]
#[schema(as = SpokenOutcome)]
pub struct SpokenOutcome<'a> {
    #[serde(flatten)]
    outcome: OutcomeObject<'a>,
    /// What was understood.
    text: &'a str,
    /// How sure the transcription is, from 0 to 1, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false)]
    confidence: Option<f64>,
}

/// Transcribe a recording (a multipart form with a part `file`, 32 MB at most), then route what was said.
#[utoipa::path(post, path = "/v1/route/voice", tag = "routing",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 409, description = "the sentence of an agent waits for people"), (status = 200, body = SpokenOutcome<'static>)))]
pub async fn say_aloud(caller: Caller, State(routing): State<Routing>, request: Request) -> Answer {
    let (name, recording) = receive(&caller, request).await?.into_memory().await?;
    let recogniser = routing.recogniser.as_ref().ok_or_else(not_set_up)?;
    let said = recogniser.transcribe(&name, recording).await.map_err(|error| not_understood(&error))?;
    if said.text.is_empty() {
        return Err(ApiError::bad_request("nothing was understood in the recording"));
    }
    let (text, confidence) = (said.text.clone(), said.confidence);
    let route =
        routed(&routing, &caller, Sentence { text, input: InputMethod::Voice, confidence, source: None }).await?;
    reply::ok(&SpokenOutcome { outcome: outcome(&routing, &caller, &route), text: &said.text, confidence })
}

fn not_set_up() -> ApiError {
    ApiError::unavailable("no speech recognition is set up; set `stt.api_key` or `stt.base_url`")
}

fn not_understood(error: &str) -> ApiError {
    tracing::warn!(error, "a recording could not be transcribed");
    ApiError::unavailable(format!("the recording could not be transcribed: {error}"))
}

/// Everybody the caller's sentences can be handed to now: local clients, and agents of the hub that say what they can do.
#[utoipa::path(get, path = "/v1/route/clients", tag = "routing", responses((status = 200, body = [ClientObject])))]
pub async fn clients(caller: Caller, State(routing): State<Routing>) -> Answer {
    reply::ok(&registry::known_to(&routing, caller.id()))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
    /// Only those older than this one.
    #[serde(default)]
    #[param(inline)]
    before: GivenRoute,
}

/// The caller's sentences, newest first, each with every attempt, reason and response.
#[utoipa::path(get, path = "/v1/route", tag = "routing", params(HistoryQuery),
    responses((status = 200, body = [RouteObject<'static>])))]
pub async fn history(caller: Caller, Query(query): Query<HistoryQuery>) -> Answer {
    let before = query.before.get().map(|route| route.0);
    let filter = Filter::owner(caller.id()).before(before).limit(query.limit.get());
    let found = caller.read(move |reader| reader.list::<Route>(&filter)).await?;
    reply::ok(&found.iter().map(RouteObject::from).collect::<Vec<_>>())
}

/// One sentence of the caller, with every attempt, reason and response.
#[utoipa::path(get, path = "/v1/route/{message_id}", tag = "routing",
    responses((status = 200, body = RouteObject<'static>)))]
pub async fn get(caller: Caller, State(routing): State<Routing>, Path(id): Path<RouteId>) -> Answer {
    let own = caller.id();
    let route = query::one(&caller, id, refusal::ROUTE_NOT_FOUND, |_, _, route: &Route| route.speaker == own);
    let route = route.await?;
    reply::ok(&RouteObject { outcome: outcome(&routing, &caller, &route), ..RouteObject::from(&route) })
}
