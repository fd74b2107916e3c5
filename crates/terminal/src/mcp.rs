//! `moot mcp`: the hub's tools for assistants that start their servers as programs.

use folkmoot_clients::mcp::Bridge;

use crate::client::{HubArgs, Session};
use crate::{Fault, Settings};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add hub --env MOOT_TOKEN=lr_… -- moot mcp
  codex mcp add hub --env MOOT_TOKEN=lr_… -- moot mcp
  moot mcp                                  as whoever is logged in here

Give an assistant the key of an agent of its own (`moot member add NAME --agent`): with your token it is you.
Assistants that speak HTTP need no program: their address is the hub's, with /mcp.")]
pub struct Args {
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    // Not in the arguments, where everybody on the machine could read it.
    let token = args.hub.token.or_else(|| std::env::var("MOOT_TOKEN").ok().filter(|token| !token.is_empty()));
    let session = Session::open(settings, &HubArgs { token, ..args.hub }).await?;
    let token = session.hub.token().ok_or_else(|| Fault::failed("there is no token to show to the hub"))?;
    let bridge = Bridge::new(session.hub.http().clone(), &session.hub.address(), token.expose());
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    Ok(bridge.run(input, tokio::io::stdout()).await?)
}
