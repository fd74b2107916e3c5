//! Held drafts: a reply that knows which room version it was written against.

use serde_json::{Value, json};

use crate::support::{Lark, Member, items, number, start, text};

struct Room {
    _hub: crate::support::Hub,
    alice: Member,
    general: String,
    codebot: Member,
    agent: Lark,
}

async fn room() -> Room {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let agent = codebot.lark_agent().await;
    Room { _hub: hub, alice, general, codebot, agent }
}

impl Room {
    async fn hold(&mut self, content: &str) -> Value {
        let data = json!({ "channel_id": self.general, "content": content });
        self.agent.asks("draft.create", data, "draft.ack").await
    }

    async fn talk(&mut self, messages: usize) {
        for round in 0..messages {
            self.alice.post(&self.general, &format!("talk {round}")).await;
        }
    }

    async fn validate(&mut self, draft: &Value) -> Value {
        let data = json!({ "draft_id": draft["draft_id"] });
        self.agent.asks("draft.validate", data, "draft.result").await
    }
}

#[tokio::test]
async fn a_draft_is_held_against_the_room_version() {
    let mut room = room().await;
    let first = room.hold("early").await;
    assert_eq!(first["room_version"], 0, "an unused room starts at 0");
    assert!(!text(&first, "draft_id").is_empty());
    room.talk(3).await;
    let second = room.hold("later").await;
    assert_eq!(second["room_version"], 3, "one more per message");
    assert_eq!(room.alice.texts(&room.general).await.len(), 3, "nothing is sent yet");
}

#[tokio::test]
async fn a_draft_is_valid_up_to_five_messages_later() {
    let mut room = room().await;
    let draft = room.hold("my answer").await;
    room.talk(5).await;
    let result = room.validate(&draft).await;
    assert_eq!(result["draft_id"], draft["draft_id"]);
    assert_eq!(result["valid"], true, "{result}");
    assert_eq!(number(&result, "draft_version"), 0);
    assert_eq!(number(&result, "current_version"), 5);
    assert_eq!(number(&result, "version_delta"), 5);
}

#[tokio::test]
async fn a_draft_is_stale_after_six_and_shows_the_last_five_messages() {
    let mut room = room().await;
    let draft = room.hold("my answer").await;
    room.talk(6).await;
    let result = room.validate(&draft).await;
    assert_eq!(result["valid"], false, "{result}");
    assert_eq!(number(&result, "version_delta"), 6);
    assert_eq!(items(&result["recent_messages"]).len(), 5);
}

#[tokio::test]
async fn a_valid_draft_is_sent_as_an_ordinary_message() {
    let mut room = room().await;
    let mut reader = room.alice.lark().await;
    let draft = room.hold("my answer").await;
    let data = json!({ "draft_id": draft["draft_id"] });
    let sent = room.agent.asks("draft.send", data, "draft.send").await;
    assert_eq!(sent["status"], "sent");
    let new = reader.expect("message.new").await;
    assert_eq!(new["id"], sent["message_id"]);
    assert_eq!(new["content"], "my answer");
    assert_eq!(new["sender_id"], room.codebot.id.as_str());
    assert_eq!(new["message"]["content"], "my answer");
}

#[tokio::test]
async fn a_stale_draft_is_not_sent_unless_forced() {
    let mut room = room().await;
    let draft = room.hold("my answer").await;
    room.talk(6).await;
    let data = json!({ "draft_id": draft["draft_id"] });
    let error = room.agent.refused("draft.send", data).await;
    assert_eq!(error, "draft is stale, use force_version to override");
    assert_eq!(room.alice.texts(&room.general).await.len(), 6);
    let data = json!({ "draft_id": draft["draft_id"], "force_version": true });
    let sent = room.agent.asks("draft.send", data, "draft.send").await;
    assert_eq!(sent["status"], "sent");
    let texts = room.alice.texts(&room.general).await;
    assert_eq!(texts.last().map(String::as_str), Some("my answer"));
}

#[tokio::test]
async fn a_draft_is_sent_once() {
    let mut room = room().await;
    let draft = room.hold("only once").await;
    let data = json!({ "draft_id": draft["draft_id"] });
    room.agent.asks("draft.send", data.clone(), "draft.send").await;
    let error = room.agent.refused("draft.send", data).await;
    assert_eq!(error, "draft is not in held status");
    assert_eq!(room.alice.texts(&room.general).await, ["only once"]);
}

#[tokio::test]
async fn a_draft_belongs_to_its_agent() {
    let mut room = room().await;
    let draft = room.hold("mine").await;
    let thief = room.alice.add_agent("thief").await;
    room.alice.admit(&room.general, &thief).await;
    let mut other = thief.lark_agent().await;
    let data = json!({ "draft_id": draft["draft_id"] });
    assert_eq!(other.refused("draft.validate", data.clone()).await, "not your draft");
    assert_eq!(other.refused("draft.send", data).await, "not your draft");
    assert!(room.alice.texts(&room.general).await.is_empty());
}

#[tokio::test]
async fn an_unknown_draft_is_not_found() {
    let mut room = room().await;
    let data = json!({ "draft_id": "draft_unknown" });
    let error = room.agent.refused("draft.validate", data.clone()).await;
    assert_eq!(error, "draft not found");
    assert_eq!(room.agent.refused("draft.send", data).await, "draft not found");
}

#[tokio::test]
async fn a_draft_for_a_channel_the_agent_is_not_in_is_refused() {
    let mut room = room().await;
    let secret = room.alice.add_private("secret", &[]).await;
    let data = json!({ "channel_id": secret, "content": "hm" });
    let error = room.agent.refused("draft.create", data).await;
    assert_eq!(error, "not a channel member");
}

#[tokio::test]
async fn drafts_are_for_agents() {
    let room = room().await;
    let mut human = room.alice.lark().await;
    let data = json!({ "channel_id": room.general, "content": "hm" });
    assert_eq!(human.refused("draft.create", data).await, "not authorized");
}

#[tokio::test]
async fn a_draft_that_mentions_wakes_when_it_is_sent() {
    let mut room = room().await;
    let reviewbot = room.alice.add_agent("reviewbot").await;
    room.alice.admit(&room.general, &reviewbot).await;
    let mut other = reviewbot.lark_agent().await;
    let draft = room.hold("@reviewbot your turn").await;
    let data = json!({ "draft_id": draft["draft_id"] });
    room.agent.asks("draft.send", data, "draft.send").await;
    assert_eq!(other.expect("agent.wake").await["reason"], "mention");
}
