//! Rejects, silence and absence: who gets the sentence next, and what survives a power cut.

use serde_json::{Value, json};

use crate::support::smarthole::{SmartHole, client};
use crate::support::{Hub, Member, Setup, column, eventually, items, register, text};

const NOTES: &str = "I keep notes and lists of what to buy.";

async fn hub_with_patience(seconds: &str) -> (Hub, Member) {
    let hub = Setup::default().env("MOOT_SMARTHOLE__RESPONSE_TIMEOUT_S", seconds).start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

async fn say(member: &Member, sentence: &str) -> Value {
    member.rest.post("/v1/route", json!({ "text": sentence })).await.ok()
}

async fn settled(member: &Member, answer: &Value, state: &str) -> Value {
    let path = format!("/v1/route/{}", text(answer, "message_id"));
    eventually(state, || async {
        let route = member.rest.get(&path).await.ok();
        (route["state"] == state).then_some(route)
    })
    .await
}

/// The client that was chosen first, and the others.
fn first_of(
    answer: &Value,
    clients: Vec<(&'static str, SmartHole)>,
) -> ((&'static str, SmartHole), Vec<(&'static str, SmartHole)>) {
    let name = text(&answer["deliveries"][0], "client").to_owned();
    let (mut chosen, others): (Vec<_>, Vec<_>) = clients.into_iter().partition(|(known, _)| *known == name);
    (chosen.remove(0), others)
}

#[tokio::test]
async fn a_reject_passes_the_sentence_on_under_the_same_id_and_the_speaker_hears_of_both() {
    let (hub, alice) = hub_with_patience("600").await;
    let notebook = client(&hub, "notebook", NOTES).await;
    let shopping = client(&hub, "shopping", "I keep the shopping list.").await;
    let answer = say(&alice, "put milk on the shopping list").await;
    let ((name, mut first), others) = first_of(&answer, vec![("notebook", notebook), ("shopping", shopping)]);
    assert_eq!(name, "shopping");
    let id = text(&answer, "message_id");
    assert_eq!(first.message().await["id"], id);
    first.reject(id, "the list is full").await;
    let (other, mut second) = others.into_iter().next().expect("another");
    assert_eq!(second.message().await["id"], id);
    second.ack(id).await;
    let route = settled(&alice, &answer, "taken").await;
    assert_eq!(column(&route["attempts"], "client"), [name, other]);
    assert_eq!(column(&route["attempts"], "status"), ["rejected", "acked"]);
    assert_eq!(route["attempts"][0]["reject_reason"], "the list is full");
    let told = alice.rest.get("/v1/notifications").await.ok();
    assert_eq!(column(&told, "title"), ["Passed on to notebook", "shopping declined"]);
    first.heard_nothing().await;
}

#[tokio::test]
async fn when_nobody_takes_it_the_speaker_is_told_who_refused_and_why() {
    let (hub, alice) = hub_with_patience("600").await;
    let mut clients = [
        ("ann", client(&hub, "ann", NOTES).await),
        ("ben", client(&hub, "ben", "notes of all kinds").await),
        ("cleo", client(&hub, "cleo", "I write a note about everything you say and more").await),
        (
            "dan",
            client(&hub, "dan", "also for a note, now and then, but also for other things like music and mail").await,
        ),
    ];
    let answer = say(&alice, "take a note").await;
    let id = text(&answer, "message_id");
    let mut next = text(&answer["deliveries"][0], "client").to_owned();
    for round in 1..=3 {
        let (name, client) = clients.iter_mut().find(|(name, _)| *name == next).expect("a client");
        assert_eq!(client.message().await["id"], id);
        client.reject(id, &format!("{name} says no")).await;
        let path = format!("/v1/route/{id}");
        let route = eventually("the next attempt", || async {
            let route = alice.rest.get(&path).await.ok();
            (items(&route["attempts"]).len() > round || route["state"] == "failed").then_some(route)
        })
        .await;
        next = text(items(&route["attempts"]).last().expect("an attempt"), "client").to_owned();
    }
    let route = settled(&alice, &answer, "failed").await;
    assert_eq!(items(&route["attempts"]).len(), 3, "at most three attempts");
    assert_eq!(route["outcome"], "failed");
    let told = alice.rest.get("/v1/notifications").await.ok();
    assert_eq!(told[0]["title"], "Unable to route message");
    for attempt in items(&route["attempts"]) {
        let name = text(attempt, "client");
        assert!(text(&told[0], "body").contains(&format!("- {name}: {name} says no")), "{told}");
    }
}

#[tokio::test]
async fn a_direct_address_that_is_rejected_is_not_passed_on() {
    let (hub, alice) = hub_with_patience("600").await;
    let mut notebook = client(&hub, "notebook", NOTES).await;
    let mut other = client(&hub, "other", NOTES).await;
    let answer = say(&alice, "notebook: milk").await;
    notebook.message().await;
    notebook.reject(text(&answer, "message_id"), "no").await;
    settled(&alice, &answer, "failed").await;
    other.heard_nothing().await;
    let told = alice.rest.get("/v1/notifications").await.ok();
    assert_eq!((&told[0]["title"], &told[0]["body"]), (&json!("Unable to route message"), &json!("- notebook: no")));
}

#[tokio::test]
async fn silence_counts_as_response_timeout_and_a_late_answer_changes_nothing() {
    let (hub, alice) = hub_with_patience("2").await;
    let mut notebook = client(&hub, "notebook", "I keep notes and write notes.").await;
    let mut other = client(&hub, "other", "notes").await;
    let answer = say(&alice, "write notes").await;
    assert_eq!(answer["deliveries"][0]["client"], "notebook");
    let id = text(&answer, "message_id");
    notebook.message().await;
    assert_eq!(other.message().await["id"], id);
    other.ack(id).await;
    settled(&alice, &answer, "taken").await;
    notebook.reject(id, "too late").await;
    notebook.heard_nothing().await;
    let route = settled(&alice, &answer, "taken").await;
    assert_eq!(column(&route["attempts"], "status"), ["timeout", "acked"]);
    assert_eq!(route["attempts"][0]["reject_reason"], "Response timeout");
}

#[tokio::test]
async fn a_client_that_disconnects_counts_as_client_disconnected() {
    let (hub, alice) = hub_with_patience("600").await;
    let mut notebook = client(&hub, "notebook", "I keep notes and write notes.").await;
    let mut other = client(&hub, "other", "notes").await;
    let answer = say(&alice, "write notes").await;
    notebook.message().await;
    notebook.crash();
    assert_eq!(other.message().await["id"], answer["message_id"]);
    let path = format!("/v1/route/{}", text(&answer, "message_id"));
    let route = alice.rest.get(&path).await.ok();
    assert_eq!(route["attempts"][0]["reject_reason"], "Client disconnected");
}

#[tokio::test]
async fn what_was_not_answered_before_a_power_cut_is_delivered_again_under_the_same_id() {
    let (mut hub, alice) = hub_with_patience("600").await;
    let mut notebook = client(&hub, "notebook", NOTES).await;
    let mut done = client(&hub, "done", NOTES).await;
    let open = say(&alice, "notebook: milk").await;
    let closed = say(&alice, "done: bread").await;
    notebook.message().await;
    done.message().await;
    done.ack(text(&closed, "message_id")).await;
    settled(&alice, &closed, "taken").await;
    hub.kill();
    hub.restart().await;
    let mut again = client(&hub, "notebook", NOTES).await;
    let message = again.message().await;
    assert_eq!((&message["id"], &message["text"]), (&open["message_id"], &json!("milk")));
    again.ack(text(&message, "id")).await;
    settled(&alice, &open, "taken").await;
    client(&hub, "done", NOTES).await.heard_nothing().await;
}

#[tokio::test]
async fn a_client_that_does_not_come_back_after_a_restart_loses_the_sentence_to_another() {
    let (mut hub, alice) = hub_with_patience("1").await;
    let notebook = client(&hub, "notebook", "I keep notes and write notes.").await;
    let other = client(&hub, "other", "notes").await;
    let answer = say(&alice, "write notes").await;
    assert_eq!(answer["deliveries"][0]["client"], "notebook");
    hub.stop().await;
    drop((notebook, other));
    hub.restart().await;
    let mut other = client(&hub, "other", "notes").await;
    let message = other.message().await;
    assert_eq!(message["id"], answer["message_id"]);
    other.ack(text(&message, "id")).await;
    let route = settled(&alice, &answer, "taken").await;
    assert_eq!(route["attempts"][0]["reject_reason"], "Response timeout");
}

#[tokio::test]
async fn a_refused_sentence_goes_to_others_also_without_common_words_and_those_left_are_named() {
    let (hub, alice) = hub_with_patience("600").await;
    let mut clients = vec![
        ("weather", client(&hub, "weather", "I know the weather forecast.").await),
        ("mail", client(&hub, "mail", "I read and send mail.").await),
        ("music", client(&hub, "music", "I play songs.").await),
        ("lamp", client(&hub, "lamp", "I switch the light on and off.").await),
    ];
    let answer = say(&alice, "will it rain").await;
    let (id, path) = (text(&answer, "message_id"), format!("/v1/route/{}", text(&answer, "message_id")));
    let mut next = text(&answer["deliveries"][0], "client").to_owned();
    assert_eq!(next, "weather");
    for round in 1..=3 {
        let at = clients.iter().position(|(name, _)| *name == next).expect("one that had it not");
        let (name, mut refusing) = clients.remove(at);
        assert_eq!(refusing.message().await["text"], "will it rain", "{name}");
        refusing.reject(id, "not mine").await;
        let route = eventually("the next attempt", || async {
            let route = alice.rest.get(&path).await.ok();
            (items(&route["attempts"]).len() > round || route["state"] == "failed").then_some(route)
        })
        .await;
        next = text(items(&route["attempts"]).last().expect("an attempt"), "client").to_owned();
    }
    let route = settled(&alice, &answer, "failed").await;
    assert_eq!(items(&route["attempts"]).len(), 3, "min(3, clients)");
    let (left, mut untouched) = clients.pop().expect("the fourth");
    assert_eq!(route["candidates"], json!([left]));
    untouched.heard_nothing().await;
}

#[tokio::test]
async fn of_two_clients_the_other_is_asked_and_then_nobody_is_left() {
    let (hub, alice) = hub_with_patience("600").await;
    let mut weather = client(&hub, "weather", "I know the weather forecast.").await;
    let mut mail = client(&hub, "mail", "I read and send mail.").await;
    let answer = say(&alice, "will it rain").await;
    let id = text(&answer, "message_id");
    weather.message().await;
    weather.reject(id, "no").await;
    assert!(!text(&mail.message().await["metadata"], "routingReason").is_empty());
    mail.reject(id, "nor I").await;
    let route = settled(&alice, &answer, "failed").await;
    assert_eq!(route.get("candidates"), None, "{route}");
}
