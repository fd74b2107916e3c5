//! The first words with Telegram: who the bot is, what its menu offers, and that it is ready.

use std::sync::Arc;

use folkmoot_engines::engine::{Engine, Mode};
use folkmoot_runs::availability;
use folkmoot_runs::run::Runner;
use tokio::sync::mpsc;

use super::{BridgeEvent, configured, unix_now};
use crate::journal::{Content, JournalError, OutgoingKind};
use crate::menu::{self, Offer};
use crate::retry::{self, retrying};
use crate::settings::Sessions;
use crate::shared::Shared;
use crate::spot::Spot;
use crate::text;

/// A bridge that was away only for a moment need not say again that it is ready.
const READY_AGAIN_S: i64 = 12 * 3600;

pub(super) async fn greet(shared: Arc<Shared>, runner: Runner, events: mpsc::UnboundedSender<BridgeEvent>) {
    let asked = retrying(retry::FOREVER, retry::unless_unauthorized, || shared.bot.get_me()).await;
    let me = match asked {
        Ok(me) => me,
        Err(error) => {
            let _ = events.send(BridgeEvent::Refused(error));
            return;
        }
    };
    tracing::info!(bot = me.username, "the bot is known to Telegram");
    if let Err(error) = shared.keep_me(me).await {
        tracing::warn!(%error, "who the bot is could not be stored");
    }
    let usable: Vec<&'static dyn Engine> =
        configured(&shared.settings).into_iter().filter(|engine| is_installed(*engine, &runner)).collect();
    if let Err(error) = say_ready(&shared, &usable).await {
        tracing::warn!(%error, "the bridge could not say that it is ready");
    }
    set_menu(&shared, &usable).await;
}

fn is_installed(engine: &'static dyn Engine, runner: &Runner) -> bool {
    availability::is_installed(engine, &runner.settings(&engine.id()))
}

/// Whether an engine takes words while it works; the programs may have to be asked first.
async fn any_listens(shared: &Shared, usable: &[&'static dyn Engine]) -> bool {
    for engine in usable {
        if shared.modes.of(&engine.id()).await == Mode::Warm {
            return true;
        }
    }
    false
}

async fn set_menu(shared: &Shared, usable: &[&'static dyn Engine]) {
    let settings = &shared.settings;
    let ids: Vec<_> = usable.iter().map(|engine| engine.id()).collect();
    let groups = settings.permission.chats.iter().any(|chat| chat.is_group());
    let offer = Offer {
        engines: ids.iter().map(|id| id.as_str()).collect(),
        projects: settings.projects.aliases().collect(),
        topics: groups && settings.projects.aliases().next().is_some(),
        groups,
        sessions: settings.sessions == Sessions::Chat,
        hub: shared.hub.is_some(),
        steering: any_listens(shared, usable).await,
        reasoning: usable.iter().any(|engine| engine.reasoning_key().is_some()),
    };
    let (commands, left_out) = menu::menu(&offer);
    if left_out > 0 {
        tracing::warn!(left_out, "the command menu takes 100 entries; the others work, but are not in it");
    }
    // Without it people on a phone do not find what they can say, so it is tried for as long as it takes.
    let set = retrying(retry::FOREVER, retry::unless_refused, || shared.bot.set_my_commands(&commands)).await;
    if let Err(error) = set {
        tracing::warn!(%error, "the command menu could not be set");
    }
}

/// Says what can be used here, unless the same was said not long ago.
async fn say_ready(shared: &Shared, usable: &[&'static dyn Engine]) -> Result<(), JournalError> {
    let Some(chat) = shared.settings.main_chat else { return Ok(()) };
    let words = ready_words(shared, usable);
    let spot = Spot { chat, topic: None, reply_to: None };
    shared
        .journal
        .transact(move |rows| {
            let last = rows.value("ready")?.unwrap_or_default();
            let (at, said) = last.split_once('\n').unwrap_or(("0", ""));
            let recently = at.parse::<i64>().is_ok_and(|at| unix_now() - at < READY_AGAIN_S);
            if recently && said == words {
                return Ok(());
            }
            rows.set_value("ready", &format!("{}\n{words}", unix_now()))?;
            let mut draft = spot.draft(OutgoingKind::Notice, Content::new(text::render(&words)));
            draft.silent = true;
            rows.post(&draft).map(drop)
        })
        .await
}

fn ready_words(shared: &Shared, usable: &[&'static dyn Engine]) -> String {
    let settings = &shared.settings;
    let names: Vec<String> = usable.iter().map(|engine| engine.id().to_string()).collect();
    let missing: Vec<&str> =
        settings.engines.iter().map(|id| id.as_str()).filter(|id| !names.iter().any(|name| name == id)).collect();
    let projects: Vec<&str> = settings.projects.aliases().collect();
    let mut lines = vec![
        "**Folkmoot is ready**".to_owned(),
        format!("default engine: {}", settings.default_engine),
        format!("engines: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") }),
    ];
    if !missing.is_empty() {
        lines.push(format!("not installed: {}", missing.join(", ")));
    }
    if !projects.is_empty() {
        lines.push(format!("projects: {}", projects.join(", ")));
    }
    lines.push(format!("working in: `{}`", settings.start_folder.display()));
    lines.join("  \n")
}
