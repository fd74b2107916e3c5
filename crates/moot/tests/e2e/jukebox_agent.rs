//! `moot pool agent` with the hub as its controller: leased, commanded from a channel, stopped, killed, found again.

use serde_json::json;

use crate::support::jukebox::{GUILD, VOICE, dispatch, order, stage, until_known};
use crate::support::{Jukebox, eventually, items, moot, start};

#[tokio::test]
async fn a_jukebox_is_commanded_from_a_channel_and_answers_there() {
    let (hub, alice) = start().await;
    let (_jukebox, channel) = stage(&hub, &alice, &[]).await;
    let answer = order(&alice, &channel, "/play so what").await;
    let (first, listen) = answer.split_once('\n').expect("two lines");
    assert_eq!(first, "Playing: So What — Miles Davis (1:00)");
    assert!(listen.starts_with(&format!("Listen: {}#key=", hub.url("/listen/main/lobby"))), "{listen}");
    assert_eq!(order(&alice, &channel, "/play blue in green").await, "Queued: Blue in Green — Miles Davis (1:00)");
    assert!(order(&alice, &channel, "/queue").await.contains("1. Blue in Green"));
    assert_eq!(order(&alice, &channel, "/pause").await, "Paused.");
    assert!(order(&alice, &channel, "/status").await.starts_with("Paused: So What"));
    assert_eq!(order(&alice, &channel, "/resume").await, "Playing again.");
    assert_eq!(order(&alice, &channel, "/skip").await, "Skipped.");
    assert_eq!(order(&alice, &channel, "/volume 80").await, "Volume 80.");
    assert_eq!(order(&alice, &channel, "/stop").await, "Stopped.");
}

#[tokio::test]
async fn searching_takes_no_agent() {
    let (hub, alice) = start().await;
    let (_jukebox, channel) = stage(&hub, &alice, &[]).await;
    let found = order(&alice, &channel, "/search miles").await;
    assert!(found.contains("So What") && found.contains("Blue in Green"), "{found}");
    let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
    assert!(items(&sessions).is_empty(), "{sessions}");
}

#[tokio::test]
async fn an_agent_that_found_nothing_is_free_for_others() {
    let (hub, alice) = start().await;
    let (_jukebox, channel) = stage(&hub, &alice, &[]).await;
    assert_eq!(order(&alice, &channel, "/play polka").await, "Nothing found.");
    let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
    assert!(items(&sessions).is_empty(), "{sessions}");
}

#[tokio::test]
async fn a_jukebox_answers_what_the_help_of_the_terminal_shows() {
    let (hub, alice) = start().await;
    let _stage = stage(&hub, &alice, &[]).await;
    assert_eq!(dispatch(&alice, "play", json!({ "query": "so what" })).await["ok"], true);
    let (home, server) = (hub.folder(), hub.url(""));
    let data = json!({ "guildId": GUILD, "voiceChannelId": VOICE }).to_string();
    for given in [vec![data.as_str()], vec![]] {
        let mut ask = vec!["pool", "ask", "jukebox-1", "status", "--server", &server, "--token", &alice.token];
        ask.extend(given);
        let done = moot(home.path(), &ask, &[]).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        let status: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
        assert_eq!((&status["playing"], &status["ownerId"]), (&json!(true), &json!(alice.id)), "{status}");
    }
}

#[tokio::test]
async fn a_jukebox_that_is_stopped_lets_go_and_ends_with_0() {
    let (hub, alice) = start().await;
    let (mut jukebox, _) = stage(&hub, &alice, &[]).await;
    assert_eq!(dispatch(&alice, "play", json!({ "query": "so what" })).await["ok"], true);
    assert_eq!(jukebox.stop().await.code(), Some(0), "{}", jukebox.log());
    eventually("the place is free", || async {
        let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
        items(&sessions).is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_jukebox_that_is_killed_keeps_its_lease_and_plays_again() {
    let (hub, alice) = start().await;
    let (mut jukebox, _) = stage(&hub, &alice, &[]).await;
    assert_eq!(dispatch(&alice, "play", json!({ "query": "so what" })).await["ok"], true);
    jukebox.kill();
    let _jukebox = Jukebox::start(&hub, &jukebox.music);
    until_known(&alice).await;
    let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
    assert_eq!(sessions[0]["agent_id"], "jukebox-1", "{sessions}");
    let played = dispatch(&alice, "play", json!({ "query": "green" })).await;
    assert_eq!(played["data"]["action"], "playing", "{played}");
}

#[tokio::test]
async fn music_goes_on_across_a_restart_of_the_hub() {
    let (mut hub, alice) = start().await;
    let (_jukebox, _) = stage(&hub, &alice, &[]).await;
    assert_eq!(dispatch(&alice, "play", json!({ "query": "so what" })).await["ok"], true);
    hub.kill();
    hub.restart().await;
    until_known(&alice).await;
    let status = dispatch(&alice, "status", json!({})).await;
    assert_eq!(status["data"]["current"]["title"], "So What", "{status}");
    assert_eq!(status["data"]["playing"], true);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_wrong_usage() {
    let home = tempfile::tempdir().unwrap();
    let done = moot(home.path(), &["pool", "agent", "--music", "/nowhere/at/all"], &[]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("`/nowhere/at/all`") && done.stderr.contains("hint:"), "{}", done.stderr);
}
