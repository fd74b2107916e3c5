//! What plays in one voice channel: a state machine over time and commands, without clocks or files.
//!
//! Every method gets the time and first catches up with it: tracks that have ended since are gone, the next began
//! exactly where its predecessor ended. So it does not matter when or how often somebody looks.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::track::Track;
use crate::error::OpError;

pub type Millis = u64;

pub const DEFAULT_VOLUME: u32 = 100;
pub const MAX_VOLUME: u32 = 150;
pub const PRESETS: [&str; 7] = ["flat", "bassboost", "nightcore", "vaporwave", "8d", "treble", "pop"];
/// After a stop the agent stays this long, unless the request says otherwise.
pub const STOP_GRACE_MS: Millis = 30_000;
/// Nobody stays in an empty channel for ever, whatever a request says.
pub const MAX_STOP_GRACE_MS: Millis = 300_000;
/// When the last track has ended, the agent waits this long for another.
pub const IDLE_GRACE_MS: Millis = 300_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub max_queue: usize,
    pub max_track_minutes: f64,
    pub max_queue_minutes: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_queue: 100, max_track_minutes: 20.0, max_queue_minutes: 120.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everybody may do everything.
    Open,
    /// The owner alone decides.
    Dj,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Dj => "dj",
        }
    }

    pub fn read(text: &str) -> Self {
        if text.eq_ignore_ascii_case("dj") { Self::Dj } else { Self::Open }
    }
}

/// A track in the queue, and who wanted it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub track: Arc<Track>,
    pub requester: Value,
}

/// The track that plays or is paused.
#[derive(Clone, Debug, PartialEq)]
struct Current {
    entry: Entry,
    at: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// It would have begun at this time, had it never been paused.
    Playing {
        since: Millis,
    },
    Paused {
        position: Millis,
    },
}

/// The session ends at `at` unless somebody wants to hear something before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Leaving {
    at: Millis,
    /// Somebody stopped it, rather than nothing being left.
    stopped: bool,
}

/// Who asks, as far as a player cares.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    pub user: &'a str,
    pub is_admin: bool,
}

/// What a command did: its name in the protocol, and when the agent will leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    pub action: &'static str,
    pub leaves_in: Option<Millis>,
}

impl Done {
    const fn new(action: &'static str) -> Self {
        Self { action, leaves_in: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    owner: String,
    mode: Mode,
    /// Whether `dj` binds the controls to the owner (`controlMode` `owner`), or only adding tracks (`voice`).
    pub owner_controls: bool,
    pub stop_grace: Millis,
    volume: u32,
    preset: &'static str,
    current: Option<Current>,
    queue: VecDeque<Entry>,
    leaving: Option<Leaving>,
    /// Grows with everything that listeners should hear of.
    revision: u64,
}

impl Player {
    pub fn new(owner: &str, mode: Mode, volume: u32) -> Self {
        Self {
            owner: owner.to_owned(),
            mode,
            owner_controls: true,
            stop_grace: STOP_GRACE_MS,
            volume: volume.min(MAX_VOLUME),
            preset: PRESETS[0],
            current: None,
            queue: VecDeque::new(),
            leaving: None,
            revision: 0,
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn volume(&self) -> u32 {
        self.volume
    }

    pub fn preset(&self) -> &'static str {
        self.preset
    }

    pub fn current(&self) -> Option<&Entry> {
        self.current.as_ref().map(|current| &current.entry)
    }

    pub fn queue(&self) -> &VecDeque<Entry> {
        &self.queue
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn is_playing(&self) -> bool {
        matches!(&self.current, Some(Current { at: Place::Playing { .. }, .. }))
    }

    pub fn is_paused(&self) -> bool {
        matches!(&self.current, Some(Current { at: Place::Paused { .. }, .. }))
    }

    /// How far the current track is.
    pub fn position(&self, now: Millis) -> Option<Millis> {
        let current = self.current.as_ref()?;
        Some(match current.at {
            Place::Playing { since } => now.saturating_sub(since).min(current.entry.track.length_ms),
            Place::Paused { position } => position,
        })
    }

    /// When something happens by itself.
    pub fn deadline(&self) -> Option<Millis> {
        let end = self.current.as_ref().and_then(|current| match current.at {
            Place::Playing { since } => Some(since + current.entry.track.length_ms),
            Place::Paused { .. } => None,
        });
        end.or(self.leaving.map(|leaving| leaving.at))
    }

    /// Whether the session's time is up.
    pub fn is_over(&self, now: Millis) -> bool {
        self.leaving.is_some_and(|leaving| leaving.at <= now)
    }

    /// Catches up with the time.
    pub fn advance(&mut self, now: Millis) {
        while let Some(Current { entry, at: Place::Playing { since } }) = &self.current {
            let end = since + entry.track.length_ms;
            if end > now {
                return;
            }
            self.begin_next(end);
            if self.current.is_none() {
                self.leaving = Some(Leaving { at: end + IDLE_GRACE_MS, stopped: false });
            }
        }
    }

    fn begin_next(&mut self, now: Millis) {
        let next = self.queue.pop_front();
        self.current = next.map(|entry| Current { entry, at: Place::Playing { since: now } });
        self.touch();
    }

    fn touch(&mut self) {
        self.revision += 1;
    }

    /// Adds a track, which begins at once when nothing else is there.
    pub fn play(&mut self, actor: Actor<'_>, entry: Entry, limits: &Limits, now: Millis) -> Result<Done, OpError> {
        self.advance(now);
        if self.mode == Mode::Dj {
            self.check_owner(actor)?;
        }
        self.check_limits(&entry.track, limits, now)?;
        self.leaving = None;
        self.queue.push_back(entry);
        self.touch();
        if self.current.is_some() {
            return Ok(Done::new("queued"));
        }
        self.begin_next(now);
        Ok(Done::new("playing"))
    }

    fn check_limits(&self, track: &Track, limits: &Limits, now: Millis) -> Result<(), OpError> {
        let minutes = |length: Millis| length as f64 / 60_000.0;
        if minutes(track.length_ms) > limits.max_track_minutes {
            return Err("track-too-long".into());
        }
        if self.current.is_some() && self.queue.len() >= limits.max_queue {
            return Err("queue-full".into());
        }
        let playing = self.current().map_or(0, |entry| entry.track.length_ms);
        let rest = playing - self.position(now).unwrap_or(0);
        let waiting: Millis = self.queue.iter().map(|entry| entry.track.length_ms).sum();
        if self.current.is_some() && minutes(rest + waiting + track.length_ms) > limits.max_queue_minutes {
            return Err("queue-too-long".into());
        }
        Ok(())
    }

    pub fn pause(&mut self, actor: Actor<'_>, now: Millis) -> Result<Done, OpError> {
        self.control(actor, now)?;
        if let Some(done) = self.stopping(now) {
            return Ok(done);
        }
        let position = self.position(now);
        let Some(current) = &mut self.current else { return Ok(Done::new("nothing-playing")) };
        match (current.at, position) {
            (Place::Playing { .. }, Some(position)) => current.at = Place::Paused { position },
            _ => return Ok(Done::new("already-paused")),
        }
        self.touch();
        Ok(Done::new("paused"))
    }

    pub fn resume(&mut self, actor: Actor<'_>, now: Millis) -> Result<Done, OpError> {
        self.control(actor, now)?;
        if let Some(done) = self.stopping(now) {
            return Ok(done);
        }
        let Some(current) = &mut self.current else { return Ok(Done::new("nothing-playing")) };
        let Place::Paused { position } = current.at else { return Ok(Done::new("already-playing")) };
        current.at = Place::Playing { since: now.saturating_sub(position) };
        self.touch();
        Ok(Done::new("resumed"))
    }

    pub fn skip(&mut self, actor: Actor<'_>, now: Millis) -> Result<Done, OpError> {
        self.control(actor, now)?;
        if let Some(done) = self.stopping(now) {
            return Ok(done);
        }
        if self.current.is_none() {
            return Ok(Done::new("nothing-to-skip"));
        }
        if self.queue.is_empty() {
            return Ok(self.fall_silent(now));
        }
        self.begin_next(now);
        Ok(Done::new("skipped"))
    }

    /// Silence now; the agent leaves after the grace, at once when that is zero.
    pub fn stop(&mut self, actor: Actor<'_>, now: Millis) -> Result<Done, OpError> {
        self.control(actor, now)?;
        Ok(self.stopping(now).unwrap_or_else(|| self.fall_silent(now)))
    }

    fn fall_silent(&mut self, now: Millis) -> Done {
        self.queue.clear();
        self.current = None;
        let grace = self.stop_grace.min(MAX_STOP_GRACE_MS);
        self.leaving = Some(Leaving { at: now + grace, stopped: true });
        self.touch();
        Done { action: "stopped", leaves_in: (grace > 0).then_some(grace) }
    }

    fn stopping(&self, now: Millis) -> Option<Done> {
        let leaving = self.leaving.filter(|leaving| leaving.stopped)?;
        Some(Done { action: "stopping", leaves_in: Some(leaving.at.saturating_sub(now)) })
    }

    pub fn set_volume(&mut self, actor: Actor<'_>, volume: Option<f64>, now: Millis) -> Result<u32, OpError> {
        self.control(actor, now)?;
        let volume = volume.filter(|volume| (0.0..=f64::from(MAX_VOLUME)).contains(volume)).ok_or("bad-volume")?;
        self.volume = volume.round() as u32;
        self.touch();
        Ok(self.volume)
    }

    pub fn set_preset(&mut self, actor: Actor<'_>, preset: &str, now: Millis) -> Result<&'static str, OpError> {
        self.control(actor, now)?;
        let known = PRESETS.iter().find(|known| known.eq_ignore_ascii_case(preset)).ok_or("bad-preset")?;
        self.preset = known;
        self.touch();
        Ok(known)
    }

    /// Whoever makes the session a DJ's becomes its owner, unless it is somebody else's.
    pub fn set_mode(&mut self, actor: Actor<'_>, mode: Mode, now: Millis) -> Result<(), OpError> {
        self.advance(now);
        if mode == Mode::Dj || self.mode == Mode::Dj {
            self.check_owner(actor)?;
        }
        if mode == Mode::Dj {
            actor.user.clone_into(&mut self.owner);
        }
        self.mode = mode;
        self.touch();
        Ok(())
    }

    /// Places count from 0, as `tracks` of the queue lists them.
    pub fn remove(&mut self, actor: Actor<'_>, index: Option<usize>, now: Millis) -> Result<Entry, OpError> {
        self.control(actor, now)?;
        let removed = index.and_then(|index| self.queue.remove(index)).ok_or("bad-index")?;
        self.touch();
        Ok(removed)
    }

    pub fn move_to(
        &mut self,
        actor: Actor<'_>,
        from: Option<usize>,
        to: Option<usize>,
        now: Millis,
    ) -> Result<(), OpError> {
        self.control(actor, now)?;
        let (from, to) = self.places(from, to)?;
        if let Some(entry) = self.queue.remove(from) {
            self.queue.insert(to, entry);
        }
        self.touch();
        Ok(())
    }

    pub fn swap(&mut self, actor: Actor<'_>, a: Option<usize>, b: Option<usize>, now: Millis) -> Result<(), OpError> {
        self.control(actor, now)?;
        let (a, b) = self.places(a, b)?;
        self.queue.swap(a, b);
        self.touch();
        Ok(())
    }

    fn places(&self, one: Option<usize>, other: Option<usize>) -> Result<(usize, usize), OpError> {
        let place = |index: Option<usize>| index.filter(|index| *index < self.queue.len()).ok_or("bad-index");
        Ok((place(one)?, place(other)?))
    }

    pub fn shuffle(&mut self, actor: Actor<'_>, chance: &mut impl rand::Rng, now: Millis) -> Result<(), OpError> {
        use rand::seq::SliceRandom;
        self.control(actor, now)?;
        self.queue.make_contiguous().shuffle(chance);
        self.touch();
        Ok(())
    }

    /// Empties the queue; what plays goes on.
    pub fn clear(&mut self, actor: Actor<'_>, now: Millis) -> Result<(), OpError> {
        self.control(actor, now)?;
        self.queue.clear();
        self.touch();
        Ok(())
    }

    fn control(&mut self, actor: Actor<'_>, now: Millis) -> Result<(), OpError> {
        self.advance(now);
        if self.may_control(actor) { Ok(()) } else { Err("not-owner".into()) }
    }

    pub fn may_control(&self, actor: Actor<'_>) -> bool {
        self.mode == Mode::Open || !self.owner_controls || self.is_owner(actor)
    }

    pub fn is_owner(&self, actor: Actor<'_>) -> bool {
        actor.is_admin || actor.user == self.owner
    }

    fn check_owner(&self, actor: Actor<'_>) -> Result<(), OpError> {
        if self.is_owner(actor) { Ok(()) } else { Err("not-owner".into()) }
    }
}

#[cfg(test)]
#[path = "player_tests.rs"]
pub(super) mod tests;
