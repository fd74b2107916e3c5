//! `/new`, `/agent`, `/model`, `/reasoning`, `/trigger`: what holds for a chat or a topic.

use folkmoot_engines::engines;
use folkmoot_engines::event::EngineId;
use folkmoot_engines::words;

use super::{Call, CommandAnswer, context_here, known_engine, said};
use crate::bridge::Bridge;
use crate::journal::{JournalError, Preference, Scope};
use crate::prepare::nearest;
use crate::settings::Sessions;

const LEVELS: [&str; 6] = ["minimal", "low", "medium", "high", "xhigh", "max"];

/// Forgets the thread that would go on here.
pub async fn new(bridge: &Bridge, call: &Call) -> CommandAnswer {
    let scope = call.place.session(call.sender);
    let forgotten = bridge.shared().journal.transact(move |rows| rows.forget_sessions(scope)).await?;
    said(match (bridge.shared().settings.sessions, forgotten) {
        (Sessions::Stateless, _) => {
            "every message begins a new thread here; reply to an answer to go on with its thread"
        }
        (Sessions::Chat, 0) => "there was no thread to go on with; the next message begins one",
        (Sessions::Chat, _) => "the next message begins a new thread",
    })
}

fn here(place: Scope) -> &'static str {
    if place.topic.is_some() { "this topic" } else { "this chat" }
}

async fn prefer(
    bridge: &Bridge,
    place: Scope,
    preference: Preference,
    value: Option<String>,
) -> Result<(), JournalError> {
    let store = move |rows: &mut crate::journal::Rows<'_>| rows.prefer(place, &preference, value.as_deref());
    bridge.shared().journal.transact(store).await
}

async fn preferred(bridge: &Bridge, place: Scope, preference: Preference) -> Result<Option<String>, JournalError> {
    bridge.shared().journal.transact(move |rows| nearest(rows, place, &preference)).await
}

pub async fn agent(bridge: &Bridge, call: &Call) -> CommandAnswer {
    let place = here(call.place);
    match call.arguments()[..] {
        [] => {
            let engine = engine_here(bridge, call).await?;
            said(format!(
                "engine of {place}: **{engine}**\n\n`/agent set ENGINE` changes it, `/agent clear` forgets that"
            ))
        }
        ["set", name] | [name] if name != "clear" && name != "set" => match known_engine(bridge.shared(), name) {
            Ok(engine) => {
                prefer(bridge, call.place, Preference::Engine, Some(engine.to_string())).await?;
                said(format!("new threads in {place} use **{engine}**"))
            }
            Err(words) => said(words),
        },
        ["clear"] => {
            prefer(bridge, call.place, Preference::Engine, None).await?;
            said(format!("{place} uses **{}** again", engine_here(bridge, call).await?))
        }
        _ => said("use `/agent`, `/agent set ENGINE` or `/agent clear`"),
    }
}

/// The engine of a new thread in this place.
async fn engine_here(bridge: &Bridge, call: &Call) -> Result<EngineId, JournalError> {
    let (shared, place) = (std::sync::Arc::clone(bridge.shared()), call.place);
    let read = move |rows: &mut crate::journal::Rows<'_>| {
        if let Some(engine) = nearest(rows, place, &Preference::Engine)? {
            return Ok(EngineId::from(engine));
        }
        let context = context_here(rows, &shared, place)?;
        let project = context.and_then(|context| shared.settings.projects.find(&context.project));
        let engine = project.and_then(|(_, project)| project.default_engine.as_deref().map(EngineId::from));
        Ok(engine.unwrap_or_else(|| shared.settings.default_engine.clone()))
    };
    bridge.shared().journal.transact(read).await
}

/// What `/model` and `/reasoning` have in common.
struct Dial {
    command: &'static str,
    word: &'static str,
    preference: fn(String) -> Preference,
    /// Refuses a value, with words.
    check: fn(&EngineId, &str) -> Option<String>,
}

pub async fn model(bridge: &Bridge, call: &Call) -> CommandAnswer {
    let check = |_: &EngineId, model: &str| words::model(model).err().map(|error| error.whole());
    turn(bridge, call, &Dial { command: "model", word: "MODEL", preference: Preference::Model, check }).await
}

pub async fn reasoning(bridge: &Bridge, call: &Call) -> CommandAnswer {
    let check = |engine: &EngineId, level: &str| {
        let can = engines::find(engine.as_str()).is_some_and(|engine| engine.reasoning_key().is_some());
        match (can, LEVELS.contains(&level)) {
            (false, _) => Some(format!("{engine} cannot be told how long to think")),
            (true, false) => Some(format!("the levels are {}", LEVELS.join(", "))),
            (true, true) => None,
        }
    };
    turn(bridge, call, &Dial { command: "reasoning", word: "LEVEL", preference: Preference::Reasoning, check }).await
}

async fn turn(bridge: &Bridge, call: &Call, dial: &Dial) -> CommandAnswer {
    let Dial { command, word, preference, check } = dial;
    let arguments = call.arguments();
    let (verb, name, value) = match arguments[..] {
        [] => ("show", None, None),
        ["clear"] => ("clear", None, None),
        ["clear", name] => ("clear", Some(name), None),
        ["set", value] => ("set", None, Some(value)),
        ["set", name, value] => ("set", Some(name), Some(value)),
        _ => {
            return said(format!("use `/{command}`, `/{command} set [ENGINE] {word}` or `/{command} clear [ENGINE]`"));
        }
    };
    let engine = match name.map(|name| known_engine(bridge.shared(), name)) {
        Some(Ok(engine)) => engine,
        Some(Err(words)) => return said(words),
        None => engine_here(bridge, call).await?,
    };
    let key = preference(engine.to_string());
    match (verb, value) {
        ("set", Some(value)) => {
            if let Some(words) = check(&engine, value) {
                return said(words);
            }
            prefer(bridge, call.place, key, Some(value.to_owned())).await?;
            said(format!("{engine} in {}: {command} **{value}**", here(call.place)))
        }
        ("clear", _) => {
            prefer(bridge, call.place, key, None).await?;
            said(format!("{engine} in {}: its own {command} again", here(call.place)))
        }
        _ => {
            let value = preferred(bridge, call.place, key).await?;
            let value = value.unwrap_or_else(|| "its own choice".to_owned());
            said(format!("{engine} in {}: {command} **{value}**", here(call.place)))
        }
    }
}

/// What makes the bot listen in a group. A topic can want it otherwise than its chat.
pub async fn trigger(bridge: &Bridge, call: &Call) -> CommandAnswer {
    if !call.place.chat.is_group() {
        return said("in a private chat every message counts");
    }
    match call.arguments()[..] {
        [] => {
            let value = preferred(bridge, call.place, Preference::Trigger).await?;
            said(format!("in {} the bot answers: **{}**", here(call.place), value.as_deref().unwrap_or("all")))
        }
        [value @ ("all" | "mentions")] => {
            prefer(bridge, call.place, Preference::Trigger, Some(value.to_owned())).await?;
            said(match value {
                "all" => format!("every message in {} counts", here(call.place)),
                _ => format!("in {} only mentions, replies to the bot and commands count", here(call.place)),
            })
        }
        ["clear"] => {
            prefer(bridge, call.place, Preference::Trigger, None).await?;
            said(format!("{} has no wish of its own any more", here(call.place)))
        }
        _ => said("use `/trigger`, `/trigger all`, `/trigger mentions` or `/trigger clear`"),
    }
}
