//! Requests: answers only from the agent asked, time-outs, lost agents, the breaker, dispatch.

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::chopsticks::{Worker, gone, hello, holder, known, place};
use crate::support::{Answer, Member, Setup, eventually, register, start, text};

fn ask(member: &Member, agent: &str, op: &str) -> JoinHandle<Answer> {
    let (rest, path) = (member.rest.clone(), format!("/v1/pools/agents/{agent}/requests"));
    let body = json!({ "op": op, "data": { "guildId": "g1" } });
    tokio::spawn(async move { rest.post(&path, body).await })
}

fn dispatch(member: &Member, channel: &str, op: &str, data: Value) -> JoinHandle<Answer> {
    let rest = member.rest.clone();
    let mut body = place("g1", channel, "music");
    body["op"] = json!(op);
    body["data"] = data;
    tokio::spawn(async move { rest.post("/v1/pools/dispatch", body).await })
}

#[tokio::test]
async fn a_request_has_a_uuid_and_its_answer_comes_back() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = ask(&alice, "a1", "status");
    let request = worker.asked().await;
    let expected = json!({
        "type": "req", "id": request["id"], "op": "status", "data": { "guildId": "g1" }, "agentId": "a1",
    });
    assert_eq!(request, expected);
    assert_eq!(uuid::Uuid::parse_str(text(&request, "id")).unwrap().get_version_num(), 4);
    worker.answer(&request, json!({ "playing": true })).await;
    assert_eq!(asked.await.unwrap().ok(), json!({ "ok": true, "data": { "playing": true } }));
}

#[tokio::test]
async fn an_agents_error_is_an_answer() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = ask(&alice, "a1", "play");
    let request = worker.asked().await;
    worker.refuse(&request, "Track not found").await;
    assert_eq!(asked.await.unwrap().ok(), json!({ "ok": false, "error": "Track not found" }));
}

#[tokio::test]
async fn an_answer_without_data_is_null_and_a_request_without_data_an_empty_object() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let rest = alice.rest.clone();
    let asked = tokio::spawn(async move { rest.post("/v1/pools/agents/a1/requests", json!({ "op": "status" })).await });
    let request = worker.asked().await;
    assert_eq!(request["data"], json!({}));
    worker.send(json!({ "type": "resp", "id": request["id"], "ok": true })).await;
    assert_eq!(asked.await.unwrap().ok(), json!({ "ok": true, "data": null }));
}

#[tokio::test]
async fn an_agent_that_is_not_connected_is_offline() {
    let (_hub, alice) = start().await;
    ask(&alice, "nobody", "status").await.unwrap().refused(404, "agent-offline");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_in_time_is_a_504_and_its_late_answer_is_ignored() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__REQUEST_TIMEOUT_S", "1").start().await;
    let alice = register(&hub, "alice").await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = ask(&alice, "a1", "status");
    let late = worker.asked().await;
    asked.await.unwrap().refused(504, "agent-timeout");
    worker.answer(&late, json!({ "late": true })).await;
    // On a busy machine this one may be late too; it is never taken for the first.
    let answered = loop {
        let asked = ask(&alice, "a1", "status");
        let request = worker.asked().await;
        worker.answer(&request, json!({ "late": false })).await;
        let answer = asked.await.unwrap();
        if answer.status == 200 {
            break answer.ok();
        }
    };
    assert_eq!(answered["data"]["late"], false);
}

#[tokio::test]
async fn only_the_agent_that_was_asked_can_answer() {
    let (hub, alice) = start().await;
    let mut one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let mut two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    let asked = ask(&alice, "a1", "status");
    let request = one.asked().await;
    two.send(json!({ "type": "resp", "id": request["id"], "agentId": "a1", "ok": true, "data": "forged" })).await;
    // Its own request is answered behind the forged one: by then the forged one has been seen.
    let other = ask(&alice, "a2", "status");
    let own = two.asked().await;
    two.answer(&own, json!("two")).await;
    assert_eq!(other.await.unwrap().ok()["data"], "two");
    one.answer(&request, json!("one")).await;
    assert_eq!(asked.await.unwrap().ok()["data"], "one");
}

#[tokio::test]
async fn requests_are_concurrent_and_may_be_answered_in_any_order() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked: Vec<_> = (0..10).map(|number| ask(&alice, "a1", &format!("op{number}"))).collect();
    let mut requests = Vec::new();
    for _ in 0..10 {
        requests.push(worker.asked().await);
    }
    for request in requests.iter().rev() {
        worker.answer(request, request["op"].clone()).await;
    }
    for (number, asked) in asked.into_iter().enumerate() {
        assert_eq!(asked.await.unwrap().ok()["data"], format!("op{number}"));
    }
}

#[tokio::test]
async fn requests_of_a_lost_agent_fail_at_once() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = ask(&alice, "a1", "status");
    worker.asked().await;
    let began = std::time::Instant::now();
    drop(worker);
    asked.await.unwrap().refused(404, "agent-offline");
    assert!(began.elapsed().as_secs() < 20, "not after the time-out of a request");
}

#[tokio::test]
async fn requests_on_a_replaced_connection_fail_at_once() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__PROBE_S", "0.5").start().await;
    let alice = register(&hub, "alice").await;
    let mut old = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = ask(&alice, "a1", "status");
    let request = old.asked().await;
    let mut new = Worker::dial(hub.address).await;
    new.send(hello("a1", &["g1"])).await;
    asked.await.unwrap().refused(404, "agent-offline");
    new.answer(&request, json!("too late")).await;
}

#[tokio::test]
async fn an_agent_that_keeps_silent_is_left_alone_and_the_others_are_not() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__REQUEST_TIMEOUT_S", "1").start().await;
    let alice = register(&hub, "alice").await;
    let _silent = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let well = Worker::join(&alice, hub.address, "a2", &["g1"]).await.obey(|_| Ok(json!({})));
    let asked: Vec<_> = (0..5).map(|_| ask(&alice, "a1", "status")).collect();
    for asked in asked {
        asked.await.unwrap().refused(504, "agent-timeout");
    }
    ask(&alice, "a1", "status").await.unwrap().refused(503, "agent-circuit-open");
    eventually("the other answers in time", || async {
        let answer = ask(&alice, "a2", "status").await.unwrap();
        (answer.status == 200).then_some(())
    })
    .await;
    // It is given no session either.
    let session = alice.rest.post("/v1/pools/sessions", place("g1", "v1", "music")).await.created();
    assert_eq!(session["agent_id"], "a2");
    alice.rest.post("/v1/pools/sessions", place("g1", "v2", "music")).await.refused(409, "no-free-agents");
    well.abort();
}

#[tokio::test]
async fn errors_that_an_agent_answers_do_not_count_against_it() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(|_| Err("Track not found".to_owned()));
    for _ in 0..20 {
        assert_eq!(ask(&alice, "a1", "search").await.unwrap().ok()["error"], "Track not found");
    }
    worker.abort();
}

#[tokio::test]
async fn dispatch_gives_the_channel_to_an_agent_and_asks_it_in_one_step() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let asked = dispatch(&alice, "v1", "play", json!({ "query": "song" }));
    let request = worker.asked_for("play").await;
    let data = &request["data"];
    assert_eq!((&data["guildId"], &data["voiceChannelId"]), (&json!("g1"), &json!("v1")));
    assert_eq!((&data["query"], &data["actorUserId"]), (&json!("song"), &json!(alice.id)));
    worker.answer(&request, json!({ "action": "playing" })).await;
    let answer = asked.await.unwrap().ok();
    assert_eq!((&answer["ok"], &answer["data"]["action"]), (&json!(true), &json!("playing")));
    // The second goes to the same agent, as does what the caller says of itself.
    let asked = dispatch(&alice, "v1", "pause", json!({ "actorUserId": "somebody" }));
    let request = worker.asked_for("pause").await;
    assert_eq!(request["data"]["actorUserId"], "somebody");
    worker.refuse(&request, "not-owner").await;
    assert_eq!(asked.await.unwrap().ok()["error"], "not-owner");
}

#[tokio::test]
async fn dispatch_without_agents_says_so() {
    let (hub, alice) = start().await;
    dispatch(&alice, "v1", "play", json!({})).await.unwrap().refused(404, "no-agents-in-guild");
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(|_| Ok(json!({})));
    dispatch(&alice, "v1", "play", json!({})).await.unwrap().ok();
    dispatch(&alice, "v2", "play", json!({})).await.unwrap().refused(409, "no-free-agents");
    worker.abort();
}

#[tokio::test]
async fn dispatch_waits_for_an_agent_that_is_on_its_way_back() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    alice.rest.post("/v1/pools/sessions", place("g1", "v1", "music")).await.created();
    worker.close().await;
    gone(&alice, "a1").await;
    let asked = dispatch(&alice, "v1", "status", json!({}));
    let mut back = Worker::dial(hub.address).await;
    back.send(hello("a1", &["g1"])).await;
    let request = back.asked_for("status").await;
    back.answer(&request, json!("back")).await;
    assert_eq!(asked.await.unwrap().ok()["data"], "back");
}

#[tokio::test]
async fn dispatch_goes_to_the_successor_of_a_lost_agent() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__RECONNECT_GRACE_S", "0.2").start().await;
    let alice = register(&hub, "alice").await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    alice.rest.post("/v1/pools/sessions", place("g1", "v1", "music")).await.created();
    let mut other = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    worker.close().await;
    gone(&alice, "a1").await;
    let asked = dispatch(&alice, "v1", "status", json!({}));
    let request = other.asked_for("status").await;
    other.answer(&request, json!("other")).await;
    let answer = asked.await.unwrap().ok();
    assert_eq!((&answer["data"], &answer["agent_id"]), (&json!("other"), &json!("a2")));
}

#[tokio::test]
async fn no_session_ends_the_lease_whoever_asked_and_the_next_request_takes_it_anew() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let plainly = |member: &Member| {
        let (rest, data) = (member.rest.clone(), json!({ "guildId": "g1", "voiceChannelId": "v1" }));
        let body = json!({ "op": "status", "data": data });
        tokio::spawn(async move { rest.post("/v1/pools/agents/a1/requests", body).await })
    };
    for is_plain in [false, true] {
        let playing = dispatch(&alice, "v1", "play", json!({ "query": "song" }));
        let request = worker.asked_for("play").await;
        worker.answer(&request, json!({ "action": "playing" })).await;
        playing.await.unwrap().ok();
        // The last track was skipped: the session is over, and nobody says `released`.
        let asked = if is_plain { plainly(&alice) } else { dispatch(&alice, "v1", "status", json!({})) };
        let request = worker.asked_for("status").await;
        assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
        worker.refuse(&request, "no-session").await;
        assert_eq!(asked.await.unwrap().ok()["error"], "no-session");
        assert_eq!(holder(&alice, "g1", "v1", "music").await, None);
        assert_eq!(known(&alice, "a1").await["busy"], false);
    }
}

#[tokio::test]
async fn a_refused_first_request_leaves_no_lease_and_the_agent_is_told_to_leave() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    for taken_before in [false, true] {
        if taken_before {
            alice.rest.post("/v1/pools/sessions", place("g1", "v1", "music")).await.created();
        }
        let asked = dispatch(&alice, "v1", "play", json!({ "query": "song" }));
        let request = worker.asked_for("play").await;
        worker.refuse(&request, "not-in-voice").await;
        assert_eq!(asked.await.unwrap().ok()["error"], "not-in-voice");
        assert_eq!(holder(&alice, "g1", "v1", "music").await, None);
        let leaving = worker.asked_for("stop").await;
        assert_eq!((&leaving["data"]["voiceChannelId"], &leaving["data"]["stopGraceMs"]), (&json!("v1"), &json!(0)));
    }
    // It is free for another place at once.
    let asked = dispatch(&alice, "v2", "play", json!({ "query": "song" }));
    let request = worker.asked_for("play").await;
    worker.answer(&request, json!({ "action": "playing" })).await;
    asked.await.unwrap().ok();
    // From then on a refusal is the request's, not the session's.
    let asked = dispatch(&alice, "v2", "volume", json!({ "volume": 999 }));
    let request = worker.asked_for("volume").await;
    worker.refuse(&request, "bad-volume").await;
    asked.await.unwrap().ok();
    assert_eq!(holder(&alice, "g1", "v2", "music").await.as_deref(), Some("a1"));
}

#[tokio::test]
async fn no_session_does_not_end_a_lease_while_another_request_may_begin_the_session() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let playing = dispatch(&alice, "v1", "play", json!({ "query": "song" }));
    let play = worker.asked_for("play").await;
    let looking = dispatch(&alice, "v1", "status", json!({}));
    let status = worker.asked_for("status").await;
    worker.refuse(&status, "no-session").await;
    assert_eq!(looking.await.unwrap().ok()["error"], "no-session");
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
    worker.answer(&play, json!({ "action": "playing" })).await;
    playing.await.unwrap().ok();
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
}
