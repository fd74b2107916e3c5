//! `moot bot`: the bot that joins a Snek server, or a hub through Lark.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use folkmoot_bot::life;
use folkmoot_bot::settings::{Protocol, seconds};
use folkmoot_bot::status::Snapshot;
use folkmoot_bot::{Bot, BotError};
use folkmoot_clients::Endpoint;
use folkmoot_hub::modes;
use regex::Regex;
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Fault, Settings, data_dir_override, output};
use crate::config::Config;
use crate::{log, memory, serve};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It reads `[bot]` and `[llm]` of the configuration. The least it needs:

  [bot]
  url = \"ws://127.0.0.1:8484/rpc.ws\"
  username = \"codebot\"
  password = \"lr_…\"           # a password, or the API key of an agent of a hub
  [llm]
  base_url = \"https://api.openai.com/v1\"
  api_key = \"…\"
  model = \"gpt-4o-mini\"

It answers direct messages, mentions, and whatever `bot.triggers` match; `@codebot join` in a channel makes
it answer everything there until `@codebot leave`. `ping` is answered with `pong`.

Examples:
  moot bot --config bot.toml
  MOOT_BOT__PASSWORD_FILE=/run/secrets/bot moot bot
  MOOT_BOT__STATUS_LISTEN=127.0.0.1:8490 moot bot    then: curl http://127.0.0.1:8490/status

It stops on Ctrl-C or SIGTERM, exit code 0.")]
pub struct Args {
    /// Folder for the bot's database.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let loaded = settings.load_with(data_dir_override(args.data_dir).into_iter().collect())?;
    for note in &loaded.notes {
        output::note(&format!("note: {note}"));
    }
    let config = loaded.config;
    let settings = bot_settings(&config)?;
    log::init(&config);
    memory::give_back();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(follow(&config, settings));
    // Blocking work that was given up must not keep the process.
    runtime.shutdown_background();
    ended?;
    Ok(ExitCode::SUCCESS)
}

async fn follow(config: &Config, settings: folkmoot_bot::Settings) -> anyhow::Result<()> {
    let llm = &config.llm;
    let patience = seconds(config.bot.limits.request_timeout_s);
    let endpoint = Endpoint::new(&llm.base_url, llm.api_key.expose(), &llm.model, patience)?
        .connect_timeout(seconds(config.bot.limits.http_connect_timeout_s))?;
    let bot = Bot::new(settings, endpoint).map_err(explained)?;
    let stop = serve::asked_to_stop();
    serve_status(&config.bot.status_listen, bot.status()).await?;
    bot.run(stop).await.map_err(explained)
}

/// The configuration as the bot takes it; what it cannot do without is asked for by name.
fn bot_settings(config: &Config) -> anyhow::Result<folkmoot_bot::Settings> {
    let bot = &config.bot;
    let missing =
        |key: &str, hint: &str| Fault::usage(format!("`{key}` is not set, so the bot cannot log in")).hint(hint);
    if bot.protocol == Protocol::Snek && bot.username.is_empty() {
        return Err(missing("bot.username", "`moot bot --help` shows a configuration").into());
    }
    if bot.password.is_empty() {
        return Err(missing("bot.password", "set it, or MOOT_BOT__PASSWORD_FILE to read it from a file").into());
    }
    let database = bot.database_path(config.data_dir());
    if let Some(folder) = database.parent() {
        modes::make_folder(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    Ok(folkmoot_bot::Settings {
        protocol: bot.protocol,
        url: Url::parse(&bot.url)?,
        username: bot.username.clone(),
        password: bot.password.expose().to_owned(),
        triggers: bot.triggers.iter().map(|trigger| Regex::new(trigger)).collect::<Result<_, _>>()?,
        system_prompt: bot.system_prompt.clone(),
        image_format: bot.image_format,
        database,
        limits: bot.limits.clone(),
    })
}

fn explained(error: BotError) -> anyhow::Error {
    let sentence = error.to_string();
    match error {
        BotError::Authentication(_) => {
            Fault::failed(sentence).hint("look at `bot.username`, `bot.password` and `bot.url`").into()
        }
        BotError::Database(_) => {
            Fault::failed(sentence).hint("look at `bot.database` and the rights of its folder").into()
        }
        other => other.into(),
    }
}

/// A small page for whoever watches the bot, on loopback and only when asked for.
async fn serve_status(listen: &str, status: watch::Receiver<Snapshot>) -> anyhow::Result<()> {
    if listen.is_empty() {
        return Ok(());
    }
    let taken = || Fault::failed(format!("the status page cannot listen on {listen}"));
    let listener = TcpListener::bind(listen).await.map_err(|error| taken().hint(error.to_string()))?;
    tracing::info!(address = %listener.local_addr()?, "status page");
    let pages = Router::new()
        .route("/status", get(async |State(status): State<watch::Receiver<Snapshot>>| Json(status.borrow().clone())))
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(ready))
        .with_state(status);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, pages).await {
            tracing::warn!(%error, "the status page has ended");
        }
    });
    Ok(())
}

async fn ready(State(status): State<watch::Receiver<Snapshot>>) -> StatusCode {
    match status.borrow().state {
        life::State::Running => StatusCode::OK,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}
