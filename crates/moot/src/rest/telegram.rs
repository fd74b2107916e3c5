//! Linking a Telegram account, from which its member decides what agents ask.

use axum::extract::State;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::model::TelegramLink;
use folkmoot_core::{Millis, Refusal, access};
use folkmoot_hub::auth::random_hex;
use folkmoot_hub::request::reply::Done;
use folkmoot_hub::request::{Answer, Caller, reply, unexpected};
use serde::Serialize;
use utoipa::ToSchema;

use crate::hosting::Local;
use crate::telegram::code_hash;

/// A code, this once.
#[derive(Serialize, ToSchema)]
pub struct TelegramCode {
    #[schema(example = "1f0c9-b27ae")]
    code: String,
    /// What to send to the bot in a private chat.
    #[schema(example = "/link 1f0c9-b27ae")]
    command: String,
    expires_at: Millis,
}

/// The Telegram account that speaks for the caller.
#[derive(Serialize, ToSchema)]
pub struct TelegramLinkObject {
    linked: bool,
    /// Telegram's number of the account.
    #[schema(required = true)]
    user_id: Option<i64>,
    /// What the account calls itself.
    #[schema(required = true)]
    name: Option<String>,
    #[schema(required = true)]
    linked_at: Option<Millis>,
}

/// Ask for a one-time code with which a Telegram account is linked to the caller (people only).
///
/// The code is good for one account, for 10 minutes; a new one ends the one before. 409 when this hub runs no bot.
#[utoipa::path(post, path = "/v1/telegram/link", tag = "approvals", responses((status = 409, description = "this hub runs no Telegram bot"), (status = 201, body = TelegramCode)))]
pub async fn link(caller: Caller, State(local): State<Local>) -> Answer {
    if local.config().telegram.bot_token.is_empty() {
        return Err(Refusal::conflict("this hub runs no Telegram bot; its operator sets `telegram.bot_token`").into());
    }
    let digits = random_hex(5);
    let (first, second) = digits.split_at(5);
    let code = format!("{first}-{second}");
    let offer = Command::OfferTelegramLink { code_hash: code_hash(&code) };
    let Reply::TelegramLink(link) = caller.execute(offer).await? else { return Err(unexpected()) };
    let command = format!("/link {code}");
    reply::created(&TelegramCode { code, command, expires_at: link.expires_at })
}

/// Which Telegram account speaks for the caller.
#[utoipa::path(get, path = "/v1/telegram/link", tag = "approvals",
    responses((status = 200, body = TelegramLinkObject)))]
pub async fn show(caller: Caller) -> Answer {
    let account = caller.query(|state, actor| {
        let member = access::member(state, actor)?.id;
        Ok(state.telegram_links_of(member).find_map(|link: &TelegramLink| link.account.clone()))
    })?;
    reply::ok(&TelegramLinkObject {
        linked: account.is_some(),
        user_id: account.as_ref().map(|account| account.user),
        linked_at: account.as_ref().map(|account| account.linked_at),
        name: account.map(|account| account.name),
    })
}

/// End it: nothing is decided from that account any more.
#[utoipa::path(delete, path = "/v1/telegram/link", tag = "approvals", responses((status = 404, description = "no account is linked"), (status = 200, body = Done)))]
pub async fn unlink(caller: Caller) -> Answer {
    caller.execute(Command::UnlinkTelegram).await?;
    reply::done()
}
