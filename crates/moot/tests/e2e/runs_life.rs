//! The life of a run over Lark, with a plain client as the agent: begin, act, show how far it is, answer.

use serde_json::{Value, json};

use crate::support::worker::{acts, begins, ends, message, shown, takes_up};
use crate::support::{Hub, Lark, Member, items, start, text};

struct Scene {
    hub: Hub,
    alice: Member,
    codebot: Member,
    general: String,
    watcher: Lark,
    agent: Lark,
}

/// alice and codebot in a channel; alice watches.
async fn scene() -> Scene {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let (watcher, agent) = (alice.lark().await, codebot.lark_agent().await);
    Scene { hub, alice, codebot, general, watcher, agent }
}

impl Scene {
    /// alice asks, codebot begins.
    async fn at_work(&mut self) -> (Value, Value) {
        let asked = self.alice.post(&self.general, "@codebot the login test fails").await;
        let run = takes_up(&mut self.agent).await;
        (asked, run)
    }

    async fn thread(&self, root: &Value) -> Value {
        let path = format!("/v1/messages/{}/thread", text(root, "id"));
        self.alice.rest.get(&path).await.ok()
    }
}

#[tokio::test]
async fn a_wake_becomes_one_run_in_a_thread_under_the_message_and_its_message_becomes_the_answer() {
    let mut scene = scene().await;
    let (asked, run) = scene.at_work().await;
    assert_eq!(run["thread_id"], asked["id"]);
    assert_eq!((&run["trigger_id"], &run["asker_id"]), (&asked["id"], &json!(scene.alice.id)));
    assert_eq!((&run["state"], &run["agent_name"]), (&json!("running"), &json!("codebot")));
    assert_eq!((&run["project"], &run["machine"]), (&json!("shop"), &json!("laptop")));
    let told = scene.watcher.expect("run.started").await;
    assert_eq!(told["run"]["id"], run["id"]);
    let shown_first = message(&scene.alice, &run["message_id"]).await;
    assert_eq!((&shown_first["content"], &shown_first["metadata"]), (&json!("…"), &json!({ "run_id": run["id"] })));

    acts(&mut scene.agent, &run, "1", "started").await;
    acts(&mut scene.agent, &run, "2", "started").await;
    acts(&mut scene.agent, &run, "1", "completed").await;
    for (id, phase, seq) in [("1", "started", 1), ("2", "started", 2), ("1", "completed", 3)] {
        let told = scene.watcher.expect("run.action").await;
        assert_eq!((&told["run_id"], &told["channel_id"]), (&run["id"], &json!(scene.general)));
        assert_eq!(told["thread_id"], asked["id"]);
        let action = &told["action"];
        assert_eq!((&action["id"], &action["phase"], &action["seq"]), (&json!(id), &json!(phase), &json!(seq)));
    }
    let progress = json!({ "run_id": run["id"], "text": "reading the test" });
    scene.agent.send("run.progress", progress).await;
    let edit = scene.watcher.expect("message.edit").await;
    assert_eq!((&edit["id"], &edit["content"]), (&run["message_id"], &json!("reading the test")));
    assert!(edit["seq"].is_null(), "progress has no position in the channel: {edit}");

    let ended = ends(&mut scene.agent, &run, "completed", "It was the clock.").await;
    assert_eq!((&ended["state"], &ended["action_count"]), (&json!("completed"), &json!(2)));
    let told = scene.watcher.expect("run.completed").await;
    assert_eq!(told["run"]["state"], "completed");
    let thread = scene.thread(&asked).await;
    let texts: Vec<_> = items(&thread).iter().map(|message| text(message, "content")).collect();
    assert_eq!(texts, ["@codebot the login test fails", "It was the clock."]);
    let answer = message(&scene.alice, &run["message_id"]).await;
    assert_eq!((&answer["edit_count"], &answer["edited_at"]), (&json!(0), &Value::Null));
    let kept = shown(&scene.alice, &run).await;
    assert_eq!(items(&kept["actions"]).len(), 2);
    assert_eq!(kept["actions"][0]["id"], "2", "in the order of their newest events: {kept}");
    let delivery = scene.alice.rest.get(&format!("/v1/deliveries/{}", text(&run, "delivery_id"))).await.ok();
    assert_eq!((&delivery["state"], &delivery["reply_id"]), (&json!("answered"), &run["message_id"]));
}

#[tokio::test]
async fn starting_again_for_the_same_delivery_gives_the_same_run_and_one_message() {
    let mut scene = scene().await;
    let (asked, run) = scene.at_work().await;
    let again = begins(&mut scene.agent, &run["delivery_id"]).await;
    assert_eq!((&again["run"]["id"], &again["resumed"]), (&run["id"], &json!(true)));
    assert_eq!(items(&scene.thread(&asked).await).len(), 2);
}

#[tokio::test]
async fn completing_again_answers_with_the_run_as_it_is_and_changes_nothing() {
    let mut scene = scene().await;
    let (_, run) = scene.at_work().await;
    let first = ends(&mut scene.agent, &run, "completed", "done it").await;
    let second = ends(&mut scene.agent, &run, "failed", "something else").await;
    assert_eq!(first, second);
    assert_eq!(message(&scene.alice, &run["message_id"]).await["content"], "done it");
    let error = scene.agent.refused("run.progress", json!({ "run_id": run["id"], "text": "more" })).await;
    assert_eq!(error, "the run has ended");
    let late = json!({ "run_id": run["id"], "id": "9", "kind": "command", "phase": "started" });
    assert_eq!(scene.agent.refused("run.action", late).await, "the run has ended");
    let over = json!({ "delivery_id": run["delivery_id"], "engine": "script" });
    assert_eq!(scene.agent.refused("run.start", over).await, "there is no open delivery of this id for this agent");
}

#[tokio::test]
async fn a_run_survives_a_crash_of_the_hub_in_the_middle() {
    let mut scene = scene().await;
    let (asked, run) = scene.at_work().await;
    acts(&mut scene.agent, &run, "1", "started").await;
    scene.watcher.expect("run.action").await;
    let session = json!({ "run_id": run["id"], "resume": "abc", "resume_line": "`script resume abc`" });
    scene.agent.asks("run.session", session, "run.session").await;
    scene.hub.kill();
    scene.hub.restart().await;

    let open = scene.alice.rest.get(&scene.alice.path("runs?state=running")).await.ok();
    assert_eq!((&open[0]["id"], &open[0]["action_count"]), (&run["id"], &json!(1)));
    scene.agent = scene.codebot.lark_agent().await;
    let wake = scene.agent.expect("agent.wake").await;
    let delivery = &wake["context"]["delivery"];
    assert_eq!((&delivery["id"], &delivery["run_id"]), (&run["delivery_id"], &run["id"]));
    assert_eq!(wake["context"]["session"], json!({ "engine": "script", "resume": "abc" }));
    let again = begins(&mut scene.agent, &run["delivery_id"]).await;
    assert_eq!((&again["run"]["id"], &again["resumed"]), (&run["id"], &json!(true)));
    assert_eq!(again["run"]["resume"], "abc");
    acts(&mut scene.agent, &run, "1", "completed").await;
    acts(&mut scene.agent, &run, "2", "completed").await;
    let ended = ends(&mut scene.agent, &run, "completed", "here I am again").await;
    assert_eq!(ended["action_count"], 2);
    let kept = shown(&scene.alice, &run).await;
    let seqs: Vec<_> = items(&kept["actions"]).iter().map(|action| action["seq"].clone()).collect();
    assert_eq!(seqs, [json!(2), json!(3)], "the numbers go on where they were");
    assert_eq!(items(&scene.thread(&asked).await).len(), 2, "one answer");
    scene.hub.kill();
    scene.hub.restart().await;
    assert_eq!(shown(&scene.alice, &run).await["state"], "completed");
}

#[tokio::test]
async fn a_reply_in_the_thread_wakes_the_agent_again_with_the_session_of_the_thread() {
    let mut scene = scene().await;
    let (asked, run) = scene.at_work().await;
    scene.agent.asks("run.session", json!({ "run_id": run["id"], "resume": "abc" }), "run.session").await;
    ends(&mut scene.agent, &run, "completed", "fixed").await;
    let reply = json!({ "channel_id": scene.general, "parent_id": asked["id"], "content": "and the other one?" });
    scene.watcher.asks("thread.reply", reply, "message.ack").await;
    let wake = scene.agent.expect("agent.wake").await;
    assert_eq!(wake["reason"], "thread_reply");
    assert_eq!(wake["context"]["session"]["resume"], "abc");
    let second = begins(&mut scene.agent, &wake["context"]["delivery"]["id"]).await["run"].clone();
    assert_eq!(second["thread_id"], asked["id"]);

    let place = json!({ "channel_id": scene.general, "thread_id": asked["id"], "model": "large" });
    let put = scene.agent.asks("session.put", place.clone(), "session.put").await;
    assert_eq!((&put["session"]["model"], &put["session"]["resume"]), (&json!("large"), &json!("abc")));
    scene.agent.asks("session.forget", place.clone(), "session.forget").await;
    ends(&mut scene.agent, &second, "completed", "that too").await;
    let put = scene.agent.asks("session.put", place, "session.put").await;
    assert_eq!(put["session"]["resume"], Value::Null, "what was under way does not come back");
}

#[tokio::test]
async fn a_failed_run_says_why_and_ends_its_delivery_as_failed() {
    let mut scene = scene().await;
    let (_, run) = scene.at_work().await;
    let failed = json!({ "run_id": run["id"], "state": "failed", "error": "no such model" });
    scene.agent.asks("run.complete", failed, "run.completed").await;
    assert_eq!(message(&scene.alice, &run["message_id"]).await["content"], "failed: no such model");
    let delivery = scene.alice.rest.get(&format!("/v1/deliveries/{}", text(&run, "delivery_id"))).await.ok();
    assert_eq!(delivery["state"], "failed");
}

#[tokio::test]
async fn usage_cost_and_model_are_kept_with_the_run() {
    let mut scene = scene().await;
    let (_, run) = scene.at_work().await;
    let end = json!({
        "run_id": run["id"], "state": "completed", "answer": "done", "model": "large-1",
        "usage": { "input_tokens": 12, "output_tokens": 3 }, "cost_usd": 0.25, "resume": "xyz",
        "resume_line": "`script resume xyz`",
    });
    scene.agent.asks("run.complete", end, "run.completed").await;
    let kept = shown(&scene.alice, &run).await;
    assert_eq!(kept["usage"], json!({ "input_tokens": 12, "output_tokens": 3 }));
    assert_eq!((&kept["cost_usd"], &kept["model"]), (&json!(0.25), &json!("large-1")));
    assert_eq!((&kept["resume"], &kept["resume_line"]), (&json!("xyz"), &json!("`script resume xyz`")));
}

#[tokio::test]
async fn an_answer_too_long_for_a_message_is_kept_whole_with_the_run() {
    let mut scene = scene().await;
    let (_, run) = scene.at_work().await;
    let long = "wort ".repeat(4_000);
    let ended = ends(&mut scene.agent, &run, "completed", &long).await;
    assert_eq!(ended["answer"], long.as_str());
    let answer = message(&scene.alice, &run["message_id"]).await;
    assert_eq!(text(&answer, "content").chars().count(), 10_000);
}

#[tokio::test]
async fn what_happened_since_one_last_looked_can_be_asked_for() {
    let mut scene = scene().await;
    let (_, run) = scene.at_work().await;
    for id in ["1", "2", "3"] {
        acts(&mut scene.agent, &run, id, "started").await;
    }
    acts(&mut scene.agent, &run, "1", "completed").await;
    scene.watcher.expect_where("run.action", |data| data["action"]["seq"] == 4).await;
    let path = format!("/v1/runs/{}?after=2", text(&run, "id"));
    let since = scene.alice.rest.get(&path).await.ok();
    let ids: Vec<_> = items(&since["actions"]).iter().map(|action| text(action, "id")).collect();
    assert_eq!(ids, ["3", "1"]);
    assert_eq!((&since["action_count"], &since["actions"][1]["first_seq"]), (&json!(3), &json!(1)));
    let first = scene.alice.rest.get(&format!("/v1/runs/{}?limit=1", text(&run, "id"))).await.ok();
    assert_eq!(items(&first["actions"]).len(), 1);
}
