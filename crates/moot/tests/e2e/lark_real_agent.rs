//! An agent that behaves like the agent program of Lark's own project: it answers every wake with a draft in the channel,
//! knows nothing of threads and deliveries, never comes back by itself, and polls and acknowledges its inbox.

use serde_json::{Value, json};

use crate::support::{Hub, Lark, Member, start, text};

struct Scene {
    _hub: Hub,
    alice: Member,
    watcher: Lark,
    codebot: Member,
    general: String,
}

async fn scene() -> Scene {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let watcher = alice.lark().await;
    Scene { _hub: hub, alice, watcher, codebot, general }
}

impl Scene {
    async fn reply(&self, root: &str, content: &str) -> Value {
        let body = json!({ "content": content, "thread_id": root });
        self.alice.rest.post(&format!("/v1/channels/{}/messages", self.general), body).await.created()
    }

    /// A message of the agent, as the answer to a mention: below it people reply.
    async fn conversation(&mut self, agent: &mut Lark) -> String {
        self.alice.post(&self.general, "@codebot hello").await;
        let wake = agent.expect("agent.wake").await;
        let said = answer(agent, &wake, "hello yourself").await;
        self.ends(&wake, "answered").await;
        said
    }

    async fn ends(&mut self, wake: &Value, state: &str) -> Value {
        let id = wake["context"]["delivery"]["id"].clone();
        let ended = |data: &Value| data["id"] == id && data["state"] == state;
        self.watcher.expect_where("delivery.update", ended).await
    }

    /// Starts the program anew and makes sure that nothing but a fresh mention wakes it.
    async fn restart(&mut self, agent: Lark) -> Lark {
        agent.close().await;
        let mut agent = self.codebot.lark_agent().await;
        let fresh = self.alice.post(&self.general, "@codebot still there?").await;
        let wake = agent.expect("agent.wake").await;
        assert_eq!(wake["context"]["delivery"]["message_ids"], json!([fresh["id"]]), "no wake comes again");
        answer(&mut agent, &wake, "yes").await;
        self.ends(&wake, "answered").await;
        agent
    }
}

/// What the program does with a wake, once its engine has said something.
async fn answer(agent: &mut Lark, wake: &Value, content: &str) -> String {
    let channel = text(&wake["context"]["channel"], "id").to_owned();
    agent.send("agent.thinking", json!({ "channel_id": channel })).await;
    let draft = json!({ "channel_id": channel, "content": content });
    let held = agent.asks("draft.create", draft, "draft.ack").await;
    let sent = agent.asks("draft.send", json!({ "draft_id": held["draft_id"] }), "draft.send").await;
    agent.send("agent.sleep", Value::Null).await;
    text(&sent, "message_id").to_owned()
}

/// What the program does every 30 s.
async fn empty_inbox(agent: &mut Lark) {
    let items = agent.asks("inbox.poll", json!({ "unread_only": true, "limit": 20 }), "inbox.items").await;
    for item in items.as_array().expect("an array") {
        agent.asks("inbox.ack", json!({ "item_id": item["id"] }), "inbox.ack").await;
    }
}

#[tokio::test]
async fn a_thread_reply_that_was_answered_in_the_channel_is_answered_once_over_three_restarts() {
    let mut scene = scene().await;
    let mut agent = scene.codebot.lark_agent().await;
    let root = scene.conversation(&mut agent).await;
    scene.reply(&root, "and the tests?").await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["reason"], "thread_reply");
    empty_inbox(&mut agent).await;
    let said = answer(&mut agent, &wake, "they are green").await;
    assert_eq!(scene.ends(&wake, "answered").await["reply_id"], said.as_str());
    for _ in 0..3 {
        agent = scene.restart(agent).await;
    }
    let texts = scene.alice.texts(&scene.general).await;
    assert_eq!(texts.iter().filter(|text| *text == "they are green").count(), 1, "{texts:?}");
}

#[tokio::test]
async fn answers_to_several_threads_are_not_taken_for_one_another_and_none_is_asked_for_again() {
    let mut scene = scene().await;
    let mut agent = scene.codebot.lark_agent().await;
    let (first, second) = (scene.conversation(&mut agent).await, scene.conversation(&mut agent).await);
    scene.reply(&first, "first question").await;
    let one = agent.expect("agent.wake").await;
    scene.reply(&second, "second question").await;
    let other = agent.expect("agent.wake").await;
    // The program runs an engine for each, and the second may be done before the first.
    answer(&mut agent, &other, "to the second").await;
    for wake in [&one, &other] {
        let id = text(&wake["context"]["delivery"], "id");
        let delivery = scene.alice.rest.get(&format!("/v1/deliveries/{id}")).await.ok();
        assert!(["leased", "admitted"].contains(&text(&delivery, "state")), "which one was it? {delivery}");
    }
    answer(&mut agent, &one, "to the first").await;
    scene.ends(&one, "answered").await;
    scene.ends(&other, "answered").await;
    scene.restart(agent).await;
}

#[tokio::test]
async fn an_answer_to_a_mention_leaves_the_wake_of_a_thread_open() {
    let mut scene = scene().await;
    let mut agent = scene.codebot.lark_agent().await;
    let root = scene.conversation(&mut agent).await;
    scene.reply(&root, "and the tests?").await;
    let in_thread = agent.expect("agent.wake").await;
    scene.alice.post(&scene.general, "@codebot what time is it?").await;
    let mention = agent.expect("agent.wake").await;
    let said = answer(&mut agent, &mention, "noon").await;
    assert_eq!(scene.ends(&mention, "answered").await["reply_id"], said.as_str());
    agent.close().await;
    let mut agent = scene.codebot.lark_agent().await;
    let again = agent.expect("agent.wake").await;
    assert_eq!(again["context"]["delivery"]["id"], in_thread["context"]["delivery"]["id"]);
    answer(&mut agent, &again, "green").await;
    scene.ends(&again, "answered").await;
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_told_to_who_asked_and_the_next_answers_the_next() {
    let mut scene = scene().await;
    let mut agent = scene.codebot.lark_agent().await;
    scene.alice.post(&scene.general, "@codebot tell me everything").await;
    let wake = agent.expect("agent.wake").await;
    agent.send("agent.thinking", json!({ "channel_id": scene.general })).await;
    let everything = json!({ "channel_id": scene.general, "content": "x".repeat(12_000) });
    for kind in ["draft.create", "message.send"] {
        assert!(agent.refused(kind, everything.clone()).await.contains("too long"));
    }
    agent.send("agent.sleep", Value::Null).await;
    assert!(text(&scene.ends(&wake, "failed").await, "why").contains("too long"));
    scene.alice.post(&scene.general, "@codebot shorter, please").await;
    let next = agent.expect("agent.wake").await;
    let said = answer(&mut agent, &next, "no").await;
    assert_eq!(scene.ends(&next, "answered").await["reply_id"], said.as_str());
    scene.restart(agent).await;
}
