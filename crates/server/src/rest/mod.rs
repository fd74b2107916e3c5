//! The REST surface `/v1`: one file per area, every route described by the types it takes and gives.
//!
//! A handler proves who calls ([`extract::Caller`]), turns the request into one command or one read, and writes the outcome as
//! JSON. It has no rule of its own: who may do what is decided in the core, and reads ask `core::access`.
//!
//! To add an endpoint: a function with `#[utoipa::path]` in the file of its area, and its name in [`surface`]. The
//! description at `/openapi.json`, the page at `/docs` and `docs/openapi.json` follow from that.

#![expect(unused_qualifications, reason = "`utoipa::path` writes the full paths of the query types it describes")]

mod error;
mod extract;
mod foreign;
mod look;
mod objects;
pub(crate) mod reply;

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
mod engines;
mod files;
mod hosting;
mod inbox;
mod invites;
mod items;
mod listen;
mod machines;
mod members;
mod messages;
mod notifications;
mod pins;
mod pools;
mod reactions;
mod reviews;
mod routing;
mod runs;
mod search;
mod tasks;
mod telegram;
mod terminal;
mod usage;
mod webhooks;
mod workspaces;

mod deliveries;
mod describe;
mod page;
mod surface;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get};

pub(crate) use self::error::ApiError;
pub(crate) use self::extract::{Path, Query};
pub(crate) use self::files::range;
pub(crate) use self::reply::Answer;
use crate::app::App;

/// `/v1`, `/webhooks`, `/openapi.json` and `/docs`.
pub fn router(app: App) -> Router {
    files::remove_leftovers(app.files_dir());
    surface::routes()
        .route("/v1", any(async || not_found()))
        .route("/v1/{*rest}", any(async || not_found()))
        .route("/openapi.json", get(describe::show))
        .route("/docs", get(page::show))
        .route("/docs/style.css", get(page::style))
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        // Every body is limited where it is read: JSON to 1 MB, files to 32 MB.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(app.clone(), foreign::refuse))
        .with_state(app)
}

/// The description of the surface, as it stands in `docs/openapi.json`.
pub fn openapi_json() -> String {
    describe::to_json(&surface::described())
}

fn not_found() -> ApiError {
    ApiError::not_found("there is nothing at this address; see /docs")
}

/// The hub answered a command with something else than that command leads to.
fn unexpected() -> ApiError {
    tracing::error!("a command was answered with a reply of another kind");
    ApiError::unavailable("internal error")
}
