//! The tools every bot has.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Desk, Toolbox, database, pages, research, scratchpad};
use crate::error::BotError;
use crate::settings::Limits;

pub fn toolbox(limits: &Limits) -> Toolbox {
    Toolbox::new(limits)
        .with("database_find", database::find)
        .with("database_insert", database::insert)
        .with("database_update", database::update)
        .with("database_delete", database::delete)
        .with("fetch_page", pages::fetch_page)
        .with("web_search", pages::web_search)
        .with("deep_research", research::deep_research)
        .with("make_plan", research::make_plan)
        .with("scratchpad_write", scratchpad::write)
        .with("scratchpad_read", scratchpad::read)
        .with("scratchpad_clear", scratchpad::clear)
        .with("date_and_time", date_and_time)
        .with("send_to_channel", send_to_channel)
}

/// The date and time now.
#[derive(Deserialize, JsonSchema)]
struct DateAndTime {
    /// The time zone, such as Europe/Amsterdam.
    #[serde(default = "utc")]
    timezone: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

async fn date_and_time(desk: Desk, args: DateAndTime) -> Result<String, BotError> {
    let now = (desk.means.now)();
    let unknown = |_| BotError::Validation(format!("there is no time zone `{}`", args.timezone));
    let local = now.in_tz(&args.timezone).map_err(unknown)?;
    Ok(local.strftime("%A, %Y-%m-%d %H:%M:%S %Z").to_string())
}

/// Say something in another channel that you are a member of.
#[derive(Deserialize, JsonSchema)]
struct SendToChannel {
    /// The name or the id of the channel.
    channel: String,
    /// What to say.
    message: String,
}

async fn send_to_channel(desk: Desk, args: SendToChannel) -> Result<String, BotError> {
    if args.message.trim().is_empty() {
        return Err(BotError::Validation("there is nothing to say".to_owned()));
    }
    desk.means.herald.say(&desk.channel_uid, &args.channel, &args.message).await
}
