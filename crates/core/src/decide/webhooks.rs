//! Webhooks: addresses outside programs post to.

use serde_json::value::RawValue;
use subtle::ConstantTimeEq;

use super::{Context, Decision, Outcome, messages, short_text};
use crate::command::{Reply, Send};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal;
use crate::{Actor, access};

pub fn create(
    context: &mut Context<'_>,
    actor: Actor,
    channel: ChannelId,
    name: String,
    secret_hash: KeyHash,
) -> Outcome {
    let room = access::room_to_speak(context.state, actor, channel)?;
    let workspace = room.channel.workspace;
    let webhook = Webhook {
        id: WebhookId(context.new_id()),
        workspace,
        channel,
        name: short_text(&name, "name", 80)?,
        secret_hash,
        created_by: actor.member,
        created_at: context.now,
    };
    Ok(Decision::saved(Reply::Webhook(webhook.clone()), webhook))
}

pub fn remove(context: &mut Context<'_>, actor: Actor, id: WebhookId) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible =
        |webhook: &&Webhook| access::may_see_within(context.state, member, webhook.workspace, Some(webhook.channel));
    let webhook = context.state.webhook(id).filter(visible).ok_or(refusal::WEBHOOK_NOT_FOUND)?;
    if webhook.created_by != member.id && member.role < Role::Admin {
        return Err(refusal::ADMINS_ONLY);
    }
    Ok(Decision::new(Reply::Done, vec![Event::Removed(webhook.clone().into())]))
}

/// A post appears as a message of the member who made the webhook, marked with where it came from.
pub fn post(context: &mut Context<'_>, id: WebhookId, secret_hash: KeyHash, content: String) -> Outcome {
    let webhook = context.state.webhook(id).ok_or(refusal::WEBHOOK_NOT_FOUND)?;
    if !bool::from(webhook.secret_hash.0.ct_eq(&secret_hash.0)) {
        return Err(refusal::WEBHOOK_NOT_FOUND);
    }
    let mark = serde_json::json!({ "webhook_id": webhook.id, "webhook_name": webhook.name });
    let metadata = RawValue::from_string(mark.to_string()).ok();
    let actor = Actor::new(webhook.created_by, Door::Webhook);
    let send =
        Send { channel: webhook.channel, content, kind: Some("webhook".to_owned()), metadata, ..Send::default() };
    messages::send(context, actor, send)
}
