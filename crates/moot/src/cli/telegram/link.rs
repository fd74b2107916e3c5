//! `moot telegram link` and `unlink`: the account from which one decides what agents ask.

use serde_json::json;

use crate::cli::client::{HubArgs, Session, cell, text};
use crate::cli::{Settings, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub must run the bot itself: `moot serve` with `telegram.bot_token`.

Examples:
  moot telegram link                        a code for the next 10 minutes
  moot telegram link --show                 which account is linked")]
pub struct Args {
    /// Only say which account is linked.
    #[arg(long)]
    show: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct UnlinkArgs {
    #[command(flatten)]
    hub: HubArgs,
}

const PATH: &str = "/v1/telegram/link";

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let answer = match args.show {
        true => session.hub.get(PATH, &[]).await?,
        false => session.hub.post(PATH, &json!({})).await?,
    };
    if args.json {
        return output::json(&answer);
    }
    if !args.show {
        output::note("Send this to the bot in a private chat, within 10 minutes:");
        return output::line(text(&answer, "command"));
    }
    match answer["linked"].as_bool() {
        Some(true) => output::line(&format!("{} {}", cell(&answer, "user_id"), cell(&answer, "name"))),
        _ => {
            output::note("no Telegram account is linked");
            Ok(())
        }
    }
}

pub async fn end(settings: &Settings, args: UnlinkArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    session.hub.delete(PATH).await?;
    output::note("unlinked");
    Ok(())
}
