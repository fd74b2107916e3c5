//! Whether the hub lives, whether it is ready, and what it counts.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use folkmoot_doors::{DOORS, Protocol};
use serde_json::{Value, json};

use crate::app::App;
use crate::router::listener::{Listening, listening};

pub fn router(app: App) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/health", get(|| async { Json(json!({ "status": "ok" })) }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(app)
}

/// Ready means: the store answers, takes what is said, and the main listener is open. Doors say for themselves how they are.
async fn ready(State(app): State<App>) -> impl IntoResponse {
    let status = |door: &dyn Protocol| if app.door_is_open(door) { "open" } else { "off" };
    let shown = |door: &&dyn Protocol| json!({ "door": door.door(), "path": door.path(), "status": status(*door) });
    let mut doors: Vec<_> = DOORS.iter().filter(|door| !door.is_apart()).map(shown).collect();
    // The dialects of one door share its path.
    doors.dedup();
    doors.push(smarthole(&app));
    let read = app.read(|reader| reader.message(folkmoot_core::ids::MessageId::NONE)).await;
    let stores = match read {
        Ok(_) => app.can_store().await,
        Err(refusal) => Err(refusal),
    };
    match stores {
        Ok(()) => {
            (StatusCode::OK, Json(json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION"), "doors": doors })))
        }
        Err(refusal) => {
            let body = json!({ "status": "not ready", "error": refusal.text, "doors": doors });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}

/// A door with a port of its own may be closed while the hub is ready.
fn smarthole(app: &App) -> Value {
    let door = "smarthole";
    match listening(app) {
        Listening::Off => json!({ "door": door, "status": "off" }),
        Listening::On(address) => {
            json!({ "door": door, "address": address, "port": address.port(), "status": "open" })
        }
        Listening::Failed { address, cause } => {
            let error = format!("{address} cannot be listened on: {cause}");
            json!({ "door": door, "address": address, "port": address.port(), "status": "closed", "error": error })
        }
    }
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    app.pools().refresh_meters(&app);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], app.metrics().text())
}
