//! `moot approvals`: what agents ask for, and deciding it.

use folkmoot_core::moment;
use serde_json::{Value, json};

use super::client::{HubArgs, Session, cell, items, text};
use super::{Fault, Settings, output};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot approvals list                                what waits for a decision
  moot approvals show appr_01K…                      the exact action
  moot approvals approve appr_01K… --note \"go on\"
  moot approvals approve appr_01K… --for-run         the same question is not asked again in this run
  moot approvals deny appr_01K… --note \"not on a Friday\"

An id may be cut short as long as only one question begins with it. The note reaches the agent.")]
pub enum Command {
    /// List what waits for a decision.
    List(ListArgs),
    /// Show one question whole.
    Show(ShowArgs),
    /// Say yes.
    Approve(ApproveArgs),
    /// Say no.
    Deny(DenyArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Also those that are decided.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The question's id, or the beginning of it.
    approval: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct ApproveArgs {
    /// The same question is not asked again in the same run.
    #[arg(long)]
    for_run: bool,
    #[command(flatten)]
    verdict: DenyArgs,
}

#[derive(Debug, clap::Args)]
pub struct DenyArgs {
    /// The question's id, or the beginning of it.
    approval: String,
    /// Why; the agent reads it.
    #[arg(long)]
    note: Option<String>,
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
        Command::Approve(ApproveArgs { for_run, verdict }) => {
            let scope = if for_run { "run" } else { "once" };
            decide(&Session::open(settings, &verdict.hub).await?, &verdict, true, scope).await
        }
        Command::Deny(verdict) => decide(&Session::open(settings, &verdict.hub).await?, &verdict, false, "once").await,
    }
}

async fn list(session: &Session, args: &ListArgs) -> anyhow::Result<()> {
    let approvals = fetch(session, args.all).await?;
    if args.json {
        return output::json(&approvals);
    }
    if items(&approvals).is_empty() {
        output::note("nothing waits for a decision");
        return Ok(());
    }
    let names = member_names(session).await?;
    let row = |approval: &Value| {
        let agent = names.iter().find(|(id, _)| id == text(approval, "agent_id")).map(|(_, name)| name.clone());
        let asked = moment::date(approval["created_at"].as_i64().unwrap_or_default());
        let agent = agent.unwrap_or_else(|| cell(approval, "agent_id"));
        vec![cell(approval, "id"), agent, cell(approval, "status"), asked, cell(approval, "action")]
    };
    let rows: Vec<_> = items(&approvals).iter().map(row).collect();
    output::table(&["ID", "AGENT", "STATUS", "ASKED", "ACTION"], &rows)
}

async fn fetch(session: &Session, all: bool) -> anyhow::Result<Value> {
    let query = if all { vec![] } else { vec![("status", "pending".to_owned())] };
    session.hub.get(&session.workspace_path("/approvals"), &query).await
}

async fn member_names(session: &Session) -> anyhow::Result<Vec<(String, String)>> {
    let members = session.hub.get(&session.workspace_path("/members"), &[]).await?;
    Ok(items(&members).iter().map(|member| (cell(member, "id"), cell(member, "name"))).collect())
}

async fn show(session: &Session, args: &ShowArgs) -> anyhow::Result<()> {
    let approval = find(session, &args.approval).await?;
    if args.json {
        return output::json(&approval);
    }
    for field in ["id", "kind", "status", "action", "review_note"] {
        if !cell(&approval, field).is_empty() {
            output::line(&format!("{:12} {}", format!("{}:", field.replace('_', " ")), cell(&approval, field)))?;
        }
    }
    let payload = text(&approval, "payload");
    if !payload.is_empty() {
        output::line(&format!("\n{payload}"))?;
    }
    Ok(())
}

async fn decide(session: &Session, args: &DenyArgs, approved: bool, scope: &str) -> anyhow::Result<()> {
    let approval = find(session, &args.approval).await?;
    let path = format!("/v1/approvals/{}", text(&approval, "id"));
    let decided = session.hub.patch(&path, &json!({"approved": approved, "scope": scope, "note": args.note})).await?;
    if args.json {
        return output::json(&decided);
    }
    output::note(&format!("{}: {}", text(&decided, "status"), text(&decided, "action")));
    Ok(())
}

/// One question by its id, or by a beginning that no other has.
async fn find(session: &Session, wanted: &str) -> anyhow::Result<Value> {
    let approvals = fetch(session, true).await?;
    let found: Vec<_> = items(&approvals).iter().filter(|approval| text(approval, "id").starts_with(wanted)).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(Fault::failed(format!("there is no question `{wanted}`"))
            .hint("`moot approvals list --all` shows their ids")
            .into()),
        _ => Err(Fault::failed(format!("several questions begin with `{wanted}`")).hint("give more of the id").into()),
    }
}
