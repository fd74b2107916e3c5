//! `moot approvals`: what agents ask for, and deciding it.

use folkmoot_action::Shown;
use folkmoot_core::moment;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{HubArgs, Session, cell, items, text};
use crate::{Fault, Settings, output};

/// How much of a line the list shows.
const MAX_IN_LIST: usize = 120;

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
        vec![cell(approval, "id"), agent, cell(approval, "status"), asked, in_one_line(&shown(approval))]
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
    let paint = output::Paint::of_stdout();
    let shown = shown(&approval);
    let mut lines = shown.lines();
    if shown.warning.is_some() {
        lines[0] = paint.red(&lines[0]);
    }
    lines.iter().try_for_each(|line| output::line(line))?;
    output::line("")?;
    for field in ["id", "kind", "status", "review_note"] {
        if !cell(&approval, field).is_empty() {
            let value = output::name(&cell(&approval, field));
            output::line(&format!("{:12} {value}", format!("{}:", field.replace('_', " "))))?;
        }
    }
    Ok(())
}

/// As the hub shows it on every surface; a hub that is older than that does not say.
fn shown(approval: &Value) -> Shown {
    let own =
        || Shown::of_question(text(approval, "kind") == "brake", text(approval, "action"), text(approval, "payload"));
    Shown::deserialize(&approval["shown"]).unwrap_or_else(|_| own())
}

/// What it is and how it begins; more than that is said to be more.
fn in_one_line(shown: &Shown) -> String {
    let warning = if shown.warning.is_some() { "! " } else { "" };
    let text = shown.parts.first().map(|part| part.text.as_str()).or(shown.says.as_deref()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(MAX_IN_LIST).collect();
    let lines = text.lines().count().saturating_sub(1);
    let more = match (lines, cut.len() < first.len()) {
        (0, false) => String::new(),
        (0, true) => "… (more: `moot approvals show`)".to_owned(),
        (lines, _) => format!("… ({lines} more lines: `moot approvals show`)"),
    };
    format!("{warning}{}: {cut}{more}", shown.heading)
}

async fn decide(session: &Session, args: &DenyArgs, approved: bool, scope: &str) -> anyhow::Result<()> {
    let approval = find(session, &args.approval).await?;
    let path = format!("/v1/approvals/{}", text(&approval, "id"));
    let decided = session.hub.patch(&path, &json!({"approved": approved, "scope": scope, "note": args.note})).await?;
    if args.json {
        return output::json(&decided);
    }
    output::note(&format!("{}: {}", text(&decided, "status"), in_one_line(&shown(&decided))));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_warns_and_says_what_it_leaves_out() {
        let line = |command: &str| {
            let payload = json!({"detail": {"command": command}}).to_string();
            in_one_line(&shown(&json!({"kind": "permission", "action": "tidy", "payload": payload})))
        };
        assert_eq!(line("ls"), "Run a command: ls");
        assert_eq!(line("ls\nrm -rf /"), "! Run a command: ls… (1 more lines: `moot approvals show`)");
        assert!(line(&"x".repeat(500)).ends_with("x… (more: `moot approvals show`)"));
    }
}
