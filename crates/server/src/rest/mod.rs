//! The REST surface `/v1`: one file per area, every route described by the types it takes and gives.
//!
//! A handler proves who calls ([`extract::Caller`]), turns the request into one command or one read, and writes the outcome as
//! JSON. It has no rule of its own: who may do what is decided in the core, and reads ask `core::access`.
//!
//! To add an endpoint: a function with `#[utoipa::path]` in the file of its area, and its name in [`routes`]. The
//! description at `/openapi.json`, the page at `/docs` and `docs/openapi.json` follow from that.

#![expect(unused_qualifications, reason = "`utoipa::path` writes the full paths of the query types it describes")]

mod error;
mod extract;
mod look;
mod objects;
pub(crate) mod reply;

mod admin;
mod agents;
mod approvals;
mod auth;
mod calls;
mod channels;
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
mod terminal;
mod webhooks;
mod workspaces;

mod deliveries;
mod describe;
mod page;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::error::ApiError;
pub(crate) use self::extract::{Path, Query};
pub(crate) use self::files::range;
pub(crate) use self::reply::Answer;
use crate::app::App;

/// `/v1`, `/webhooks`, `/openapi.json` and `/docs`.
pub fn router(app: App) -> Router {
    files::remove_leftovers(app.files_dir());
    let (documented, _) = routes_of_all_areas().split_for_parts();
    Router::new()
        .merge(documented)
        .route("/v1", any(async || not_found()))
        .route("/v1/{*rest}", any(async || not_found()))
        .route("/openapi.json", get(describe::show))
        .route("/docs", get(page::show))
        .route("/docs/style.css", get(page::style))
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        // Every body is limited where it is read: JSON to 1 MB, files to 32 MB.
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}

/// The description of the surface, as it stands in `docs/openapi.json`.
pub fn openapi_json() -> String {
    describe::to_json(&described())
}

fn described() -> utoipa::openapi::OpenApi {
    describe::completed(routes_of_all_areas().into_openapi())
}

fn routes_of_all_areas() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(describe::frame())
        .merge(people())
        .merge(conversation())
        .merge(agent_experience())
        .merge(things())
        .merge(worker_pools())
        .merge(operation())
}

fn people() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(auth::setup))
        .routes(routes!(auth::register))
        .routes(routes!(auth::join))
        .routes(routes!(auth::login))
        .routes(routes!(auth::renew))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::providers))
        .routes(routes!(workspaces::create, workspaces::list))
        .routes(routes!(workspaces::get, workspaces::update, workspaces::delete))
        .routes(routes!(members::add, members::list))
        .routes(routes!(members::get, members::update, members::remove))
        .routes(routes!(members::replace_key))
        .routes(routes!(members::me))
        .routes(routes!(invites::create, invites::list))
        .routes(routes!(invites::revoke))
        .routes(routes!(invites::show))
        .routes(routes!(members::set_avatar))
        .routes(routes!(members::change_password))
        .routes(routes!(agents::register, agents::list))
        .routes(routes!(agents::invite))
        .routes(routes!(agents::metrics))
        .routes(routes!(agents::remember, agents::memory))
        .routes(routes!(agents::forget))
}

fn conversation() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(channels::create, channels::list))
        .routes(routes!(channels::search))
        .routes(routes!(channels::get, channels::update, channels::delete))
        .routes(routes!(channels::archive))
        .routes(routes!(channels::unarchive))
        .routes(routes!(channels::admit))
        .routes(routes!(channels::dismiss))
        .routes(routes!(messages::send, messages::page))
        .routes(routes!(messages::get, messages::edit, messages::delete))
        .routes(routes!(messages::thread))
        .routes(routes!(messages::edits))
        .routes(routes!(reactions::add, reactions::list))
        .routes(routes!(reactions::remove))
        .routes(routes!(pins::add, pins::list))
        .routes(routes!(pins::remove))
        .routes(routes!(search::search))
        .routes(routes!(direct::open))
        .routes(routes!(direct::list))
        .routes(routes!(direct::unread))
        .routes(routes!(direct::mark_read))
        .routes(routes!(direct::set_preference))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::unread_count))
        .routes(routes!(notifications::mark_read))
        .routes(routes!(notifications::mark_all_read))
}

fn agent_experience() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(inbox::list))
        .routes(routes!(inbox::count))
        .routes(routes!(inbox::ack))
        .routes(routes!(inbox::ack_all))
        .routes(routes!(drafts::create, drafts::list))
        .routes(routes!(drafts::validate, drafts::validate_by_post))
        .routes(routes!(drafts::send))
        .routes(routes!(drafts::cancel))
        .routes(routes!(items::put, items::list))
        .routes(routes!(items::search))
        .routes(routes!(items::put_one, items::get, items::delete))
        .routes(routes!(reviews::request, reviews::list))
        .routes(routes!(reviews::get, reviews::decide))
        .routes(routes!(approvals::request, approvals::list))
        .routes(routes!(approvals::get, approvals::decide))
        .routes(routes!(approvals::take_up))
        .routes(routes!(runs::get))
        .routes(routes!(runs::of_channel))
        .routes(routes!(runs::of_workspace))
        .routes(routes!(runs::stop))
        .routes(routes!(runs::put_diff, runs::diff))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::get))
        .routes(routes!(deliveries::cancel))
        .routes(routes!(deliveries::pass))
        .routes(routes!(deliveries::fail))
        .routes(routes!(deliveries::join))
        .routes(routes!(deliveries::preview))
}

fn things() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(tasks::create, tasks::list))
        .routes(routes!(tasks::get, tasks::update, tasks::delete))
        .routes(routes!(tasks::claim))
        .routes(routes!(files::upload, files::list))
        .routes(routes!(files::get, files::delete))
        .routes(routes!(files::download))
        .routes(routes!(drive::upload))
        .routes(routes!(drive::download))
        .routes(routes!(calls::list))
        .routes(routes!(calls::get))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::delete))
        .routes(routes!(webhooks::post))
        .routes(routes!(routing::say, routing::history))
        .routes(routes!(routing::say_aloud))
        .routes(routes!(routing::clients))
        .routes(routes!(routing::get))
}

fn worker_pools() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(pools::agents))
        .routes(routes!(pools::request))
        .routes(routes!(pools::take, pools::sessions))
        .routes(routes!(pools::release))
        .routes(routes!(pools::dispatch))
        .routes(routes!(listen::link))
        .routes(routes!(pools::link, pools::show_link, pools::unlink))
}

fn operation() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(engines::list))
        .routes(routes!(engines::test))
        .routes(routes!(hosting::create, hosting::list))
        .routes(routes!(hosting::remove))
        .routes(routes!(admin::stats))
        .routes(routes!(admin::backup))
        .routes(routes!(terminal::status))
        .routes(routes!(terminal::list_agents))
        .routes(routes!(terminal::list_channels))
        .routes(routes!(terminal::register))
        .routes(routes!(terminal::heartbeat))
        .routes(routes!(terminal::disconnect))
        .routes(routes!(terminal::list_daemons))
        .routes(routes!(terminal::get_daemon))
        .routes(routes!(terminal::wake))
        .routes(routes!(terminal::restart))
        .routes(routes!(terminal::my_directs))
        .routes(routes!(terminal::my_unread))
}

fn not_found() -> ApiError {
    ApiError::not_found("there is nothing at this address; see /docs")
}

/// The hub answered a command with something else than that command leads to.
fn unexpected() -> ApiError {
    tracing::error!("a command was answered with a reply of another kind");
    ApiError::unavailable("internal error")
}
