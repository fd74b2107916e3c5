//! The Telegram bridge as the configuration sets it up, alone or beside the hub.

use folkmoot_terminal::Fault;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_clients::Endpoint;
use folkmoot_engines::engines;
use folkmoot_engines::event::EngineId;
use folkmoot_hub::{Hub, modes};
use folkmoot_telegram::api::{ChatId, UserId};
use folkmoot_telegram::bridge::{self, BridgeError};
use folkmoot_telegram::context::{Project, Projects};
use folkmoot_telegram::lock;
use folkmoot_telegram::permission::Permission;
use folkmoot_telegram::settings::{BridgeSettings, Sessions};
use folkmoot_telegram::text::Overflow;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{self, Config, MessageOverflow, SessionMode};
use crate::runner;

mod hub;

pub use hub::code_hash;

/// How long a voice note may take to be written down.
const SPEECH_TIMEOUT: Duration = Duration::from_secs(120);

/// What the bridge needs to know; `engine` goes before the configured default.
pub fn settings(config: &Config, config_file: &Path, engine: Option<&str>) -> anyhow::Result<BridgeSettings> {
    let telegram = &config.telegram;
    let default = engine.unwrap_or(&config.engines.default);
    let data_dir = config.data_dir();
    modes::make_folder(&data_dir).map_err(|error| {
        Fault::failed(format!("the data folder `{}` cannot be made: {error}", data_dir.display()))
            .hint("choose another one with --data-dir")
    })?;
    Ok(BridgeSettings {
        token: telegram.bot_token.expose().to_owned(),
        api_base: telegram.api_base.clone(),
        permission: permission(config),
        main_chat: Some(ChatId(telegram.chat_id)).filter(|chat| chat.0 != 0),
        projects: projects(config),
        default_engine: EngineId::from(default),
        engines: configured_engines(config, default),
        edit_interval: Duration::from_secs_f64(telegram.edit_interval_s),
        join_window: Duration::from_secs_f64(telegram.join_window_s),
        overflow: match telegram.message_overflow {
            MessageOverflow::Split => Overflow::Split,
            MessageOverflow::Trim => Overflow::Trim,
        },
        sessions: match telegram.session_mode {
            SessionMode::Stateless => Sessions::Stateless,
            SessionMode::Chat => Sessions::Chat,
        },
        uploads: telegram.uploads_dir.clone().into(),
        start_folder: std::env::current_dir()?,
        lock: lock::path_for(&std::path::absolute(config_file)?),
        data_dir,
        speech: speech(config),
    })
}

pub fn permission(config: &Config) -> Permission {
    let project_chats = config.projects.values().map(|project| project.chat_id);
    let chats = project_chats.chain([config.telegram.chat_id]).filter(|chat| *chat != 0).map(ChatId).collect();
    Permission { chats, users: config.telegram.allowed_user_ids.iter().copied().map(UserId).collect() }
}

fn projects(config: &Config) -> Projects {
    config.projects.iter().map(|(alias, project)| (alias.clone(), of_project(project))).collect()
}

fn of_project(project: &config::Project) -> Project {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Project {
        path: project.folder(),
        default_engine: text(&project.default_engine),
        chat: Some(ChatId(project.chat_id)).filter(|chat| chat.0 != 0),
        worktrees: project.worktrees_dir.clone().into(),
        worktree_base: text(&project.worktree_base),
    }
}

/// The engines that the configuration names and that we know.
pub fn configured_engines(config: &Config, default: &str) -> Vec<EngineId> {
    let projects = config.projects.values().map(|project| project.default_engine.as_str());
    let mut names: Vec<&str> =
        config.engines.named.keys().map(String::as_str).chain([default]).chain(projects).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| engines::find(name).is_some()).map(EngineId::from).collect()
}

/// Whoever runs a recogniser of their own may need no key.
fn speech(config: &Config) -> Option<Endpoint> {
    let stt = &config.stt;
    let own = stt.base_url != config::Stt::default().base_url;
    if stt.api_key.is_empty() && !own {
        return None;
    }
    Endpoint::new(&stt.base_url, stt.api_key.expose(), &stt.model, SPEECH_TIMEOUT).ok()
}

pub fn fault(error: &BridgeError) -> Fault {
    let fault = Fault::failed(error.to_string());
    match error.hint() {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// Starts the bridge when there is a token. Its troubles are not the hub's: they are logged, and the hub goes on.
pub fn beside_hub(
    hub: &Hub,
    config: &Config,
    config_file: &Path,
    mut stop: watch::Receiver<bool>,
) -> Option<JoinHandle<()>> {
    if config.telegram.bot_token.is_empty() {
        return None;
    }
    let (settings, runner) = (settings(config, config_file, None), runner::inside_hub(hub, config));
    let hub: Arc<dyn folkmoot_telegram::hub::Hub> = Arc::new(hub::Deciding::start(hub));
    Some(tokio::spawn(async move {
        let stopped = async move {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let ended = match settings {
            Ok(settings) => {
                let ready = || tracing::info!("the Telegram bridge runs");
                bridge::run(settings, runner, Some(hub), stopped, ready).await.map_err(|error| fault(&error))
            }
            Err(error) => Err(Fault::failed(format!("{error:#}"))),
        };
        if let Err(Fault { sentence, hint, .. }) = ended {
            tracing::error!(hint, "the hub goes on without the Telegram bridge: {sentence}");
        }
    }))
}
