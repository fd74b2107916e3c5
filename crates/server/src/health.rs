//! Whether the hub lives, whether it is ready, and what it counts.

use std::path::Path;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use folkmoot_core::Refusal;
use folkmoot_doors::{DOORS, Protocol};
use serde_json::{Value, json};

use crate::app::App;
use crate::router::listener::{Listening, listening};

/// With less room than this the next burst of messages may not fit.
const LEAST_FREE_BYTES: u64 = 16 * 1024 * 1024;

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
    match stores(&app).await {
        Ok(()) => {
            (StatusCode::OK, Json(json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION"), "doors": doors })))
        }
        Err(refusal) => {
            let body = json!({ "status": "not ready", "error": refusal.text, "doors": doors });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}

/// Whether everything that is said can be stored and read again. Room is looked for before somebody misses it.
async fn stores(app: &App) -> Result<(), Refusal> {
    app.read(|reader| reader.message(folkmoot_core::ids::MessageId::NONE)).await?;
    if let Some(damage) = app.damage() {
        return Err(Refusal::unavailable(format!("the database is damaged: {damage}")));
    }
    if free_bytes(app.data_dir()).is_some_and(|free| free < LEAST_FREE_BYTES) {
        return Err(Refusal::unavailable("the disk of the data folder is full; free some space"));
    }
    app.can_store().await
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
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
    if let Ok(bytes) = app.read(|reader| reader.stored_bytes(&folkmoot_core::record::Filter::default())).await {
        app.metrics().stored_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], app.metrics().text())
}
