//! Reviews between agents, shared workspace items, and the server-only frames about reactions and pins.

use serde_json::{Value, json};

use crate::support::{Hub, Lark, Member, items, start, text};

struct Pair {
    _hub: Hub,
    alice: Member,
    general: String,
    coder: Member,
    coder_lark: Lark,
    reviewer: Member,
    reviewer_lark: Lark,
}

async fn pair() -> Pair {
    let (hub, alice) = start().await;
    let coder = alice.add_agent("coder").await;
    let reviewer = alice.add_agent("reviewer").await;
    let general = alice.add_channel("general", &[&coder, &reviewer]).await;
    Pair {
        _hub: hub,
        general,
        coder_lark: coder.lark_agent().await,
        reviewer_lark: reviewer.lark_agent().await,
        alice,
        coder,
        reviewer,
    }
}

impl Pair {
    async fn request(&mut self) -> Value {
        let data = json!({
            "reviewer_id": self.reviewer.id, "subject": "The parser",
            "content": "fn parse() {}", "channel_id": self.general,
        });
        self.coder_lark.ask("review.request", data).await["data"].clone()
    }
}

#[tokio::test]
async fn a_review_request_is_pending_and_notifies_the_reviewer() {
    let mut pair = pair().await;
    let review = pair.request().await;
    assert_eq!(review["status"], "pending", "{review}");
    assert!(!text(&review, "review_id").is_empty());
    let notification =
        pair.reviewer_lark.expect_where("notification.new", |data| data["title"] == "Review requested").await;
    assert_eq!(notification["member_id"], pair.reviewer.id.as_str());
}

#[tokio::test]
async fn the_reviewers_result_reaches_the_requester() {
    let mut pair = pair().await;
    let review = pair.request().await;
    let id = text(&review, "review_id").to_owned();
    let data = json!({ "review_id": id, "status": "approved", "comment": "Good work" });
    let answer = pair.reviewer_lark.ask("review.result", data).await;
    assert_eq!(answer["data"]["review_id"], id.as_str(), "{answer}");
    assert_eq!(answer["data"]["status"], "approved");
    pair.coder_lark.expect_where("notification.new", |data| data["title"] == "Review completed").await;
    let stored = pair.alice.rest.get(&format!("/v1/reviews/{id}")).await.ok();
    assert_eq!(stored["status"], "approved");
    assert_eq!(stored["comment"], "Good work");
}

#[tokio::test]
async fn only_the_reviewer_decides() {
    let mut pair = pair().await;
    let review = pair.request().await;
    let id = text(&review, "review_id").to_owned();
    let data = json!({ "review_id": id, "status": "approved" });
    pair.coder_lark.refused("review.result", data).await;
    let stored = pair.alice.rest.get(&format!("/v1/reviews/{id}")).await.ok();
    assert_eq!(stored["status"], "pending");
}

#[tokio::test]
async fn reviews_over_lark_are_for_agents() {
    let pair = pair().await;
    let mut human = pair.alice.lark().await;
    let data = json!({
        "reviewer_id": pair.reviewer.id, "subject": "s", "content": "c", "channel_id": pair.general,
    });
    assert_eq!(human.refused("review.request", data).await, "not authorized");
}

#[tokio::test]
async fn a_workspace_update_creates_and_changes_an_item() {
    let mut pair = pair().await;
    let data = json!({
        "name": "notes.md", "content": "first", "namespace": "docs",
        "description": "what I learned", "tags": ["parser"],
    });
    let answer = pair.coder_lark.ask("workspace.update", data).await;
    let item = &answer["data"];
    assert_eq!(item["name"], "notes.md", "{answer}");
    assert_eq!(item["content"], "first");
    let id = text(item, "id");
    let data = json!({ "item_id": id, "name": "notes.md", "content": "second" });
    let changed = pair.coder_lark.ask("workspace.update", data).await;
    assert_eq!(changed["data"]["id"], id, "{changed}");
    assert_eq!(changed["data"]["content"], "second");
    let path = format!("/v1/agents/{}/workspace", pair.coder.id);
    let list = pair.coder.rest.get(&path).await.ok();
    assert_eq!(items(&list).len(), 1, "{list}");
    assert_eq!(list[0]["content"], "second");
}

#[tokio::test]
async fn a_workspace_update_is_for_agents() {
    let pair = pair().await;
    let mut human = pair.alice.lark().await;
    let error = human.refused("workspace.update", json!({ "name": "x" })).await;
    assert_eq!(error, "not authorized");
}

#[tokio::test]
async fn a_reaction_is_told_to_the_channel() {
    let mut pair = pair().await;
    let message = pair.alice.post(&pair.general, "nice").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    pair.coder.rest.post(&path, json!({ "emoji": "👍" })).await.done();
    let reaction = pair.reviewer_lark.expect("reaction.add").await;
    assert_eq!(reaction["message_id"], message["id"]);
    assert_eq!(reaction["emoji"], "👍");
    assert_eq!(reaction["member_id"], pair.coder.id.as_str());
}

#[tokio::test]
async fn a_pin_is_told_to_the_channel() {
    let mut pair = pair().await;
    let message = pair.alice.post(&pair.general, "important").await;
    let path = format!("/v1/channels/{}/pins", pair.general);
    let body = json!({ "message_id": message["id"] });
    pair.alice.rest.post(&path, body).await.done();
    let pin = pair.reviewer_lark.expect("pin.add").await;
    assert_eq!(pin["message_id"], message["id"], "{pin}");
}
