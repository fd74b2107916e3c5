//! The operations of the protocol on the jukebox: read the request, ask the player, say what became of it.

use std::sync::Arc;

use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::player::{Actor, DEFAULT_VOLUME, Done, Entry, MAX_VOLUME, Mode, Player};
use super::request::{AskedLimits, Asker, Control, Find, Known, Part, place};
use super::{Jukebox, Players, assistant, library};
use crate::Kind;
use crate::agent::Agent;
use crate::error::OpError;
use crate::link::Context;

pub type Outcome = Result<Value, OpError>;

/// How much of a track one answer carries: with its envelope and as base64 it fits into a frame.
pub const PART_BYTES: usize = 45 * 1024;
/// What the tracks of a queue may take of the 64 KiB of a frame.
const QUEUE_BYTES: usize = 56 * 1024;
/// Whoever wanted a track is shown with it, unless that would be a novel.
const REQUESTER_BYTES: usize = 256;
const MAX_FOUND: usize = 25;
const FOUND: usize = 10;

/// Adds every operation of the jukebox to an agent.
pub fn install(agent: Agent, jukebox: &Arc<Jukebox>) -> Agent {
    let agent = add(agent, jukebox, "play", play);
    let agent = add(agent, jukebox, "search", search);
    let agent = add(agent, jukebox, "discordSend", discord_send);
    let agent = CONTROLS.iter().fold(agent, |agent, (name, control)| control_op(agent, jukebox, name, *control));
    let shared = Arc::clone(jukebox);
    let agent = agent.op("track", move |_, part: Part| bytes(Arc::clone(&shared), part));
    assistant::install(agent, jukebox)
}

/// An operation that never waits.
pub fn add<Q: DeserializeOwned + Send + 'static>(
    agent: Agent,
    jukebox: &Arc<Jukebox>,
    name: &'static str,
    work: fn(&Jukebox, &Context, Q) -> Outcome,
) -> Agent {
    let jukebox = Arc::clone(jukebox);
    agent.op(name, move |context: Context, request: Q| {
        let jukebox = Arc::clone(&jukebox);
        async move { work(&jukebox, &context, request) }
    })
}

fn play(jukebox: &Jukebox, context: &Context, find: Find) -> Outcome {
    let known = find.asker.check(context, Kind::Music, jukebox.admin_token())?;
    let outcome = jukebox.players.lock().play(jukebox, &known, find);
    match &outcome {
        Ok(answer) if !answer["track"].is_null() => context.join(&known.session, Some(&known.user)),
        // Leased for nothing: without this, the agent would be kept from others until the lease is found idle.
        _ if !context.holds(&known.session) => context.decline(&known.session, "empty-channel"),
        _ => {}
    }
    jukebox.changed.notify_one();
    outcome
}

impl Players {
    fn play(&mut self, jukebox: &Jukebox, known: &Known, find: Find) -> Outcome {
        let present = self.0.get(&known.session);
        let Some(track) = jukebox.library().search(&find.query, 1).pop() else {
            let mode = present.map_or(find.mode(), Player::mode);
            return Ok(json!({ "track": null, "action": "none", "mode": mode.as_str() }));
        };
        let own = jukebox.settings.limits;
        let limits = find.limits.map_or(own, |asked: AskedLimits| asked.over(own));
        // Only a track that may play makes a session, or changes one.
        let mut player = present.cloned().unwrap_or_else(|| begin(&find, &known.user));
        apply_wishes(&mut player, &find.asker, known.actor());
        let entry = Entry { track: Arc::clone(&track), requester: find.requester };
        let done = player.play(known.actor(), entry, &limits, jukebox.now())?;
        let answer = json!({
            "track": track.shown(),
            "action": done.action,
            "mode": player.mode().as_str(),
            "ownerId": player.owner(),
        });
        self.0.insert(known.session.clone(), player);
        Ok(answer)
    }
}

fn begin(find: &Find, owner: &str) -> Player {
    let volume = find.default_volume.filter(|volume| (0.0..=f64::from(MAX_VOLUME)).contains(volume));
    Player::new(owner, find.mode(), volume.map_or(DEFAULT_VOLUME, |volume| volume.round() as u32))
}

/// What a request says beside its operation. Who may control is the owner's to say, how to leave is of whoever may control.
fn apply_wishes(player: &mut Player, asker: &Asker, actor: Actor<'_>) {
    if let Some(mode) = asker.control_mode.as_ref().filter(|_| player.is_owner(actor)) {
        player.owner_controls = !mode.eq_ignore_ascii_case("voice");
    }
    if let Some(grace) = asker.stop_grace_ms.filter(|grace| *grace >= 0.0 && player.may_control(actor)) {
        player.stop_grace = grace as u64;
    }
}

fn search(jukebox: &Jukebox, context: &Context, find: Find) -> Outcome {
    find.asker.check(context, Kind::Music, jukebox.admin_token())?;
    let limit = find.limit.map_or(FOUND, |limit| (limit as usize).clamp(1, MAX_FOUND));
    let found = jukebox.library().search(&find.query, limit);
    Ok(json!({ "tracks": found.iter().map(|track| track.shown()).collect::<Vec<_>>() }))
}

/// There is no Discord behind this agent; what is missing is named in the order in which a runner does.
fn discord_send(_: &Jukebox, _: &Context, request: Value) -> Outcome {
    let given = |key: &str| request[key].as_str().is_some_and(|text| !text.is_empty());
    if !given("guildId") {
        return Err("missing-guild".into());
    }
    if !given("textChannelId") {
        return Err("missing-channel".into());
    }
    Err("discord-not-configured".into())
}

/// Something done to a session that exists.
type ControlOf = fn(&mut Player, &Moment<'_>) -> Outcome;

struct Moment<'a> {
    control: &'a Control,
    actor: Actor<'a>,
    now: u64,
}

const CONTROLS: [(&str, ControlOf); 14] = [
    ("status", |player, moment| Ok(status(player, moment.now))),
    ("queue", |player, moment| Ok(queue(player, moment.now))),
    ("pause", |player, moment| player.pause(moment.actor, moment.now).map(shown)),
    ("resume", |player, moment| player.resume(moment.actor, moment.now).map(shown)),
    ("skip", |player, moment| player.skip(moment.actor, moment.now).map(shown)),
    ("stop", |player, moment| player.stop(moment.actor, moment.now).map(shown)),
    ("volume", |player, moment| {
        let volume = player.set_volume(moment.actor, moment.control.volume, moment.now)?;
        Ok(json!({ "ok": true, "action": "volume-set", "volume": volume }))
    }),
    ("remove", |player, moment| {
        let removed = player.remove(moment.actor, place(moment.control.index), moment.now)?;
        Ok(json!({ "ok": true, "action": "removed", "track": removed.track.shown() }))
    }),
    ("move", |player, moment| {
        let (from, to) = (place(moment.control.from), place(moment.control.to));
        player.move_to(moment.actor, from, to, moment.now)?;
        Ok(json!({ "ok": true, "action": "moved" }))
    }),
    ("swap", |player, moment| {
        player.swap(moment.actor, place(moment.control.a), place(moment.control.b), moment.now)?;
        Ok(json!({ "ok": true, "action": "swapped" }))
    }),
    ("shuffle", |player, moment| {
        player.shuffle(moment.actor, &mut rand::rng(), moment.now)?;
        Ok(json!({ "ok": true, "action": "shuffled" }))
    }),
    ("clear", |player, moment| {
        player.clear(moment.actor, moment.now)?;
        Ok(json!({ "ok": true, "action": "cleared" }))
    }),
    ("preset", |player, moment| {
        let preset = moment.control.preset.as_deref().unwrap_or_default();
        let preset = player.set_preset(moment.actor, preset, moment.now)?;
        Ok(json!({ "ok": true, "preset": preset }))
    }),
    ("setMode", |player, moment| {
        let mode = Mode::read(moment.control.mode.as_deref().unwrap_or_default());
        player.set_mode(moment.actor, mode, moment.now)?;
        let (mode, owner) = (player.mode().as_str(), player.owner());
        Ok(json!({ "ok": true, "action": "mode-set", "mode": mode, "ownerId": owner }))
    }),
];

fn control_op(agent: Agent, jukebox: &Arc<Jukebox>, name: &'static str, work: ControlOf) -> Agent {
    let jukebox = Arc::clone(jukebox);
    agent.op(name, move |context: Context, control: Control| {
        let jukebox = Arc::clone(&jukebox);
        async move { on_session(&jukebox, &context, &control, work) }
    })
}

fn on_session(jukebox: &Jukebox, context: &Context, control: &Control, work: ControlOf) -> Outcome {
    let known = control.asker.check(context, Kind::Music, jukebox.admin_token())?;
    let now = jukebox.now();
    let mut players = jukebox.players.lock();
    let player = players.0.get_mut(&known.session).ok_or("no-session")?;
    player.advance(now);
    apply_wishes(player, &control.asker, known.actor());
    let outcome = work(player, &Moment { control, actor: known.actor(), now })?;
    if player.is_over(now) {
        players.0.remove(&known.session);
        // Before the answer: whoever sees the answer may lease the agent again at once.
        context.release(&known.session, "stop");
    }
    drop(players);
    jukebox.changed.notify_one();
    Ok(outcome)
}

fn shown(done: Done) -> Value {
    let mut shown = json!({ "ok": true, "action": done.action });
    if let Some(time) = done.leaves_in {
        shown["disconnectInMs"] = time.into();
    }
    shown
}

/// The shape of the facts, and beside it what listeners need: where the track is, and whether anything changed.
fn status(player: &Player, now: u64) -> Value {
    json!({
        "playing": player.is_playing(),
        "paused": player.is_paused(),
        "mode": player.mode().as_str(),
        "ownerId": player.owner(),
        "current": player.current().map(entry),
        "queueLength": player.queue().len(),
        "volume": player.volume(),
        "preset": player.preset(),
        "position": player.position(now),
        "revision": player.revision(),
    })
}

/// As much of the queue as fits into a frame; `queueLength` tells how long it is.
fn queue(player: &Player, now: u64) -> Value {
    let mut room = QUEUE_BYTES;
    let fits = |shown: &Value| {
        let length = shown.to_string().len();
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    json!({
        "current": player.current().map(entry),
        "tracks": player.queue().iter().map(entry).take_while(fits).collect::<Vec<_>>(),
        "queueLength": player.queue().len(),
        "mode": player.mode().as_str(),
        "ownerId": player.owner(),
        "position": player.position(now),
        "revision": player.revision(),
    })
}

fn entry(entry: &Entry) -> Value {
    let mut shown = entry.track.shown();
    if !entry.requester.is_null() && entry.requester.to_string().len() <= REQUESTER_BYTES {
        shown["requester"] = entry.requester.clone();
    }
    shown
}

async fn bytes(jukebox: Arc<Jukebox>, part: Part) -> Outcome {
    let track = jukebox.library().get(&part.id).cloned().ok_or("Track not found")?;
    let (size, content_type) = (track.size, track.content_type);
    let reading = tokio::task::spawn_blocking(move || library::read_part(&track, part.offset, PART_BYTES));
    let bytes = reading.await.ok().flatten().ok_or("Track not found")?;
    Ok(json!({
        "id": part.id,
        "offset": part.offset,
        "size": size,
        "contentType": content_type,
        "bytes": BASE64.encode(&bytes),
    }))
}
