//! `/listen`: who may, what the feed tells, the bytes with ranges, the page.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::jukebox::{dispatch, listen_link, order, stage};
use crate::support::rest::Answer;
use crate::support::{DEADLINE, Hub, Member, moot, register, start};

const PLACE: &str = "/listen/main/lobby";

/// The feed of a place, event by event.
struct Feed {
    response: Response,
    text: String,
}

impl Feed {
    async fn open(member: &Member, key: &str) -> Feed {
        let request = member.rest.anonymous().request(Method::GET, &format!("{PLACE}/feed?key={key}"));
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Feed { response, text: String::new() }
    }

    /// The next event, none at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.strip_prefix("data: ").map(|data| serde_json::from_str(data).expect("JSON"));
                self.text = rest.to_owned();
                match data {
                    Some(data) => return Some(data),
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(4 * DEADLINE, self.response.chunk()).await.expect("news in time");
            self.text.push_str(&String::from_utf8_lossy(&chunk.ok()??));
        }
    }

    async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let scene = self.next().await.expect("the feed goes on");
            if fits(&scene) {
                return scene;
            }
        }
    }
}

async fn get(member: &Member, path: &str, key: &str) -> Answer {
    member.rest.anonymous().get(&format!("{path}?key={key}")).await
}

async fn track_id(member: &Member) -> String {
    let status = dispatch(member, "status", json!({})).await;
    status["data"]["current"]["id"].as_str().expect("a track plays").to_owned()
}

/// A hub whose jukebox plays "So What" in a private channel of alice and bob.
async fn concert() -> (Hub, crate::support::Jukebox, Member, Member, String) {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let (jukebox, channel) = stage(&hub, &alice, &[&bob]).await;
    dispatch(&alice, "play", json!({ "query": "so what" })).await;
    (hub, jukebox, alice, bob, channel)
}

#[tokio::test]
async fn the_feed_tells_track_position_and_every_change() {
    let (_hub, _jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let mut feed = Feed::open(&alice, &key).await;
    let scene = feed.until(|scene| scene["track"]["title"] == "So What").await;
    assert_eq!((&scene["paused"], &scene["volume"]), (&json!(false), &json!(100)));
    assert!(scene["position"].as_i64().unwrap() < 60_000 && scene["at"].as_i64().unwrap() > 0, "{scene}");
    dispatch(&alice, "play", json!({ "query": "green" })).await;
    let scene = feed.until(|scene| scene["queue"].as_array().is_some_and(|queue| !queue.is_empty())).await;
    assert_eq!(scene["queue"][0]["title"], "Blue in Green");
    dispatch(&alice, "pause", json!({})).await;
    feed.until(|scene| scene["paused"] == true).await;
    dispatch(&alice, "resume", json!({})).await;
    feed.until(|scene| scene["paused"] == false).await;
    dispatch(&alice, "skip", json!({})).await;
    feed.until(|scene| scene["track"]["title"] == "Blue in Green").await;
    dispatch(&alice, "stop", json!({ "stopGraceMs": 0 })).await;
    feed.until(|scene| scene["track"].is_null()).await;
}

#[tokio::test]
async fn two_feeds_tell_the_same_moment() {
    let (_hub, _jukebox, alice, bob, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let (_, other) = listen_link(&bob).await;
    let mut one = Feed::open(&alice, &key).await;
    let first = one.until(|scene| !scene["track"].is_null()).await;
    let second = Feed::open(&bob, &other).await.until(|scene| !scene["track"].is_null()).await;
    let begun = |scene: &Value| scene["at"].as_i64().unwrap() - scene["position"].as_i64().unwrap();
    assert!((begun(&first) - begun(&second)).abs() < 500, "{first} {second}");
}

#[tokio::test]
async fn the_track_is_served_whole_and_in_ranges() {
    let (_hub, jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let whole = std::fs::read(jukebox.music.path().join("1.wav")).unwrap();
    let path = format!("{PLACE}/track/{}", track_id(&alice).await);
    let part = |range: &str| {
        let request = alice.rest.anonymous().request(Method::GET, &format!("{path}?key={key}"));
        Answer::of(range.to_owned(), request.header("range", range))
    };
    // The middle first, as somebody who comes late.
    let middle = part("bytes=500000-599999").await;
    assert_eq!((middle.status, middle.bytes.len()), (206, 100_000));
    assert_eq!(middle.header("content-range"), format!("bytes 500000-599999/{}", whole.len()));
    assert!(middle.bytes == whole[500_000..600_000], "the bytes differ");
    let end = part("bytes=-10").await;
    assert!(end.status == 206 && end.bytes == whole[whole.len() - 10..]);
    let beyond = part(&format!("bytes={}-", whole.len())).await;
    assert_eq!((beyond.status, beyond.header("content-range")), (416, format!("bytes */{}", whole.len()).as_str()));
    let all = get(&alice, &path, &key).await;
    assert_eq!((all.status, all.header("content-type")), (200, "audio/wav"));
    assert_eq!(all.header("accept-ranges"), "bytes");
    assert_eq!(all.header("x-content-type-options"), "nosniff");
    assert!(all.bytes == whole, "the bytes differ");
}

#[tokio::test]
async fn a_track_nobody_has_is_not_found() {
    let (_hub, _jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    get(&alice, &format!("{PLACE}/track/nothing"), &key).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn only_who_reads_the_channel_gets_a_link() {
    let (hub, _jukebox, alice, bob, channel) = concert().await;
    let carol = alice.add_human("carol").await;
    let stranger = register(&hub, "eve").await;
    let place = json!({ "guild_id": "main", "voice_channel_id": "lobby" });
    for outsider in [&carol, &stranger] {
        outsider.rest.post("/v1/pools/listen", place.clone()).await.refused(404, "NOT_FOUND");
        outsider.rest.post("/v1/pools/listen", json!({ "channel_id": channel })).await.refused(404, "NOT_FOUND");
    }
    alice.rest.anonymous().post("/v1/pools/listen", place).await.refused(401, "AUTH_REQUIRED");
    bob.rest.post("/v1/pools/listen", json!({})).await.refused(400, "BAD_REQUEST");
    bob.rest.post("/v1/pools/listen", json!({ "channel_id": channel })).await.ok();
}

#[tokio::test]
async fn a_key_that_is_not_the_hubs_opens_nothing() {
    let (_hub, _jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let (claim, signature) = key.rsplit_once('.').unwrap();
    let (start, _) = claim.rsplit_once('.').unwrap();
    let track = format!("{PLACE}/track/{}", track_id(&alice).await);
    let longer = format!("{start}.99999999999.{signature}");
    for wrong in ["", "x", "a.b.c.d", claim, &longer, &format!("{key}x"), &alice.token] {
        for path in [&format!("{PLACE}/feed"), &track] {
            get(&alice, path, wrong).await.refused(401, "AUTH_INVALID_TOKEN");
        }
    }
    get(&alice, "/listen/main/cellar/feed", &key).await.refused(401, "AUTH_INVALID_TOKEN");
    get(&alice, "/listen/other/lobby/feed", &key).await.refused(401, "AUTH_INVALID_TOKEN");
}

#[tokio::test]
async fn who_leaves_the_channel_hears_no_longer() {
    let (_hub, _jukebox, alice, bob, channel) = concert().await;
    let (_, key) = listen_link(&bob).await;
    let mut feed = Feed::open(&bob, &key).await;
    feed.next().await.expect("bob hears");
    alice.rest.delete(&alice.path(&format!("channels/{channel}/members/{}", bob.id))).await.done();
    get(&bob, &format!("{PLACE}/feed"), &key).await.refused(401, "AUTH_INVALID_TOKEN");
    // What was open ends at the next change.
    dispatch(&alice, "pause", json!({})).await;
    assert_eq!(feed.next().await, None);
}

#[tokio::test]
async fn a_link_posted_in_the_channel_opens_until_the_channel_is_unlinked() {
    let (hub, alice) = start().await;
    let (_jukebox, channel) = stage(&hub, &alice, &[]).await;
    let answer = order(&alice, &channel, "/play so what").await;
    let (_, key) = answer.split_once("#key=").expect("a link");
    let mut feed = Feed::open(&alice, key).await;
    feed.until(|scene| !scene["track"].is_null()).await;
    alice.rest.delete(&format!("/v1/channels/{channel}/pool")).await.done();
    get(&alice, &format!("{PLACE}/feed"), key).await.refused(401, "AUTH_INVALID_TOKEN");
}

#[tokio::test]
async fn with_nothing_playing_the_feed_says_so() {
    let (hub, alice) = start().await;
    let (_jukebox, _) = stage(&hub, &alice, &[]).await;
    let (_, key) = listen_link(&alice).await;
    let scene = Feed::open(&alice, &key).await.next().await.unwrap();
    assert_eq!(scene["track"], Value::Null);
    get(&alice, &format!("{PLACE}/track/any"), &key).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn an_agent_that_goes_away_is_silence_and_its_return_is_music() {
    let (hub, mut jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let mut feed = Feed::open(&alice, &key).await;
    feed.until(|scene| !scene["track"].is_null()).await;
    jukebox.kill();
    feed.until(|scene| scene["track"].is_null()).await;
    let _again = crate::support::Jukebox::start(&hub, &jukebox.music);
    crate::support::jukebox::until_known(&alice).await;
    dispatch(&alice, "play", json!({ "query": "green" })).await;
    feed.until(|scene| scene["track"]["title"] == "Blue in Green").await;
}

#[tokio::test]
async fn the_page_runs_nothing_from_elsewhere_and_nothing_inline() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    let page = rest.get(PLACE).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("<style") && !page.text().contains("onclick"), "{}", page.text());
    for (path, kind) in [("/listen/script.js", "text/javascript"), ("/listen/style.css", "text/css")] {
        let part = rest.get(path).await;
        assert_eq!((part.status, part.header("content-type")), (200, format!("{kind}; charset=utf-8").as_str()));
    }
    assert!(rest.get("/listen/time").await.ok()["now"].is_i64());
}

#[tokio::test]
async fn a_stop_of_the_hub_does_not_wait_for_listeners() {
    let (mut hub, _jukebox, alice, _, _) = concert().await;
    let (_, key) = listen_link(&alice).await;
    let mut feed = Feed::open(&alice, &key).await;
    feed.next().await.expect("the first scene");
    assert_eq!(hub.stop().await.code(), Some(0));
    // A whole end of the stream, not a connection that was cut when patience was over.
    while let Some(chunk) = feed.response.chunk().await.expect("a whole end") {
        assert!(!chunk.is_empty());
    }
}

#[tokio::test]
async fn the_command_line_prints_the_link() {
    let (hub, _jukebox, alice, _, channel) = concert().await;
    let home = tempfile::tempdir().unwrap();
    let server = hub.url("");
    let arguments = ["pool", "listen", &channel, "--server", &server, "--token", &alice.token];
    let done = moot(home.path(), &arguments, &[]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.starts_with(&hub.url("/listen/main/lobby#key=")), "{}", done.stdout);
    let general = alice.add_channel("general", &[]).await;
    let arguments = ["pool", "listen", &general, "--server", &server, "--token", &alice.token];
    let done = moot(home.path(), &arguments, &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("not linked"), "{}", done.stderr);
}
