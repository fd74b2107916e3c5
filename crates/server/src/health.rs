//! Whether the hub lives, whether it is ready, and what it counts.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use axum::{Json, Router};
use folkmoot_doors::{DOORS, Protocol};
use serde_json::json;

use crate::app::App;

pub fn router(app: App) -> Router {
    Router::new()
        // Until the page is there, a browser is shown what the hub can do.
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/health", get(|| async { Json(json!({ "status": "ok" })) }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(app)
}

/// Ready means: the store answers and every door that is turned on is open.
async fn ready(State(app): State<App>) -> impl IntoResponse {
    let status = |door: &dyn Protocol| if app.door_is_open(door) { "open" } else { "off" };
    let shown = |door: &&dyn Protocol| json!({ "door": door.door(), "path": door.path(), "status": status(*door) });
    let doors: Vec<_> = DOORS.iter().map(shown).collect();
    match app.read(|reader| reader.message(folkmoot_core::ids::MessageId::NONE)).await {
        Ok(_) => {
            (StatusCode::OK, Json(json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION"), "doors": doors })))
        }
        Err(refusal) => {
            let body = json!({ "status": "not ready", "error": refusal.text, "doors": doors });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    app.pools().refresh_meters(&app);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], app.metrics().text())
}
