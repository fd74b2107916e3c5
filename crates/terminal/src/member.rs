//! `moot member`: the people and agents of the workspace.

use serde_json::{Value, json};

use crate::client::{HubArgs, ListArgs, Session, cell, items, text};
use crate::{Fault, Settings, names, output, prompt};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot member add bob --email bob@example.org        a person; asks for the first password
  moot member add codebot --agent                    an agent; prints its API key, this once
  moot member invite                                 a link for a person, good once, for 7 days
  moot member list
  moot member key codebot                            a new API key; the old one stops working
  moot member rm bob")]
pub enum Command {
    /// Add a person or an agent.
    Add(AddArgs),
    /// Make a link with which one person makes an account of their own.
    Invite(InviteArgs),
    /// List everybody.
    List(ListArgs),
    /// Remove somebody from the workspace.
    #[command(visible_alias = "remove")]
    Rm(RmArgs),
    /// Make a new API key for an agent; the old one stops working.
    Key(KeyArgs),
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The name; it must be free in the workspace, without regard to case.
    name: String,
    /// Add an agent, which logs in with an API key.
    #[arg(long, conflicts_with_all = ["email", "password", "password_stdin"])]
    agent: bool,
    /// The email address a person logs in with.
    #[arg(long)]
    email: Option<String>,
    /// The person's first password; asked for when left out.
    #[arg(long, conflicts_with = "password_stdin")]
    password: Option<String>,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
    /// What others see beside the name.
    #[arg(long)]
    nick: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct InviteArgs {
    /// Make the newcomer an admin; only the owner may.
    #[arg(long)]
    admin: bool,
    /// A channel to put the newcomer into, by name or id; may be given several times. Left out: every open channel.
    #[arg(long = "channel", value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// The name or id.
    member: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// The name or id of the agent.
    member: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Add(args) => add(&Session::open(settings, &args.hub).await?, args).await,
        Command::Invite(args) => invite(&Session::open(settings, &args.hub).await?, &args).await,
        Command::List(args) => list(&Session::open(settings, &args.hub).await?, args.json).await,
        Command::Rm(args) => remove(&Session::open(settings, &args.hub).await?, &args).await,
        Command::Key(args) => key(&Session::open(settings, &args.hub).await?, &args).await,
    }
}

async fn add(session: &Session, args: AddArgs) -> anyhow::Result<()> {
    let mut body = json!({"name": args.name, "type": if args.agent { "agent" } else { "human" }});
    if !args.agent {
        let password = prompt::password(args.password, args.password_stdin)?;
        body["password"] = Value::from(password.expose());
    }
    for (field, value) in [("email", args.email), ("nick", args.nick)] {
        if let Some(value) = value {
            body[field] = Value::from(value);
        }
    }
    let member = session.hub.post(&session.workspace_path("/members"), &body).await?;
    if args.json {
        return output::json(&member);
    }
    output::note(&format!("added {}", text(&member, "name")));
    show_key(&member)
}

async fn invite(session: &Session, args: &InviteArgs) -> anyhow::Result<()> {
    let mut channel_ids = Vec::new();
    for channel in &args.channels {
        channel_ids.push(names::target(session, channel).await?.channel_id);
    }
    let role = if args.admin { "admin" } else { "member" };
    let body = json!({"role": role, "channel_ids": channel_ids});
    let invite = session.hub.post(&session.workspace_path("/invites"), &body).await?;
    if args.json {
        return output::json(&invite);
    }
    output::note("for one person, for 7 days, shown this once:");
    output::line(text(&invite, "url"))
}

async fn list(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
    if as_json {
        return output::json(&members);
    }
    let fields = ["name", "type", "role", "status", "id"];
    let row = |member: &Value| fields.map(|field| cell(member, field)).to_vec();
    let rows: Vec<Vec<String>> = items(&members).iter().map(row).collect();
    output::table(&["NAME", "TYPE", "ROLE", "STATUS", "ID"], &rows)
}

async fn remove(session: &Session, args: &RmArgs) -> anyhow::Result<()> {
    let member = names::member(session, &args.member).await?;
    let question = format!("Remove {} from the workspace?", member.name);
    if !args.yes && prompt::is_possible() && !prompt::confirm(&question)? {
        return Err(Fault::failed("nothing was removed").into());
    }
    session.hub.delete(&session.workspace_path(&format!("/members/{}", member.id))).await?;
    output::note(&format!("removed {}", member.name));
    Ok(())
}

async fn key(session: &Session, args: &KeyArgs) -> anyhow::Result<()> {
    let member = names::member(session, &args.member).await?;
    let path = session.workspace_path(&format!("/members/{}/key", member.id));
    let answer = session.hub.post(&path, &json!({})).await?;
    if args.json {
        return output::json(&answer);
    }
    show_key(&answer)
}

/// The key goes to standard output alone, so that a script can catch it.
fn show_key(answer: &Value) -> anyhow::Result<()> {
    let key = text(answer, "api_key");
    if key.is_empty() {
        return Ok(());
    }
    output::note("its API key, shown this once:");
    output::line(key)
}
