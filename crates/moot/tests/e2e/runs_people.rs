//! What people see of runs and do with them: lists, stopping, diffs, questions; and what strangers do not.

use serde_json::{Value, json};

use crate::support::worker::{acts, begins, ends, message, shown, takes_up};
use crate::support::{Lark, Member, items, moot, register, start, text};

/// An agent of this channel at work for this member.
async fn at_work(asker: &Member, channel: &str, agent: &mut Lark) -> Value {
    asker.post(channel, "@codebot look at this").await;
    takes_up(agent).await
}

async fn stop(member: &Member, run: &Value) -> crate::support::Answer {
    member.rest.post(&format!("/v1/runs/{}/stop", text(run, "id")), json!({})).await
}

async fn put_diff(member: &Member, run: &Value, diff: String) -> crate::support::Answer {
    let path = format!("/v1/runs/{}/diff", text(run, "id"));
    let request = member.rest.request(reqwest::Method::PUT, &path).header("content-type", "text/x-diff").body(diff);
    crate::support::Answer::of(format!("PUT {path}"), request).await
}

#[tokio::test]
async fn anyone_who_may_speak_stops_a_run_and_its_agent_is_told() {
    let (_hub, alice) = start().await;
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let (mut watcher, mut agent) = (bob.lark().await, codebot.lark_agent().await);
    let run = at_work(&alice, &general, &mut agent).await;
    let stopping = watcher.asks("run.stop", json!({ "run_id": run["id"] }), "run.stop").await;
    assert_eq!((&stopping["run"]["stop_requested"], &stopping["run"]["state"]), (&json!(true), &json!("running")));
    let told = agent.expect("run.stop").await;
    assert_eq!((&told["run_id"], &told["agent_name"]), (&run["id"], &json!("codebot")));
    assert_eq!(watcher.expect("run.updated").await["run"]["stop_requested"], true);
    ends(&mut agent, &run, "cancelled", "").await;
    assert_eq!(message(&alice, &run["message_id"]).await["content"], "cancelled");
    let delivery = alice.rest.get(&format!("/v1/deliveries/{}", text(&run, "delivery_id"))).await.ok();
    assert_eq!(delivery["state"], "cancelled");
    assert_eq!(stop(&bob, &run).await.ok()["state"], "cancelled", "stopping what is over changes nothing");
}

#[tokio::test]
async fn a_run_whose_agent_cannot_be_reached_ends_at_once() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut watcher = alice.lark().await;
    let mut agent = codebot.lark_agent().await;
    let run = at_work(&alice, &general, &mut agent).await;
    drop(agent);
    watcher.expect_where("presence.update", |data| data["status"] == "offline").await;
    assert_eq!(stop(&alice, &run).await.ok()["state"], "cancelled");
    assert_eq!(message(&alice, &run["message_id"]).await["content"], "cancelled: stopped by alice");
}

#[tokio::test]
async fn a_stop_reaches_the_daemon_that_carries_the_agent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut daemon = alice.lark().await;
    let carried = json!({ "agents": [{ "name": "codebot", "agent_id": codebot.id }] });
    daemon.asks("daemon.register", carried, "daemon.registered").await;
    alice.post(&general, "@codebot look at this").await;
    let wake = daemon.expect("agent.wake").await;
    let start = json!({
        "agent_id": codebot.id, "engine": "script", "delivery_id": wake["context"]["delivery"]["id"],
    });
    let run = daemon.asks("run.start", start, "run.started").await["run"].clone();
    stop(&alice, &run).await.ok();
    assert_eq!(daemon.expect_where("run.stop", |data| data["run"].is_null()).await["agent_id"], codebot.id.as_str());
    assert_eq!(put_diff(&alice, &run, "+carried\n".to_owned()).await.ok()["has_diff"], true);
    let end = json!({ "agent_id": codebot.id, "run_id": run["id"], "state": "cancelled" });
    assert_eq!(daemon.asks("run.complete", end, "run.completed").await["run"]["state"], "cancelled");
}

#[tokio::test]
async fn strangers_neither_see_nor_stop_a_run() {
    let (hub, alice) = start().await;
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let spy = alice.add_agent("spy").await;
    let secret = alice.add_private("secret", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let run = at_work(&alice, &secret, &mut agent).await;
    put_diff(&codebot, &run, "+a\n".to_owned()).await.ok();
    let mallory = register(&hub, "mallory").await;
    for stranger in [&bob, &spy, &mallory] {
        for path in ["", "/diff"] {
            let path = format!("/v1/runs/{}{path}", text(&run, "id"));
            stranger.rest.get(&path).await.refused(404, "NOT_FOUND");
        }
        stop(stranger, &run).await.refused(404, "NOT_FOUND");
        put_diff(stranger, &run, "+b\n".to_owned()).await.refused(404, "NOT_FOUND");
        stranger.rest.get(&format!("/v1/channels/{secret}/runs")).await.hidden();
        let mine = stranger.rest.get(&stranger.path("runs")).await.ok();
        assert_eq!(items(&mine).len(), 0);
        let mut lark = stranger.lark().await;
        for kind in ["run.stop", "run.progress", "run.action", "run.session", "run.changes", "run.complete"] {
            let data = json!({
                "run_id": run["id"], "text": "x", "id": "1", "kind": "note", "phase": "started", "resume": "x",
                "changes": [], "state": "completed",
            });
            assert_eq!(lark.refused(kind, data).await, "run not found", "{kind}");
        }
    }
}

#[tokio::test]
async fn an_agent_does_not_touch_the_run_of_another_one() {
    let (_hub, alice) = start().await;
    let (codebot, other) = (alice.add_agent("codebot").await, alice.add_agent("other").await);
    let general = alice.add_channel("general", &[&codebot, &other]).await;
    let (mut agent, mut intruder) = (codebot.lark_agent().await, other.lark_agent().await);
    let run = at_work(&alice, &general, &mut agent).await;
    let data = json!({ "run_id": run["id"], "state": "completed", "answer": "mine" });
    assert_eq!(intruder.refused("run.complete", data).await, "this is another agent's run");
    stop(&other, &run).await.refused(403, "FORBIDDEN");
    put_diff(&other, &run, "+x".to_owned()).await.refused(403, "FORBIDDEN");
    put_diff(&alice, &run, "+x".to_owned()).await.refused(403, "FORBIDDEN");
    let start = json!({ "delivery_id": run["delivery_id"], "engine": "script" });
    assert_eq!(intruder.refused("run.start", start).await, "this wake is another agent's");
}

#[tokio::test]
async fn the_diff_is_brought_by_the_agent_and_read_by_whoever_reads_the_channel() {
    let (hub, alice) = start().await;
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let run = at_work(&alice, &general, &mut agent).await;
    let path = format!("/v1/runs/{}/diff", text(&run, "id"));
    bob.rest.get(&path).await.refused(404, "NOT_FOUND");
    for diff in ["--- a\n+++ b\n-old\n", "--- a\n+++ b\n+new\n"] {
        assert_eq!(put_diff(&codebot, &run, diff.to_owned()).await.ok()["has_diff"], true);
        let answer = bob.rest.get(&path).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, diff));
        assert!(answer.header("content-type").starts_with("text/x-diff"), "{:?}", answer.headers);
    }
    let stored = std::fs::read_dir(hub.data.join("files"))
        .expect("the folder of the files")
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("file_")));
    assert_eq!(stored.count(), 1, "the bytes of the first diff are gone");
    put_diff(&codebot, &run, "x".repeat(4 * 1024 * 1024 + 1)).await.refused(413, "PAYLOAD_TOO_LARGE");
    let changes = json!([{ "path": "src/clock.rs", "kind": "modified", "added": 3, "removed": 1 }]);
    let data = json!({ "run_id": run["id"], "changes": changes, "branch": "fix-clock" });
    agent.asks("run.changes", data, "run.changes").await;
    let kept = shown(&alice, &run).await;
    assert_eq!((&kept["changes"], &kept["branch"], &kept["has_diff"]), (&changes, &json!("fix-clock"), &json!(true)));
}

#[tokio::test]
async fn runs_are_listed_by_channel_by_workspace_and_by_state() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let (general, side) =
        (alice.add_channel("general", &[&codebot]).await, alice.add_channel("side", &[&codebot]).await);
    let mut agent = codebot.lark_agent().await;
    let first = at_work(&alice, &general, &mut agent).await;
    ends(&mut agent, &first, "completed", "done").await;
    let second = at_work(&alice, &general, &mut agent).await;
    let third = at_work(&alice, &side, &mut agent).await;
    let list = async |path: String| {
        let runs = alice.rest.get(&path).await.ok();
        items(&runs).iter().map(|run| run["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(format!("/v1/channels/{general}/runs")).await, [second["id"].clone(), first["id"].clone()]);
    assert_eq!(list(format!("/v1/channels/{general}/runs?state=completed")).await, [first["id"].clone()]);
    assert_eq!(list(format!("/v1/channels/{general}/runs?limit=1")).await, [second["id"].clone()]);
    let before = format!("/v1/channels/{general}/runs?before={}", text(&second, "id"));
    assert_eq!(list(before).await, [first["id"].clone()]);
    assert_eq!(list(alice.path("runs?state=running")).await, [third["id"].clone(), second["id"].clone()]);
    alice.rest.get(&alice.path("runs?state=sleeping")).await.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn a_run_with_an_open_question_waits_and_goes_on_with_the_decision() {
    let (_hub, alice) = start().await;
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let (mut watcher, mut agent) = (bob.lark().await, codebot.lark_agent().await);
    let run = at_work(&bob, &general, &mut agent).await;
    let question = json!({ "action": "rm -rf build", "run_id": run["id"], "kind": "permission", "fingerprint": "f1" });
    let asked = agent.asks("approval.request", question, "approval.request").await;
    let told = watcher.expect("approval.request").await;
    assert_eq!((&told["channel_id"], &told["asker_id"]), (&json!(general), &json!(bob.id)), "both come from the run");
    assert_eq!(watcher.expect("run.updated").await["run"]["state"], "waiting");
    let decision = json!({ "approval_id": asked["id"], "approved": false, "note": "use make clean" });
    watcher.send("approval.decide", decision).await;
    let result = agent.expect("approval.result").await;
    assert_eq!((&result["status"], &result["review_note"]), (&json!("denied"), &json!("use make clean")));
    assert_eq!(watcher.expect("run.updated").await["run"]["state"], "running");
}

#[tokio::test]
async fn a_decision_made_while_hub_and_agent_were_gone_is_used_once_in_the_same_run() {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let run = at_work(&alice, &general, &mut agent).await;
    let question = json!({ "action": "push", "run_id": run["id"], "kind": "permission", "fingerprint": "push-main" });
    let asked = agent.asks("approval.request", question.clone(), "approval.request").await;
    drop(agent);
    hub.kill();
    hub.restart().await;
    assert_eq!(shown(&alice, &run).await["state"], "waiting");
    let decide = json!({ "approved": true, "note": "go" });
    alice.rest.patch(&format!("/v1/approvals/{}", text(&asked, "id")), decide).await.ok();
    hub.kill();
    hub.restart().await;
    let mut agent = codebot.lark_agent().await;
    let wake = agent.expect("agent.wake").await;
    begins(&mut agent, &wake["context"]["delivery"]["id"]).await;
    let again = agent.asks("approval.request", question.clone(), "approval.request").await;
    assert_eq!(
        (&again["id"], &again["status"], &again["review_note"]),
        (&asked["id"], &json!("approved"), &json!("go"))
    );
    let third = agent.asks("approval.request", question, "approval.request").await;
    assert_eq!(third["status"], "pending", "one yes is one action");
    ends(&mut agent, &run, "cancelled", "").await;
    let void = alice.rest.get(&format!("/v1/approvals/{}", text(&third, "id"))).await.ok();
    assert_eq!((&void["status"], &void["review_note"]), (&json!("denied"), &json!("the run has ended")));
}

#[tokio::test]
async fn runs_are_seen_and_stopped_from_the_terminal() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let run = at_work(&alice, &general, &mut agent).await;
    acts(&mut agent, &run, "1", "completed").await;
    put_diff(&codebot, &run, "+a\n".to_owned()).await.ok();
    let home = hub.folder();
    let server = hub.url("");
    let call = async |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--server", &server, "--token", &alice.token]);
        moot(home.path(), &all, &[]).await
    };
    let id = text(&run, "id");
    let list = call(&["runs", "list"]).await;
    assert!(list.stdout.contains(id) && list.stdout.contains("codebot"), "{}", list.stdout);
    let list = call(&["runs", "list", "--channel", "general", "--json"]).await;
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    assert_eq!(list[0]["id"], run["id"]);
    let show = call(&["runs", "show", id]).await;
    assert!(show.stdout.contains("✓ command     cargo test 1"), "{}", show.stdout);
    assert_eq!(call(&["runs", "show", id, "--diff"]).await.stdout, "+a\n");
    let stopped = call(&["runs", "stop", id]).await;
    assert!(stopped.stderr.contains("codebot was told to stop"), "{}", stopped.stderr);
    let unknown = call(&["runs", "show", "run_nothing"]).await;
    assert!(unknown.stderr.contains("there is no run `run_nothing`"), "{}", unknown.stderr);
}
