//! `moot machine`: the machines of yours that may carry your agents.

use serde_json::{Value, json};

use crate::client::{HubArgs, ListArgs, Session, items, text};
use crate::{Fault, Settings, output};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
With the key of a machine, `moot agentd` there carries your agents. It can do nothing else: it neither
speaks nor reads as you. `moot agentd` makes the key of its own machine by itself, when you are logged
in there; for a machine on which you are not, make one here.

Examples:
  moot machine add server                            prints the key, this once
  moot machine list
  moot machine rm server                             its daemon is cut off at once")]
pub enum Command {
    /// Make a key for a machine.
    Add(AddArgs),
    /// List your machines and the agents they carry; admins see everybody's.
    List(ListArgs),
    /// Take the key of a machine back.
    #[command(visible_alias = "remove")]
    Rm(RmArgs),
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What to call it.
    name: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// The name or id.
    machine: String,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Add(args) => {
            let session = Session::open(settings, &args.hub).await?;
            let made = add(&session, &args.name).await?;
            show(&made, args.json)
        }
        Command::List(args) => list(&Session::open(settings, &args.hub).await?, args.json).await,
        Command::Rm(args) => remove(&Session::open(settings, &args.hub).await?, &args.machine).await,
    }
}

/// A new machine of whoever is logged in, with its key.
pub async fn add(session: &Session, name: &str) -> anyhow::Result<Value> {
    session.hub.post(&session.workspace_path("/machines"), &json!({"name": name})).await
}

fn show(made: &Value, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(made);
    }
    output::note(&format!("added {}; its key is shown this once:", text(made, "name")));
    output::text(&format!("{}\n", text(made, "key")))?;
    output::note("Give it to the daemon there as `agentd.api_key`, or in a file named by MOOT_AGENTD__API_KEY_FILE.");
    Ok(())
}

async fn list(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let machines = session.hub.get(&session.workspace_path("/machines"), &[]).await?;
    if as_json {
        return output::json(&machines);
    }
    let row = |machine: &Value| {
        let agents: Vec<&str> = items(&machine["agents"]).iter().map(|agent| text(agent, "name")).collect();
        let state = if machine["online"] == true { "online" } else { "offline" };
        vec![text(machine, "name").to_owned(), state.to_owned(), agents.join(", "), text(machine, "id").to_owned()]
    };
    output::table(&["MACHINE", "STATE", "AGENTS", "ID"], &items(&machines).iter().map(row).collect::<Vec<_>>())
}

async fn remove(session: &Session, named: &str) -> anyhow::Result<()> {
    let machines = session.hub.get(&session.workspace_path("/machines"), &[]).await?;
    let is_meant = |machine: &&Value| text(machine, "id") == named || text(machine, "name").eq_ignore_ascii_case(named);
    let meant: Vec<&Value> = items(&machines).iter().filter(is_meant).collect();
    let machine = match meant[..] {
        [machine] => machine,
        [] => {
            let fault = Fault::failed(format!("no machine is called {named}"));
            return Err(fault.hint("`moot machine list` shows them").into());
        }
        _ => {
            let fault = Fault::usage(format!("several machines are called {named}"));
            return Err(fault.hint("name one by its id; `moot machine list` shows it").into());
        }
    };
    session.hub.delete(&session.workspace_path(&format!("/machines/{}", text(machine, "id")))).await?;
    output::note(&format!("The key of {} no longer counts.", text(machine, "name")));
    Ok(())
}
