//! The engines of the hub's machine: which there are, and whether one answers.

use std::time::{Duration, Instant};

use axum::extract::State;
use folkmoot_core::access;
use folkmoot_engines::engine::{Engine, EngineSettings, Mode};
use folkmoot_engines::event::{Completed, EngineEvent};
use folkmoot_engines::{engines, programs};
use folkmoot_hub::auth::limits::RetryAfter;
use folkmoot_hub::request::{Answer, ApiError, Caller, Path, Query, reply};
use folkmoot_runs::availability::{self, Availability};
use folkmoot_runs::run::Request;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::hosting::{self, Local};
use crate::runner;

/// The engines by name, for the description.
pub struct EngineName;

impl PartialSchema for EngineName {
    fn schema() -> RefOr<Schema> {
        let names = engines::ALL.map(|engine| engine.id().as_str().to_owned());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl ToSchema for EngineName {}

/// How long an engine may take to answer the test.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);
/// When to come again while somebody else tries the same engine.
const BUSY: Duration = Duration::from_secs(5);
const QUESTION: &str = "This is a test of the connection. Answer with the single word OK and do nothing else.";

#[derive(Serialize, ToSchema)]
#[schema(as = Engine)]
pub struct EngineObject {
    #[schema(value_type = EngineName)]
    id: String,
    found: bool,
    #[schema(required = true)]
    version: Option<String>,
    /// The program that is started.
    command: String,
    /// Why it cannot be used, or would get no answer, and what helps.
    #[schema(required = true)]
    problem: Option<String>,
    #[schema(required = true)]
    hint: Option<String>,
    /// What its program says about its login: `in`, `out`, `free` (nobody is, but some models need none) or `unknown`.
    #[schema(example = "in")]
    login: &'static str,
    /// What else is to be known, such as that nobody has tried this version.
    notes: Vec<String>,
    /// The command that installs it on the hub's machine, where it is missing and can be installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "moot engines install claude")]
    install: Option<String>,
    /// Whether agents made of it can ask before they act; else they take only the policy `dangerously-allow-all`.
    asks: bool,
}

impl EngineObject {
    fn new(found: &Availability, settings: &EngineSettings, asks: bool) -> Self {
        let trouble = found.trouble().cloned();
        let found = found.clone();
        let is_usual = settings.command.is_empty() || settings.command == found.engine;
        let is_missing = found.path.is_none() && is_usual && programs::of(&found.engine).is_some();
        let install = is_missing.then(|| format!("moot engines install {}", found.engine));
        let command = if settings.command.is_empty() { found.engine.clone() } else { settings.command.clone() };
        let (problem, hint) = trouble.map(|trouble| (trouble.sentence, trouble.hint)).unzip();
        Self {
            asks,
            found: found.is_usable(),
            id: found.engine,
            version: found.version,
            command,
            problem,
            hint: hint.flatten(),
            login: found.login.word(),
            notes: found.notes,
            install,
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EngineQuery {
    /// Something was installed just now: look again, instead of at most twice a minute.
    again: Option<bool>,
}

/// The engines that agents can be made of, and which of them are installed here (operator). Looked at twice a minute at most.
#[utoipa::path(get, path = "/v1/engines", tag = "hosting", params(EngineQuery), responses((status = 200, body = [EngineObject])))]
pub async fn list(caller: Caller, State(local): State<Local>, Query(query): Query<EngineQuery>) -> Answer {
    caller.query(|state, actor| access::host(state, actor).map(drop))?;
    let configured = runner::settings(local.config());
    let none = EngineSettings::default();
    let of = |engine: &str| configured.get(engine).unwrap_or(&none).clone();
    let every = engines::ALL.map(|engine| (engine, of(engine.id().as_str())));
    let host = runner::runner(local.config()).host();
    let look = move || async move {
        let looks = every.iter().map(|(engine, settings)| availability::look(*engine, settings, &host));
        join_all(looks).await
    };
    let found = local.hosting().engines().found(local.hub.now(), query.again == Some(true), look).await;
    let object = |found: &Availability| {
        EngineObject::new(found, &of(&found.engine), hosting::asks(local.config(), &found.engine, true))
    };
    reply::ok(&found.iter().map(object).collect::<Vec<_>>())
}

#[derive(Serialize, ToSchema)]
pub struct EngineTest {
    ok: bool,
    took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    error: Option<String>,
}

/// Ask an engine for one word (operator); by one at a time.
#[utoipa::path(post, path = "/v1/engines/{engine}/test", tag = "hosting", responses((status = 200, body = EngineTest)))]
pub async fn test(caller: Caller, State(local): State<Local>, Path(engine): Path<String>) -> Answer {
    caller.query(|state, actor| access::host(state, actor).map(drop))?;
    let known = engines::find(&engine).ok_or_else(|| ApiError::not_found("there is no such engine"))?;
    let Some(_trial) = local.hosting().engines().try_out(&engine) else {
        return Err(RetryAfter(BUSY).into());
    };
    let begun = Instant::now();
    let asked = timeout(TEST_TIMEOUT, ask(&local, known)).await;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (answer, error) = match asked {
        Ok(Some(said)) if said.ok => (Some(said.answer), None),
        Ok(Some(said)) => (None, said.error),
        Ok(None) => (None, Some(format!("{engine} ended without a result"))),
        Err(_) => (None, Some(format!("{engine} did not answer within {} s", TEST_TIMEOUT.as_secs()))),
    };
    reply::ok(&EngineTest { ok: answer.is_some(), took_ms, answer, error })
}

/// In an empty folder of its own, so that there is nothing to touch.
async fn ask(local: &Local, engine: &'static dyn Engine) -> Option<Completed> {
    let folder = local.hub.data_dir().join(runner::TEST_FOLDER);
    folkmoot_hub::modes::make_folder(&folder).ok()?;
    let request = Request { prompt: QUESTION.to_owned(), folder, mode: Mode::Plain, ..Request::default() };
    let mut run = runner::runner(local.config()).run(engine, request);
    while let Some(event) = run.next().await {
        if let EngineEvent::Completed(completed) = event {
            return Some(completed);
        }
    }
    None
}
