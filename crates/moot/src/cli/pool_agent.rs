//! `moot pool agent`: an agent process for pools, with the jukebox as its player.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use folkmoot_pool::Config as AgentConfig;
use folkmoot_pool::jukebox::player::Limits;
use folkmoot_pool::jukebox::{Jukebox, Settings as JukeboxSettings};
use reqwest::Url;
use sha2::{Digest, Sha256};
use tokio::signal::unix::{SignalKind, signal};

use super::{Fault, Settings, output};
use crate::config::{Config, Environment, paths};
use crate::{log, memory};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot pool agent --music ~/Music                  for the hub on this machine, guild `main`
  moot pool agent --music ~/Music --server https://hub.example --guild team --guild friends
  moot pool agent --music ~/Music --id jukebox-2   a second one; every agent needs an id of its own

The agent finds the hub again when it is lost. On Ctrl-C or SIGTERM it lets go of its channels and ends.
When the hub wants a runner secret, set `chopsticks.runner_secret` here too
(or MOOT_CHOPSTICKS__RUNNER_SECRET_FILE).")]
pub struct Args {
    /// Folder of the music; it is read with everything below it, and again every minute.
    #[arg(long, value_name = "FOLDER")]
    music: Option<PathBuf>,
    /// The hub, or any controller of this protocol: http(s)://… or ws(s)://…
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// The agent's own id; by default made from the names of this machine and of the folder.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// A guild to play in; may be given several times.
    #[arg(long = "guild", value_name = "GUILD", default_value = "main")]
    guilds: Vec<String>,
    /// The pool it belongs to.
    #[arg(long, value_name = "POOL", default_value = "default")]
    pool: String,
    /// The name that people see; by default the id.
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,
    /// The most tracks that wait.
    #[arg(long, value_name = "TRACKS", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=100))]
    max_queue: u16,
    /// The longest track, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    max_track_minutes: u32,
    /// The longest queue, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    max_queue_minutes: u32,
    /// File with a token; requests that show it as `adminToken` may do what only owners may.
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
}

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let config = settings.load()?.config;
    log::init(&config);
    memory::give_back();
    let jukebox = open(&args)?;
    let agent = agent_config(&config, &args, &jukebox)?;
    let tracks = jukebox.library().tracks().len();
    output::note(&format!("{} with {tracks} tracks, for {}", agent.agent_id, agent.url));
    if tracks == 0 {
        output::note("note: there is no music in this folder yet; it is looked at again every minute");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        Arc::new(jukebox).serve(agent, stop).await;
        anyhow::Ok(())
    })?;
    // A disk that hangs while the folder is read must not keep us here.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

fn open(args: &Args) -> anyhow::Result<Jukebox> {
    let folder = match &args.music {
        Some(folder) => folder.clone(),
        None => paths::expand_home("~/Music", &Environment::of_process()),
    };
    let limits = Limits {
        max_queue: args.max_queue.into(),
        max_track_minutes: args.max_track_minutes.into(),
        max_queue_minutes: args.max_queue_minutes.into(),
    };
    let admin_token = args.admin_token_file.as_deref().map(token).transpose()?;
    let settings = JukeboxSettings { folder: folder.clone(), limits, admin_token };
    Jukebox::open(settings).map_err(|error| {
        let fault = Fault::usage(format!("the music folder `{}` cannot be read: {error}", folder.display()));
        fault.hint("name another one with --music").into()
    })
}

fn token(path: &Path) -> anyhow::Result<String> {
    let unreadable = |why: &str| Fault::usage(format!("the token file `{}` {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(&format!("cannot be read: {error}")))?;
    let token = text.trim();
    if token.is_empty() { Err(unreadable("is empty").into()) } else { Ok(token.to_owned()) }
}

fn agent_config(config: &Config, args: &Args, jukebox: &Jukebox) -> anyhow::Result<AgentConfig> {
    let server = args.server.as_deref().unwrap_or(&config.server.public_url);
    let id = args.id.clone().unwrap_or_else(|| default_id(jukebox.folder()));
    if id.trim().is_empty() {
        return Err(Fault::usage("an agent needs an id").hint("leave --id out, or give it a name").into());
    }
    let secret = &config.chopsticks.runner_secret;
    let agent = args.guilds.iter().fold(AgentConfig::new(address(server)?, id), AgentConfig::guild);
    Ok(AgentConfig {
        pool_id: args.pool.clone(),
        tag: args.tag.clone().or(agent.tag),
        runner_secret: (!secret.is_empty()).then(|| secret.expose().to_owned()),
        ..agent
    })
}

/// The WebSocket address of a controller: a hub may be named the way a browser names it.
fn address(server: &str) -> Result<String, Fault> {
    let wrong = || {
        let fault = Fault::usage(format!("`{server}` is not an address of a hub or a controller"));
        fault.hint("write it like http://127.0.0.1:8484 or ws://127.0.0.1:8787")
    };
    let mut url = Url::parse(server).map_err(|_| wrong())?;
    let scheme = match url.scheme() {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return Err(wrong()),
    };
    // Both are schemes with a host, so this cannot fail.
    url.set_scheme(scheme).map_err(|()| wrong())?;
    if url.path() == "/" {
        url.set_path("/agents");
    }
    Ok(url.into())
}

/// The same at every start, another for another folder: two agents of one id would push each other out.
fn default_id(folder: &Path) -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let hash = Sha256::digest(whole.as_os_str().as_encoded_bytes());
    format!("jukebox-{machine}-{}", HEXLOWER.encode(&hash[..3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_is_named_like_a_page_or_like_a_socket() {
        for (given, made) in [
            ("http://127.0.0.1:8484", "ws://127.0.0.1:8484/agents"),
            ("http://127.0.0.1:8484/", "ws://127.0.0.1:8484/agents"),
            ("https://hub.example", "wss://hub.example/agents"),
            ("ws://127.0.0.1:8787", "ws://127.0.0.1:8787/agents"),
            ("wss://hub.example/somewhere", "wss://hub.example/somewhere"),
        ] {
            assert_eq!(address(given).unwrap(), made);
        }
        for wrong in ["", "hub.example", "ftp://hub.example", "127.0.0.1:8484"] {
            assert!(address(wrong).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn the_default_id_stays_and_belongs_to_the_folder() {
        let id = default_id(Path::new("/one"));
        assert_eq!(id, default_id(Path::new("/one")));
        assert_ne!(id, default_id(Path::new("/other")));
        assert!(id.starts_with("jukebox-"));
    }
}
