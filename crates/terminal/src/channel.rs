//! `moot channel`: create and list channels, say who is in them, read them.

use serde_json::{Value, json};

use crate::client::{HubArgs, ListArgs, Session, cell, items, text};
use crate::{Settings, names, output, tail};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot channel create general
  moot channel create plans --private
  moot channel add general bob codebot
  moot channel history general --limit 100
  moot channel list --json")]
pub enum Command {
    /// Create a channel; you are in it.
    Create(CreateArgs),
    /// List the channels you can see.
    List(ListArgs),
    /// Add members to a channel.
    Add(MembersArgs),
    /// Remove members from a channel.
    #[command(visible_alias = "rm")]
    Remove(MembersArgs),
    /// Print the newest messages of a channel, oldest first.
    History(HistoryArgs),
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// The name.
    name: String,
    /// Only its members see it.
    #[arg(long)]
    private: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct MembersArgs {
    /// The channel: name, #name or id.
    channel: String,
    /// The members: names, @names or ids.
    #[arg(required = true)]
    members: Vec<String>,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// The channel: name, #name, @member or id.
    channel: String,
    /// How many messages, at most 200.
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    /// Only messages before this position (`seq`).
    #[arg(long, value_name = "SEQ", conflicts_with = "after")]
    before: Option<u64>,
    /// Only messages after this position (`seq`).
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Print JSON, newest first as the hub answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Create(args) => create(&Session::open(settings, &args.hub).await?, &args).await,
        Command::List(args) => list(&Session::open(settings, &args.hub).await?, args.json).await,
        Command::Add(args) => add(&Session::open(settings, &args.hub).await?, &args).await,
        Command::Remove(args) => remove(&Session::open(settings, &args.hub).await?, &args).await,
        Command::History(args) => history(&Session::open(settings, &args.hub).await?, &args).await,
    }
}

async fn create(session: &Session, args: &CreateArgs) -> anyhow::Result<()> {
    let name = args.name.strip_prefix('#').unwrap_or(&args.name);
    let body = json!({"name": name, "type": if args.private { "private" } else { "channel" }});
    let channel = session.hub.post(&session.workspace_path("/channels"), &body).await?;
    if args.json {
        return output::json(&channel);
    }
    output::line(&format!("created #{} ({})", text(&channel, "name"), text(&channel, "id")))
}

async fn list(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let channels = session.hub.get(&session.workspace_path("/channels"), &[]).await?;
    if as_json {
        return output::json(&channels);
    }
    let fields = ["name", "type", "member_count", "unread_count", "id"];
    let row = |channel: &Value| fields.map(|field| cell(channel, field)).to_vec();
    let rows: Vec<Vec<String>> = items(&channels).iter().map(row).collect();
    output::table(&["NAME", "TYPE", "MEMBERS", "UNREAD", "ID"], &rows)
}

async fn add(session: &Session, args: &MembersArgs) -> anyhow::Result<()> {
    let channel = names::target(session, &args.channel).await?;
    for name in &args.members {
        let member = names::member(session, name).await?;
        let path = session.workspace_path(&format!("/channels/{}/members", channel.channel_id));
        session.hub.post(&path, &json!({"member_id": member.id})).await?;
        output::note(&format!("added {} to {}", member.name, channel.label));
    }
    Ok(())
}

async fn remove(session: &Session, args: &MembersArgs) -> anyhow::Result<()> {
    let channel = names::target(session, &args.channel).await?;
    for name in &args.members {
        let member = names::member(session, name).await?;
        let path = session.workspace_path(&format!("/channels/{}/members/{}", channel.channel_id, member.id));
        session.hub.delete(&path).await?;
        output::note(&format!("removed {} from {}", member.name, channel.label));
    }
    Ok(())
}

async fn history(session: &Session, args: &HistoryArgs) -> anyhow::Result<()> {
    let channel = names::target(session, &args.channel).await?;
    let mut query = vec![("limit", args.limit.to_string())];
    query.extend(args.before.map(|seq| ("before", seq.to_string())));
    query.extend(args.after.map(|seq| ("after", seq.to_string())));
    let path = format!("/v1/channels/{}/messages", channel.channel_id);
    let messages = session.hub.get(&path, &query).await?;
    if args.json {
        return output::json(&messages);
    }
    let mut printer = tail::Printer::new(false);
    items(&messages).iter().rev().try_for_each(|message| output::line(&printer.line(message)))
}
