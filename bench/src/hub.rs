//! The hub under test: its process, and the accounts and channels a scenario needs, made over REST.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::http::Client;
use crate::process::{Managed, SERVER_CORE};

const READY_WITHIN: Duration = Duration::from_secs(60);
/// The hub logs as it does by default, because that is part of what it costs.
const LOG: &str = "hub.log";
const NO_LIMITS: [&str; 7] = [
    "REQUESTS_PER_SECOND",
    "MESSAGES_PER_SECOND",
    "WORKSPACE_MESSAGES_PER_SECOND",
    "CHANNELS_PER_HOUR",
    "MEMBERS_PER_HOUR",
    "HTTP_CONNECTIONS",
    "HTTP_CONNECTIONS_PER_ADDRESS",
];
const PASSWORD: &str = "correct horse battery staple";

pub struct Hub {
    process: Managed,
    pub address: SocketAddr,
    /// From the start of the process to the first successful `/readyz`.
    pub ready_after: Duration,
    pub rest: Client,
}

/// A member and what it logs in with.
#[derive(Clone)]
pub struct Member {
    pub id: String,
    pub token: String,
}

/// The first account and its workspace.
pub struct Owner {
    pub member: Member,
    pub workspace: String,
}

impl Hub {
    /// Starts the release binary on the data folder and waits until it is ready.
    pub fn start(moot: &Path, data_dir: &Path) -> Result<Self> {
        Self::start_with(moot, data_dir, &[])
    }

    /// The same with settings of its own.
    pub fn start_with(moot: &Path, data_dir: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let mut command = command(moot, data_dir, address)?;
        command.envs(settings.iter().copied());
        let start = Instant::now();
        let mut process = Managed::start("`moot serve`", &mut command, SERVER_CORE)?;
        process.discard_output();
        let mut hub = Self { process, address, ready_after: Duration::ZERO, rest: Client::new(address) };
        while !hub.is_ready() {
            if hub.process.has_ended() {
                bail!("`moot serve` ended before it was ready:\n{}", last_lines(&data_dir.join(LOG)));
            }
            if start.elapsed() > READY_WITHIN {
                bail!("`moot serve` was not ready within {READY_WITHIN:?}");
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        hub.ready_after = start.elapsed();
        Ok(hub)
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn is_ready(&mut self) -> bool {
        self.rest.request("GET", "/readyz", "", "").is_ok_and(|response| response.status == 200)
    }

    pub fn register_owner(&mut self) -> Result<Owner> {
        let body = json!({ "email": "owner@bench.test", "password": PASSWORD, "name": "owner" });
        let answer = self.rest.post("/v1/auth/register", "", &body)?;
        let member = Member { id: text(&answer, "member_id")?, token: text(&answer, "token")? };
        Ok(Owner { member, workspace: text(&answer, "workspace_id")? })
    }

    /// People are few, because each password is hashed slowly on purpose.
    pub fn add_human(&mut self, owner: &Owner, name: &str) -> Result<Member> {
        let email = format!("{name}@bench.test");
        let body = json!({ "name": name, "type": "human", "email": email, "password": PASSWORD });
        let member = self.rest.post(&owner.path("members"), &owner.member.token, &body)?;
        let answer = self.rest.post("/v1/auth/login", "", &Self::login_of(name))?;
        Ok(Member { id: member_id(&member)?, token: text(&answer, "token")? })
    }

    /// What a person logs in with.
    pub fn login_of(name: &str) -> Value {
        json!({ "email": format!("{name}@bench.test"), "password": PASSWORD })
    }

    pub fn add_agent(&mut self, owner: &Owner, name: &str) -> Result<Member> {
        let body = json!({ "name": name, "type": "agent" });
        let member = self.rest.post(&owner.path("members"), &owner.member.token, &body)?;
        Ok(Member { id: member_id(&member)?, token: text(&member, "api_key")? })
    }

    /// A channel made by `creator`, with these members besides.
    pub fn add_channel(&mut self, owner: &Owner, creator: &Member, name: &str, others: &[Member]) -> Result<String> {
        let channel = self.rest.post(&owner.path("channels"), &creator.token, &json!({ "name": name }))?;
        let id = text(&channel, "id")?;
        let path = owner.path(&format!("channels/{id}/members"));
        for other in others {
            self.rest.post(&path, &creator.token, &json!({ "member_id": other.id }))?;
        }
        Ok(id)
    }
}

impl Owner {
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/workspaces/{}/{rest}", self.workspace)
    }
}

/// The hub's environment is its own, so that nobody's configuration changes what is measured.
fn command(moot: &Path, data_dir: &Path, address: SocketAddr) -> Result<Command> {
    let home = data_dir.join("home");
    std::fs::create_dir_all(&home)?;
    let mut command = Command::new(moot);
    command
        .arg("serve")
        .arg("--data-dir")
        .arg(data_dir.join("data"))
        .arg("--listen")
        .arg(address.to_string())
        .env("HOME", &home)
        // One member stands for many here and is as fast as it can.
        .envs(NO_LIMITS.map(|limit| (format!("MOOT_LIMITS__{limit}"), "0")))
        .current_dir(&home)
        .stderr(File::options().create(true).append(true).open(data_dir.join(LOG))?);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("MOOT_") || name.starts_with("XDG_") {
            command.env_remove(name.as_ref());
        }
    }
    Ok(command)
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

/// Asks the kernel for a port; between this and the hub's own bind nobody else on the machine is likely to take it.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn text(value: &Value, key: &str) -> Result<String> {
    value[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {value}"))
}

fn member_id(value: &Value) -> Result<String> {
    text(value, "id").or_else(|_| text(value, "member_id"))
}

/// The binary to measure: the one given, or the one beside this program, as one target folder holds both.
pub fn find_binary(given: Option<&str>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?.with_file_name("moot"),
    };
    match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => bail!("there is no hub at {}\nhint: cargo build --release -p folkmoot-moot", path.display()),
    }
}
