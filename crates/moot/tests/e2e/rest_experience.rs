//! The agents' own corner over REST: inbox, drafts, workspace items, reviews.

use serde_json::{Value, json};

use crate::support::{Hub, Member, column, items, start, text};

struct Corner {
    _hub: Hub,
    alice: Member,
    codebot: Member,
    general: String,
}

async fn corner() -> Corner {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    Corner { _hub: hub, alice, codebot, general }
}

impl Corner {
    fn own(&self, part: &str) -> String {
        format!("/v1/agents/{}/{part}", self.codebot.id)
    }

    async fn count(&self) -> Value {
        let answer = self.codebot.rest.get(&self.own("inbox/count")).await.ok();
        let object = answer.as_object().expect("an object").clone();
        let count = object.get("count").or_else(|| object.get("unread_count"));
        count.unwrap_or_else(|| panic!("no count in {answer}")).clone()
    }
}

#[tokio::test]
async fn the_inbox_counts_what_is_not_acknowledged() {
    let corner = corner().await;
    for number in 1..=3 {
        let content = format!("@codebot {number}");
        corner.alice.post(&corner.general, &content).await;
    }
    let inbox = corner.codebot.rest.get(&corner.own("inbox")).await.ok();
    assert_eq!(items(&inbox).len(), 3);
    assert_eq!(corner.count().await, 3);
    let path = corner.own(&format!("inbox/{}/ack", text(&inbox[0], "id")));
    corner.codebot.rest.post(&path, json!({})).await.ok();
    assert_eq!(corner.count().await, 2);
    corner.codebot.rest.post(&corner.own("inbox/ack-all"), json!({})).await.ok();
    assert_eq!(corner.count().await, 0);
}

#[tokio::test]
async fn the_inbox_of_another_member_is_closed() {
    let corner = corner().await;
    corner.alice.post(&corner.general, "@codebot hi").await;
    let thief = corner.alice.add_agent("thief").await;
    for path in ["inbox", "inbox/count", "drafts"] {
        thief.rest.get(&corner.own(path)).await.hidden();
    }
    thief.rest.post(&corner.own("inbox/ack-all"), json!({})).await.hidden();
    assert_eq!(corner.count().await, 1);
}

#[tokio::test]
async fn a_draft_is_held_validated_and_sent() {
    let corner = corner().await;
    let body = json!({ "channel_id": corner.general, "content": "my answer", "agent_id": "mem_spoofed" });
    let draft = corner.codebot.rest.post(&corner.own("drafts"), body).await.created();
    let id = draft["id"].as_str().or(draft["draft_id"].as_str()).expect("an id").to_owned();
    let list = corner.codebot.rest.get(&corner.own("drafts")).await.ok();
    assert_eq!(items(&list).len(), 1);
    let path = format!("/v1/drafts/{id}/validate");
    let answer = corner.codebot.rest.get(&path).await;
    let result = match answer.status {
        404 | 405 => corner.codebot.rest.post(&path, json!({})).await.ok(),
        _ => answer.ok(),
    };
    assert_eq!(result["valid"], true, "{result}");
    let path = format!("/v1/drafts/{id}/send");
    corner.codebot.rest.post(&path, json!({})).await.done();
    let history = corner.alice.history(&corner.general).await;
    assert_eq!(column(&history, "content"), ["my answer"]);
    assert_eq!(history[0]["sender_id"], corner.codebot.id.as_str());
}

#[tokio::test]
async fn a_stale_draft_is_a_conflict() {
    let corner = corner().await;
    let body = json!({ "channel_id": corner.general, "content": "my answer" });
    let draft = corner.codebot.rest.post(&corner.own("drafts"), body).await.created();
    let id = draft["id"].as_str().or(draft["draft_id"].as_str()).expect("an id").to_owned();
    for number in 0..6 {
        corner.alice.post(&corner.general, &format!("m{number}")).await;
    }
    let path = format!("/v1/drafts/{id}/send");
    let refusal = corner.codebot.rest.post(&path, json!({})).await;
    refusal.refused(409, "CONFLICT");
    let forced = json!({ "force_version": true });
    corner.codebot.rest.post(&path, forced).await.done();
    assert_eq!(corner.alice.texts(&corner.general).await.len(), 7);
}

#[tokio::test]
async fn a_cancelled_draft_is_not_sent() {
    let corner = corner().await;
    let body = json!({ "channel_id": corner.general, "content": "my answer" });
    let draft = corner.codebot.rest.post(&corner.own("drafts"), body).await.created();
    let id = draft["id"].as_str().or(draft["draft_id"].as_str()).expect("an id").to_owned();
    corner.alice.rest.delete(&format!("/v1/drafts/{id}")).await.hidden();
    corner.codebot.rest.delete(&format!("/v1/drafts/{id}")).await.ok();
    let path = format!("/v1/drafts/{id}/send");
    let refusal = corner.codebot.rest.post(&path, json!({})).await;
    refusal.refused_as(&[400, 404, 409]);
    assert!(corner.alice.texts(&corner.general).await.is_empty());
}

#[tokio::test]
async fn workspace_items_are_put_read_searched_and_deleted() {
    let corner = corner().await;
    let body = json!({ "name": "notes.md", "content": "owls hunt at night", "tags": ["birds"] });
    let item = corner.codebot.rest.put(&corner.own("workspace"), body).await.done();
    let id = text(&item, "id");
    let list = corner.codebot.rest.get(&corner.own("workspace")).await.ok();
    assert_eq!(column(&list, "id"), [id]);
    let found = corner.codebot.rest.get(&corner.own("workspace/search?q=owls")).await.ok();
    assert_eq!(column(&found, "id"), [id]);
    let none = corner.codebot.rest.get(&corner.own("workspace/search?q=zebra")).await.ok();
    assert_eq!(none, json!([]));
    corner.codebot.rest.delete(&corner.own(&format!("workspace/{id}"))).await.ok();
    let list = corner.codebot.rest.get(&corner.own("workspace")).await.ok();
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn a_review_is_decided_by_the_reviewer_only() {
    let corner = corner().await;
    let bob = corner.alice.add_human("bob").await;
    let body = json!({
        "reviewer_id": bob.id, "subject": "The parser", "content": "fn parse() {}",
        "channel_id": corner.general,
    });
    let review = corner.codebot.rest.post(&corner.alice.path("reviews"), body).await.created();
    let path = format!("/v1/reviews/{}", text(&review, "id"));
    let verdict = json!({ "status": "approved", "comment": "Good work" });
    for other in [&corner.codebot, &corner.alice] {
        other.rest.patch(&path, verdict.clone()).await.hidden();
    }
    assert_eq!(corner.codebot.rest.get(&path).await.ok()["status"], "pending");
    bob.rest.patch(&path, verdict).await.ok();
    let stored = corner.codebot.rest.get(&path).await.ok();
    assert_eq!(stored["status"], "approved");
    assert_eq!(stored["comment"], "Good work");
    let list = bob.rest.get(&bob.path("reviews")).await.ok();
    assert_eq!(column(&list, "id"), [text(&review, "id")]);
}

#[tokio::test]
async fn an_agent_finds_its_own_corner_as_me() {
    let corner = corner().await;
    let (rest, alice) = (&corner.codebot.rest, &corner.alice);
    alice.post(&corner.general, "@codebot hi").await;
    let inbox = rest.get("/v1/agents/me/inbox").await.ok();
    assert_eq!(inbox, rest.get(&corner.own("inbox")).await.ok());
    assert_eq!(rest.get("/v1/agents/me/inbox/count").await.ok()["count"], 1);
    let made = rest.post("/v1/agents/me/workspace", json!({ "name": "notes", "content": "owls" })).await.ok();
    for path in ["/v1/agents/me/workspace", "/v1/agents/me/workspace/search?q=owls"] {
        assert_eq!(column(&rest.get(path).await.ok(), "id"), [text(&made, "id")], "{path}");
    }
    assert_eq!(rest.get("/v1/agents/me/workspace/notes").await.ok()["content"], "owls");
    rest.post("/v1/agents/me/memory", json!({ "key": "k", "value": "v" })).await.created();
    assert_eq!(items(&rest.get("/v1/agents/me/memory").await.ok()).len(), 1);
    rest.delete("/v1/agents/me/memory/default/k").await.ok();
    let draft = json!({ "channel_id": corner.general, "content": "my answer" });
    rest.post("/v1/agents/me/drafts", draft).await.created();
    assert_eq!(items(&rest.get("/v1/agents/me/drafts").await.ok()).len(), 1);
    assert_eq!(rest.get("/v1/agents/me/metrics").await.ok()["agent_id"], corner.codebot.id.as_str());
    rest.post(&format!("/v1/agents/me/inbox/{}/ack", text(&inbox[0], "id")), json!({})).await.ok();
    rest.post("/v1/agents/me/inbox/ack-all", json!({})).await.ok();
    alice.rest.get("/v1/agents/me/inbox").await.hidden();
}

#[tokio::test]
async fn the_inbox_shows_what_is_unread_by_either_name() {
    let corner = corner().await;
    for number in 1..=2 {
        corner.alice.post(&corner.general, &format!("@codebot {number}")).await;
    }
    let rest = &corner.codebot.rest;
    let all = rest.get(&corner.own("inbox")).await.ok();
    rest.patch(&format!("/v1/notifications/{}/read", text(&all[0], "id")), json!({})).await.ok();
    for query in ["unread=true", "unread_only=true", "unread=true&unread_only=true"] {
        let unread = rest.get(&corner.own(&format!("inbox?{query}"))).await.ok();
        assert_eq!(column(&unread, "id"), [text(&all[1], "id")], "{query}");
        let unread = rest.get(&format!("/v1/notifications?{query}")).await.ok();
        assert_eq!(column(&unread, "id"), [text(&all[1], "id")], "{query}");
    }
    for query in ["unread=false", "unread_only=false"] {
        assert_eq!(items(&rest.get(&corner.own(&format!("inbox?{query}"))).await.ok()).len(), 2, "{query}");
    }
}

#[tokio::test]
async fn a_review_is_asked_for_in_ones_own_workspace_without_naming_it() {
    let corner = corner().await;
    let reviewer = corner.alice.add_agent("reviewbot").await;
    corner.alice.admit(&corner.general, &reviewer).await;
    let body = json!({ "reviewer_id": reviewer.id, "subject": "the build", "content": "is it green?",
        "channel_id": corner.general });
    let asked = corner.codebot.rest.post("/v1/reviews", body).await.created();
    let listed = reviewer.rest.get("/v1/reviews").await.ok();
    assert_eq!(column(&listed, "id"), [text(&asked, "id")]);
    assert_eq!(listed, reviewer.rest.get(&corner.alice.path("reviews")).await.ok());
}
