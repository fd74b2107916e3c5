//! The jukebox as a controller sees it: every operation, its answer, its errors.

use std::sync::Arc;

use data_encoding::BASE64;
use folkmoot_pool::jukebox::player::Limits;
use folkmoot_pool::jukebox::{Jukebox, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::controller::{Controller, Line};
use crate::life::config;
use crate::wav;

const ADMIN: &str = "the operator's token";

struct Stage {
    line: Line,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
}

async fn start() -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, seconds: f64, tags| {
        std::fs::write(folder.path().join(name), wav::tone(seconds, tags)).unwrap();
    };
    put("1.wav", 60.0, Some(("So What", "Miles Davis", "Kind of Blue")));
    put("2.wav", 30.0, Some(("Blue in Green", "Miles Davis", "Kind of Blue")));
    put("3.wav", 0.3, Some(("Blip", "Somebody", "Short Ones")));
    serve(folder).await
}

/// A jukebox over this folder, and the controller that it serves.
async fn serve(folder: TempDir) -> Stage {
    let settings =
        Settings { folder: folder.path().to_owned(), limits: Limits::default(), admin_token: Some(ADMIN.to_owned()) };
    let jukebox = Arc::new(Jukebox::open(settings).unwrap());
    let controller = Controller::start().await;
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(jukebox.serve(config(&controller), async move { stopped.await.unwrap_or_default() }));
    Stage { line: controller.welcome().await, folder, stop: Some(stop) }
}

/// A request of `user` about the session of these tests.
fn asked(user: &str, more: Value) -> Value {
    let mut data = json!({ "guildId": "g1", "voiceChannelId": "v1", "actorUserId": user });
    for (key, value) in more.as_object().unwrap() {
        data[key] = value.clone();
    }
    data
}

impl Stage {
    async fn done(&mut self, op: &str, more: Value) -> Value {
        self.line.done(op, asked("ann", more)).await
    }

    async fn refused(&mut self, op: &str, more: Value) -> String {
        self.line.refused(op, asked("ann", more)).await
    }

    /// The first track of the session, which the agent joins for it.
    async fn begin(&mut self, query: &str, more: Value) -> Value {
        let mut data = asked("ann", more);
        data["query"] = query.into();
        self.line.request("play", data).await;
        let add = self.line.told().await;
        assert_eq!((&add["event"], &add["ok"], &add["ownerUserId"]), (&json!("add"), &json!(true), &json!("ann")));
        let resp = self.line.told().await;
        assert_eq!(resp["ok"], true, "{resp}");
        resp["data"].clone()
    }

    /// The agent says that it does not take the session up.
    async fn declined(&mut self) {
        let told = self.line.told().await;
        assert_eq!((&told["event"], &told["reason"]), (&json!("released"), &json!("empty-channel")), "{told}");
    }

    async fn play(&mut self, query: &str) -> Value {
        self.done("play", json!({ "query": query })).await
    }

    async fn titles(&mut self) -> Vec<String> {
        let queue = self.done("queue", json!({})).await;
        let tracks = queue["tracks"].as_array().unwrap();
        tracks.iter().map(|track| track["title"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn play_answers_with_track_action_mode_and_owner() {
    let mut stage = start().await;
    let played = stage.begin("so what", json!({})).await;
    assert_eq!(
        (&played["action"], &played["mode"], &played["ownerId"]),
        (&json!("playing"), &json!("open"), &json!("ann"))
    );
    let track = &played["track"];
    assert_eq!((&track["title"], &track["author"]), (&json!("So What"), &json!("Miles Davis")));
    assert_eq!((&track["length"], &track["duration"]), (&json!(60_000), &json!(60_000)));
    assert!(track["uri"].is_string() && track["sourceName"] == "jukebox", "{track}");
    assert_eq!(stage.play("blue in green").await["action"], "queued");
}

#[tokio::test]
async fn nothing_found_is_no_error_and_makes_no_session() {
    let mut stage = start().await;
    stage.line.request("play", asked("ann", json!({ "query": "polka", "defaultMode": "dj" }))).await;
    stage.declined().await;
    assert_eq!(stage.line.told().await["data"], json!({ "track": null, "action": "none", "mode": "dj" }));
    assert_eq!(stage.refused("status", json!({})).await, "no-session");
}

#[tokio::test]
async fn a_first_track_that_may_not_play_gives_the_agent_back() {
    let mut stage = start().await;
    let limits = json!({ "query": "so what", "limits": { "maxTrackMinutes": 0.5 } });
    stage.line.request("play", asked("ann", limits.clone())).await;
    stage.declined().await;
    assert_eq!(stage.line.told().await["error"], "track-too-long");
    // One that comes into a session that plays leaves it alone.
    stage.begin("green", json!({})).await;
    assert_eq!(stage.refused("play", limits).await, "track-too-long");
    assert_eq!(stage.play("polka").await["action"], "none");
    assert_eq!(stage.done("status", json!({})).await["playing"], true);
}

#[tokio::test]
async fn a_track_is_played_by_the_address_that_a_search_gave() {
    let mut stage = start().await;
    let found = stage.done("search", json!({ "query": "miles" })).await;
    let tracks = found["tracks"].as_array().unwrap();
    assert_eq!(tracks.len(), 2);
    let uri = tracks[1]["uri"].as_str().unwrap().to_owned();
    assert_eq!(stage.begin(&uri, json!({})).await["track"]["uri"], uri);
}

#[tokio::test]
async fn status_and_queue_show_what_plays_and_what_waits() {
    let mut stage = start().await;
    stage.begin("so what", json!({ "defaultVolume": 80, "requester": { "id": "ann" } })).await;
    stage.play("green").await;
    let status = stage.done("status", json!({})).await;
    assert_eq!((&status["playing"], &status["paused"]), (&json!(true), &json!(false)));
    assert_eq!((&status["queueLength"], &status["volume"]), (&json!(1), &json!(80)));
    assert_eq!(status["current"]["requester"]["id"], "ann");
    assert!(status["position"].as_u64().unwrap() < 60_000);
    let queue = stage.done("queue", json!({})).await;
    assert_eq!((&queue["current"]["title"], &queue["mode"]), (&json!("So What"), &json!("open")));
    assert_eq!(stage.titles().await, ["Blue in Green"]);
}

#[tokio::test]
async fn pause_resume_and_skip_say_what_they_did() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    stage.play("green").await;
    for (op, action) in [
        ("pause", "paused"),
        ("pause", "already-paused"),
        ("resume", "resumed"),
        ("resume", "already-playing"),
        ("skip", "skipped"),
    ] {
        assert_eq!(stage.done(op, json!({})).await, json!({ "ok": true, "action": action }));
    }
    let last = stage.done("skip", json!({})).await;
    assert_eq!(last, json!({ "ok": true, "action": "stopped", "disconnectInMs": 30_000 }));
    assert_eq!(stage.done("skip", json!({})).await["action"], "stopping");
}

#[tokio::test]
async fn a_track_ends_by_itself_and_the_next_begins() {
    let mut stage = start().await;
    stage.begin("blip", json!({})).await;
    stage.play("so what").await;
    let next = async { while stage.done("status", json!({})).await["current"]["title"] != "So What" {} };
    tokio::time::timeout(crate::controller::DEADLINE, next).await.expect("the next track begins");
    assert_eq!(stage.titles().await, [""; 0]);
}

#[tokio::test]
async fn stop_without_grace_releases_before_it_answers() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    stage.line.request("stop", asked("ann", json!({ "stopGraceMs": 0 }))).await;
    let released = stage.line.told().await;
    assert_eq!((&released["event"], &released["reason"]), (&json!("released"), &json!("stop")));
    assert_eq!(stage.line.told().await["data"], json!({ "ok": true, "action": "stopped" }));
    assert_eq!(stage.refused("queue", json!({})).await, "no-session");
}

#[tokio::test]
async fn after_the_grace_the_session_is_released() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    let stopped = stage.done("stop", json!({ "stopGraceMs": 50 })).await;
    assert_eq!(stopped, json!({ "ok": true, "action": "stopped", "disconnectInMs": 50 }));
    let released = stage.line.told().await;
    assert_eq!((&released["event"], &released["reason"]), (&json!("released"), &json!("grace-expired")));
    assert_eq!(stage.refused("status", json!({})).await, "no-session");
}

#[tokio::test]
async fn volume_preset_and_mode_answer_with_what_is_set() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    let set = stage.done("volume", json!({ "volume": 120 })).await;
    assert_eq!(set, json!({ "ok": true, "action": "volume-set", "volume": 120 }));
    assert_eq!(stage.done("volume", json!({ "volume": "7" })).await["volume"], 7);
    let set = stage.done("preset", json!({ "preset": "bassboost" })).await;
    assert_eq!(set, json!({ "ok": true, "preset": "bassboost" }));
    let set = stage.done("setMode", json!({ "mode": "dj" })).await;
    assert_eq!(set, json!({ "ok": true, "action": "mode-set", "mode": "dj", "ownerId": "ann" }));
}

#[tokio::test]
async fn the_queue_is_changed_by_move_swap_remove_shuffle_and_clear() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    for query in ["green", "blip", "so what"] {
        stage.play(query).await;
    }
    stage.done("move", json!({ "from": 2, "to": 0 })).await;
    assert_eq!(stage.titles().await, ["So What", "Blue in Green", "Blip"]);
    stage.done("swap", json!({ "a": 0, "b": 2 })).await;
    assert_eq!(stage.titles().await, ["Blip", "Blue in Green", "So What"]);
    assert_eq!(stage.done("remove", json!({ "index": 1 })).await["ok"], true);
    assert_eq!(stage.titles().await, ["Blip", "So What"]);
    assert_eq!(stage.done("shuffle", json!({})).await["ok"], true);
    assert_eq!(stage.titles().await.len(), 2);
    assert_eq!(stage.done("clear", json!({})).await["ok"], true);
    assert_eq!(stage.titles().await, [""; 0]);
}

#[tokio::test]
async fn every_wrong_value_has_its_error() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    stage.play("green").await;
    for (op, more, error) in [
        ("volume", json!({}), "bad-volume"),
        ("volume", json!({ "volume": 151 }), "bad-volume"),
        ("volume", json!({ "volume": -1 }), "bad-volume"),
        ("volume", json!({ "volume": "loud" }), "bad-volume"),
        ("remove", json!({}), "bad-index"),
        ("remove", json!({ "index": 1 }), "bad-index"),
        ("remove", json!({ "index": -1 }), "bad-index"),
        ("remove", json!({ "index": 0.5 }), "bad-index"),
        ("move", json!({ "from": 0, "to": 1 }), "bad-index"),
        ("swap", json!({ "a": 9, "b": 0 }), "bad-index"),
        ("preset", json!({ "preset": "louder" }), "bad-preset"),
        ("play", json!({ "query": "so what", "limits": { "maxTrackMinutes": 0.5 } }), "track-too-long"),
        ("play", json!({ "query": "so what", "limits": { "maxQueueMinutes": 2 } }), "queue-too-long"),
        ("play", json!({ "query": "so what", "limits": { "maxQueue": 1 } }), "queue-full"),
    ] {
        assert_eq!(stage.refused(op, more.clone()).await, error, "{op} {more}");
    }
    assert_eq!(stage.titles().await, ["Blue in Green"]);
}

#[tokio::test]
async fn a_request_names_its_session_and_its_actor() {
    let mut stage = start().await;
    for op in ["play", "search", "status", "queue", "pause", "stop", "assistantJoin", "assistantSay"] {
        for (data, error) in [
            (json!({ "voiceChannelId": "v1", "actorUserId": "ann" }), "missing-session"),
            (json!({ "guildId": "g1", "actorUserId": "ann" }), "missing-session"),
            (json!({ "guildId": "g1", "voiceChannelId": "v1" }), "missing-actor"),
            (json!({ "guildId": "elsewhere", "voiceChannelId": "v1", "actorUserId": "ann" }), "not-in-guild"),
        ] {
            assert_eq!(stage.line.refused(op, data.clone()).await, error, "{op} {data}");
        }
    }
    for actor in ["actorUserId", "ownerUserId", "adminUserId"] {
        let data = json!({ "guildId": "g1", "voiceChannelId": "v1", actor: "ann", "query": "x" });
        stage.line.done("search", data).await;
    }
}

#[tokio::test]
async fn without_a_session_there_is_nothing_to_control() {
    let mut stage = start().await;
    for op in ["status", "queue", "pause", "resume", "skip", "stop", "volume", "shuffle", "clear", "setMode"] {
        assert_eq!(stage.refused(op, json!({})).await, "no-session", "{op}");
    }
}

#[tokio::test]
async fn in_dj_mode_others_are_not_owners_and_the_admin_token_passes() {
    let mut stage = start().await;
    stage.begin("so what", json!({ "defaultMode": "dj" })).await;
    for op in ["pause", "skip", "stop", "volume", "shuffle", "clear", "setMode"] {
        assert_eq!(stage.line.refused(op, asked("bob", json!({}))).await, "not-owner", "{op}");
    }
    assert_eq!(stage.line.refused("play", asked("bob", json!({ "query": "green" }))).await, "not-owner");
    assert_eq!(stage.line.refused("pause", asked("bob", json!({ "adminToken": "guess" }))).await, "not-owner");
    // Nor do others change who may control, or how the agent leaves, on the way.
    let sly = json!({ "controlMode": "voice", "stopGraceMs": 0 });
    assert_eq!(stage.line.refused("stop", asked("bob", sly)).await, "not-owner");
    assert_eq!(stage.line.refused("pause", asked("bob", json!({}))).await, "not-owner");
    let data = json!({ "guildId": "g1", "voiceChannelId": "v1", "adminToken": ADMIN });
    assert_eq!(stage.line.done("pause", data).await["action"], "paused");
    let free = json!({ "controlMode": "voice" });
    stage.done("resume", free).await;
    assert_eq!(stage.line.done("stop", asked("bob", json!({}))).await["disconnectInMs"], 30_000);
}

#[tokio::test]
async fn sessions_of_two_channels_are_apart() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    stage.begin("green", json!({ "voiceChannelId": "v2" })).await;
    stage.done("pause", json!({})).await;
    let other = stage.done("status", json!({ "voiceChannelId": "v2" })).await;
    assert_eq!((&other["current"]["title"], &other["paused"]), (&json!("Blue in Green"), &json!(false)));
}

#[tokio::test]
async fn the_bytes_of_a_track_come_in_parts_that_fit_a_frame() {
    let mut stage = start().await;
    let track = stage.done("search", json!({ "query": "so what" })).await["tracks"][0].clone();
    let size = track["size"].as_u64().unwrap();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let part = stage.line.done("track", json!({ "id": track["id"], "offset": bytes.len() })).await;
        assert!(part.to_string().len() < 63 * 1024);
        assert_eq!((&part["size"], &part["contentType"]), (&json!(size), &json!("audio/wav")));
        bytes.extend(BASE64.decode(part["bytes"].as_str().unwrap().as_bytes()).unwrap());
    }
    assert_eq!(bytes, std::fs::read(stage.folder.path().join("1.wav")).unwrap());
    assert_eq!(stage.line.refused("track", json!({ "id": "../../etc/passwd" })).await, "Track not found");
    let beyond = json!({ "id": track["id"], "offset": size + 1 });
    assert_eq!(stage.line.refused("track", beyond).await, "Track not found");
}

#[tokio::test]
async fn a_queue_too_long_for_a_frame_is_cut_and_says_how_long_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let long = "ж".repeat(100);
    std::fs::write(folder.path().join("1.wav"), wav::tone(1.0, Some((&long, &long, &long)))).unwrap();
    let mut stage = serve(folder).await;
    stage.begin(&long, json!({})).await;
    stage.done("pause", json!({})).await;
    for _ in 0..100 {
        stage.play(&long).await;
    }
    let queue = stage.done("queue", json!({})).await;
    let shown = queue["tracks"].as_array().unwrap().len();
    assert_eq!(queue["queueLength"], 100);
    assert!((50..100).contains(&shown), "{shown}");
}

#[tokio::test]
async fn an_assistant_without_ears_and_voice_says_what_is_not_configured() {
    let mut stage = start().await;
    assert_eq!(stage.refused("assistantStatus", json!({})).await, "no-session");
    stage.line.request("assistantJoin", asked("ann", json!({}))).await;
    let add = stage.line.told().await;
    assert_eq!((&add["event"], &add["kind"]), (&json!("add"), &json!("assistant")));
    assert_eq!(stage.line.told().await["data"], json!({ "ok": true, "action": "joined" }));
    assert_eq!(stage.done("assistantStatus", json!({})).await["ownerId"], "ann");
    assert_eq!(stage.refused("assistantStart", json!({})).await, "stt-not-configured");
    assert_eq!(stage.refused("assistantListen", json!({ "durationMs": 5000 })).await, "stt-not-configured");
    assert!(stage.refused("assistantListen", json!({ "durationMs": 1000 })).await.starts_with("bad-data"));
    assert!(stage.refused("assistantListen", json!({ "silenceMs": 9000 })).await.starts_with("bad-data"));
    assert_eq!(stage.refused("assistantSay", json!({ "text": " " })).await, "assistant-empty");
    assert_eq!(stage.refused("assistantSay", json!({ "text": "hi" })).await, "tts-not-configured");
    assert_eq!(stage.line.refused("assistantSay", asked("bob", json!({ "text": "hi" }))).await, "assistant-not-owner");
    assert_eq!(stage.refused("assistantJoin", json!({ "voiceChannelId": "v2" })).await, "assistant-busy");
    let settings = stage.done("assistantSettings", json!({ "volume": 50 })).await;
    assert_eq!(settings["settings"], json!({ "volume": 50.0, "speed": 1.0, "pitch": 1.0 }));
    assert_eq!(stage.done("assistantSettingsGet", json!({})).await, settings);
    assert_eq!(stage.done("assistantStop", json!({})).await["action"], "stopped");
    stage.line.request("assistantLeave", asked("ann", json!({}))).await;
    let released = stage.line.told().await;
    assert_eq!((&released["kind"], &released["reason"]), (&json!("assistant"), &json!("leave")));
    assert_eq!(stage.line.told().await["data"], json!({ "ok": true, "action": "left" }));
}

#[tokio::test]
async fn a_jukebox_without_music_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { folder: folder.path().to_owned(), limits: Limits::default(), admin_token: None };
    let controller = Controller::start().await;
    let jukebox = Arc::new(Jukebox::open(settings).unwrap());
    tokio::spawn(jukebox.serve(config(&controller), std::future::pending()));
    assert_eq!(controller.accept().await.next().await["ready"], false);
}

#[tokio::test]
async fn discord_send_names_what_is_missing() {
    let mut stage = start().await;
    for (data, error) in [
        (json!({}), "missing-guild"),
        (json!({ "guildId": "g1" }), "missing-channel"),
        (json!({ "guildId": "g1", "textChannelId": "t" }), "discord-not-configured"),
    ] {
        assert_eq!(stage.line.refused("discordSend", data).await, error);
    }
}

#[tokio::test]
async fn a_jukebox_that_is_stopped_lets_its_channels_go() {
    let mut stage = start().await;
    stage.begin("so what", json!({})).await;
    stage.stop.take().unwrap().send(()).unwrap();
    let released = stage.line.told().await;
    assert_eq!((&released["event"], &released["reason"]), (&json!("released"), &json!("shutdown")));
    assert_eq!(stage.line.closed().await.0, 1000);
}
