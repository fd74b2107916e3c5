//! Two agents that answer each other for ever are stopped; people see the text and decide.

use serde_json::{Value, json};

use crate::support::{Hub, Lark, Member, items, start, text};

struct Quarrel {
    _hub: Hub,
    alice: Member,
    agents: Vec<(Member, Lark)>,
    general: String,
    lark: Lark,
}

/// An agent answers each of its wakes by calling the other; this plays them until one of them is told that it is held.
async fn quarrel() -> (Quarrel, usize) {
    let (hub, alice) = start().await;
    let ping = alice.add_agent("ping").await;
    let pong = alice.add_agent("pong").await;
    let general = alice.add_channel("general", &[&ping, &pong]).await;
    let mut agents = Vec::new();
    for agent in [ping, pong] {
        let lark = agent.lark_agent().await;
        agents.push((agent, lark));
    }
    let lark = alice.lark().await;
    alice.post(&general, "@ping begin").await;
    let mut quarrel = Quarrel { _hub: hub, alice, agents, general, lark };
    for turn in 0..20 {
        if !quarrel.goes_on(turn).await {
            return (quarrel, turn);
        }
    }
    panic!("nobody stopped them");
}

impl Quarrel {
    /// One of them is woken and calls the other; false when that is held.
    async fn goes_on(&mut self, turn: usize) -> bool {
        let text = format!("@{} no, you ({turn})", self.agents[(turn + 1) % 2].0.name);
        let (_, lark) = &mut self.agents[turn % 2];
        lark.expect("agent.wake").await;
        let answer = lark.ask("message.send", json!({ "channel_id": self.general, "content": text })).await;
        match answer["type"].as_str() {
            Some("message.ack") => true,
            Some("error") => {
                assert_eq!(answer["data"]["code"], "held", "{answer}");
                false
            }
            _ => panic!("{answer}"),
        }
    }

    /// What people are shown.
    async fn card(&mut self) -> Value {
        self.lark.expect_where("approval.request", |data| data["kind"] == "brake").await
    }

    async fn decide(&self, card: &Value, body: Value) -> Value {
        self.alice.rest.patch(&format!("/v1/approvals/{}", text(card, "id")), body).await.ok()
    }

    async fn said(&self, content: &str) -> bool {
        let page = self.alice.rest.get(&format!("/v1/channels/{}/messages", self.general)).await.ok();
        items(&page).iter().any(|message| message["content"] == content)
    }
}

#[tokio::test]
async fn two_agents_that_answer_each_other_for_ever_are_stopped_and_the_text_is_shown() {
    let (mut quarrel, turn) = quarrel().await;
    assert_eq!(turn, 4, "each may wake the other twice");
    let card = quarrel.card().await;
    assert_eq!((&card["action"], &card["status"]), (&json!("continue"), &json!("pending")));
    assert_eq!(card["agent_id"], quarrel.agents[0].0.id.as_str());
    let payload: Value = serde_json::from_str(text(&card, "payload")).expect("JSON");
    assert_eq!((&payload["limit"], &payload["text"]), (&json!("pair"), &json!("@pong no, you (4)")));
    assert_eq!(payload["channel_id"], quarrel.general.as_str());
    assert!(text(&payload, "root_id").starts_with("msg_"));
    assert!(!quarrel.said("@pong no, you (4)").await);
    let path = format!("/v1/approvals/{}", text(&card, "id"));
    let refused = quarrel.agents[1].0.rest.patch(&path, json!({ "approved": true }));
    refused.await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn people_let_them_continue() {
    let (mut quarrel, turn) = quarrel().await;
    let card = quarrel.card().await;
    quarrel.decide(&card, json!({ "approved": true, "scope": "run" })).await;
    assert!(quarrel.said("@pong no, you (4)").await);
    let mut more = 1;
    while quarrel.goes_on(turn + more).await {
        more += 1;
        assert!(more < 30, "it ends again");
    }
    assert!(more > 4, "{more}");
}

#[tokio::test]
async fn people_stop_them() {
    let (mut quarrel, _) = quarrel().await;
    let card = quarrel.card().await;
    let decided = quarrel.decide(&card, json!({ "approved": false })).await;
    assert_eq!(decided["status"], "denied");
    let stopped = quarrel.lark.expect_where("delivery.update", |data| data["state"] == "suppressed").await;
    assert_eq!(stopped["agent_name"], "ping");
    let (ping, lark) = &mut quarrel.agents[0];
    lark.say(&quarrel.general, "@pong one last thing").await;
    let to_pong = |data: &Value| data["agent_name"] == "pong" && data["sender_id"] == ping.id.as_str();
    quarrel.lark.expect_where("delivery.update", |data| to_pong(data) && data["state"] == "suppressed").await;
    // A person begins anew.
    let message = quarrel.alice.post(&quarrel.general, "@pong something new").await;
    let wake = quarrel.agents[1]
        .1
        .expect_where("agent.wake", |wake| wake["context"]["delivery"]["message_ids"] == json!([message["id"]]));
    wake.await;
    assert!(!quarrel.said("@pong no, you (4)").await);
}
