//! The REST surface `/v1`: one file per area, every route described by the types it takes and gives.
//!
//! A handler proves who calls ([`Caller`](folkmoot_hub::request::Caller)), turns the request into one command or one read, and writes the outcome as
//! JSON. It has no rule of its own: who may do what is decided in the core, and reads ask `core::access`.
//!
//! To add an endpoint: a function with `#[utoipa::path]` in the file of its area, and its name in [`surface`]. The
//! description at `/openapi.json`, the page at `/docs` and `docs/openapi.json` follow from that.

#![expect(unused_qualifications, reason = "`utoipa::path` writes the full paths of the query types it describes")]

mod compress;
mod cors;
mod foreign;
mod objects;
mod rights;

mod admin;
mod agents;
mod approvals;
mod auth;
mod calls;
mod channels;
mod credentials;
mod direct;
mod drafts;
mod drive;
mod files;
mod inbox;
mod invites;
mod items;
mod machines;
mod members;
mod messages;
mod notifications;
mod pins;
mod reactions;
mod reviews;
mod runs;
mod search;
mod tasks;
mod terminal;
mod threads;
mod usage;
mod webhooks;
mod workspaces;

mod complete;
mod deliveries;
mod describe;
mod page;
mod path_parts;
mod refusals;
mod shapes;
mod surface;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use folkmoot_hub::Hub;
use folkmoot_hub::request::{ApiError, Surface, bounds, error, extract, query, reply, unexpected};

pub use self::describe::{Described, asyncapi_json, described_twice, openapi_json};

/// `/v1`, `/webhooks`, `/openapi.json` and `/docs`: those of the hub itself, and what its services bring.
pub fn router(hub: Hub, services: Vec<Surface>) -> Router {
    files::remove_leftovers(hub.files_dir());
    let described = Described::new(services.iter().map(|service| service.described).collect());
    let own = surface::routes().with_state(hub.clone());
    let all = services.into_iter().fold(own, |all, service| all.merge(service.routes));
    all.route("/v1", any(async || not_found()))
        .route("/v1/{*rest}", any(async || not_found()))
        .merge(described.routes())
        .route("/docs/style.css", get(page::style))
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        // Every body is limited where it is read: JSON to 1 MB, files to 32 MB.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(compress::answers))
        .layer(from_fn_with_state(hub.clone(), foreign::refuse))
        .layer(from_fn_with_state(hub, cors::share))
}

fn not_found() -> ApiError {
    ApiError::not_found("there is nothing at this address; see /docs")
}
