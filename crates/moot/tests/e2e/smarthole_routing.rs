//! Routing: direct address, the ranking, several doors for one sentence, and what the speaker can read.

use serde_json::{Value, json};

use crate::support::smarthole::{SmartHole, client};
use crate::support::{Hub, Member, eventually, items, register, start, text};

async fn say(member: &Member, sentence: &str) -> Value {
    member.rest.post("/v1/route", json!({ "text": sentence })).await.ok()
}

async fn route(member: &Member, answer: &Value) -> Value {
    member.rest.get(&format!("/v1/route/{}", text(answer, "message_id"))).await.ok()
}

async fn settled(member: &Member, answer: &Value, state: &str) -> Value {
    eventually(state, || async {
        let route = route(member, answer).await;
        (route["state"] == state).then_some(route)
    })
    .await
}

async fn three(hub: &Hub) -> [SmartHole; 3] {
    [
        client(hub, "notebook", "I keep notes, ideas and a daily journal.").await,
        client(hub, "calendar", "I manage appointments and meetings.").await,
        client(hub, "weather", "I know the weather forecast.").await,
    ]
}

#[tokio::test]
async fn a_direct_address_reaches_its_client_in_any_case_without_the_prefix() {
    let (hub, alice) = start().await;
    let [mut notebook, mut calendar, _weather] = three(&hub).await;
    for sentence in
        ["notebook: remember to buy milk", "notebook, remember to buy milk", "NOTEBOOK:remember to buy milk"]
    {
        let answer = say(&alice, sentence).await;
        assert_eq!(answer["outcome"], "routed");
        let delivery = json!({ "client": "notebook", "direct": true, "status": "delivered" });
        assert_eq!(answer["deliveries"], json!([delivery]));
        let message = notebook.message().await;
        assert_eq!(message["id"], answer["message_id"]);
        assert_eq!(message["text"], "remember to buy milk");
        assert_eq!(message["metadata"], json!({ "inputMethod": "text", "directRouted": true }));
        let id = text(&message, "id");
        assert!(id.len() == 40 && id.starts_with("msg-"), "{id}");
        let timestamp = text(&message, "timestamp");
        assert!(timestamp.len() == 24 && timestamp.ends_with('Z') && timestamp.contains('T'), "{timestamp}");
    }
    let answer = say(&alice, "notebook: eggs\nmilk").await;
    assert_eq!(notebook.message().await["text"], "eggs\nmilk");
    notebook.ack(text(&answer, "message_id")).await;
    settled(&alice, &answer, "taken").await;
    calendar.heard_nothing().await;
}

#[tokio::test]
async fn without_a_model_the_words_decide_and_the_text_is_unchanged() {
    let (hub, alice) = start().await;
    let [mut notebook, mut calendar, mut weather] = three(&hub).await;
    let answer = say(&alice, "  Will it rain tomorrow?").await;
    assert_eq!(answer["deliveries"][0]["client"], "weather");
    assert_eq!(answer["deliveries"][0]["direct"], false);
    let message = weather.message().await;
    assert_eq!(message["text"], "  Will it rain tomorrow?");
    assert_eq!(message["metadata"]["directRouted"], false);
    assert!(text(&message["metadata"], "routingReason").contains("rain"), "{message}");
    notebook.heard_nothing().await;
    calendar.heard_nothing().await;
}

#[tokio::test]
async fn when_nobody_stands_out_the_speaker_is_asked_and_nobody_gets_it() {
    let (hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let clients = three(&hub).await;
    let answer = say(&alice, "xyzzy plugh").await;
    assert_eq!((&answer["outcome"], &answer["deliveries"]), (&json!("failed"), &json!([])));
    assert_eq!(answer["candidates"], json!(["notebook", "calendar", "weather"]));
    let notice = lark.expect("notification.new").await;
    assert_eq!(notice["title"], "Who should take this?");
    assert_eq!(notice["source_type"], "route");
    for mut client in clients {
        client.heard_nothing().await;
    }
}

#[tokio::test]
async fn without_clients_the_outcome_says_so_and_the_speaker_is_told() {
    let (_hub, alice) = start().await;
    let answer = say(&alice, "anything").await;
    assert_eq!((&answer["outcome"], &answer["deliveries"]), (&json!("no_clients"), &json!([])));
    let told = alice.rest.get("/v1/notifications").await.ok();
    assert_eq!(told[0]["title"], "No clients connected");
    assert_eq!(route(&alice, &answer).await["state"], "no_clients");
}

#[tokio::test]
async fn an_only_client_gets_what_nobody_else_could_take() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let answer = say(&alice, "xyzzy").await;
    assert_eq!(answer["outcome"], "routed");
    assert_eq!(notebook.message().await["text"], "xyzzy");
}

#[tokio::test]
async fn ack_and_notification_of_a_client_reach_the_speaker() {
    let (hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let answer = say(&alice, "notebook: milk").await;
    let id = text(&answer, "message_id");
    notebook.message().await;
    notebook.ack(id).await;
    notebook.respond(id, "notification", json!({ "body": "Your note has been saved." })).await;
    notebook.respond(id, "notification", json!({ "title": "Note Saved", "priority": "high" })).await;
    let first = lark.expect("notification.new").await;
    assert_eq!((&first["title"], &first["body"]), (&json!("notebook"), &json!("Your note has been saved.")));
    let second = lark.expect("notification.new").await;
    assert_eq!((&second["title"], &second["priority"]), (&json!("Note Saved"), &json!("high")));
    let route = settled(&alice, &answer, "taken").await;
    assert_eq!(route["outcome"], "routed");
    assert_eq!(route["deliveries"][0]["status"], "acked");
    let responses = &route["attempts"][0]["responses"];
    let kinds: Vec<_> = items(responses).iter().map(|response| text(response, "type")).collect();
    assert_eq!(kinds, ["ack", "notification", "notification"]);
    let stored = alice.rest.get("/v1/notifications").await.ok();
    assert_eq!(items(&stored).len(), 2);
}

#[tokio::test]
async fn the_history_shows_sentences_newest_first_and_only_ones_own() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let _notebook = client(&hub, "notebook", "I keep notes.").await;
    let first = say(&alice, "notebook: one").await;
    let second = say(&alice, "notebook: two").await;
    let bobs = say(&bob, "notebook: three").await;
    let history = alice.rest.get("/v1/route").await.ok();
    let texts: Vec<_> = items(&history).iter().map(|route| text(route, "text")).collect();
    assert_eq!(texts, ["two", "one"]);
    let older = alice.rest.get(&format!("/v1/route?before={}", text(&second, "message_id"))).await.ok();
    assert_eq!(older[0]["message_id"], first["message_id"]);
    alice.rest.get(&format!("/v1/route/{}", text(&bobs, "message_id"))).await.refused(404, "NOT_FOUND");
    alice.rest.get("/v1/route/msg-1").await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn another_workspace_does_not_reach_the_clients_of_this_machine() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    assert_eq!(say(&mallory, "notebook: milk").await["outcome"], "no_clients");
    assert_eq!(mallory.rest.get("/v1/route/clients").await.ok(), json!([]));
    notebook.heard_nothing().await;
    assert_eq!(say(&alice, "notebook: milk").await["outcome"], "routed");
}

#[tokio::test]
async fn bad_input_is_refused_and_changes_nothing() {
    let (_hub, alice) = start().await;
    let long = "x".repeat(10_001);
    for body in [
        json!({}),
        json!({ "text": "" }),
        json!({ "text": " \n" }),
        json!({ "text": 7 }),
        json!({ "text": long }),
        json!({ "text": "x", "input_method": "telepathy" }),
    ] {
        alice.rest.post("/v1/route", body).await.refused(400, "BAD_REQUEST");
    }
    alice.rest.anonymous().post("/v1/route", json!({ "text": "x" })).await.refused(401, "AUTH_REQUIRED");
    assert_eq!(alice.rest.get("/v1/route").await.ok(), json!([]));
}

#[tokio::test]
async fn an_agent_of_the_hub_that_declares_capabilities_is_woken_with_the_sentence() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut agent = codebot.lark_agent().await;
    let answer = say(&alice, "codebot: have a look at the code").await;
    assert_eq!(answer["deliveries"][0]["client"], "codebot");
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["reason"], "dm", "{wake}");
    let channel = text(&wake["context"]["channel"], "id").to_owned();
    let history = alice.texts(&channel).await;
    assert_eq!(history, ["have a look at the code"]);
    agent.say(&channel, "looks fine").await;
    let route = settled(&alice, &answer, "taken").await;
    assert_eq!(route["attempts"][0]["status"], "acked");
}
