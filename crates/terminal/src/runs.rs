//! `moot runs`: what agents work on in channels, what they did, and stopping them.

use folkmoot_core::moment;
use serde_json::{Value, json};

use crate::client::{HubArgs, Session, cell, items, text};
use crate::{Fault, Settings, names, output};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot runs list                          what agents work on now
  moot runs list --channel dev --all      also what they have finished
  moot runs show run_01K…                 one run with its actions
  moot runs show run_01K… --diff          the changes it made
  moot runs stop run_01K…

An id may be cut short as long as only one run begins with it.")]
pub enum Command {
    /// List the runs of the workspace, or of one channel.
    List(ListArgs),
    /// Show one run with what it did.
    Show(ShowArgs),
    /// Tell the agent to stop.
    Stop(StopArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only the runs of this channel.
    #[arg(long)]
    channel: Option<String>,
    /// Also those that have ended.
    #[arg(long)]
    all: bool,
    /// At most this many.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The run's id, or the beginning of it.
    run: String,
    /// Print the changes as a diff, and nothing else.
    #[arg(long, conflicts_with = "json")]
    diff: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct StopArgs {
    /// The run's id, or the beginning of it.
    run: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(args) => list(&Session::open(settings, &args.hub).await?, &args).await,
        Command::Show(args) => show(&Session::open(settings, &args.hub).await?, &args).await,
        Command::Stop(args) => stop(&Session::open(settings, &args.hub).await?, &args).await,
    }
}

async fn list(session: &Session, args: &ListArgs) -> anyhow::Result<()> {
    let path = match &args.channel {
        Some(channel) => format!("/v1/channels/{}/runs", names::target(session, channel).await?.channel_id),
        None => session.workspace_path("/runs"),
    };
    let mut query = vec![("limit", args.limit.to_string())];
    if !args.all {
        query.push(("state", "open".to_owned()));
    }
    let runs = session.hub.get(&path, &query).await?;
    if args.json {
        return output::json(&runs);
    }
    if items(&runs).is_empty() {
        output::note(if args.all { "there are no runs" } else { "nobody is at work" });
        return Ok(());
    }
    let row = |run: &Value| {
        let began = moment::date(run["started_at"].as_i64().unwrap_or_default());
        let actions = run["action_count"].as_u64().unwrap_or_default().to_string();
        vec![cell(run, "id"), cell(run, "agent_name"), cell(run, "engine"), state_of(run), actions, began]
    };
    let rows: Vec<_> = items(&runs).iter().map(row).collect();
    output::table(&["ID", "AGENT", "ENGINE", "STATE", "ACTIONS", "BEGAN"], &rows)
}

fn state_of(run: &Value) -> String {
    let stopping = run["stop_requested"].as_bool().unwrap_or(false) && run["ended_at"].is_null();
    if stopping { "stopping".to_owned() } else { cell(run, "state") }
}

async fn show(session: &Session, args: &ShowArgs) -> anyhow::Result<()> {
    let id = find(session, &args.run).await?;
    let path = format!("/v1/runs/{id}");
    if args.diff {
        return output::verbatim(&session.hub.get_text(&format!("{path}/diff")).await?);
    }
    let run = session.hub.get(&path, &[("limit", "1000".to_owned())]).await?;
    if args.json {
        return output::json(&run);
    }
    for field in ["id", "agent_name", "engine", "model", "project", "branch", "machine", "state", "error"] {
        if !cell(&run, field).is_empty() {
            output::line(&format!("{:10} {}", format!("{}:", field.trim_end_matches("_name")), shown(&run, field)))?;
        }
    }
    if !cell(&run, "resume_line").is_empty() {
        output::line(&format!("{:10} {}", "continue:", shown(&run, "resume_line")))?;
    }
    for change in items(&run["changes"]) {
        let (added, removed) = (&change["added"], &change["removed"]);
        output::line(&format!("{:10} {} (+{added} -{removed})", cell(change, "kind"), shown(change, "path")))?;
    }
    for action in items(&run["actions"]) {
        let sign = match (text(action, "phase"), action["ok"].as_bool()) {
            (_, Some(false)) => "✗",
            ("completed", _) => "✓",
            _ => "…",
        };
        output::line(&format!("{sign} {:11} {}", shown(action, "kind"), shown(action, "title")))?;
    }
    Ok(())
}

/// What somebody else wrote, without what would steer the terminal.
fn shown(value: &Value, field: &str) -> String {
    output::printable(&cell(value, field))
}

async fn stop(session: &Session, args: &StopArgs) -> anyhow::Result<()> {
    let id = find(session, &args.run).await?;
    let run = session.hub.post(&format!("/v1/runs/{id}/stop"), &json!({})).await?;
    if args.json {
        return output::json(&run);
    }
    let agent = cell(&run, "agent_name");
    match text(&run, "state") {
        "running" | "waiting" => output::note(&format!("{agent} was told to stop")),
        ended => output::note(&format!("the run of {agent} is over ({ended})")),
    }
    Ok(())
}

/// The id of one run, by itself or by a beginning that no other has.
async fn find(session: &Session, wanted: &str) -> anyhow::Result<String> {
    let runs = session.hub.get(&session.workspace_path("/runs"), &[("limit", "200".to_owned())]).await?;
    let found: Vec<_> = items(&runs).iter().filter(|run| text(run, "id").starts_with(wanted)).collect();
    match found[..] {
        [one] => Ok(text(one, "id").to_owned()),
        // Older ones are not listed, but a whole id is enough.
        [] if wanted.len() == "run_".len() + 26 => Ok(wanted.to_owned()),
        [] => Err(Fault::failed(format!("there is no run `{wanted}`"))
            .hint("`moot runs list --all` shows their ids")
            .into()),
        _ => Err(Fault::failed(format!("several runs begin with `{wanted}`")).hint("give more of the id").into()),
    }
}
