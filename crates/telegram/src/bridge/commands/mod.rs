//! The commands of the chat: one function each, and one list that finds them.

use std::future::Future;
use std::sync::Arc;

use folkmoot_engines::engines;
use folkmoot_engines::event::EngineId;

use crate::api::{Message, UserId};
use crate::bridge::Bridge;
use crate::context::Context;
use crate::ids::PromptId;
use crate::journal::{JournalError, Preference, Rows, Scope};
use crate::menu::COMMANDS;
use crate::prepare::nearest;
use crate::shared::Shared;
use crate::spot::Spot;

mod context;
mod file;
mod preferences;
mod runs;
mod topic;
mod zip;

/// A command as it was given.
pub struct Call {
    pub name: String,
    /// What follows the command.
    pub words: String,
    pub message: Message,
    pub spot: Spot,
    pub place: Scope,
    pub sender: UserId,
    /// The prompt whose message the command replies to.
    pub prompt: Option<PromptId>,
}

impl Call {
    /// The words one by one.
    fn arguments(&self) -> Vec<&str> {
        self.words.split_whitespace().collect()
    }
}

/// What is said in return; `None` when something else answers, now or later.
pub type CommandAnswer = Result<Option<String>, JournalError>;

fn said(words: impl Into<String>) -> CommandAnswer {
    Ok(Some(words.into()))
}

pub async fn run(bridge: &mut Bridge, call: Call) -> CommandAnswer {
    match call.name.as_str() {
        "cancel" => runs::cancel(bridge, &call).await,
        "status" => runs::status(bridge, &call).await,
        "steer" => runs::steer(bridge, call),
        "usage" => runs::usage(bridge).await,
        "new" => preferences::new(bridge, &call).await,
        "agent" => preferences::agent(bridge, &call).await,
        "model" => preferences::model(bridge, &call).await,
        "reasoning" => preferences::reasoning(bridge, &call).await,
        "trigger" => preferences::trigger(bridge, &call).await,
        "ctx" => context::ctx(bridge, call).await,
        "topic" => topic::topic(bridge, call),
        "file" => file::file(bridge, call),
        // In a private chat they never come here.
        "link" | "unlink" => said("say that in a private chat with me, with a code that nobody here has seen"),
        _ => said(help(bridge.shared())),
    }
}

fn help(shared: &Shared) -> String {
    let engines: Vec<String> = shared.settings.engines.iter().map(|engine| format!("/{engine}")).collect();
    let commands: Vec<String> = COMMANDS.iter().map(|(name, about)| format!("/{name}: {about}")).collect();
    format!(
        "Send a message to begin a thread with {}. Reply to an answer to go on with its thread.\n\n\
         Begin with {} to choose another engine, with /PROJECT or @BRANCH to choose where it works.\n\n{}",
        shared.settings.default_engine,
        engines.join(", "),
        commands.join("  \n")
    )
}

/// Does something that takes time, and says afterwards what came of it.
fn later(bridge: &Bridge, spot: Spot, work: impl Future<Output = Option<String>> + Send + 'static) -> CommandAnswer {
    let shared = Arc::clone(bridge.shared());
    tokio::spawn(async move {
        let Some(words) = work.await else { return };
        if let Err(error) = shared.say(spot, words).await {
            tracing::error!(%error, "the answer to a command could not be stored");
        }
    });
    Ok(None)
}

/// The project and branch that prompts of this place work in.
fn context_here(rows: &Rows<'_>, shared: &Shared, place: Scope) -> Result<Option<Context>, JournalError> {
    let bound = nearest(rows, place, &Preference::Context)?.and_then(|value| serde_json::from_str(&value).ok());
    Ok(bound.or_else(|| shared.settings.projects.of_chat(place.chat).map(|alias| Context::new(alias, None))))
}

/// The engine of that name, or what to say about it.
fn known_engine(shared: &Shared, name: &str) -> Result<EngineId, String> {
    let known = |id: &&EngineId| id.as_str().eq_ignore_ascii_case(name.trim_start_matches('/'));
    let configured = shared.settings.engines.iter().find(known).cloned();
    configured.filter(|id| engines::find(id.as_str()).is_some()).ok_or_else(|| {
        let names: Vec<&str> = shared.settings.engines.iter().map(EngineId::as_str).collect();
        format!("there is no engine `{name}`; there are {}", names.join(", "))
    })
}
