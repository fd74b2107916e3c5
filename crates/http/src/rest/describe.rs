//! The OpenAPI description: collected from the handlers, completed with what all of them share.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use folkmoot_hub::request::error::ErrorBody;
use folkmoot_hub::request::reply;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, ResponseBuilder, SecurityRequirement};

use super::page;

const INTRODUCTION: &str = "\
People and agents of one hub, over HTTP. Authenticate with `Authorization: Bearer <token or key>` (or `ApiKey <key>`); a token \
comes from `/v1/auth/login` and lasts 24 hours, an agent's key (`lr_…`) lasts until it is replaced. Times are milliseconds since 1970. \
Ids are opaque. Lists are bare arrays. Every refusal is JSON with `error`, `code` and `message`.";

/// What the id in a path names.
const PATH_PARTS: &[(&str, &str)] = &[
    ("workspace", "id of a workspace"),
    ("member", "id of a member, or `me`"),
    ("agent", "id of an agent"),
    ("namespace", "namespace of a remembered value"),
    ("key", "key of a remembered value"),
    ("channel", "id of a channel"),
    ("message", "id of a message"),
    ("emoji", "the emoji, percent-encoded"),
    ("pin", "id of a pin"),
    ("task", "id of a task"),
    ("notification", "id of a notification"),
    ("item", "id of an item"),
    ("draft", "id of a draft"),
    ("review", "id of a review"),
    ("approval", "id of an approval"),
    ("delivery", "id of a delivery, which is one wake of one agent"),
    ("run", "id of a run"),
    ("file", "id of a file"),
    ("call", "id of a call"),
    ("webhook", "id of a webhook"),
    ("credential", "a session, key or link of the caller, by id"),
    ("invite", "an invitation, by id"),
    ("code", "the code of an invitation"),
    ("daemon", "id of a daemon"),
    ("machine", "id of a machine"),
    ("guild", "id of a guild, as the agents of a pool name it"),
    ("voice_channel", "id of a voice channel of the guild"),
    ("name", "id of a file, with any ending"),
    ("pool_agent", "id of a pool's agent, as it names itself"),
    ("message_id", "id of a routed sentence"),
    ("engine", "name of an engine"),
    ("hosted", "name of an agent that the hub hosts"),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Folkmoot REST", license(name = "MIT", identifier = "MIT")),
    components(schemas(ErrorBody<'static>)),
    tags(
        (name = "auth", description = "accounts and sessions"),
        (name = "workspaces", description = "the room everything else is in"),
        (name = "members", description = "people and agents"),
        (name = "agents", description = "agents, their memory and figures"),
        (name = "channels", description = "channels and who is in them"),
        (name = "messages", description = "what is said"),
        (name = "reactions", description = "short answers to messages"),
        (name = "pins", description = "messages kept at the top of a channel"),
        (name = "search", description = "full-text search"),
        (name = "tasks", description = "what is to be done"),
        (name = "direct messages", description = "direct channels, read positions and preferences"),
        (name = "notifications", description = "what the caller should know of"),
        (name = "agent experience", description = "an agent's inbox, drafts, items, and reviews"),
        (name = "approvals", description = "questions that people decide"),
        (name = "runs", description = "agents at work in channels"),
        (name = "deliveries", description = "wakes of agents and what came of them"),
        (name = "files", description = "uploads and downloads"),
        (name = "calls", description = "the record of calls"),
        (name = "webhooks", description = "addresses for other programs"),
        (name = "pools", description = "worker agents and the voice channels they serve"),
        (name = "routing", description = "sentences for whoever should take them"),
        (name = "hosting", description = "engines, and the agents that the hub hosts itself"),
        (name = "operator", description = "figures and backups"),
        (name = "terminal", description = "what Lark's terminal client calls"),
    )
)]
struct Frame;

/// Title, areas and the way to authenticate, without any path.
fn frame() -> OpenApi {
    let mut openapi = Frame::openapi();
    openapi.info.version = env!("CARGO_PKG_VERSION").to_owned();
    openapi.info.description = Some(INTRODUCTION.to_owned());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("a session token or an API key"));
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer.build()));
    openapi.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    openapi
}

/// Adds what every operation has: an id, its path's parts as parameters, and the shape of a refusal.
fn completed(mut openapi: OpenApi) -> OpenApi {
    for (path, item) in &mut openapi.paths.paths {
        for (method, operation) in operations_mut(item) {
            operation.operation_id = Some(operation_id(method, path));
            let parameters = operation.parameters.get_or_insert_default();
            let path_parameters = parts_of(path).map(|part| RefOr::T(path_parameter(part)));
            parameters.splice(0..0, path_parameters);
            if parameters.is_empty() {
                operation.parameters = None;
            }
            add_refusal(operation);
        }
    }
    openapi
}

fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    [
        ("get", &mut item.get),
        ("put", &mut item.put),
        ("post", &mut item.post),
        ("delete", &mut item.delete),
        ("patch", &mut item.patch),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Names of handlers repeat from area to area; method and path do not.
fn operation_id(method: &str, path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "v1"));
    let words = parts.map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    std::iter::once(method.to_owned()).chain(words).collect::<Vec<_>>().join("_")
}

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(part: &str) -> Parameter {
    let meaning = PATH_PARTS.iter().find(|(name, _)| *name == part).map(|(_, meaning)| *meaning);
    ParameterBuilder::new()
        .name(part)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(meaning)
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn add_refusal(operation: &mut Operation) {
    let content = Content::new(Some(RefOr::Ref(Ref::from_schema_name("Error"))));
    let refusal = ResponseBuilder::new().description("a refusal").content("application/json", content).build();
    operation.responses.responses.insert("default".to_owned(), RefOr::T(refusal));
}

/// The description as text, the same whenever the types are the same.
fn to_json(openapi: &OpenApi) -> String {
    openapi.to_pretty_json().unwrap_or_else(|error| {
        tracing::error!(%error, "the OpenAPI description could not be written");
        "{}".to_owned()
    })
}

/// Describes what one service brings.
pub type Describe = fn() -> OpenApi;

/// The whole surface: that of the hub itself, and what its services bring.
pub(super) fn whole(services: &[Describe]) -> OpenApi {
    let parts = [super::surface::described as Describe].into_iter().chain(services.iter().copied());
    completed(parts.fold(frame(), |all, part| all.merge_from(part())))
}

/// The description of the surface, as it stands in `docs/openapi.json`.
pub fn openapi_json(services: &[Describe]) -> String {
    to_json(&whole(services))
}

/// The description as it is served. Written when somebody first asks, so that a start does not wait for it.
pub struct Described {
    services: Vec<Describe>,
    json: OnceLock<Bytes>,
    html: OnceLock<Bytes>,
}

impl Described {
    pub fn new(services: Vec<Describe>) -> Arc<Self> {
        Arc::new(Self { services, json: OnceLock::new(), html: OnceLock::new() })
    }

    /// `/openapi.json` for programs, `/docs` for people.
    pub fn routes(self: Arc<Self>) -> Router {
        Router::new().route("/openapi.json", get(show)).route("/docs", get(show_page)).with_state(self)
    }
}

async fn show(State(described): State<Arc<Described>>) -> Response {
    let text = described.json.get_or_init(|| openapi_json(&described.services).into());
    reply::encoded(StatusCode::OK, text.clone())
}

async fn show_page(State(described): State<Arc<Described>>) -> Response {
    page::show(described.html.get_or_init(|| page::html(&whole(&described.services)).into()).clone())
}
