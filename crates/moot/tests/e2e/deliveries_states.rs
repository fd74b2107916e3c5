//! What becomes of a wake, over REST and as events; whom a text would wake; who may change what.

use serde_json::{Value, json};

use crate::support::{Lark, Member, Setup, column, items, register, start, text};

/// The next step of this delivery that the connection hears of.
async fn becomes(lark: &mut Lark, delivery: &str, state: &str) -> Value {
    lark.expect_where("delivery.update", |data| data["id"] == delivery && data["state"] == state).await
}

/// The delivery of the next wake.
async fn woken(lark: &mut Lark) -> String {
    let wake = lark.expect("agent.wake").await;
    text(&wake["context"]["delivery"], "id").to_owned()
}

/// Somebody wants the agent, and it is woken.
async fn wanted(by: &Member, channel: &str, agent: &mut Lark) -> String {
    by.post(channel, "@codebot look").await;
    woken(agent).await
}

async fn stored(member: &Member, delivery: &str) -> Value {
    member.rest.get(&format!("/v1/deliveries/{delivery}")).await.ok()
}

#[tokio::test]
async fn a_wake_is_seen_on_its_way_from_queued_to_answered() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let mut lark = alice.lark().await;
    let message = lark.say(&general, "@codebot look").await;
    let queued = lark.expect("delivery.update").await;
    let id = text(&queued, "id").to_owned();
    assert_eq!((&queued["state"], &queued["why"]), (&json!("queued"), &json!("collecting")));
    assert_eq!(queued["message_ids"], json!([message]));
    assert_eq!((&queued["agent_name"], &queued["reason"]), (&json!("codebot"), &json!("mention")));
    assert_eq!((&queued["root_id"], &queued["depth"]), (&json!(message), &json!(0)));
    becomes(&mut lark, &id, "leased").await;
    assert_eq!(woken(&mut agent).await, id);
    agent.send("agent.thinking", json!({ "channel_id": general })).await;
    becomes(&mut lark, &id, "admitted").await;
    let answer = agent.say(&general, "looked").await;
    let answered = becomes(&mut lark, &id, "answered").await;
    assert_eq!(answered["reply_id"], answer.as_str());
    assert_eq!(stored(&alice, &id).await, answered);
    let said = alice.rest.get(&format!("/v1/messages/{answer}")).await.ok();
    assert_eq!((&said["root_id"], &said["depth"]), (&json!(message), &json!(1)));
}

#[tokio::test]
async fn a_burst_is_one_wake() {
    let hub = Setup::default().env("MOOT_WAKES__QUIET_MS", "3000").start().await;
    let alice = register(&hub, "alice").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let mut lark = alice.lark().await;
    let mut said = Vec::new();
    for line in ["@codebot look", "at the auth test", "it fails"] {
        said.push(lark.say(&general, line).await);
    }
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!(said));
    assert_eq!(column(&wake["context"]["recent_messages"], "id"), said);
    let list = alice.rest.get(&format!("/v1/channels/{general}/deliveries")).await.ok();
    assert_eq!(items(&list).len(), 1);
}

#[tokio::test]
async fn a_channels_deliveries_are_listed_by_message_and_state() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let pi = alice.add_agent("pi").await;
    let general = alice.add_channel("general", &[&codebot, &pi]).await;
    let mut agent = codebot.lark_agent().await;
    let first = alice.post(&general, "@codebot @pi look").await;
    let id = woken(&mut agent).await;
    agent.asks("wake.pass", json!({ "delivery_id": id, "why": "not my area" }), "wake.pass").await;
    let second = alice.post(&general, "@codebot and this").await;
    woken(&mut agent).await;
    let list = async |query: &str| {
        let path = format!("/v1/channels/{general}/deliveries?{query}");
        alice.rest.get(&path).await.ok()
    };
    assert_eq!(items(&list("").await).len(), 3);
    let of_first = list(&format!("message_id={}", text(&first, "id"))).await;
    assert_eq!(column(&of_first, "agent_name"), ["pi", "codebot"]);
    assert_eq!(items(&list(&format!("message_id={}", text(&second, "id"))).await).len(), 1);
    let passed = list("state=passed").await;
    assert_eq!(column(&passed, "why"), ["not my area"]);
    assert_eq!(column(&list("state=queued").await, "agent_name"), ["pi"]);
    assert_eq!(items(&list("limit=1").await).len(), 1);
    let bad = alice.rest.get(&format!("/v1/channels/{general}/deliveries?state=lost")).await;
    bad.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn strangers_see_no_deliveries() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let back = alice.add_private("back", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    alice.post(&back, "@codebot psst").await;
    let id = woken(&mut agent).await;
    let bob = alice.add_human("bob").await;
    let mallory = crate::support::register(&hub, "mallory").await;
    for other in [&bob, &mallory] {
        other.rest.get(&format!("/v1/deliveries/{id}")).await.refused(404, "NOT_FOUND");
        other.rest.get(&format!("/v1/channels/{back}/deliveries")).await.refused(404, "NOT_FOUND");
        other.rest.post(&format!("/v1/deliveries/{id}/cancel"), json!({})).await.refused(404, "NOT_FOUND");
    }
    assert_eq!(stored(&alice, &id).await["state"], "leased");
}

#[tokio::test]
async fn the_rest_twins_do_the_same() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let post =
        async |id: &str, what: &str, body: Value| codebot.rest.post(&format!("/v1/deliveries/{id}/{what}"), body).await;
    let passed = wanted(&alice, &general, &mut agent).await;
    assert_eq!(post(&passed, "pass", json!({ "why": "busy" })).await.ok()["state"], "passed");
    post(&passed, "pass", json!({})).await.refused(409, "CONFLICT");
    let failed = wanted(&alice, &general, &mut agent).await;
    post(&failed, "fail", json!({})).await.refused(400, "BAD_REQUEST");
    assert_eq!(post(&failed, "fail", json!({ "why": "broken" })).await.ok()["why"], "broken");
    let notices = alice.rest.get("/v1/notifications").await.ok();
    assert!(column(&notices, "type").contains(&"delivery_failed"), "{notices}");
    let joined = wanted(&alice, &general, &mut agent).await;
    let taken = wanted(&alice, &general, &mut agent).await;
    let start = json!({ "delivery_id": taken, "engine": "script" });
    let run = agent.asks("run.start", start, "run.started").await["run"]["id"].clone();
    post(&joined, "join", json!({ "run_id": "run_unknown" })).await.refused(404, "NOT_FOUND");
    assert_eq!(post(&joined, "join", json!({ "run_id": run })).await.ok()["run_id"], run);
    let bound = wanted(&alice, &general, &mut agent).await;
    let body = json!({ "content": "done", "delivery_id": bound });
    let path = format!("/v1/channels/{general}/messages");
    codebot.rest.post(&path, body.clone()).await.created();
    codebot.rest.post(&path, body).await.refused(409, "already_answered");
    let cancelled = wanted(&alice, &general, &mut agent).await;
    let done = alice.rest.post(&format!("/v1/deliveries/{cancelled}/cancel"), json!({})).await.ok();
    assert_eq!(done["state"], "cancelled");
}

#[tokio::test]
async fn whom_a_text_would_wake_is_known_before_it_is_sent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let pi = alice.add_agent("pi").await;
    let general = alice.add_channel("general", &[&codebot, &pi]).await;
    let agent = codebot.lark_agent().await;
    let preview =
        async |channel: &str, body: Value| alice.rest.post(&format!("/v1/channels/{channel}/wake-preview"), body).await;
    let both = preview(&general, json!({ "content": "@codebot @pi @alice look" })).await.ok();
    let expected = json!({ "wakes": [
        { "agent_id": codebot.id, "name": "codebot", "reason": "mention", "reachable": true, "presence": "online" },
        { "agent_id": pi.id, "name": "pi", "reason": "mention", "reachable": false, "presence": "offline" },
    ] });
    assert_eq!(both, expected);
    assert_eq!(preview(&general, json!({ "content": "nobody" })).await.ok()["wakes"], json!([]));
    let said = codebot.post(&general, "my thread").await;
    let in_thread = json!({ "content": "and?", "thread_id": text(&said, "id") });
    assert_eq!(preview(&general, in_thread).await.ok()["wakes"][0]["reason"], "thread_reply");
    let direct = alice.direct(&[&pi]).await;
    assert_eq!(preview(&direct, json!({ "content": "hi" })).await.ok()["wakes"][0]["reason"], "dm");
    let bob = alice.add_human("bob").await;
    let path = format!("/v1/channels/{general}/wake-preview");
    bob.rest.post(&path, json!({ "content": "@codebot" })).await.refused(403, "FORBIDDEN");
    drop(agent);
}

#[tokio::test]
async fn an_agent_on_snek_answers_its_wake_by_speaking() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut snek = codebot.snek().await;
    let mut lark = alice.lark().await;
    lark.say(&general, "@codebot look").await;
    let id = text(&lark.expect("delivery.update").await, "id").to_owned();
    snek.hears("@codebot look").await;
    becomes(&mut lark, &id, "leased").await;
    snek.say(&general, "looked").await;
    becomes(&mut lark, &id, "answered").await;
}
