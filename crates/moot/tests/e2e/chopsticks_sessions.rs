//! Sessions: found again, given in rotation, kept over reconnects and restarts, passed on when an agent is lost.

use serde_json::{Value, json};

use crate::support::chopsticks::{Next, Worker, gone, held_by, hello, holder, known, place, shown};
use crate::support::{Answer, Hub, Member, Setup, eventually, items, register, start, text};

async fn take(member: &Member, guild: &str, channel: &str, kind: &str) -> Answer {
    member.rest.post("/v1/pools/sessions", place(guild, channel, kind)).await
}

fn path(guild: &str, channel: &str, kind: &str) -> String {
    format!("/v1/pools/sessions/{guild}/{channel}?kind={kind}")
}

/// A hub on which an agent that is gone is soon given up.
async fn with_short_grace() -> (Hub, Member) {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__RECONNECT_GRACE_S", "0.1").start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

async fn is_busy(member: &Member, agent: &str, busy: bool) {
    eventually(&format!("{agent} busy: {busy}"), || async {
        (shown(member, agent).await?["busy"] == busy).then_some(())
    })
    .await;
}

async fn is_told(member: &Member, title: &str) {
    eventually(&format!("{} is told: {title}", member.name), || async {
        let told = member.rest.get("/v1/notifications").await.ok();
        items(&told).iter().any(|told| told["title"] == title).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_session_is_created_with_201_and_found_again_with_200() {
    let (hub, alice) = start().await;
    let _worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let made = take(&alice, "g1", "v1", "music").await.created();
    let expected = json!({ "agent_id": "a1", "guild_id": "g1", "voice_channel_id": "v1", "kind": "music" });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&made[field], value);
    }
    let again = take(&alice, "g1", "v1", "music").await.ok();
    assert_eq!(again, made);
    let agent = known(&alice, "a1").await;
    assert_eq!((&agent["busy"], &agent["kind"]), (&json!(true), &json!("music")));
    assert_eq!(alice.rest.get("/v1/pools/sessions").await.ok(), json!([made]));
}

#[tokio::test]
async fn no_agents_in_guild_is_404_and_no_free_agents_409() {
    let (hub, alice) = start().await;
    take(&alice, "g1", "v1", "music").await.refused(404, "no-agents-in-guild");
    let _worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g2", "v1", "music").await.refused(404, "no-agents-in-guild");
    take(&alice, "g1", "v1", "music").await.created();
    take(&alice, "g1", "v2", "music").await.refused(409, "no-free-agents");
    take(&alice, "g1", "v1", "assistant").await.refused(409, "no-free-agents");
}

#[tokio::test]
async fn an_agent_that_is_not_ready_is_given_nothing() {
    let (hub, alice) = start().await;
    let mut worker = Worker::dial(hub.address).await;
    let mut frame = hello("a1", &["g1"]);
    frame["ready"] = json!(false);
    worker.send(frame).await;
    known(&alice, "a1").await;
    take(&alice, "g1", "v1", "music").await.refused(409, "no-free-agents");
    worker.send(hello("a1", &["g1"])).await;
    eventually("a1 is ready", || async { (shown(&alice, "a1").await?["ready"] == true).then_some(()) }).await;
    take(&alice, "g1", "v1", "music").await.created();
}

#[tokio::test]
async fn music_and_assistant_of_one_channel_are_served_by_two_agents() {
    let (hub, alice) = start().await;
    let _one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    let music = take(&alice, "g1", "v1", "music").await.created();
    let assistant = take(&alice, "g1", "v1", "assistant").await.created();
    assert_ne!(music["agent_id"], assistant["agent_id"]);
}

#[tokio::test]
async fn agents_are_given_in_rotation() {
    let (hub, alice) = start().await;
    let mut workers = Vec::new();
    for agent in ["a1", "a2", "a3"] {
        workers.push(Worker::join(&alice, hub.address, agent, &["g1"]).await);
    }
    let mut given = Vec::new();
    for channel in ["v1", "v2", "v3", "v4"] {
        given.push(text(&take(&alice, "g1", channel, "music").await.created(), "agent_id").to_owned());
        alice.rest.delete(&path("g1", channel, "music")).await.ok();
    }
    assert_eq!(given, ["a1", "a2", "a3", "a1"]);
}

#[tokio::test]
async fn released_frees_the_session_only_when_its_holder_says_so() {
    let (hub, alice) = start().await;
    let mut one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let mut two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    two.event("released", "g1", "v1", "music", true).await;
    one.event("released", "g1", "v1", "assistant", true).await;
    one.event("released", "g1", "v2", "music", true).await;
    // Behind them on the same connections, something that can be seen.
    two.event("add", "g1", "v9", "music", true).await;
    held_by(&alice, "g1", "v9", Some("a2")).await;
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
    one.event("released", "g1", "v1", "music", true).await;
    held_by(&alice, "g1", "v1", None).await;
    is_busy(&alice, "a1", false).await;
}

#[tokio::test]
async fn add_binds_a_session_that_nobody_gave_and_a_failed_add_frees_it() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    worker.event("add", "g1", "v1", "music", true).await;
    held_by(&alice, "g1", "v1", Some("a1")).await;
    worker.event("add", "g1", "v1", "music", false).await;
    held_by(&alice, "g1", "v1", None).await;
}

#[tokio::test]
async fn an_agent_that_joins_what_another_serves_is_sent_away() {
    let (hub, alice) = start().await;
    let _one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    let mut two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    two.event("add", "g1", "v1", "music", true).await;
    let request = two.asked_for("stop").await;
    assert_eq!((&request["data"]["guildId"], &request["data"]["voiceChannelId"]), (&json!("g1"), &json!("v1")));
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
}

#[tokio::test]
async fn freeing_a_session_frees_its_agent_and_tells_it_to_leave() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    for (kind, op) in [("music", "stop"), ("assistant", "assistantLeave")] {
        take(&alice, "g1", "v1", kind).await.created();
        assert_eq!(alice.rest.delete(&path("g1", "v1", kind)).await.ok()["status"], "deleted");
        let request = worker.asked_for(op).await;
        worker.answer(&request, json!({ "ok": true })).await;
        assert_eq!(known(&alice, "a1").await["busy"], false);
        alice.rest.delete(&path("g1", "v1", kind)).await.refused(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn an_agent_that_reconnects_keeps_its_session() {
    let (hub, alice) = start().await;
    let one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let made = take(&alice, "g1", "v1", "music").await.created();
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    one.close().await;
    gone(&alice, "a1").await;
    let _again = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    assert_eq!(take(&alice, "g1", "v1", "music").await.ok(), made);
    // And it keeps it: the end of the first connection has nothing to say any more.
    let other = take(&alice, "g1", "v2", "music").await.created();
    assert_eq!(other["agent_id"], "a2");
}

#[tokio::test]
async fn music_of_a_lost_agent_passes_to_another_of_the_guild_and_the_owner_is_told() {
    let (hub, alice) = with_short_grace().await;
    let bob = alice.add_human("bob").await;
    let one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let _elsewhere = Worker::join(&alice, hub.address, "a2", &["g2"]).await;
    let made = take(&bob, "g1", "v1", "music").await.created();
    let _three = Worker::join(&alice, hub.address, "a3", &["g1"]).await;
    one.close().await;
    held_by(&alice, "g1", "v1", Some("a3")).await;
    let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
    assert!(sessions[0]["fence"].as_u64() > made["fence"].as_u64());
    is_told(&bob, "The music session was passed to a3").await;
}

#[tokio::test]
async fn an_assistant_of_a_lost_agent_ends_and_the_owner_is_told() {
    let (hub, alice) = with_short_grace().await;
    let one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "assistant").await.created();
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    one.close().await;
    eventually("the assistant's session ends", || async {
        holder(&alice, "g1", "v1", "assistant").await.is_none().then_some(())
    })
    .await;
    is_told(&alice, "The assistant session has ended").await;
}

#[tokio::test]
async fn an_agent_that_comes_back_too_late_is_told_to_stop_what_another_serves() {
    let (hub, alice) = with_short_grace().await;
    let one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    one.close().await;
    held_by(&alice, "g1", "v1", Some("a2")).await;
    let mut late = Worker::dial(hub.address).await;
    late.send(hello("a1", &["g1"])).await;
    assert_eq!(late.asked_for("stop").await["data"]["voiceChannelId"], "v1");
    held_by(&alice, "g1", "v1", Some("a2")).await;
}

async fn killed_and_started(hub: &mut Hub) {
    hub.kill();
    hub.restart().await;
}

#[tokio::test]
async fn sessions_survive_a_crash_of_the_hub_and_no_second_agent_gets_them() {
    let (mut hub, alice) = start().await;
    let _one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let made = take(&alice, "g1", "v1", "music").await.created();
    killed_and_started(&mut hub).await;
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    assert_eq!(take(&alice, "g1", "v1", "music").await.ok(), made, "held for its agent, which is on the way");
    let _one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let second = take(&alice, "g1", "v2", "music").await.created();
    assert_eq!(second["agent_id"], "a2");
    assert!(second["fence"].as_u64() > made["fence"].as_u64());
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
}

#[tokio::test]
async fn an_agent_that_does_not_come_back_after_a_restart_loses_its_session() {
    let setup = Setup::default().env("MOOT_CHOPSTICKS__STALE_S", "2");
    let mut hub = setup.start().await;
    let alice = register(&hub, "alice").await;
    let _one = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    assert!(hub.stop().await.success());
    hub.restart().await;
    let _two = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    held_by(&alice, "g1", "v1", Some("a2")).await;
}

#[tokio::test]
async fn a_graceful_end_frees_the_session_at_once() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    worker.event("released", "g1", "v1", "music", true).await;
    worker.close().await;
    gone(&alice, "a1").await;
    held_by(&alice, "g1", "v1", None).await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_freed_unless_it_plays() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__IDLE_RELEASE_S", "1").start().await;
    let alice = register(&hub, "alice").await;
    let mut quiet = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let playing = Worker::join(&alice, hub.address, "a2", &["g2"]).await;
    let playing = playing.obey(|_| Ok(json!({ "playing": true, "paused": false })));
    take(&alice, "g2", "v2", "music").await.created();
    take(&alice, "g1", "v1", "music").await.created();
    let request = quiet.asked_for("status").await;
    quiet.answer(&request, json!({ "playing": true, "paused": true })).await;
    let request = quiet.asked_for("stop").await;
    quiet.answer(&request, json!({ "ok": true })).await;
    held_by(&alice, "g1", "v1", None).await;
    assert_eq!(holder(&alice, "g2", "v2", "music").await.as_deref(), Some("a2"));
    playing.abort();
}

#[tokio::test]
async fn what_an_agent_says_is_decided_in_its_order() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    for _ in 0..20 {
        worker.event("add", "g1", "v1", "music", true).await;
        worker.event("released", "g1", "v1", "music", true).await;
    }
    worker.event("add", "g1", "v2", "music", true).await;
    held_by(&alice, "g1", "v2", Some("a1")).await;
    assert_eq!(holder(&alice, "g1", "v1", "music").await, None);
}

#[tokio::test]
async fn many_who_want_agents_at_once_never_get_the_same_one() {
    let (hub, alice) = start().await;
    let mut workers = Vec::new();
    for number in 0..8 {
        workers.push(Worker::join(&alice, hub.address, &format!("a{number}"), &["g1"]).await);
    }
    let wanted = (0..20).map(|number| {
        let alice = alice.clone();
        // Twice each: the second must find what the first got.
        tokio::spawn(async move { take(&alice, "g1", &format!("v{}", number / 2), "music").await })
    });
    let mut holders = std::collections::BTreeMap::new();
    for answer in wanted.collect::<Vec<_>>() {
        let answer = answer.await.unwrap();
        if answer.status == 409 {
            continue;
        }
        let session = answer.done();
        let agent = text(&session, "agent_id").to_owned();
        let channel = text(&session, "voice_channel_id").to_owned();
        assert_eq!(holders.entry(channel.clone()).or_insert_with(|| agent.clone()), &agent, "{channel}");
    }
    let agents: std::collections::BTreeSet<_> = holders.values().collect();
    assert_eq!((holders.len(), agents.len()), (8, 8));
}

#[tokio::test]
async fn pools_are_for_the_members_of_the_first_workspace() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let _worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    take(&alice, "g1", "v1", "music").await.created();
    mallory.rest.get("/v1/pools/agents").await.refused(403, "FORBIDDEN");
    mallory.rest.get("/v1/pools/sessions").await.refused(403, "FORBIDDEN");
    take(&mallory, "g1", "v1", "music").await.refused(403, "FORBIDDEN");
    mallory.rest.delete(&path("g1", "v1", "music")).await.refused(403, "FORBIDDEN");
    let request = json!({ "op": "status", "data": {} });
    mallory.rest.post("/v1/pools/agents/a1/requests", request).await.refused(403, "FORBIDDEN");
    let mut dispatch = place("g1", "v1", "music");
    dispatch["op"] = json!("status");
    mallory.rest.post("/v1/pools/dispatch", dispatch).await.refused(403, "FORBIDDEN");
    alice.rest.anonymous().get("/v1/pools/agents").await.refused(401, "AUTH_REQUIRED");
}

#[tokio::test]
async fn bad_input_is_refused_and_changes_nothing() {
    let (hub, alice) = start().await;
    let _worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let bodies = [
        json!({}),
        json!({ "guild_id": "g1" }),
        json!({ "guild_id": "g1", "voice_channel_id": "" }),
        json!({ "guild_id": "g1", "voice_channel_id": "x".repeat(101) }),
        json!({ "guild_id": "g1", "voice_channel_id": "v1", "kind": "text" }),
        json!({ "guild_id": 7, "voice_channel_id": "v1" }),
    ];
    for body in bodies {
        alice.rest.post("/v1/pools/sessions", body).await.refused(400, "BAD_REQUEST");
    }
    for body in [json!({}), json!({ "op": "" }), json!({ "op": "x".repeat(65) }), json!({ "op": 7 })] {
        alice.rest.post("/v1/pools/agents/a1/requests", body).await.refused(400, "BAD_REQUEST");
    }
    alice.rest.delete("/v1/pools/sessions/g1/v1?kind=text").await.refused(400, "BAD_REQUEST");
    assert_eq!(alice.rest.get("/v1/pools/sessions").await.ok(), json!([]));
}

#[tokio::test]
async fn pool_agents_are_members_with_presence() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let member = |presence: &'static str| {
        let alice = alice.clone();
        move || {
            let alice = alice.clone();
            async move {
                let members = alice.rest.get(&alice.path("members")).await.ok();
                let known = items(&members).iter().find(|member| member["name"] == "Bot a1").cloned()?;
                (known["status"] == presence || known["presence"] == presence).then_some(known)
            }
        }
    };
    let online: Value = eventually("Bot a1 is online", member("online")).await;
    assert_eq!(online["type"], "agent");
    assert_eq!(known(&alice, "a1").await["member_id"], online["id"]);
    worker.close().await;
    eventually("Bot a1 is offline", member("offline")).await;
    let mut again = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let back = eventually("Bot a1 is online again", member("online")).await;
    assert_eq!(back["id"], online["id"]);
    again.send_message(tungstenite::Message::Close(None)).await;
    assert!(matches!(again.next().await, Next::End | Next::Close(..)));
}

#[tokio::test]
async fn metrics_count_agents_per_pool_sessions_and_requests() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let obeying = worker.obey(|_| Ok(json!({})));
    take(&alice, "g1", "v1", "music").await.created();
    alice.rest.post("/v1/pools/agents/a1/requests", json!({ "op": "status" })).await.ok();
    let metrics = reqwest::get(hub.url("/metrics")).await.unwrap().text().await.unwrap();
    for line in [
        "moot_pool_agents{pool=\"pool1\"} 1",
        "moot_pool_sessions{kind=\"music\"} 1",
        "moot_pool_sessions{kind=\"assistant\"} 0",
        "moot_pool_requests_total{pool=\"pool1\",outcome=\"answered\"} 1",
        "moot_pool_request_seconds_count 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    obeying.abort();
}
