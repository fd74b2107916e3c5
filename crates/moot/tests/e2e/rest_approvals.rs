//! Approvals over REST.

use serde_json::json;

use crate::support::{Member, column, start, text};

/// The agent asks for something; the path of its question.
async fn asked(agent: &Member, channel: &str) -> String {
    let body = json!({ "channel_id": channel, "action": "deploy", "payload": "{}" });
    let made = agent.rest.post(&agent.path("approvals"), body).await.created();
    format!("/v1/approvals/{}", text(&made, "id"))
}

#[tokio::test]
async fn an_agent_asks_over_rest_and_the_room_hears_it() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = alice.lark().await;
    let body = json!({
        "channel_id": general, "action": "deploy", "payload": "{}", "agent_id": alice.id,
    });
    let made = codebot.rest.post(&alice.path("approvals"), body).await.created();
    assert_eq!(made["status"], "pending");
    assert_eq!(made["agent_id"], codebot.id.as_str(), "the caller is who acts");
    let told = lark.expect("approval.request").await;
    assert_eq!(told["id"], made["id"]);
    let list = alice.rest.get(&alice.path("approvals")).await.ok();
    assert_eq!(column(&list, "id"), [text(&made, "id")]);
    let path = format!("/v1/approvals/{}", text(&made, "id"));
    let decided = alice.rest.patch(&path, json!({ "approved": false, "note": "no" })).await.ok();
    assert_eq!(decided["status"], "denied");
    assert_eq!(decided["review_note"], "no");
    assert_eq!(codebot.rest.get(&path).await.ok()["status"], "denied");
}

#[tokio::test]
async fn the_reviewer_is_the_caller_whatever_the_body_says() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let path = asked(&codebot, &general).await;
    let body = json!({ "approved": true, "note": "", "reviewer_id": bob.id });
    let decided = alice.rest.patch(&path, body).await.ok();
    assert_eq!(decided["reviewer_id"], alice.id.as_str());
}

#[tokio::test]
async fn a_decision_needs_a_yes_or_no() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let path = asked(&codebot, &general).await;
    for body in [json!({}), json!({ "approved": "yes" }), json!({ "note": "hm" })] {
        alice.rest.patch(&path, body).await.refused(400, "BAD_REQUEST");
    }
    assert_eq!(alice.rest.get(&path).await.ok()["status"], "pending");
}

#[tokio::test]
async fn another_agent_may_not_decide_for_the_people() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let accomplice = alice.add_agent("accomplice").await;
    let general = alice.add_channel("general", &[&codebot, &accomplice]).await;
    let path = asked(&codebot, &general).await;
    let refusal = accomplice.rest.patch(&path, json!({ "approved": true })).await;
    refusal.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn everybody_is_told_whether_they_may_decide_and_who_may_and_the_hub_keeps_to_it() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let path = asked(&codebot, &general).await;
    for (member, may) in [(&bob, false), (&codebot, false), (&alice, true)] {
        let shown = member.rest.get(&path).await.ok();
        assert_eq!(shown["may_decide"], may, "{shown}");
        assert_eq!(shown["decider_ids"], json!([alice.id]));
        let list = member.rest.get(&alice.path("approvals")).await.ok();
        assert_eq!(list[0]["may_decide"], may);
        assert!(list[0].get("decider_ids").is_none(), "{list}");
        let answer = member.rest.patch(&path, json!({ "approved": true })).await;
        assert_eq!(answer.status == 200, may, "{}", answer.text());
    }
    let decided = alice.rest.get(&path).await.ok();
    assert_eq!(decided["may_decide"], false, "there is nothing left to decide");
    assert_eq!(decided["decider_ids"], json!([]));
}
