//! What plays and where it is, told to everybody who listens, as server-sent events.
//!
//! One task per voice channel that has listeners asks the agent twice a second. All listeners get the same
//! moment — this track was at this position at this time of the hub — and follow it by the clock; so they hear the same,
//! and a change reaches them all at once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use folkmoot_core::Millis;
use folkmoot_core::ids::MemberId;
use folkmoot_core::pools::Place;
use folkmoot_hub::request::{Answer, ApiError};
use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{Listening, key};
use crate::pools::{Pools, about};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// More than this many pages at once are turned away.
const MAX_LISTENERS: usize = 500;
/// An anchor that moved less than this is the same one, seen through a jittery line.
const SAME_MOMENT_MS: Millis = 80;
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A key that no longer opens ends the feed at the latest after this.
const CHECK_EVERY: Duration = Duration::from_secs(15);

/// The voice channels somebody listens to.
#[derive(Default)]
pub struct Rooms(Mutex<HashMap<Place, watch::Sender<Arc<str>>>>);

impl Rooms {
    /// Joins those who hear of a place; the first one sets the asking going.
    fn join(self: &Rooms, listening: &Arc<Listening>, place: &Place) -> Option<watch::Receiver<Arc<str>>> {
        let mut rooms = self.0.lock();
        if rooms.values().map(watch::Sender::receiver_count).sum::<usize>() >= MAX_LISTENERS {
            return None;
        }
        if let Some(room) = rooms.get(place) {
            return Some(room.subscribe());
        }
        let (room, news) = watch::channel(Arc::from(""));
        rooms.insert(place.clone(), room);
        tokio::spawn(look_after(Arc::clone(listening), place.clone()));
        Some(news)
    }

    /// Tells everybody in the room; false when nobody is left, and the room is gone with that.
    fn tell(&self, place: &Place, news: Option<Arc<str>>) -> bool {
        let mut rooms = self.0.lock();
        let Some(room) = rooms.get(place) else { return false };
        if room.receiver_count() == 0 {
            rooms.remove(place);
            return false;
        }
        if let Some(news) = news {
            room.send_replace(news);
        }
        true
    }
}

/// The stream for one page.
pub fn stream(listening: &Arc<Listening>, place: Place, key: String) -> Answer {
    let Some(news) = listening.rooms.join(listening, &place) else {
        return Err(ApiError::unavailable("too many people listen already"));
    };
    let events = events(Arc::clone(listening), place, key, news);
    let mut response: Response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // A proxy that collects the stream before passing it on would make it useless.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    Ok(response)
}

fn events(
    listening: Arc<Listening>,
    place: Place,
    key: String,
    news: watch::Receiver<Arc<str>>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let mut stop = listening.pools.hub.stop();
    let last_words = async move { drop(stop.wait_for(|stopping| *stopping).await) };
    let telling = stream::unfold((listening, place, key, news, true), |state| async move {
        let (listening, place, key, mut news, is_first) = state;
        loop {
            let ready = is_first && !news.borrow_and_update().is_empty();
            if !ready {
                match tokio::time::timeout(CHECK_EVERY, news.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return None,
                    Err(_) if key::check(&listening.pools, &place, &key).is_ok() => continue,
                    Err(_) => return None,
                }
            }
            if key::check(&listening.pools, &place, &key).is_err() {
                return None;
            }
            let text = Arc::clone(&news.borrow_and_update());
            return Some((Ok(Event::default().data(&*text)), (listening, place, key, news, false)));
        }
    });
    telling.take_until(last_words)
}

/// Asks for as long as somebody listens.
async fn look_after(listening: Arc<Listening>, place: Place) {
    let mut seen = Scene::default();
    let mut beat = tokio::time::interval(LOOK_EVERY);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let scene = look(&listening.pools, &place, &seen).await;
        let changed = !scene.is_like(&seen);
        if changed {
            seen = scene;
        }
        if !listening.rooms.tell(&place, changed.then(|| seen.text())) {
            return;
        }
    }
}

/// What there is to hear, with the moment it was true.
#[derive(Clone, Debug, Default, PartialEq)]
struct Scene {
    /// The agent and its count of changes; a look at the queue is worth it when these change.
    source: Option<(String, u64)>,
    current: Value,
    paused: bool,
    /// Where the track was …
    position: Millis,
    /// … at this time of the hub …
    at: Millis,
    /// … give or take this much.
    doubt: Millis,
    volume: u64,
    preset: String,
    queue: Value,
    /// Whether anything has been seen at all.
    is_known: bool,
}

impl Scene {
    fn silence() -> Self {
        Self { is_known: true, ..Self::default() }
    }

    fn is_like(&self, other: &Self) -> bool {
        let same = self.is_known == other.is_known && self.source == other.source && self.current == other.current;
        // Two anchors are the same when they put the beginning of the track at the same time.
        let moved = if self.paused { 0 } else { (self.at - self.position) - (other.at - other.position) };
        let still_paused = self.paused == other.paused && (!self.paused || self.position == other.position);
        same && still_paused && (self.current.is_null() || moved.abs() <= SAME_MOMENT_MS.max(self.doubt))
    }

    fn text(&self) -> Arc<str> {
        let scene = json!({
            "track": self.current,
            "paused": self.paused,
            "position": self.position,
            "at": self.at,
            "volume": self.volume,
            "preset": self.preset,
            "queue": self.queue,
        });
        scene.to_string().into()
    }
}

async fn look(pools: &Pools, place: &Place, seen: &Scene) -> Scene {
    let agent = pools.hub.with_state(|state| state.pools().lease(place).map(|lease| lease.agent.clone()));
    let Some(agent) = agent else { return Scene::silence() };
    let asked_at = pools.hub.now();
    let Some(status) = ask(pools, &agent, place, "status").await else { return Scene::silence() };
    // Half of the way there and back lies between the agent's moment and ours.
    let doubt = (pools.hub.now() - asked_at) / 2;
    let at = asked_at + doubt;
    let number = |key: &str| status[key].as_u64().unwrap_or(0);
    let source = Some((agent.clone(), number("revision")));
    let queue = if seen.source == source {
        seen.queue.clone()
    } else {
        ask(pools, &agent, place, "queue").await.map(|queue| queue["tracks"].clone()).unwrap_or_default()
    };
    Scene {
        source,
        current: status["current"].clone(),
        paused: status["paused"].as_bool().unwrap_or(false),
        position: Millis::try_from(number("position")).unwrap_or(0),
        at,
        doubt,
        volume: status["volume"].as_u64().unwrap_or(100),
        preset: status["preset"].as_str().unwrap_or_default().to_owned(),
        queue,
        is_known: true,
    }
}

async fn ask(pools: &Pools, agent: &str, place: &Place, op: &str) -> Option<Value> {
    let data = about(place, Map::new(), MemberId::NONE);
    super::tracks::ask(pools, agent, op, &data).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playing(position: Millis, at: Millis) -> Scene {
        let source = Some(("agent".to_owned(), 1));
        Scene { source, current: json!({ "id": "a" }), position, at, is_known: true, ..Scene::default() }
    }

    #[test]
    fn a_track_that_goes_on_is_no_news_and_one_that_jumps_is() {
        let seen = playing(1000, 5000);
        assert!(playing(1500, 5500).is_like(&seen));
        assert!(playing(1530, 5500).is_like(&seen), "a little jitter of the line");
        assert!(!playing(1700, 5500).is_like(&seen));
        let slow = Scene { doubt: 250, ..playing(1700, 5500) };
        assert!(slow.is_like(&seen), "an answer that took half a second says no better where the track is");
    }

    #[test]
    fn a_pause_is_news_once() {
        let seen = playing(1000, 5000);
        let paused = Scene { paused: true, ..playing(1500, 5500) };
        assert!(!paused.is_like(&seen));
        assert!(Scene { at: 9000, ..paused.clone() }.is_like(&paused));
    }

    #[test]
    fn silence_is_news_to_whoever_knows_nothing_yet() {
        assert!(!Scene::silence().is_like(&Scene::default()));
        assert!(Scene::silence().is_like(&Scene::silence()));
        assert!(!Scene::silence().is_like(&playing(0, 0)));
    }
}
