//! The assistant operations. A jukebox takes its seat in a channel like any agent, but it neither hears nor speaks:
//! what needs ears, a model or a voice is answered with what is not configured.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Jukebox;
use super::ops::{Outcome, add};
use super::request::{Asker, Known, number};
use crate::Kind;
use crate::agent::Agent;
use crate::error::OpError;
use crate::link::Context;

/// Somebody asked the assistant into a channel.
#[derive(Clone, Debug, Default)]
pub struct Seat {
    owner: String,
    settings: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    #[serde(flatten)]
    asker: Asker,
    text: String,
    #[serde(deserialize_with = "number")]
    duration_ms: Option<f64>,
    #[serde(deserialize_with = "number")]
    silence_ms: Option<f64>,
    #[serde(deserialize_with = "number")]
    volume: Option<f64>,
    #[serde(deserialize_with = "number")]
    speed: Option<f64>,
    #[serde(deserialize_with = "number")]
    pitch: Option<f64>,
}

pub fn install(agent: Agent, jukebox: &Arc<Jukebox>) -> Agent {
    let agent = add(agent, jukebox, "assistantJoin", join);
    let agent = add(agent, jukebox, "assistantStart", |jukebox, context, request: Request| {
        owned(jukebox, context, &request)?;
        Err("stt-not-configured".into())
    });
    let agent = add(agent, jukebox, "assistantStop", |jukebox, context, request: Request| {
        owned(jukebox, context, &request)?;
        Ok(json!({ "ok": true, "action": "stopped" }))
    });
    let agent = add(agent, jukebox, "assistantLeave", leave);
    let agent = add(agent, jukebox, "assistantStatus", status);
    let agent = add(agent, jukebox, "assistantListen", listen);
    let agent = add(agent, jukebox, "assistantSay", say);
    let agent = add(agent, jukebox, "assistantSettings", set);
    add(agent, jukebox, "assistantSettingsGet", |jukebox, context, request: Request| {
        let (_, seat) = seated(jukebox, context, &request)?;
        Ok(json!({ "ok": true, "settings": shown(&seat) }))
    })
}

fn known(jukebox: &Jukebox, context: &Context, request: &Request) -> Result<Known, OpError> {
    request.asker.check(context, Kind::Assistant, jukebox.admin_token())
}

fn seated(jukebox: &Jukebox, context: &Context, request: &Request) -> Result<(Known, Seat), OpError> {
    let known = known(jukebox, context, request)?;
    let seat = jukebox.assistants.lock().get(&known.session).cloned().ok_or("no-session")?;
    Ok((known, seat))
}

fn owned(jukebox: &Jukebox, context: &Context, request: &Request) -> Result<(Known, Seat), OpError> {
    let (known, seat) = seated(jukebox, context, request)?;
    if known.is_admin || known.user == seat.owner { Ok((known, seat)) } else { Err("assistant-not-owner".into()) }
}

fn join(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    let known = known(jukebox, context, &request)?;
    let mut seats = jukebox.assistants.lock();
    if seats.keys().any(|taken| *taken != known.session) {
        return Err("assistant-busy".into());
    }
    let seat = seats.entry(known.session.clone());
    seat.or_insert_with(|| Seat { owner: known.user.clone(), settings: Map::new() });
    drop(seats);
    context.join(&known.session, Some(&known.user));
    Ok(json!({ "ok": true, "action": "joined" }))
}

fn leave(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    let (known, _) = owned(jukebox, context, &request)?;
    jukebox.assistants.lock().remove(&known.session);
    context.release(&known.session, "leave");
    Ok(json!({ "ok": true, "action": "left" }))
}

fn status(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    let (_, seat) = seated(jukebox, context, &request)?;
    Ok(json!({ "ok": true, "active": true, "busy": false, "listening": false, "ownerId": seat.owner }))
}

fn listen(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    owned(jukebox, context, &request)?;
    let within = |given: Option<f64>, least: f64, most: f64| given.is_none_or(|time| (least..=most).contains(&time));
    if !within(request.duration_ms, 2000.0, 30_000.0) || !within(request.silence_ms, 500.0, 5000.0) {
        return Err("bad-data: durationMs is 2000 to 30000, silenceMs 500 to 5000".into());
    }
    Err("stt-not-configured".into())
}

fn say(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    owned(jukebox, context, &request)?;
    Err(if request.text.trim().is_empty() { "assistant-empty" } else { "tts-not-configured" }.into())
}

fn set(jukebox: &Jukebox, context: &Context, request: Request) -> Outcome {
    let (known, _) = owned(jukebox, context, &request)?;
    let mut seats = jukebox.assistants.lock();
    let seat = seats.get_mut(&known.session).ok_or("no-session")?;
    for (name, value) in [("volume", request.volume), ("speed", request.speed), ("pitch", request.pitch)] {
        if let Some(value) = value {
            seat.settings.insert(name.to_owned(), value.into());
        }
    }
    Ok(json!({ "ok": true, "settings": shown(seat) }))
}

fn shown(seat: &Seat) -> Value {
    let setting = |name: &str, default: f64| seat.settings.get(name).cloned().unwrap_or_else(|| default.into());
    json!({ "volume": setting("volume", 100.0), "speed": setting("speed", 1.0), "pitch": setting("pitch", 1.0) })
}
