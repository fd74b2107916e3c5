//! `moot agent`: the agents that this machine's daemon hosts.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use folkmoot_engines::engine::EngineError;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::client::{HubArgs, Session, items, text};
use super::{Fault, Settings, agentd as daemon, data_dir_override, engines, machine, output};
use crate::config::{Config, Sources, edit};
use crate::{agentd, hosting};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
An agent is a member of the hub that this machine works as: an engine in a folder, or a program of yours.
The first `add` also makes a key for this machine. It needs your login: `moot login`.

Examples:
  moot agent add claude --engine claude --project ~/src/site
  moot agent add helper -- python3 helper.py          a program; see docs/agents.md
  moot agent list
  moot agent restart helper
  moot agent rm claude                                the member stays, with what it said")]
pub enum Command {
    /// Make an agent: a member of the hub, and its entry in the configuration.
    Add(AddArgs),
    /// List the agents of the configuration.
    List(ListArgs),
    /// Take an agent out of the configuration; with `--member` also out of the workspace.
    Rm(RmArgs),
    /// End a program, which the daemon starts again.
    Restart(RestartArgs),
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// Its name, one word; people mention it with this.
    name: String,
    /// The engine that works as this agent; `moot engines` lists them.
    #[arg(long, required_unless_present = "command", conflicts_with = "command")]
    engine: Option<String>,
    /// Where it works: a configured project, or a folder.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// The model to ask for.
    #[arg(long)]
    model: Option<String>,
    /// What it is told about its part.
    #[arg(long, value_name = "TEXT")]
    system_prompt: Option<String>,
    /// What it may do without asking: ask (nothing), ask-commands, accept-edits or dangerously-allow-all. An engine that
    /// cannot ask, such as pi, takes only the last.
    #[arg(long, value_parser = ["ask", "ask-commands", "accept-edits", "dangerously-allow-all"])]
    policy: Option<String>,
    /// Give each thread a git work tree and a branch of its own.
    #[arg(long)]
    worktrees: bool,
    /// Channels to join, by name; every open channel when left out.
    #[arg(long = "channel", value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
    /// The program and its arguments, behind `--`.
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// The agent's name.
    name: String,
    /// Also remove the member from the workspace.
    #[arg(long)]
    member: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct RestartArgs {
    /// The agent's name.
    name: String,
    /// The data folder of the daemon.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Add(args) => add(settings, args).await,
        Command::List(args) => list(settings, args.json),
        Command::Rm(args) => remove(settings, args).await,
        Command::Restart(args) => restart(settings, &args),
    }
}

async fn add(settings: &Settings, args: AddArgs) -> anyhow::Result<()> {
    if let Some(engine) = &args.engine {
        engines::find(engine)?;
    }
    let config = settings.load()?.config;
    check_policy(&config, &args)?;
    let folder = checked_project(&config, args.project.as_deref())?;
    let session = Session::open(settings, &args.hub).await?;
    let agent = member(&session, &args).await?;
    join(&session, &agent, &args.channels).await?;
    let sources = settings.sources();
    let table = format!("agents.{}", args.name);
    write_table(&sources, &table, &args, folder.as_deref())?;
    let made_key = key(&session, &sources, &config).await?;
    let reloaded = reload(&config);
    if args.json {
        return output::json(&json!({"name": args.name, "agent_id": agent, "daemon_key_made": made_key}));
    }
    output::note(&format!("{} is an agent of the workspace and in the configuration.", args.name));
    output::note(match reloaded {
        true => "The daemon hosts it from now on.",
        false => "Start the daemon: moot agentd start",
    });
    Ok(())
}

/// Refuses a policy that the engine cannot be held to, with what the configuration says of the agent already.
fn check_policy(config: &Config, args: &AddArgs) -> anyhow::Result<()> {
    let Some(engine) = &args.engine else { return Ok(()) };
    let known = config.agents.get(&args.name);
    let said = args.policy.as_deref().map(|word| serde_json::from_value(Value::from(word))).transpose()?;
    let policy = said.or_else(|| known.map(|agent| agent.policy)).unwrap_or_default();
    let deny = known.map(|agent| agent.deny.as_slice()).unwrap_or_default();
    match hosting::unheld(config, engine, policy, deny) {
        None => Ok(()),
        Some(EngineError { sentence, hint }) => Err(Fault { sentence, hint, usage: true }.into()),
    }
}

/// A folder is kept as a whole path, because the daemon runs elsewhere.
fn checked_project(config: &Config, project: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(project) = project else { return Ok(None) };
    if config.projects.contains_key(project) {
        return Ok(Some(project.to_owned()));
    }
    let folder = std::fs::canonicalize(project).ok().filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| {
        let names: Vec<&str> = config.projects.keys().map(String::as_str).collect();
        let fault = Fault::usage(format!("`{project}` is neither a configured project nor a folder"));
        if names.is_empty() { fault } else { fault.hint(format!("projects: {}", names.join(", "))) }
    })?;
    Ok(Some(folder.to_string_lossy().into_owned()))
}

/// The member, which may be there already.
async fn member(session: &Session, args: &AddArgs) -> anyhow::Result<String> {
    let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
    let known = items(&members).iter().find(|member| text(member, "name").eq_ignore_ascii_case(&args.name));
    match known {
        Some(member) if text(member, "type") == "agent" => Ok(text(member, "id").to_owned()),
        Some(_) => Err(Fault::usage(format!("a person is called {}", args.name)).hint("choose another name").into()),
        None => {
            let card = json!({"system_prompt": args.system_prompt.clone().unwrap_or_default(), "capabilities": []});
            let body = json!({"name": args.name, "type": "agent", "role_card": card});
            let made = session.hub.post(&session.workspace_path("/members"), &body).await?;
            Ok(text(&made, "id").to_owned())
        }
    }
}

async fn join(session: &Session, agent: &str, named: &[String]) -> anyhow::Result<()> {
    let channels = session.hub.get(&session.workspace_path("/channels"), &[]).await?;
    for channel in items(&channels) {
        let (id, name) = (text(channel, "id"), text(channel, "name"));
        let wanted = match named {
            [] => text(channel, "type") == "channel" && channel["archived"] != true,
            named => named.iter().any(|wanted| wanted.trim_start_matches('#').eq_ignore_ascii_case(name)),
        };
        if wanted {
            let path = session.workspace_path(&format!("/channels/{id}/members"));
            session.hub.post(&path, &json!({"member_id": agent})).await?;
        }
    }
    Ok(())
}

fn write_table(sources: &Sources, table: &str, args: &AddArgs, project: Option<&str>) -> anyhow::Result<()> {
    let mut keys: Vec<(&str, String)> = Vec::new();
    match &args.engine {
        Some(engine) => keys.push(("engine", engine.clone())),
        None => keys.push(("command", serde_json::to_string(&args.command)?)),
    }
    let texts =
        [("project", project), ("model", args.model.as_deref()), ("system_prompt", args.system_prompt.as_deref())];
    keys.extend(texts.into_iter().filter_map(|(key, value)| Some((key, value?.to_owned()))));
    keys.extend(args.policy.clone().map(|policy| ("policy", policy)));
    keys.extend(args.worktrees.then(|| ("worktrees", "true".to_owned())));
    for (key, value) in keys {
        edit::set(sources, &format!("{table}.{key}"), &value)?;
    }
    Ok(())
}

/// A key for the daemon, when it has none: that of this machine, which carries our agents.
async fn key(session: &Session, sources: &Sources, config: &Config) -> anyhow::Result<bool> {
    if !config.agentd.api_key.is_empty() || agentd::machine_key_file(&config.data_dir()).exists() {
        return Ok(false);
    }
    let made = machine::add(session, &agentd::machine()).await?;
    edit::set(sources, "agentd.api_key", text(&made, "key"))?;
    let mut server = session.hub.url("/ws")?;
    let scheme = if server.scheme() == "https" { "wss" } else { "ws" };
    let _ = server.set_scheme(scheme);
    edit::set(sources, "agentd.server", server.as_str())?;
    Ok(true)
}

/// Lets a daemon that runs read the configuration again.
fn reload(config: &Config) -> bool {
    daemon::running(&config.data_dir()).is_some_and(|pid| kill_process(pid, Signal::HUP).is_ok())
}

fn list(settings: &Settings, as_json: bool) -> anyhow::Result<()> {
    let config = settings.load()?.config;
    let object = |name: &String| {
        let agent = &config.agents[name];
        let works = if agent.is_program() { agent.command.join(" ") } else { agent.engine.clone() };
        json!({"name": name, "kind": if agent.is_program() { "program" } else { "engine" }, "works": works,
            "project": agent.project, "policy": agent.policy})
    };
    let agents: Vec<Value> = config.agents.keys().map(object).collect();
    if as_json {
        return output::json(&Value::Array(agents));
    }
    let row =
        |agent: &Value| ["name", "kind", "works", "project", "policy"].map(|key| text(agent, key).to_owned()).to_vec();
    output::table(&["AGENT", "KIND", "WORKS AS", "PROJECT", "POLICY"], &agents.iter().map(row).collect::<Vec<_>>())
}

async fn remove(settings: &Settings, args: RmArgs) -> anyhow::Result<()> {
    let config = settings.load()?.config;
    if !config.agents.contains_key(&args.name) {
        let known: Vec<&str> = config.agents.keys().map(String::as_str).collect();
        let fault = Fault::failed(format!("no agent is called {} in the configuration", args.name));
        return Err(if known.is_empty() { fault } else { fault.hint(format!("there are {}", known.join(", "))) }.into());
    }
    edit::remove(&settings.sources(), &format!("agents.{}", args.name))?;
    reload(&config);
    if args.member {
        let session = Session::open(settings, &args.hub).await?;
        let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
        let known = items(&members).iter().find(|member| text(member, "name").eq_ignore_ascii_case(&args.name));
        if let Some(member) = known {
            session.hub.delete(&session.workspace_path(&format!("/members/{}", text(member, "id")))).await?;
        }
    }
    output::note(&format!("{} is no longer in the configuration.", args.name));
    Ok(())
}

fn restart(settings: &Settings, args: &RestartArgs) -> anyhow::Result<()> {
    let overrides = data_dir_override(args.data_dir.clone()).into_iter().collect();
    let config = settings.load_with(overrides)?.config;
    match config.agents.get(&args.name) {
        Some(agent) if agent.is_program() => {}
        Some(_) => {
            output::note(&format!("{} is an engine: each run starts its own process.", args.name));
            return Ok(());
        }
        None => return Err(Fault::failed(format!("no agent is called {} in the configuration", args.name)).into()),
    }
    let path = config.agentd.socket_path(&config.data_dir());
    let away = |error: std::io::Error| {
        Fault::failed(format!("the daemon cannot be reached at {}: {error}", path.display()))
            .hint("`moot agentd status` shows whether it runs")
    };
    let mut stream = UnixStream::connect(&path).map_err(away)?;
    writeln!(stream, "{}", json!({"v": 1, "type": "agent.restart", "data": {"agent_name": args.name}}))
        .map_err(away)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(away)?;
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    if answer["type"] == "error" {
        return Err(Fault::failed(text(&answer["data"], "error").to_owned()).into());
    }
    output::note(&format!("{} is started again.", args.name));
    Ok(())
}
