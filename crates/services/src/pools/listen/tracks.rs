//! The bytes of tracks: fetched from the agent part by part when somebody wants them, kept on disk for the others.
//!
//! A part fits into one frame of the agent's connection. What is kept is bounded, lies in files without a name (so that
//! nothing is left behind, whatever happens), and is filled in any order: a listener who comes late asks for the middle first.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use data_encoding::BASE64;
use folkmoot_core::pools::Place;
use folkmoot_hub::request::ApiError;
use folkmoot_hub::request::range::{Wanted, wanted};
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Listening;
use crate::pools::Pools;

/// What an agent gives at a time; see its operation `track`.
const PART_BYTES: u64 = 45 * 1024;
/// An agent may send 100 frames a second and has other things to say; this leaves room for two tracks at once.
const PART_EVERY: Duration = Duration::from_millis(25);
/// Twenty minutes of CD sound are 212 MB.
const MAX_TRACK_BYTES: u64 = 256 << 20;
const MAX_KEPT_BYTES: u64 = 512 << 20;
/// What browsers can play and never run; anything else is served as bytes.
const SOUNDS: [&str; 6] = ["audio/mpeg", "audio/flac", "audio/ogg", "audio/mp4", "audio/aac", "audio/wav"];

/// A track of an agent.
type TrackKey = (String, String);

pub struct Cache {
    folder: PathBuf,
    kept: Mutex<Kept>,
    /// One at a time asks for a track that is not known yet. Several, so that an agent that hangs holds up few others.
    opening: [tokio::sync::Mutex<()>; 16],
    hasher: RandomState,
}

#[derive(Default)]
struct Kept {
    tracks: HashMap<TrackKey, (u64, Arc<Track>)>,
    uses: u64,
}

/// A track of which some parts are here.
struct Track {
    key: TrackKey,
    size: u64,
    content_type: &'static str,
    file: File,
    here: Mutex<Vec<bool>>,
    /// When the next part may be asked for; held while one is.
    fetching: tokio::sync::Mutex<Instant>,
}

impl Cache {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Mutex::default(), opening: Default::default(), hasher: RandomState::new() }
    }

    async fn open(&self, pools: &Pools, key: TrackKey) -> Result<Arc<Track>, ApiError> {
        if let Some(track) = self.kept.lock().get(&key) {
            return Ok(track);
        }
        let _turn = self.opening[self.hasher.hash_one(&key) as usize % self.opening.len()].lock().await;
        if let Some(track) = self.kept.lock().get(&key) {
            return Ok(track);
        }
        let part = fetch(pools, &key, 0).await?;
        let folder = self.folder.clone();
        let making = tokio::task::spawn_blocking(move || Track::new(&folder, key, part));
        let track = making.await.map_err(|_| lost())?.map_err(|error| {
            tracing::error!(%error, "a track cannot be kept on disk");
            ApiError::unavailable("the hub cannot keep the track on its disk")
        })?;
        let track = Arc::new(track);
        self.kept.lock().put(Arc::clone(&track));
        Ok(track)
    }
}

impl Kept {
    fn get(&mut self, key: &TrackKey) -> Option<Arc<Track>> {
        self.uses += 1;
        let (used, track) = self.tracks.get_mut(key)?;
        *used = self.uses;
        Some(Arc::clone(track))
    }

    /// Those used longest ago make room; whoever still reads one keeps it until done.
    fn put(&mut self, track: Arc<Track>) {
        let mut room = MAX_KEPT_BYTES.saturating_sub(track.size);
        let mut by_use: Vec<(u64, u64, TrackKey)> =
            self.tracks.iter().map(|(key, (used, track))| (*used, track.size, key.clone())).collect();
        by_use.sort_unstable_by(|one, other| other.cmp(one));
        for (_, size, key) in by_use {
            match room.checked_sub(size) {
                Some(rest) => room = rest,
                None => drop(self.tracks.remove(&key)),
            }
        }
        self.uses += 1;
        self.tracks.insert(track.key.clone(), (self.uses, track));
    }
}

impl Track {
    fn new(folder: &Path, key: TrackKey, first: Part) -> io::Result<Self> {
        let file = nameless(folder)?;
        let parts = usize::try_from(first.size.div_ceil(PART_BYTES)).unwrap_or(0);
        let track = Self {
            key,
            size: first.size,
            content_type: first.content_type,
            file,
            here: Mutex::new(vec![false; parts]),
            fetching: tokio::sync::Mutex::new(Instant::now()),
        };
        track.keep(0, &first.bytes)?;
        Ok(track)
    }

    fn keep(&self, part: usize, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, part as u64 * PART_BYTES)?;
        if let Some(here) = self.here.lock().get_mut(part) {
            *here = true;
        }
        Ok(())
    }

    fn has(&self, part: usize) -> bool {
        self.here.lock().get(part).copied().unwrap_or(false)
    }

    /// The bytes from here to the end of this part, at most up to `last`; fetched when they are not here yet.
    async fn read(self: &Arc<Self>, pools: &Pools, from: u64, last: u64) -> Result<Bytes, ApiError> {
        let part = usize::try_from(from / PART_BYTES).unwrap_or(usize::MAX);
        if !self.has(part) {
            self.fetch(pools, part).await?;
        }
        let end = (part as u64 + 1) * PART_BYTES;
        let length = usize::try_from(end.min(last + 1) - from).unwrap_or(0);
        let track = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let mut bytes = vec![0; length];
            track.file.read_exact_at(&mut bytes, from).map(|()| Bytes::from(bytes))
        });
        reading.await.map_err(|_| lost())?.map_err(|_| lost())
    }

    async fn fetch(self: &Arc<Self>, pools: &Pools, part: usize) -> Result<(), ApiError> {
        let mut next = self.fetching.lock().await;
        if self.has(part) {
            return Ok(());
        }
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + PART_EVERY;
        let fetched = fetch(pools, &self.key, part as u64 * PART_BYTES).await?;
        if fetched.size != self.size {
            return Err(lost());
        }
        let track = Arc::clone(self);
        let keeping = tokio::task::spawn_blocking(move || track.keep(part, &fetched.bytes));
        keeping.await.map_err(|_| lost())?.map_err(|_| ApiError::unavailable("the hub's disk is full"))
    }
}

/// A file that is gone with its last user.
fn nameless(folder: &Path) -> io::Result<File> {
    folkmoot_hub::modes::make_folder(folder)?;
    let path = folder.join(format!("{}.part", uuid::Uuid::new_v4()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Some bytes of a track, as the agent gave them.
#[derive(Debug)]
struct Part {
    size: u64,
    content_type: &'static str,
    bytes: Vec<u8>,
}

async fn fetch(pools: &Pools, (agent, id): &TrackKey, offset: u64) -> Result<Part, ApiError> {
    let data = to_raw_value(&json!({ "id": id, "offset": offset })).unwrap_or_default();
    let answer = ask(pools, agent, "track", &data).await?;
    read_part(&answer, offset).ok_or_else(|| ApiError::unavailable("the agent sent something else than the track"))
}

/// The part, if it is one: the agent is another program and may be wrong.
fn read_part(answer: &Value, offset: u64) -> Option<Part> {
    let size = answer["size"].as_u64().filter(|size| (1..=MAX_TRACK_BYTES).contains(size))?;
    let content_type = answer["contentType"].as_str().unwrap_or_default();
    let content_type = SOUNDS.iter().find(|known| **known == content_type).copied();
    let bytes = BASE64.decode(answer["bytes"].as_str()?.as_bytes()).ok()?;
    let expected = size.checked_sub(offset)?.min(PART_BYTES);
    let part = Part { size, content_type: content_type.unwrap_or("application/octet-stream"), bytes };
    (part.bytes.len() as u64 == expected).then_some(part)
}

/// Asks an agent on behalf of the hub.
pub async fn ask(pools: &Pools, agent: &str, op: &str, data: &RawValue) -> Result<Value, ApiError> {
    match pools.ask(agent, op, data).await {
        Ok(Ok(answer)) => Ok(answer.and_then(|answer| serde_json::from_str(answer.get()).ok()).unwrap_or_default()),
        Ok(Err(_)) => Err(ApiError::not_found("there is no such track")),
        Err(_) => Err(ApiError::unavailable("the agent that plays does not answer")),
    }
}

fn lost() -> ApiError {
    ApiError::unavailable("the track changed or cannot be read any more")
}

/// A track of the agent that serves this place, whole or in part.
pub async fn serve(
    listening: &Arc<Listening>,
    place: &Place,
    id: String,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let pools = &listening.pools;
    let agent = pools.hub.with_state(|state| state.pools().lease(place).map(|lease| lease.agent.clone()));
    let agent = agent.ok_or_else(|| ApiError::not_found("nothing plays here"))?;
    let track = listening.cache.open(pools, (agent, id)).await?;
    let range = request.get(header::RANGE).and_then(|value| value.to_str().ok());
    Ok(match wanted(range, track.size) {
        Wanted::Nothing => {
            let response = build(&track, StatusCode::RANGE_NOT_SATISFIABLE, Body::empty(), 0);
            with(response, header::CONTENT_RANGE, format!("bytes */{}", track.size))
        }
        Wanted::Whole => build(&track, StatusCode::OK, body(pools, &track, 0, track.size - 1), track.size),
        Wanted::Part { first, last } => {
            let body = body(pools, &track, first, last);
            let response = build(&track, StatusCode::PARTIAL_CONTENT, body, last - first + 1);
            with(response, header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", track.size))
        }
    })
}

/// Part after part, each fetched when the reader has taken the one before.
fn body(pools: &Pools, track: &Arc<Track>, first: u64, last: u64) -> Body {
    let state = (pools.clone(), Arc::clone(track), first);
    Body::from_stream(stream::try_unfold(state, move |(pools, track, from)| async move {
        if from > last {
            return Ok(None);
        }
        match track.read(&pools, from, last).await {
            Ok(bytes) => {
                let next = from + bytes.len() as u64;
                Ok(Some((bytes, (pools, track, next))))
            }
            Err(error) => Err(io::Error::other(error.sentence.into_owned())),
        }
    }))
}

fn build(track: &Track, status: StatusCode, body: Body, length: u64) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, track.content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    with(response, header::CONTENT_LENGTH, length.to_string())
}

fn with(mut response: Response, name: header::HeaderName, value: String) -> Response {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(size: u64, bytes: &[u8]) -> Value {
        json!({ "size": size, "contentType": "audio/wav", "bytes": BASE64.encode(bytes) })
    }

    #[test]
    fn a_part_has_the_length_that_its_place_gives_it() {
        assert_eq!(read_part(&part(10, b"0123456789"), 0).unwrap().bytes, b"0123456789");
        let whole = vec![7; PART_BYTES as usize];
        assert_eq!(read_part(&part(PART_BYTES + 3, &whole), 0).unwrap().size, PART_BYTES + 3);
        assert_eq!(read_part(&part(PART_BYTES + 3, b"end"), PART_BYTES).unwrap().bytes, b"end");
        for (wrong, offset) in [
            (part(10, b"short"), 0),
            (part(3, b"long"), 0),
            (part(10, b""), 11),
            (part(0, b""), 0),
            (part(MAX_TRACK_BYTES + 1, &whole), 0),
            (json!({ "size": 3, "bytes": "%%%" }), 0),
            (json!({ "size": 3 }), 0),
            (json!(null), 0),
        ] {
            assert!(read_part(&wrong, offset).is_none(), "{wrong}");
        }
    }

    #[test]
    fn only_sounds_are_served_as_what_they_say_they_are() {
        let mut answer = part(1, b"x");
        assert_eq!(read_part(&answer, 0).unwrap().content_type, "audio/wav");
        answer["contentType"] = "text/html".into();
        assert_eq!(read_part(&answer, 0).unwrap().content_type, "application/octet-stream");
    }

    fn track(folder: &Path, id: &str, size: u64) -> Arc<Track> {
        let bytes = vec![0; size.min(PART_BYTES) as usize];
        let part = Part { size, content_type: "audio/wav", bytes };
        Arc::new(Track::new(folder, ("agent".into(), id.into()), part).unwrap())
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let key = |id: &str| ("agent".to_owned(), id.to_owned());
        let mut kept = Kept::default();
        kept.put(track(folder.path(), "a", MAX_KEPT_BYTES / 2));
        kept.put(track(folder.path(), "b", MAX_KEPT_BYTES / 2));
        assert!(kept.get(&key("a")).is_some());
        kept.put(track(folder.path(), "c", MAX_KEPT_BYTES / 4));
        let here = ["a", "b", "c"].map(|id| kept.get(&key(id)).is_some());
        assert_eq!(here, [true, false, true]);
    }

    #[test]
    fn nothing_is_left_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _track = track(folder.path(), "a", 10);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
