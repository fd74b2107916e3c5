//! The OpenAPI description: collected from the handlers, completed with what all of them share.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, ResponseBuilder, SecurityRequirement};

use super::error::ErrorBody;
use super::reply;

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
pub fn frame() -> OpenApi {
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
pub fn completed(mut openapi: OpenApi) -> OpenApi {
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
pub fn to_json(openapi: &OpenApi) -> String {
    openapi.to_pretty_json().unwrap_or_else(|error| {
        tracing::error!(%error, "the OpenAPI description could not be written");
        "{}".to_owned()
    })
}

/// Written when somebody first asks, so that a start does not wait for it.
static TEXT: LazyLock<String> = LazyLock::new(super::openapi_json);

pub async fn show() -> Response {
    reply::encoded(StatusCode::OK, &**TEXT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::openapi_json;
    use super::*;

    fn document() -> Value {
        serde_json::from_str(&openapi_json()).unwrap()
    }

    fn each_operation(document: &Value, mut look: impl FnMut(&str, &str, &Value)) {
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                look(method, path, operation);
            }
        }
    }

    #[test]
    fn the_description_is_the_same_every_time() {
        assert_eq!(openapi_json(), openapi_json());
    }

    #[test]
    fn every_operation_has_a_summary_an_area_and_the_shape_of_its_refusals() {
        let document = document();
        let areas: BTreeSet<_> =
            document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
        each_operation(&document, |method, path, operation| {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            assert!(areas.contains(operation["tags"][0].as_str().unwrap()), "{method} {path} is in no area");
            let refusal = &operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
            assert_eq!(refusal, "#/components/schemas/Error", "{method} {path}");
        });
    }

    #[test]
    fn every_part_of_a_path_is_a_parameter_with_a_meaning() {
        each_operation(&document(), |method, path, operation| {
            for part in parts_of(path).filter(|part| *part != "secret") {
                let parameters = operation["parameters"].as_array().unwrap();
                let parameter = parameters.iter().find(|parameter| parameter["name"] == part);
                let parameter = parameter.unwrap_or_else(|| panic!("{method} {path}: {part}"));
                assert_eq!(parameter["in"], "path");
                assert!(parameter["description"].is_string(), "{method} {path}: {part}");
            }
        });
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_operation_has_an_id_of_its_own() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        let mut ids = BTreeSet::new();
        each_operation(&document, |method, path, operation| {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(ids.insert(id.clone()), "{method} {path}: {id} is used twice");
        });
    }

    #[test]
    fn only_the_open_endpoints_need_no_token() {
        let document = document();
        let mut open = BTreeSet::new();
        each_operation(&document, |method, path, operation| {
            if operation["security"].is_array() {
                open.insert(format!("{method} {path}"));
            }
        });
        let expected = [
            "get /v1/auth/providers",
            "get /v1/invites/{code}",
            "get /v1/setup",
            "post /v1/auth/join",
            "post /v1/auth/login",
            "post /v1/auth/register",
            "post /v1/workspaces/{workspace}/agents",
            "post /webhooks/{webhook}/{secret}",
        ];
        assert_eq!(open, expected.map(str::to_owned).into());
    }

    #[test]
    fn no_schema_shows_a_secret_that_is_kept() {
        let schemas = document()["components"]["schemas"].to_string();
        for secret in ["password_hash", "key_hash", "secret_hash", "valid_after"] {
            assert!(!schemas.contains(secret), "{secret}");
        }
    }
}
