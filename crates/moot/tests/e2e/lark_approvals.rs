//! `approval.request` and `approval.result`.

use serde_json::{Value, json};

use crate::support::{Member, items, register, start, text};

fn deploy(channel: &str) -> Value {
    json!({
        "channel_id": channel,
        "action": "deploy_to_production",
        "payload": "{\"service\":\"api\",\"version\":\"v2.1.0\"}",
    })
}

async fn decide(member: &Member, approval: &str, approved: bool) -> crate::support::Answer {
    let path = format!("/v1/approvals/{approval}");
    let body = json!({ "approved": approved, "note": "seen by a person" });
    member.rest.patch(&path, body).await
}

#[tokio::test]
async fn a_request_is_recorded_broadcast_and_answered_pending() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut people = [alice.lark().await, bob.lark().await];
    let mut agent = codebot.lark_agent().await;
    let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
    assert_eq!(reply["status"], "pending");
    for lark in &mut people {
        let record = lark.expect("approval.request").await;
        assert_eq!(record["id"], reply["id"]);
        assert_eq!(record["agent_id"], codebot.id.as_str());
        assert_eq!(record["channel_id"], general.as_str());
        assert_eq!(record["action"], "deploy_to_production");
        assert_eq!(record["payload"], deploy(&general)["payload"]);
        assert_eq!(record["status"], "pending");
    }
    let list = alice.rest.get(&alice.path("approvals")).await.ok();
    assert_eq!(list[0]["id"], reply["id"]);
}

#[tokio::test]
async fn a_decision_is_broadcast_as_the_result() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut watcher = alice.lark().await;
    let mut agent = codebot.lark_agent().await;
    for (approved, status) in [(true, "approved"), (false, "denied")] {
        let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
        let record = decide(&alice, text(&reply, "id"), approved).await.ok();
        assert_eq!(record["status"], status);
        for lark in [&mut watcher, &mut agent] {
            let result = lark.expect("approval.result").await;
            assert_eq!(result["id"], reply["id"]);
            assert_eq!(result["status"], status);
            assert_eq!(result["reviewer_id"], alice.id.as_str());
            assert_eq!(result["review_note"], "seen by a person");
            assert!(result["reviewed_at"].as_i64().is_some(), "{result}");
        }
    }
}

#[tokio::test]
async fn a_second_decision_is_refused_as_already_reviewed() {
    let (_hub, alice) = start().await;
    let bob = add_admin(&alice, "bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
    let id = text(&reply, "id");
    decide(&alice, id, true).await.ok();
    for member in [&alice, &bob] {
        let refusal = decide(member, id, false).await.refused_as(&[400]);
        assert_eq!(refusal["error"], "already reviewed", "programs compare this");
        assert_eq!(refusal["message"], "already reviewed: approved by alice", "people read this");
    }
    let record = alice.rest.get(&format!("/v1/approvals/{id}")).await.ok();
    assert_eq!(record["status"], "approved");
}

#[tokio::test]
async fn of_two_decisions_at_once_exactly_one_counts() {
    let (_hub, alice) = start().await;
    let bob = add_admin(&alice, "bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut agent = codebot.lark_agent().await;
    for _ in 0..5 {
        let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
        let id = text(&reply, "id");
        let (yes, no) = tokio::join!(decide(&alice, id, true), decide(&bob, id, false));
        let mut statuses = [yes.status, no.status];
        let winner = if yes.status == 200 { "approved" } else { "denied" };
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400]);
        let result = agent.expect("approval.result").await;
        assert_eq!(result["status"], winner);
    }
}

#[tokio::test]
async fn the_agent_itself_may_not_decide() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
    let id = text(&reply, "id");
    decide(&codebot, id, true).await.refused(403, "FORBIDDEN");
    let record = alice.rest.get(&format!("/v1/approvals/{id}")).await.ok();
    assert_eq!(record["status"], "pending");
}

#[tokio::test]
async fn only_agents_ask_for_approval() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let error = lark.refused("approval.request", deploy(&general)).await;
    assert_eq!(error, "not authenticated agent");
}

#[tokio::test]
async fn an_approval_for_a_channel_the_agent_is_not_in_is_refused() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let secret = alice.add_private("secret", &[]).await;
    let mut agent = codebot.lark_agent().await;
    let error = agent.refused("approval.request", deploy(&secret)).await;
    assert_eq!(error, "not a channel member");
    let list = alice.rest.get(&alice.path("approvals")).await.ok();
    assert_eq!(items(&list).len(), 0);
}

#[tokio::test]
async fn approvals_stay_within_the_workspace() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mallory = register(&hub, "mallory").await;
    let own = mallory.add_channel("own", &[]).await;
    let mut stranger = mallory.lark().await;
    let mut agent = codebot.lark_agent().await;
    let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
    let id = text(&reply, "id");
    decide(&mallory, id, true).await.hidden();
    mallory.rest.get(&format!("/v1/approvals/{id}")).await.hidden();
    decide(&alice, id, true).await.ok();
    agent.expect("approval.result").await;
    stranger.say(&own, "fence").await;
    assert!(stranger.kept("approval.request").is_empty());
    assert!(stranger.kept("approval.result").is_empty());
}

#[tokio::test]
async fn a_pending_approval_outlives_a_crash() {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let reply = agent.asks("approval.request", deploy(&general), "approval.request").await;
    hub.kill();
    hub.restart().await;
    let mut agent = codebot.lark_agent().await;
    decide(&alice, text(&reply, "id"), true).await.ok();
    assert_eq!(agent.expect("approval.result").await["id"], reply["id"]);
}

async fn add_admin(owner: &Member, name: &str) -> Member {
    let admin = owner.add_human(name).await;
    owner.rest.patch(&owner.path(&format!("members/{}", admin.id)), json!({ "role": "admin" })).await.ok();
    admin
}

#[tokio::test]
async fn somebody_who_only_reads_along_may_not_permit_an_engine_anything_but_whoever_asked_may() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &carol, &codebot]).await;
    let asked =
        bob.rest.post(&format!("/v1/channels/{general}/messages"), json!({ "content": "@codebot deploy" })).await;
    let mut agent = codebot.lark_agent().await;
    let mut question = deploy(&general);
    question["message_id"] = asked.created()["id"].clone();
    question["kind"] = json!("permission");
    let reply = agent.asks("approval.request", question, "approval.request").await;
    let id = text(&reply, "id");
    decide(&carol, id, true).await.refused(403, "FORBIDDEN");
    assert_eq!(decide(&bob, id, true).await.ok()["reviewer_id"], bob.id.as_str());
}

#[tokio::test]
async fn a_decision_made_while_the_agent_was_away_answers_its_next_identical_question_once() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut question = deploy(&general);
    question["fingerprint"] = json!("c0ffee");
    let mut agent = codebot.lark_agent().await;
    let first = agent.asks("approval.request", question.clone(), "approval.request").await;
    drop(agent);
    decide(&alice, text(&first, "id"), true).await.ok();
    let mut agent = codebot.lark_agent().await;
    let again = agent.asks("approval.request", question.clone(), "approval.request").await;
    assert_eq!((&again["id"], &again["status"]), (&first["id"], &json!("approved")));
    let third = agent.asks("approval.request", question, "approval.request").await;
    assert_eq!(third["status"], "pending", "one yes is one action");
}
