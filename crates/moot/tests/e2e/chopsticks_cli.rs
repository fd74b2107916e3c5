//! `moot pool` from a terminal, against a hub with an agent.

use serde_json::{Value, json};

use crate::support::chopsticks::{Worker, held_by};
use crate::support::hub::Done;
use crate::support::{Hub, Member, moot, start};

async fn pool(hub: &Hub, member: &Member, arguments: &[&str]) -> Done {
    let home = hub.folder();
    let server = hub.url("");
    let mut whole = vec!["pool"];
    whole.extend(arguments);
    whole.extend(["--server", &server, "--token", &member.token]);
    moot(home.path(), &whole, &[]).await
}

#[track_caller]
fn said(done: Done) -> String {
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    done.stdout
}

fn words(table: &str) -> Vec<&str> {
    table.split_whitespace().collect()
}

#[track_caller]
fn failed(done: Done, code: i32) -> String {
    assert_eq!(done.code, Some(code), "{}{}", done.stdout, done.stderr);
    done.stderr
}

fn player(request: &Value) -> Result<Value, String> {
    match request["op"].as_str() {
        Some("play") => {
            Ok(json!({ "track": { "title": request["data"]["query"], "length": 5000 }, "action": "playing" }))
        }
        Some("pause") => Ok(json!({ "ok": true, "action": "paused" })),
        Some("volume") => Ok(json!({ "ok": true, "volume": request["data"]["volume"] })),
        Some("stop") => Ok(json!({ "ok": true, "action": "stopped" })),
        _ => Err("unknown-op".to_owned()),
    }
}

#[tokio::test]
async fn agents_and_sessions_are_listed_and_orders_are_given() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1", "g2"]).await.obey(player);
    let agents = said(pool(&hub, &alice, &["agents"]).await);
    assert_eq!(words(&agents), ["a1", "Bot", "a1", "pool1", "free", "g1,g2"]);
    let listed: Value = serde_json::from_str(&said(pool(&hub, &alice, &["agents", "--json"]).await)).unwrap();
    assert_eq!(listed[0]["agent_id"], "a1");
    assert_eq!(
        said(pool(&hub, &alice, &["play", "--in", "g1/v1", "two", "words"]).await),
        "Playing: two words (0:05)\n"
    );
    let sessions = said(pool(&hub, &alice, &["sessions"]).await);
    assert_eq!(words(&sessions), ["g1", "v1", "music", "a1"]);
    assert_eq!(said(pool(&hub, &alice, &["pause"]).await), "Paused.\n", "there is one session only");
    assert_eq!(said(pool(&hub, &alice, &["volume", "80"]).await), "Volume 80.\n");
    let answer: Value = serde_json::from_str(&said(pool(&hub, &alice, &["ask", "a1", "pause", "{}"]).await)).unwrap();
    assert_eq!(answer["action"], "paused");
    said(pool(&hub, &alice, &["dispatch", "g1", "v1", "play", "{\"query\":\"x\"}"]).await);
    said(pool(&hub, &alice, &["release", "g1", "v1"]).await);
    held_by(&alice, "g1", "v1", None).await;
    worker.abort();
}

/// As real agents do: nobody is answered who does not say where and for whom.
fn strict(request: &Value) -> Result<Value, String> {
    let given = |field: &str| request["data"][field].as_str().is_some_and(|text| !text.is_empty());
    match (given("guildId") && given("voiceChannelId"), given("actorUserId")) {
        (false, _) => Err("missing-session".to_owned()),
        (true, false) => Err("missing-actor".to_owned()),
        (true, true) => Ok(request["data"].clone()),
    }
}

#[tokio::test]
async fn the_examples_of_ask_in_the_help_work() {
    let (hub, alice) = start().await;
    let worker = Worker::join(&alice, hub.address, "agent1", &["g1"]).await.obey(strict);
    let help = said(pool(&hub, &alice, &["--help"]).await);
    let example = help.lines().find_map(|line| line.trim().strip_prefix("moot pool ask agent1 status '"));
    let data = example.expect("the example of the help").trim_end_matches('\'');
    let answer: Value =
        serde_json::from_str(&said(pool(&hub, &alice, &["ask", "agent1", "status", data]).await)).unwrap();
    let expected = json!({
        "guildId": "g1", "voiceChannelId": "v1", "actorUserId": alice.id, "ownerUserId": alice.id,
    });
    assert_eq!(answer, expected);
    let error = failed(pool(&hub, &alice, &["ask", "agent1", "status"]).await, 1);
    assert!(error.contains("the agent refused: missing-session"), "it serves nothing: {error}");
    said(pool(&hub, &alice, &["dispatch", "g1", "v2", "play"]).await);
    let served = said(pool(&hub, &alice, &["ask", "agent1", "status", "{\"actorUserId\":\"u1\"}"]).await);
    let served: Value = serde_json::from_str(&served).unwrap();
    assert_eq!((&served["voiceChannelId"], &served["actorUserId"]), (&json!("v2"), &json!("u1")));
    worker.abort();
}

#[tokio::test]
async fn a_linked_channel_names_the_place() {
    let (hub, alice) = start().await;
    alice.add_channel("music", &[]).await;
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(player);
    assert_eq!(said(pool(&hub, &alice, &["link", "music", "g1", "v1"]).await), "#music commands v1 of g1\n");
    assert_eq!(said(pool(&hub, &alice, &["play", "--in", "#music", "song"]).await), "Playing: song (0:05)\n");
    held_by(&alice, "g1", "v1", Some("a1")).await;
    assert_eq!(said(pool(&hub, &alice, &["unlink", "music"]).await), "#music commands nothing\n");
    let error = failed(pool(&hub, &alice, &["play", "--in", "music", "song"]).await, 1);
    assert!(error.contains("the channel is not linked to a pool"), "{error}");
    worker.abort();
}

#[tokio::test]
async fn what_goes_wrong_is_said_with_its_exit_code() {
    let (hub, alice) = start().await;
    let error = failed(pool(&hub, &alice, &["play", "--in", "g1/v1", "song"]).await, 1);
    assert!(error.contains("no connected agent is in the guild `g1`"), "{error}");
    let error = failed(pool(&hub, &alice, &["pause"]).await, 2);
    assert!(error.contains("there are 0 sessions") && error.contains("hint: name it with `--in"), "{error}");
    let error = failed(pool(&hub, &alice, &["volume", "--in", "g1/v1", "loud"]).await, 2);
    assert!(error.contains("say how loud"), "{error}");
    let error = failed(pool(&hub, &alice, &["ask", "a1", "status"]).await, 1);
    assert!(error.contains("the agent `a1` is not connected"), "{error}");
    let error = failed(pool(&hub, &alice, &["ask", "a1", "status", "[]"]).await, 2);
    assert!(error.contains("not a JSON object"), "{error}");
    let worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await.obey(player);
    let error = failed(pool(&hub, &alice, &["skip", "--in", "g1/v1"]).await, 1);
    assert!(error.contains("The agent does not know this command."), "{error}");
    worker.abort();
}
