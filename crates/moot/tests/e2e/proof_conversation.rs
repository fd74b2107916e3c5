//! Two humans and an agent work through an afternoon: wake, thread, approval, call.

use serde_json::json;

use crate::support::{column, items, start, text};

#[tokio::test]
async fn two_humans_and_an_agent_hold_a_conversation() {
    let (mut hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut alice_lark = alice.lark().await;
    let mut bob_lark = bob.lark().await;
    let mut agent = codebot.lark_agent().await;
    agent.send("agent.sleep", json!({})).await;
    let asleep = |data: &serde_json::Value| data["status"] == "sleeping";
    alice_lark.expect_where("presence.update", asleep).await;

    // Alice wakes the agent; it thinks and answers in a thread.
    let question = alice_lark.say(&general, "@codebot, can you review the release?").await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["reason"], "mention");
    let recent = &wake["context"]["recent_messages"];
    assert_eq!(column(recent, "id"), [question.as_str()]);
    agent.send("agent.thinking", json!({ "channel_id": general })).await;
    assert_eq!(bob_lark.expect("typing.start").await["name"], "codebot");
    let reply = json!({ "channel_id": general, "parent_id": question, "content": "Looks good. Deploy?" });
    let answer = agent.asks("thread.reply", reply, "message.ack").await;
    for lark in [&mut alice_lark, &mut bob_lark] {
        let new = lark.expect_where("message.new", |data| data["id"] == answer["id"]).await;
        assert_eq!(new["thread_id"], question.as_str());
    }

    // The agent asks before it deploys; alice, who answers for it, allows it.
    let request = json!({ "channel_id": general, "action": "deploy", "payload": "{\"version\":\"v2\"}" });
    let asked = agent.asks("approval.request", request, "approval.request").await;
    let seen = bob_lark.expect("approval.request").await;
    assert_eq!(seen["id"], asked["id"]);
    let path = format!("/v1/approvals/{}", text(&asked, "id"));
    alice.rest.patch(&path, json!({ "approved": true, "note": "go" })).await.ok();
    for lark in [&mut bob_lark, &mut agent] {
        let result = lark.expect("approval.result").await;
        assert_eq!(result["status"], "approved");
        assert_eq!(result["reviewer_id"], alice.id.as_str());
    }
    agent.say(&general, "@alice @bob deployed.").await;
    for lark in [&mut alice_lark, &mut bob_lark] {
        lark.expect_where("notification.new", |data| data["type"] == "mention").await;
    }

    // The two humans call each other about it.
    let offer = json!({ "callee_id": bob.id, "type": "audio", "sdp": "v=0 offer" });
    let call = alice_lark.asks("call.offer", offer, "call.offer").await;
    let call_id = text(&call, "call_id");
    bob_lark.expect("call.ring").await;
    assert_eq!(bob_lark.expect("call.offer").await["sdp"], "v=0 offer");
    bob_lark.send("call.answer", json!({ "call_id": call_id, "sdp": "v=0 answer" })).await;
    assert_eq!(alice_lark.expect("call.answer").await["sdp"], "v=0 answer");
    alice_lark.send("call.end", json!({ "call_id": call_id })).await;
    assert_eq!(bob_lark.expect("call.end").await["reason"], "ended");

    // The next morning everything is still there.
    assert!(hub.stop().await.success());
    hub.restart().await;
    assert_eq!(alice.texts(&general).await, ["@codebot, can you review the release?", "@alice @bob deployed."]);
    let thread = bob.rest.get(&format!("/v1/messages/{question}/thread")).await.ok();
    assert_eq!(items(&thread).len(), 2);
    let record = alice.rest.get(&path).await.ok();
    assert_eq!((&record["status"], &record["review_note"]), (&json!("approved"), &json!("go")));
    let call = bob.rest.get(&format!("/v1/calls/{call_id}")).await.ok();
    assert_eq!(call["status"], "ended");
}
