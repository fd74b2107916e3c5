//! Whether the hub lives, whether it is ready, and what it counts.

use std::path::Path;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use folkmoot_core::Refusal;
use folkmoot_doors::Protocol;
use serde_json::{Value, json};

use folkmoot_hub::{DoorHost, DoorStatus, Hub};

/// With less room than this the next burst of messages may not fit.
const LEAST_FREE_BYTES: u64 = 16 * 1024 * 1024;

pub fn router(hub: Hub) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/health", get(|| async { Json(json!({ "status": "ok" })) }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(hub)
}

/// Ready means: the store answers, takes what is said, and the main listener is open. Doors say for themselves how they are.
async fn ready(State(hub): State<Hub>) -> impl IntoResponse {
    let doors = hub.doors().protocols().iter().map(|door| shown(&hub, *door));
    let (apart, mut doors): (Vec<_>, Vec<_>) = doors.partition(|door| door["path"].is_null());
    // The dialects of one door share its path.
    doors.dedup();
    doors.extend(apart);
    match stores(&hub).await {
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
async fn stores(hub: &Hub) -> Result<(), Refusal> {
    hub.read(|reader| reader.message(folkmoot_core::ids::MessageId::NONE)).await?;
    if let Some(damage) = hub.damage() {
        return Err(Refusal::unavailable(format!("the database is damaged: {damage}")));
    }
    if free_bytes(hub.data_dir()).is_some_and(|free| free < LEAST_FREE_BYTES) {
        return Err(Refusal::unavailable("the disk of the data folder is full; free some space"));
    }
    hub.can_store().await
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// A door with a port of its own may be closed while the hub is ready.
fn shown(hub: &Hub, protocol: &dyn Protocol) -> Value {
    let door = protocol.door();
    let mut shown = match hub.doors().status(door) {
        DoorStatus::Open => json!({ "door": door, "status": "open" }),
        DoorStatus::Off => json!({ "door": door, "status": "off" }),
        DoorStatus::Listening(address) => {
            json!({ "door": door, "address": address, "port": address.port(), "status": "open" })
        }
        DoorStatus::Failed { address, cause } => {
            let error = format!("{address} cannot be listened on: {cause}");
            json!({ "door": door, "address": address, "port": address.port(), "status": "closed", "error": error })
        }
    };
    if !door.facts().has_own_listener {
        shown["path"] = protocol.path().into();
    }
    shown
}

async fn metrics(State(hub): State<Hub>) -> impl IntoResponse {
    hub.doors().hosts().for_each(DoorHost::refresh_metrics);
    if let Ok(bytes) = hub.read(|reader| reader.stored_bytes(&folkmoot_core::record::Filter::default())).await {
        hub.metrics().stored_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], hub.metrics().text())
}
