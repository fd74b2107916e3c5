//! Hearing what a pool's jukebox plays: a small page, what plays and where it is, and the bytes of the track.
//!
//! The music lies where the agent runs, which need not be this machine. So the hub asks the agent that serves the voice
//! channel for its status ([`feed`]) and, part by part, for the bytes that a browser wants ([`tracks`]). Who may
//! listen is shown by a [`key`] that the hub signed. `docs/decisions/0602-listening.md` has the reasons.

mod feed;
mod key;
mod page;
pub mod rest;
mod tracks;

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use folkmoot_core::pools::{Place, PoolLink, SessionKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Pools;
use feed::Rooms;
use folkmoot_hub::request::{Answer, ApiError, Path, Query, reply};
use tracks::Cache;

/// What the requests of listeners share.
struct Listening {
    pools: Pools,
    rooms: Rooms,
    cache: Cache,
}

/// `/listen/…`.
pub fn router(pools: Pools) -> Router {
    let cache = Cache::new(folder(&pools));
    let listening = Arc::new(Listening { pools: pools.clone(), rooms: Rooms::default(), cache });
    Router::new()
        .route("/listen/{guild}/{channel}", get(page::html))
        .route("/listen/{guild}/{channel}/feed", get(show_feed))
        .route("/listen/{guild}/{channel}/track/{track}", get(show_track))
        .route("/listen/script.js", get(page::script))
        .route("/listen/style.css", get(page::style))
        .route("/listen/time", get(time))
        .layer(Extension(listening))
        .with_state(pools)
}

/// Where to hear what begins to play, for the answer in the channel; none when it is nothing of a jukebox.
pub fn invitation(pools: &Pools, link: &PoolLink, op: &str, answer: &Value) -> Option<String> {
    let begins = op == "play" && answer["action"] == "playing" && answer["track"]["sourceName"] == "jukebox";
    begins.then(|| format!("Listen: {}", key::for_channel(pools, link).url))
}

fn folder(pools: &Pools) -> PathBuf {
    pools.hub.data_dir().join("listen")
}

#[derive(Deserialize)]
struct KeyQuery {
    #[serde(default)]
    key: String,
}

/// The hub's time, so that a page can tell how far its own clock is off.
async fn time(Extension(listening): Extension<Arc<Listening>>) -> Answer {
    reply::ok(&json!({ "now": listening.pools.hub.now() }))
}

async fn show_feed(
    Extension(listening): Extension<Arc<Listening>>,
    Path((guild, channel)): Path<(String, String)>,
    Query(query): Query<KeyQuery>,
) -> Answer {
    let place = listening.admit(guild, channel, &query.key)?;
    feed::stream(&listening, place, query.key)
}

async fn show_track(
    Extension(listening): Extension<Arc<Listening>>,
    Path((guild, channel, track)): Path<(String, String, String)>,
    Query(query): Query<KeyQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let place = listening.admit(guild, channel, &query.key)?;
    tracks::serve(&listening, &place, track, &headers).await
}

impl Listening {
    /// The voice channel, for somebody whose key opens it.
    fn admit(&self, guild: String, voice_channel: String, key: &str) -> Result<Place, ApiError> {
        let place = Place { guild, voice_channel, kind: SessionKind::Music };
        key::check(&self.pools, &place, key)?;
        Ok(place)
    }
}
