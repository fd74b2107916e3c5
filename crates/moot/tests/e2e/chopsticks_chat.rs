//! Commands from channels: linked to a voice channel, answered as messages by the agent.

use serde_json::{Value, json};

use crate::support::chopsticks::{Worker, held_by, holder};
use crate::support::{Hub, Member, eventually, items, register, start, text};

/// alice and bob are in #music, which commands v1 of g1.
async fn linked() -> (Hub, Member, Member, String) {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let music = alice.add_channel("music", &[&bob]).await;
    let link = json!({ "guild_id": "g1", "voice_channel_id": "v1" });
    let made = alice.rest.put(&format!("/v1/channels/{music}/pool"), link).await.ok();
    assert_eq!((&made["channel_id"], &made["guild_id"]), (&json!(music), &json!("g1")));
    (hub, alice, bob, music)
}

/// Waits for the answer to what was said last: the newest message, of somebody else.
async fn answer(member: &Member, channel: &str, after: &str) -> (String, String) {
    eventually(&format!("an answer to {after}"), || async {
        let history = member.history(channel).await;
        let newest = &items(&history)[0];
        let answered = newest["content"] != after;
        let name = newest["sender_name"].as_str().or_else(|| newest["sender"]["name"].as_str()).unwrap_or_default();
        answered.then(|| (name.to_owned(), text(newest, "content").to_owned()))
    })
    .await
}

fn jukebox(request: &Value) -> Result<Value, String> {
    let track = json!({ "title": "Song", "author": "Band", "length": 61_000, "duration": 61_000 });
    match request["op"].as_str().unwrap() {
        "play" if request["data"]["query"] == "nothing" => Ok(json!({ "track": null, "action": "none" })),
        "play" => Ok(json!({ "track": track, "action": "playing" })),
        "search" => Ok(json!({ "tracks": [track] })),
        "queue" => Ok(json!({ "current": track, "tracks": [track] })),
        "status" => Ok(json!({ "playing": true, "current": track, "queueLength": 1, "volume": 80 })),
        "volume" => Ok(json!({ "ok": true, "action": "volume-set", "volume": request["data"]["volume"] })),
        "pause" => Ok(json!({ "ok": true, "action": "paused" })),
        "resume" => Ok(json!({ "ok": true, "action": "resumed" })),
        "skip" => Err("not-owner".to_owned()),
        "stop" => Ok(json!({ "ok": true, "action": "stopped" })),
        _ => Err("unknown-op".to_owned()),
    }
}

#[tokio::test]
async fn every_command_is_answered_by_the_agent_that_serves_the_channel() {
    let (hub, alice, bob, music) = linked().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(jukebox);
    let cases = [
        ("/play song", "Playing: Song — Band (1:01)"),
        ("/play nothing", "Nothing found."),
        ("/pause", "Paused."),
        ("/resume", "Playing again."),
        ("/skip", "Only whoever began this session may do that."),
        ("/queue", "Playing: Song — Band (1:01)\nQueue:\n1. Song — Band (1:01)"),
        ("/search song", "Found:\n1. Song — Band (1:01)"),
        ("/status", "Playing: Song — Band (1:01) (1 waiting, volume 80)"),
        ("/volume 30", "Volume 30."),
        ("/shuffle", "The agent does not know this command."),
        ("/stop", "Stopped."),
    ];
    for (command, expected) in cases {
        bob.post(&music, command).await;
        let (name, content) = answer(&bob, &music, command).await;
        assert_eq!((name.as_str(), content.as_str()), ("Bot a1", expected), "{command}");
    }
    assert_eq!(holder(&alice, "g1", "v1", "music").await.as_deref(), Some("a1"));
    worker.abort();
}

#[tokio::test]
async fn a_command_typed_through_lark_is_answered_there() {
    let (hub, alice, _, music) = linked().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(jukebox);
    let mut lark = alice.lark().await;
    lark.say(&music, "/play song").await;
    assert_eq!(lark.expect("message.new").await["content"], "/play song");
    assert_eq!(lark.expect("message.new").await["content"], "Playing: Song — Band (1:01)");
    worker.abort();
}

#[tokio::test]
async fn the_agent_learns_who_asked_and_where() {
    let (hub, alice, bob, music) = linked().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    bob.post(&music, "/play song").await;
    let request = worker.asked_for("play").await;
    let data = &request["data"];
    assert_eq!((&data["guildId"], &data["voiceChannelId"]), (&json!("g1"), &json!("v1")));
    assert_eq!((&data["actorUserId"], &data["requester"]["name"]), (&json!(bob.id), &json!("bob")));
}

#[tokio::test]
async fn without_agents_somebody_still_answers() {
    let (hub, alice, bob, music) = linked().await;
    bob.post(&music, "/play song").await;
    let (name, content) = answer(&bob, &music, "/play song").await;
    assert_eq!((name.as_str(), content.as_str()), ("pool", "No agent is in this guild."));
    bob.post(&music, "/pause").await;
    assert_eq!(answer(&bob, &music, "/pause").await.1, "Nothing is playing here.");
    bob.post(&music, "/play").await;
    assert_eq!(answer(&bob, &music, "/play").await.1, "say what to play: /play TITLE or ARTIST");
    let _worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    alice.rest.post("/v1/pools/sessions", crate::support::chopsticks::place("g1", "v9", "music")).await.created();
    bob.post(&music, "/play song").await;
    assert_eq!(answer(&bob, &music, "/play song").await.1, "All agents of this guild are busy.");
}

#[tokio::test]
async fn searching_takes_no_session() {
    let (hub, alice, bob, music) = linked().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(jukebox);
    bob.post(&music, "/search song").await;
    assert_eq!(answer(&bob, &music, "/search song").await.1, "Found:\n1. Song — Band (1:01)");
    held_by(&alice, "g1", "v1", None).await;
    worker.abort();
}

#[tokio::test]
async fn commands_of_a_channel_are_done_in_their_order() {
    let (hub, alice, bob, music) = linked().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    for number in 0..5 {
        bob.post(&music, &format!("/play {number}")).await;
    }
    for number in 0..5 {
        let request = worker.asked_for("play").await;
        assert_eq!(request["data"]["query"], number.to_string());
        worker.answer(&request, json!({})).await;
    }
}

#[tokio::test]
async fn other_channels_and_other_words_are_left_alone() {
    let (hub, alice, bob, music) = linked().await;
    let other = alice.add_channel("other", &[&bob]).await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    bob.post(&other, "/play elsewhere").await;
    bob.post(&music, "/dance").await;
    bob.post(&music, "play this").await;
    bob.post(&music, "/play last").await;
    assert_eq!(worker.asked().await["data"]["query"], "last");
    assert_eq!(bob.texts(&other).await, ["/play elsewhere"]);
}

#[tokio::test]
async fn only_who_manages_the_channel_links_it_and_only_who_reads_it_sees_the_link() {
    let (hub, alice, bob, music) = linked().await;
    let mallory = register(&hub, "mallory").await;
    let path = format!("/v1/channels/{music}/pool");
    let link = json!({ "guild_id": "g2", "voice_channel_id": "v2" });
    bob.rest.put(&path, link.clone()).await.refused(403, "FORBIDDEN");
    bob.rest.delete(&path).await.refused(403, "FORBIDDEN");
    assert_eq!(bob.rest.get(&path).await.ok()["voice_channel_id"], "v1");
    mallory.rest.get(&path).await.refused(404, "NOT_FOUND");
    mallory.rest.put(&path, link).await.refused(403, "FORBIDDEN");
    alice.rest.delete(&path).await.ok();
    alice.rest.get(&path).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn links_survive_a_crash() {
    let (mut hub, alice, bob, music) = linked().await;
    hub.kill();
    hub.restart().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(jukebox);
    bob.post(&music, "/play song").await;
    assert_eq!(answer(&bob, &music, "/play song").await.1, "Playing: Song — Band (1:01)");
    worker.abort();
}
