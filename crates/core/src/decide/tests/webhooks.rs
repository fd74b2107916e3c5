//! Webhooks: addresses outside programs post to.

use super::support::World;
use super::support::world::{key, message_of, notifications};
use crate::command::{Command, Reply};
use crate::ids::*;
use crate::model::*;
use crate::{Actor, refusal};

struct Hook {
    world: World,
    alice: MemberId,
    bob: MemberId,
    carol: MemberId,
    general: ChannelId,
    webhook: WebhookId,
}

/// A webhook that bob made, with the secret 1.
fn hook() -> Hook {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let general = world.channel("general", &[alice, bob]);
    let create = Command::CreateWebhook { channel: general, name: "ci".to_owned(), secret_hash: key(1) };
    let Reply::Webhook(webhook) = world.done(bob, create).reply else { panic!() };
    Hook { world, alice, bob, carol, general, webhook: webhook.id }
}

fn post(webhook: WebhookId, secret: u8, content: &str) -> Command {
    Command::PostToWebhook { webhook, secret_hash: key(secret), content: content.to_owned() }
}

fn outside() -> Actor {
    Actor::nobody(Door::Webhook)
}

#[test]
fn a_post_appears_as_a_message_of_who_made_the_webhook_and_says_where_it_came_from() {
    let Hook { mut world, alice, bob, general, webhook, .. } = hook();
    let decision = world.done(outside(), post(webhook, 1, "@alice the build is red"));
    let message = message_of(&decision);
    assert_eq!((message.sender, message.channel, message.door), (bob, general, Door::Webhook));
    assert_eq!(message.kind, "webhook");
    let metadata: serde_json::Value = serde_json::from_str(message.metadata.as_ref().unwrap().get()).unwrap();
    assert_eq!(metadata["webhook_name"], "ci");
    assert_eq!(metadata["webhook_id"], webhook.to_string());
    assert_eq!(notifications(&decision)[0].member, alice, "it mentions like any message");
}

#[test]
fn a_wrong_secret_and_an_unknown_webhook_answer_alike() {
    let Hook { mut world, webhook, .. } = hook();
    assert_eq!(world.refused(outside(), post(webhook, 2, "hi")), refusal::WEBHOOK_NOT_FOUND);
    assert_eq!(world.refused(outside(), post(WebhookId::NONE, 1, "hi")), refusal::WEBHOOK_NOT_FOUND);
    assert_eq!(world.refused(outside(), post(webhook, 1, " ")), refusal::CONTENT_REQUIRED);
    world.done(outside(), post(webhook, 1, "hi"));
}

#[test]
fn a_webhook_is_made_by_members_of_its_channel() {
    let Hook { mut world, carol, general, .. } = hook();
    let create = || Command::CreateWebhook { channel: general, name: "mine".to_owned(), secret_hash: key(3) };
    assert_eq!(world.refused(carol, create()), refusal::NOT_CHANNEL_MEMBER);
    world.done(carol, Command::AddToChannel { channel: general, member: carol });
    world.done(carol, create());
}

#[test]
fn a_webhook_is_removed_by_its_maker_or_an_admin() {
    let Hook { mut world, alice, carol, bob, webhook, .. } = hook();
    let (_, stranger) = world.register("stranger");
    let remove = |webhook| Command::RemoveWebhook { webhook };
    assert_eq!(world.refused(carol, remove(webhook)), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(stranger, remove(webhook)), refusal::WEBHOOK_NOT_FOUND);
    world.done(alice, remove(webhook));
    assert_eq!(world.refused(bob, remove(webhook)), refusal::WEBHOOK_NOT_FOUND);
    assert_eq!(world.refused(outside(), post(webhook, 1, "hi")), refusal::WEBHOOK_NOT_FOUND);
}

#[test]
fn a_webhook_may_no_more_than_who_made_it() {
    let Hook { mut world, alice, bob, general, webhook, .. } = hook();
    world.done(outside(), post(webhook, 1, "hi"));
    world.done(alice, Command::RemoveFromChannel { channel: general, member: bob });
    assert_eq!(world.refused(outside(), post(webhook, 1, "hi")), refusal::NOT_CHANNEL_MEMBER);
    world.done(alice, Command::RemoveMember { member: bob });
    assert_eq!(world.refused(outside(), post(webhook, 1, "hi")), refusal::NOT_AUTHENTICATED);
}
