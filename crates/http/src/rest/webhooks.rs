//! Webhooks: secret addresses through which other programs speak in a channel.

use axum::extract::State as AppState;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::{Door, Webhook};
use folkmoot_core::{Actor, Millis, access, refusal};
use folkmoot_doors::lark::objects::WebhookObject;
use folkmoot_hub::Hub;
use folkmoot_hub::auth::Auth;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path};
use super::reply::{self, Answer, Done};
use super::unexpected;

/// No secret of ours is longer.
const MAX_SECRET_BYTES: usize = 256;

#[derive(Deserialize, ToSchema)]
pub struct WebhookBody {
    channel_id: String,
    #[schema(example = "builds", min_length = 1, max_length = 80, pattern = "line")]
    name: String,
}

/// A webhook that was just made, with its secret, this once.
#[derive(Serialize, ToSchema)]
pub struct NewWebhook {
    #[serde(flatten)]
    webhook: WebhookObject,
    secret: String,
    /// Where to post `{"content": …}`.
    url: String,
}

/// Make a webhook for a channel one is in.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/webhooks", tag = "webhooks", request_body = WebhookBody,
    responses((status = 201, body = NewWebhook)))]
pub async fn create(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<WebhookBody>) -> Answer {
    caller.within(workspace)?;
    let (secret, secret_hash) = Auth::new_key("whs");
    let channel = ChannelId::parse(&body.channel_id);
    let command = Command::CreateWebhook { channel, name: body.name, secret_hash };
    let Reply::Webhook(webhook) = caller.execute(command).await? else { return Err(unexpected()) };
    let base = caller.hub.settings().server.public_url.trim_end_matches('/');
    let url = format!("{base}/webhooks/{}/{secret}", webhook.id);
    reply::created(&NewWebhook { webhook: WebhookObject::from(&webhook), secret, url })
}

/// The webhooks of the channels the caller may read, without their secrets.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/webhooks", tag = "webhooks",
    responses((status = 200, body = [WebhookObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        let member = access::workspace_member(state, actor, workspace)?;
        let visible = |webhook: &&Webhook| access::may_see_within(state, member, workspace, Some(webhook.channel));
        let mut webhooks: Vec<_> = state.webhooks_in(workspace).filter(visible).collect();
        webhooks.sort_by_key(|webhook| webhook.id);
        Ok(reply::ok(&webhooks.into_iter().map(WebhookObject::from).collect::<Vec<_>>()))
    })?
}

/// Delete a webhook (who made it, or an admin).
#[utoipa::path(delete, path = "/v1/webhooks/{webhook}", tag = "webhooks", responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path(webhook): Path<WebhookId>) -> Answer {
    caller.execute(Command::RemoveWebhook { webhook }).await?;
    reply::deleted(webhook)
}

/// Either `content` or `text`.
#[derive(Deserialize, ToSchema)]
pub struct PostBody {
    content: Option<String>,
    text: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Posted {
    #[schema(value_type = String)]
    id: MessageId,
    #[schema(value_type = String)]
    message_id: MessageId,
    #[schema(value_type = String)]
    channel_id: ChannelId,
    created_at: Millis,
}

/// Post a message through a webhook. The secret in the address is all it takes.
#[utoipa::path(post, path = "/webhooks/{webhook}/{secret}", tag = "webhooks", security(()), request_body = PostBody,
    responses((status = 201, body = Posted)))]
pub async fn post(
    AppState(hub): AppState<Hub>,
    Path((webhook, secret)): Path<(WebhookId, String)>,
    Body(body): Body<PostBody>,
) -> Answer {
    if secret.len() > MAX_SECRET_BYTES {
        return Err(refusal::WEBHOOK_NOT_FOUND.into());
    }
    // A webhook has a bucket of its own, beside those of members: whoever knows its id cannot silence its maker. An
    // unknown one has none, so that guessing costs no memory.
    if hub.with_state(|state| state.webhook(webhook).is_some()) {
        hub.quotas().request(MemberId(webhook.0), hub.now())?;
    }
    let content = body.content.filter(|content| !content.is_empty()).or(body.text).unwrap_or_default();
    let command = Command::PostToWebhook { webhook, secret_hash: Auth::hash_key(&secret), content };
    let Reply::Sent { message, .. } = hub.execute(Actor::nobody(Door::Webhook), command).await? else {
        return Err(unexpected());
    };
    reply::created(&Posted {
        id: message.id,
        message_id: message.id,
        channel_id: message.channel,
        created_at: message.created_at,
    })
}
