//! The daemon as the configuration sets it up: alone (`moot agentd`), or inside the hub.

use folkmoot_terminal::Fault;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folkmoot_agentd::settings::{EngineAgent, Kind, ProgramAgent, Worktrees};
use folkmoot_agentd::{AgentSpec, DaemonError, DaemonSettings, Handle, file_names};
use folkmoot_core::command::{Command, HostAgent, Reply, WelcomeGuest};
use folkmoot_core::hosting::{self as core_hosting, Hosted};
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Door, Guest, Role, RoleCard};
use folkmoot_core::{Actor, access};
use folkmoot_hub::modes;
use reqwest::Url;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{Agent, Config};
use crate::hosting::{self, Local};
use crate::runner;

pub use crate::runner::HOSTING_FOLDER as FOLDER;

/// What is kept of this machine between two starts of a daemon of its own, in the data folder, for its owner's eyes only.
pub fn machine_key_file(data_dir: &Path) -> PathBuf {
    data_dir.join("machine.json")
}

/// The agents of the configuration.
pub fn configured(config: &Config) -> Vec<AgentSpec> {
    let data_dir = config.data_dir();
    let of = |(name, agent): (&String, &Agent)| AgentSpec {
        name: name.clone(),
        id: None,
        kind: match agent.is_program() {
            true => Kind::Program(program(agent)),
            false => Kind::Engine(engine(config, &data_dir, name, agent)),
        },
    };
    config.agents.iter().map(of).collect()
}

fn program(agent: &Agent) -> ProgramAgent {
    ProgramAgent {
        command: agent.command.clone(),
        env: agent.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        auto_start: agent.auto_start,
        restart: agent.restart,
        max_restarts: agent.max_restarts,
    }
}

fn engine(config: &Config, data_dir: &Path, name: &str, agent: &Agent) -> EngineAgent {
    let project = filled(&agent.project);
    let worktrees = worktrees(config, agent.worktrees, project.as_deref());
    EngineAgent {
        engine: agent.engine.clone(),
        model: filled(&agent.model),
        folder: folder_of(config, data_dir, name, project.as_deref(), config.agents.keys().map(String::as_str)),
        project,
        system_prompt: agent.system_prompt.clone(),
        capabilities: agent.capabilities.clone(),
        policy: hosting::policy(agent.policy),
        deny: agent.deny.clone(),
        worktrees,
    }
}

/// Where the work trees of an agent are, if it has any: as its project says.
fn worktrees(config: &Config, wanted: bool, project: Option<&str>) -> Option<Worktrees> {
    let known = project.and_then(|name| config.projects.get(name));
    wanted.then(|| Worktrees {
        folder: known.map_or_else(|| ".worktrees".into(), |project| project.worktrees_dir.clone().into()),
        base: known.and_then(|project| filled(&project.worktree_base)),
    })
}

/// Where an agent works: in its project, or in a folder of its own. One that is not there is told in the thread, when
/// somebody wants something of the agent. `names` are those of all agents.
fn folder_of<'a>(
    config: &Config,
    data_dir: &Path,
    name: &str,
    project: Option<&str>,
    names: impl IntoIterator<Item = &'a str>,
) -> PathBuf {
    match hosting::project_folder(config, project) {
        Ok(Some(folder)) => folder,
        Ok(None) => file_names::place(&data_dir.join("agents"), name, names),
        Err(_) => PathBuf::from(project.unwrap_or_default()),
    }
}

fn filled(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// What this machine is called in runs.
pub fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What to do when the hub does not know the daemon's key.
pub const KEY_HINT: &str = "the key may have been taken back, or its workspace deleted: `moot machine add NAME` makes one for \
    `agentd.api_key`; one that the daemon made is in `machine.json` of the data folder, and is made anew when you remove that \
    file and are logged in";

/// The settings of a daemon of its own, which logs in with this key.
pub fn alone(config: &Config, data_dir: PathBuf, key: String) -> anyhow::Result<DaemonSettings> {
    Ok(DaemonSettings {
        server: Url::parse(&config.agentd.server)?,
        key: Arc::new(move || key.clone()),
        socket: Some(config.agentd.socket_path(&data_dir)),
        machine: machine(),
        agents: configured(config),
        data_dir,
    })
}

pub fn fault(error: &DaemonError) -> Fault {
    let fault = Fault::failed(error.to_string());
    match error {
        DaemonError::Refused(_) => fault.hint(KEY_HINT),
        DaemonError::Socket { .. } => fault.hint("stop the other daemon, or set `agentd.socket`"),
        DaemonError::Journal(_) => fault,
    }
}

/// Runs the daemon inside the hub, as soon as there is somebody to host. Its troubles are not the hub's: they are logged.
pub fn inside_hub(local: &Local, address: SocketAddr, stop: watch::Receiver<bool>) -> JoinHandle<()> {
    let local = local.clone();
    tokio::spawn(async move {
        if let Err(Fault { sentence, hint, .. }) = host(&local, address, stop).await {
            tracing::error!(hint, "the hub goes on without the agents it hosts: {sentence}");
        }
    })
}

async fn host(local: &Local, address: SocketAddr, mut stop: watch::Receiver<bool>) -> Result<(), Fault> {
    let mut changes = local.hosting().changes();
    let agents = loop {
        changes.borrow_and_update();
        let agents = wanted(local).await;
        if !agents.is_empty() {
            break agents;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return Ok(()) },
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        }
    };
    let daemon = welcome(local).await?;
    let settings = inside(local, address, daemon, agents)?;
    let (tell, told) = tokio::sync::oneshot::channel::<Handle>();
    let follow = async {
        let Ok(handle) = told.await else { return };
        while changes.changed().await.is_ok() {
            handle.host(wanted(local).await);
        }
    };
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let runner = runner::inside_hub(&local.hub, local.config());
    let run = folkmoot_agentd::run(settings, runner, stopped, |handle| drop(tell.send(handle)));
    tokio::pin!(run, follow);
    let ended = tokio::select! {
        ended = &mut run => ended,
        () = &mut follow => run.await,
    };
    ended.map_err(|error| fault(&error))
}

fn inside(
    local: &Local,
    address: SocketAddr,
    daemon: MemberId,
    agents: Vec<AgentSpec>,
) -> Result<DaemonSettings, Fault> {
    let data_dir = local.hub.data_dir().join(FOLDER);
    modes::make_folder(&data_dir)
        .map_err(|error| Fault::failed(format!("the folder `{}` cannot be made: {error}", data_dir.display())))?;
    let has_programs = local.config().agents.values().any(Agent::is_program);
    let server = Url::parse(&format!("ws://{}/ws", near(address))).map_err(|error| Fault::failed(error.to_string()))?;
    let minting = local.hub.clone();
    Ok(DaemonSettings {
        server,
        key: Arc::new(move || {
            let member = minting.with_state(|state| state.member(daemon).cloned());
            member.map(|member| minting.auth().issue(&member, minting.now(), None).token).unwrap_or_default()
        }),
        socket: has_programs.then(|| local.config().agentd.socket_path(local.hub.data_dir())),
        machine: machine(),
        agents,
        data_dir,
    })
}

/// How the hub reaches itself.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}

/// The daemon's own member: a guest of the hub's workspace, with no key that anybody could use.
async fn welcome(local: &Local) -> Result<MemberId, Fault> {
    let Guest { door, key } = Guest::daemon();
    let role_card =
        RoleCard { system_prompt: "Carries the agents that this hub hosts.".to_owned(), capabilities: Vec::new() };
    let welcome = WelcomeGuest { door, key, name: "agentd".to_owned(), role_card };
    match local.hub.execute(Actor::hub(Door::Lark), Command::WelcomeGuest(welcome)).await {
        Ok(Reply::Member(member)) => Ok(member.id),
        Ok(_) => Err(Fault::failed("the hub did not let its own daemon in")),
        Err(refusal) => Err(Fault::failed(refusal.to_string())),
    }
}

/// Everybody whom the hub hosts, with their members.
async fn wanted(local: &Local) -> Vec<AgentSpec> {
    let mut agents = adopted(local).await;
    let config = local.config();
    let made: Vec<(Hosted, String, RoleCard)> = local.hub.with_state(|state| {
        let named = |hosted: &Hosted| {
            let member = state.member(hosted.agent)?;
            Some((hosted.clone(), member.name.clone(), member.role_card.clone().unwrap_or_default()))
        };
        state.hosted().filter_map(named).collect()
    });
    let names: Vec<String> =
        made.iter().map(|(_, name, _)| name.clone()).chain(config.agents.keys().cloned()).collect();
    for (hosted, name, card) in made {
        if agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(&name)) {
            continue;
        }
        let others = names.iter().map(String::as_str);
        let folder = folder_of(config, local.hub.data_dir(), &name, hosted.project.as_deref(), others);
        let worktrees = worktrees(config, hosted.worktrees, hosted.project.as_deref());
        let spec = EngineAgent {
            engine: hosted.engine,
            model: hosted.model,
            folder,
            project: hosted.project,
            system_prompt: card.system_prompt,
            capabilities: card.capabilities,
            policy: hosting::policy(hosted.policy),
            deny: hosted.deny,
            worktrees,
        };
        agents.push(AgentSpec { name, id: Some(hosted.agent.to_string()), kind: Kind::Engine(spec) });
    }
    agents
}

/// The agents of the configuration as members; who is missing is made. A key for a daemon of its own, set or made by it, says
/// that they are hosted elsewhere.
async fn adopted(local: &Local) -> Vec<AgentSpec> {
    let config = local.config();
    if !config.agentd.api_key.is_empty() || machine_key_file(local.hub.data_dir()).exists() {
        return Vec::new();
    }
    let owner = local.hub.with_state(|state| {
        let workspace = access::oldest_workspace(state)?;
        let owner = state.members_of(workspace).find(|member| member.role == Role::Owner)?;
        Some((workspace, owner.id))
    });
    let Some((workspace, owner)) = owner else { return Vec::new() };
    let mut agents = configured(config);
    for agent in &mut agents {
        let known = local.hub.with_state(|state| {
            state.member_named(workspace, &agent.name).map(|member| (member.id, member.is_agent()))
        });
        agent.id = match known {
            Some((id, true)) => Some(id.to_string()),
            Some((_, false)) => {
                tracing::error!(agent = agent.name, "a person has this name; the agent needs another");
                None
            }
            None => make(local, owner, agent).await,
        };
    }
    agents.retain(|agent| agent.id.is_some());
    agents
}

async fn make(local: &Local, owner: MemberId, agent: &AgentSpec) -> Option<String> {
    let (engine, model, role_card) = match &agent.kind {
        Kind::Engine(engine) => {
            let card =
                RoleCard { system_prompt: engine.system_prompt.clone(), capabilities: engine.capabilities.clone() };
            (engine.engine.clone(), engine.model.clone(), card)
        }
        Kind::Program(_) => ("program".to_owned(), None, RoleCard::default()),
    };
    let host = HostAgent {
        name: agent.name.clone(),
        engine,
        model,
        project: None,
        role_card,
        policy: core_hosting::Policy::default(),
        deny: Vec::new(),
        worktrees: false,
        channels: None,
        is_kept: false,
    };
    match local.hub.execute(Actor::new(owner, Door::Rest), Command::HostAgent(host)).await {
        Ok(Reply::Hosted(hosted)) => Some(hosted.agent.to_string()),
        Ok(_) => None,
        Err(refusal) => {
            tracing::error!(agent = agent.name, %refusal, "a configured agent could not be made a member");
            None
        }
    }
}
