//! Tasks: states, priorities, assignment and the atomic claim.

use serde_json::json;

use crate::support::{column, items, register, start, text};

#[tokio::test]
async fn a_task_is_made_by_the_caller_in_state_todo() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let body = json!({ "title": "Write it down", "priority": "high", "created_by": bob.id });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    assert_eq!(task["title"], "Write it down");
    assert_eq!(task["status"], "todo");
    assert_eq!(task["priority"], "high");
    assert_eq!(task["created_by"], alice.id.as_str(), "the caller is who acts");
    let list = bob.rest.get(&bob.path("tasks")).await.ok();
    assert_eq!(column(&list, "id"), [text(&task, "id")]);
}

#[tokio::test]
async fn a_task_moves_through_its_states() {
    let (_hub, alice) = start().await;
    let body = json!({ "title": "Move" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let path = format!("/v1/tasks/{}", text(&task, "id"));
    for status in ["in_progress", "review", "done"] {
        let changed = alice.rest.patch(&path, json!({ "status": status })).await.ok();
        assert_eq!(changed["status"], status);
    }
    for body in [json!({ "status": "lost" }), json!({ "priority": "panic" })] {
        alice.rest.patch(&path, body).await.refused(400, "BAD_REQUEST");
    }
    let list = alice.rest.get(&alice.path("tasks")).await.ok();
    assert_eq!(list[0]["status"], "done");
}

#[tokio::test]
async fn a_task_needs_a_title_and_known_words() {
    let (_hub, alice) = start().await;
    for body in [json!({}), json!({ "title": "" }), json!({ "title": 7 }), json!({ "title": "x", "priority": "panic" })]
    {
        let refusal = alice.rest.post(&alice.path("tasks"), body).await;
        refusal.refused(400, "BAD_REQUEST");
    }
    assert_eq!(alice.rest.get(&alice.path("tasks")).await.ok(), json!([]));
}

#[tokio::test]
async fn an_assignee_must_be_of_the_workspace() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let mut lark = mallory.lark().await;
    let body = json!({ "title": "For you", "assigned_to": mallory.id });
    let refusal = alice.rest.post(&alice.path("tasks"), body).await;
    refusal.refused_as(&[400, 403, 404]);
    let own = mallory.add_channel("own", &[]).await;
    lark.say(&own, "fence").await;
    assert!(lark.kept("notification.new").is_empty());
}

#[tokio::test]
async fn of_many_claims_at_once_one_wins() {
    let (_hub, alice) = start().await;
    let body = json!({ "title": "Mine!" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let path = format!("/v1/tasks/{}", text(&task, "id"));
    let mut claims = Vec::new();
    for number in 0..6 {
        let agent = alice.add_agent(&format!("agent{number}")).await;
        let path = path.clone();
        claims.push(tokio::spawn(async move {
            let body = json!({ "assigned_to": agent.id, "status": "in_progress" });
            let answer = agent.rest.patch(&path, body).await;
            (agent.id, answer.status)
        }));
    }
    let mut winners = Vec::new();
    for claim in claims {
        let (agent, status) = claim.await.expect("an answer");
        if status == 200 {
            winners.push(agent);
        } else {
            assert!([400, 403, 409].contains(&status), "a lost claim → {status}");
        }
    }
    assert_eq!(winners.len(), 1, "{winners:?}");
    let list = alice.rest.get(&alice.path("tasks")).await.ok();
    assert_eq!(list[0]["assigned_to"], winners[0].as_str());
}

#[tokio::test]
async fn a_deleted_task_is_gone_and_strangers_touch_nothing() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let body = json!({ "title": "Gone soon" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let path = format!("/v1/tasks/{}", text(&task, "id"));
    mallory.rest.patch(&path, json!({ "title": "Mine" })).await.hidden();
    mallory.rest.delete(&path).await.hidden();
    alice.rest.delete(&path).await.ok();
    alice.rest.patch(&path, json!({ "title": "x" })).await.refused(404, "NOT_FOUND");
    assert_eq!(items(&alice.rest.get(&alice.path("tasks")).await.ok()).len(), 0);
}

#[tokio::test]
async fn a_task_of_a_private_channel_is_hidden_from_outsiders() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let body = json!({ "title": "swordfish", "channel_id": secret });
    alice.rest.post(&alice.path("tasks"), body).await.created();
    let list = bob.rest.get(&bob.path("tasks")).await.ok();
    assert!(!list.to_string().contains("swordfish"), "{list}");
}

#[tokio::test]
async fn changes_of_a_task_are_told_live() {
    let (_hub, alice) = start().await;
    let body = json!({ "title": "Watch me" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let mut lark = alice.lark().await;
    let path = format!("/v1/tasks/{}", text(&task, "id"));
    alice.rest.patch(&path, json!({ "status": "done" })).await.ok();
    let update = lark.expect("task.update").await;
    assert!(update.to_string().contains(text(&task, "id")), "{update}");
}

#[tokio::test]
async fn a_claim_makes_the_caller_the_assignee_once() {
    let (_hub, alice) = start().await;
    let body = json!({ "title": "Mine!" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let path = format!("/v1/tasks/{}/claim", text(&task, "id"));
    let first = alice.add_agent("first").await;
    let second = alice.add_agent("second").await;
    let (one, two) = tokio::join!(first.rest.post(&path, json!({})), second.rest.post(&path, json!({})));
    let winner = if one.status == 200 { &first } else { &second };
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let list = alice.rest.get(&alice.path("tasks")).await.ok();
    assert_eq!(list[0]["assigned_to"], winner.id.as_str());
}
