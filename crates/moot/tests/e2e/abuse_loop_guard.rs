//! An agent that wakes another over and over of its own accord is stopped, whether the other answers or not.

use serde_json::{Value, json};

use crate::support::{Lark, Member, items, start, text};

/// Two agents that are connected; the second only counts.
async fn two(alice: &Member) -> (Member, Lark, Member, Lark) {
    let (waker, victim) = (alice.add_agent("waker").await, alice.add_agent("victim").await);
    let (first, second) = (waker.lark_agent().await, victim.lark_agent().await);
    (waker, first, victim, second)
}

/// The wakes of this agent that were not suppressed, in any channel of these.
async fn wakes_of(alice: &Member, agent: &Member, channels: &[String]) -> usize {
    let mut count = 0;
    for channel in channels {
        let all = alice.rest.get(&format!("/v1/channels/{channel}/deliveries?limit=200")).await.ok();
        let woken = |one: &&Value| one["agent_id"] == agent.id.as_str() && text(one, "state") != "suppressed";
        count += items(&all).iter().filter(woken).count();
    }
    count
}

#[tokio::test]
async fn thirty_fresh_channels_of_one_agent_wake_the_other_at_most_eight_times_and_people_see_why() {
    let (_hub, alice) = start().await;
    let (waker, _lark, victim, _other) = two(&alice).await;
    let mut people = alice.lark().await;
    let (mut channels, mut held) = (Vec::new(), 0);
    for number in 0..30 {
        let channel = waker.add_channel(&format!("fresh-{number}"), &[&victim, &alice]).await;
        let path = format!("/v1/channels/{channel}/messages");
        let answer = waker.rest.post(&path, json!({"content": "@victim wake up"})).await;
        held += usize::from(answer.status >= 400);
        channels.push(channel);
    }
    assert_eq!(held, 22);
    assert_eq!(wakes_of(&alice, &victim, &channels).await, 8);
    let card = people.expect_where("approval.request", |data| data["kind"] == "brake").await;
    let payload: Value = serde_json::from_str(text(&card, "payload")).expect("JSON");
    assert_eq!((&payload["limit"], &card["agent_id"]), (&json!("alone"), &json!(waker.id)));
    assert!(people.kept("approval.request").is_empty(), "people are asked once");
}

#[tokio::test]
async fn thirty_tasks_wake_no_more_and_the_count_survives_a_restart() {
    let (mut hub, alice) = start().await;
    let (waker, lark, victim, other) = two(&alice).await;
    let general = alice.add_channel("general", &[&waker, &victim]).await;
    let task =
        |number: usize| json!({"title": format!("task {number}"), "assigned_to": victim.id, "channel_id": general});
    for number in 0..6 {
        waker.rest.post(&waker.path("tasks"), task(number)).await.created();
    }
    drop((lark, other));
    hub.kill();
    hub.restart().await;
    let (_lark, _other) = (waker.lark_agent().await, victim.lark_agent().await);
    for number in 6..30 {
        waker.rest.post(&waker.path("tasks"), task(number)).await.created();
    }
    assert_eq!(wakes_of(&alice, &victim, std::slice::from_ref(&general)).await, 8);
    // A person is not hindered, and what they ask for is no longer the agent's own accord.
    alice.rest.post(&alice.path("tasks"), task(30)).await.created();
    assert_eq!(wakes_of(&alice, &victim, std::slice::from_ref(&general)).await, 9);
    alice.post(&general, "@waker please ask the victim").await;
    waker.rest.post(&waker.path("tasks"), task(31)).await.created();
    assert_eq!(wakes_of(&alice, &victim, std::slice::from_ref(&general)).await, 10);
}
