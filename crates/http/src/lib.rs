//! What the hub answers over HTTP: the REST surface, the page, and how the hub is.

pub mod health;
pub mod rest;
pub mod web;

use axum::Router;
use folkmoot_hub::Hub;
use folkmoot_hub::request::Surface;

pub use self::rest::{asyncapi_json, described_twice, openapi_json};

/// Everything: `/v1` with what the services bring, health, and the page at every other address.
pub fn router(hub: &Hub, services: Vec<Surface>) -> Router {
    rest::router(hub.clone(), services).merge(health::router(hub.clone())).merge(web::router())
}
