//! What a daemon of its own logs in with: the key of this machine, which it makes with the login of whoever starts it.
//!
//! An agent's key is that agent and carries nobody else. Set-ups from before that rule are moved over: with a login for the
//! same hub the daemon makes a key for the machine; without one it carries the one agent, and says what to do.

use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::client::{Hub, Session, parse_server, text};
use super::profile::{self, Profile};
use super::{Fault, machine, output};
use crate::agentd;
use crate::config::{Config, Secret};
use folkmoot_hub::auth::MACHINE_PREFIX;

const PAUSE: Duration = Duration::from_secs(1);

/// What is kept of the machine between two starts.
#[derive(Serialize, Deserialize)]
struct Kept {
    server: String,
    machine_id: String,
    key: Secret,
}

/// What to log in with, and whom it carries.
pub struct Login {
    pub key: String,
    /// The only agent it carries, by name: the key is this agent's own.
    pub only: Option<String>,
}

impl Login {
    fn whole(key: impl Into<String>) -> Self {
        Self { key: key.into(), only: None }
    }

    pub fn carries(&self, agent: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only.eq_ignore_ascii_case(agent))
    }
}

/// Finds the key, and makes one where there is none yet.
pub async fn find(config: &Config, data_dir: &Path) -> anyhow::Result<Login> {
    let configured = config.agentd.api_key.expose();
    if configured.starts_with(MACHINE_PREFIX) {
        return Ok(Login::whole(configured));
    }
    let server = hub_address(&config.agentd.server)?;
    let file = agentd::machine_key_file(data_dir);
    if let Some(kept) = read(&file)?.filter(|kept| kept.server == server) {
        return Ok(Login::whole(kept.key.expose()));
    }
    // A daemon of the system may have no home, and so no login.
    let profile = profile::path().ok().map(|path| profile::read(&path)).transpose()?.flatten();
    let profile = profile.filter(|profile| is_same(&profile.server, &server));
    if configured.is_empty() {
        let profile = profile.ok_or_else(|| nobody_logged_in(&server))?;
        let session = logged_in(&profile).await?;
        let login = make(&session, &server, &file).await?;
        output::note(&format!("This machine has a key of its own now, kept in {}.", file.display()));
        return Ok(login);
    }
    older(config, configured, &server, profile, &file).await
}

/// A key from before machines had their own: a person's goes on as it is, an agent's carries that agent.
async fn older(
    config: &Config,
    configured: &str,
    server: &str,
    profile: Option<Profile>,
    file: &Path,
) -> anyhow::Result<Login> {
    let hub = Hub::new(server, Some(Secret::new(configured)))?;
    reached(&hub).await?;
    let own = Session::of(hub).await.map_err(refused_key)?;
    let alone = config.agents.keys().all(|name| name.eq_ignore_ascii_case(&own.name));
    if !own.is_agent || alone && !config.agents.values().any(crate::config::Agent::is_program) {
        return Ok(Login::whole(configured));
    }
    let same = profile.filter(|profile| profile.workspace_id == own.workspace_id);
    let why = match same {
        None => "you are not logged in to this hub here".to_owned(),
        Some(profile) => match moved(&profile, server, file).await {
            Ok(login) => {
                output::note(&format!(
                    "`agentd.api_key` is the key of the agent {}, which carries itself alone; made a key for this machine instead, kept in {}.",
                    own.name,
                    file.display()
                ));
                return Ok(login);
            }
            Err(error) => format!("a key for this machine could not be made: {error:#}"),
        },
    };
    output::note(&format!(
        "`agentd.api_key` is the key of the agent {}, so only {} is carried ({why}). \
         Run `moot login --server {server} --email YOU` and start the daemon again, or put a key of `moot machine add NAME` into `agentd.api_key`.",
        own.name, own.name
    ));
    Ok(Login { key: configured.to_owned(), only: Some(own.name) })
}

async fn moved(profile: &Profile, server: &str, file: &Path) -> anyhow::Result<Login> {
    make(&logged_in(profile).await?, server, file).await
}

async fn make(session: &Session, server: &str, file: &Path) -> anyhow::Result<Login> {
    let made = machine::add(session, &agentd::machine()).await?;
    let key = text(&made, "key").to_owned();
    let kept =
        Kept { server: server.to_owned(), machine_id: text(&made, "id").to_owned(), key: Secret::new(key.clone()) };
    profile::write_for_owner(file, &serde_json::to_string_pretty(&kept)?)
        .map_err(|error| Fault::failed(format!("the key {} cannot be kept: {error}", file.display())))?;
    Ok(Login::whole(key))
}

async fn logged_in(profile: &Profile) -> anyhow::Result<Session> {
    let hub = Hub::new(&profile.server, Some(profile.token.clone()))?;
    reached(&hub).await?;
    Session::of(hub).await
}

/// Waits for a hub that starts later than the daemon.
async fn reached(hub: &Hub) -> anyhow::Result<()> {
    let mut said = false;
    while let Err(error) = hub.http().get(hub.url("/healthz")?).send().await {
        if !error.is_connect() {
            return Err(hub.unreachable(&error).into());
        }
        if !std::mem::replace(&mut said, true) {
            output::note(&format!("Waiting for the hub at {}.", hub.address()));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn refused_key(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Fault>() {
        Ok(fault) => Fault { hint: Some(agentd::KEY_HINT.to_owned()), ..fault }.into(),
        Err(other) => other,
    }
}

fn nobody_logged_in(server: &str) -> Fault {
    Fault::usage(format!("the daemon has no key for {server}, and nobody is logged in there to make one")).hint(format!(
        "`moot login --server {server} --email YOU` first; or make a key elsewhere with `moot machine add NAME` and set MOOT_AGENTD__API_KEY_FILE"
    ))
}

fn read(file: &Path) -> anyhow::Result<Option<Kept>> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| Fault::failed(format!("{} cannot be read: {error}", file.display())))?,
    };
    let kept = serde_json::from_str(&text).map_err(|error| {
        Fault::failed(format!("{} is damaged: {error}", file.display()))
            .hint("remove it; the daemon makes a new key with your login")
    })?;
    Ok(Some(kept))
}

/// The hub's own address, from that of its WebSocket.
pub fn hub_address(socket: &str) -> anyhow::Result<String> {
    let mut url = Url::parse(socket)?;
    let scheme = if ["wss", "https"].contains(&url.scheme()) { "https" } else { "http" };
    // Both are schemes of the same kind, so the change cannot be refused.
    let _ = url.set_scheme(scheme);
    let path = url.path().trim_end_matches('/').trim_end_matches("/ws").to_owned();
    url.set_path(&path);
    url.set_query(None);
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn is_same(one: &str, other: &str) -> bool {
    matches!((parse_server(one), parse_server(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_hub_is_that_of_its_socket_without_the_door() {
        for (socket, hub) in [
            ("ws://127.0.0.1:8484/ws", "http://127.0.0.1:8484"),
            ("wss://hub.example/ws", "https://hub.example"),
            ("wss://hub.example/moot/ws?x=1", "https://hub.example/moot"),
        ] {
            assert_eq!(hub_address(socket).unwrap(), hub);
        }
        assert!(is_same("127.0.0.1:8484", "http://127.0.0.1:8484/"));
        assert!(!is_same("http://127.0.0.1:8485", "http://127.0.0.1:8484"));
    }
}
