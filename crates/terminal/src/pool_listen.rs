//! `moot pool listen`: where to hear what a jukebox plays.

use serde_json::json;

use crate::client::{HubArgs, Session, text};
use crate::{Settings, names, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot pool listen music                     the page for the voice channel that #music commands
  xdg-open \"$(moot pool listen music)\"

The link is yours and opens for 12 hours; everybody who opens such a page hears the same.")]
pub struct Args {
    /// A channel that is linked to a voice channel (name, #name or id).
    channel: String,
    /// Print the link as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let target = names::target(&session, &args.channel).await?;
    let link = session.hub.post("/v1/pools/listen", &json!({ "channel_id": target.channel_id })).await?;
    if args.json {
        return output::json(&link);
    }
    output::line(text(&link, "url"))
}
