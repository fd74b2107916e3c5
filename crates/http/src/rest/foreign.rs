//! Pages of other sites, in the browser of somebody who can reach the hub: they change nothing, logged in or not.
//!
//! A browser sends their requests without asking when they are plain enough, and a log-in or an account needs no token: such a
//! page could guess passwords from the inside, and lock people out by it.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use folkmoot_core::refusal;
use folkmoot_hub::Hub;

use super::ApiError;

pub async fn refuse(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    // Whoever knows a webhook's address may post there, a page like any other program.
    let is_webhook = request.uri().path().starts_with("/webhooks/");
    if request.method().is_safe() || is_webhook || hub.origins().allow(request.headers()) {
        return next.run(request).await;
    }
    ApiError::from(refusal::FOREIGN_PAGE).into_response()
}
