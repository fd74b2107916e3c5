//! The OpenAPI description: collected from the handlers, completed with what all of them share.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use folkmoot_hub::request::error::ErrorBody;
use folkmoot_hub::request::reply;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, SecurityRequirement};

use super::complete::{self, completed};
use super::page;

const INTRODUCTION: &str = "\
People and agents of one hub, over HTTP. Authenticate with `Authorization: Bearer <token or key>` (or `ApiKey <key>`); a token \
comes from `/v1/auth/login` and lasts 24 hours, an agent's key (`lr_…`) lasts until it is replaced. Times are milliseconds since 1970. \
Ids are opaque. Lists are bare arrays. Every refusal is JSON with `error`, `code` and `message`.";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Folkmoot REST", license(name = "MIT", identifier = "MIT")),
    components(schemas(ErrorBody<'static>, super::runs::RunFilter)),
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

/// The document in the order in which people read it.
#[derive(Serialize)]
struct Document<'a> {
    openapi: &'a Value,
    info: &'a Value,
    servers: Value,
    security: &'a Value,
    tags: &'a Value,
    paths: &'a Value,
    components: &'a Value,
}

/// The description as text, the same whenever the types are the same.
fn to_json(document: &Value) -> String {
    let ordered = Document {
        openapi: &document["openapi"],
        info: &document["info"],
        servers: json!([{ "url": "/", "description": "the hub that serves this" }]),
        security: &document["security"],
        tags: &document["tags"],
        paths: &document["paths"],
        components: &document["components"],
    };
    serde_json::to_string_pretty(&ordered).unwrap_or_else(|error| {
        tracing::error!(%error, "the OpenAPI description could not be written");
        "{}".to_owned()
    })
}

/// Describes what one service brings.
pub type Describe = fn() -> Vec<OpenApi>;

/// The whole surface: that of the hub itself, and what its services bring.
pub(super) fn whole(services: &[Describe]) -> Value {
    completed(&parts(services).into_iter().fold(frame(), OpenApi::merge_from))
}

/// Every address of it, each with the schemas it needs.
fn parts(services: &[Describe]) -> Vec<OpenApi> {
    let parts = [super::surface::described as Describe].into_iter().chain(services.iter().copied());
    parts.flat_map(|part| part()).collect()
}

/// The names under which different things are described; there should be none.
pub fn described_twice(services: &[Describe]) -> BTreeSet<String> {
    complete::described_twice(&parts(services))
}

/// The description of the surface, as it stands in `docs/openapi.json`.
pub fn openapi_json(services: &[Describe]) -> String {
    to_json(&whole(services))
}

/// The description of the Lark door, as it stands in `docs/asyncapi.json`.
pub fn asyncapi_json() -> String {
    folkmoot_doors::lark::asyncapi_json(env!("CARGO_PKG_VERSION"))
}

/// The description as it is served. Written when somebody first asks, so that a start does not wait for it.
pub struct Described {
    services: Vec<Describe>,
    json: OnceLock<Bytes>,
    asyncapi: OnceLock<Bytes>,
    html: OnceLock<Bytes>,
}

impl Described {
    pub fn new(services: Vec<Describe>) -> Arc<Self> {
        Arc::new(Self { services, json: OnceLock::new(), asyncapi: OnceLock::new(), html: OnceLock::new() })
    }

    /// `/openapi.json` and `/asyncapi.json` for programs, `/docs` for people.
    pub fn routes(self: Arc<Self>) -> Router {
        Router::new()
            .route("/openapi.json", get(show))
            .route("/asyncapi.json", get(show_asyncapi))
            .route("/docs", get(show_page))
            .with_state(self)
    }
}

async fn show(State(described): State<Arc<Described>>) -> Response {
    let text = described.json.get_or_init(|| openapi_json(&described.services).into());
    reply::encoded(StatusCode::OK, text.clone())
}

async fn show_asyncapi(State(described): State<Arc<Described>>) -> Response {
    reply::encoded(StatusCode::OK, described.asyncapi.get_or_init(|| asyncapi_json().into()).clone())
}

async fn show_page(State(described): State<Arc<Described>>) -> Response {
    page::show(described.html.get_or_init(|| page::html(&whole(&described.services)).into()).clone())
}
