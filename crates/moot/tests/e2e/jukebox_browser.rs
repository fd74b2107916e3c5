//! Everybody hears the same: two pages in a real browser.

use serde_json::{Value, json};

use crate::support::browser::Page;
use crate::support::jukebox::{dispatch, listen_link, stage};
use crate::support::{Browser, start};

/// What is heard: the track, the place in it, and when that was.
const HEARD: &str = "({ title: document.getElementById('title').textContent, paused: audio.paused, \
                     at: audio.currentTime, when: Date.now(), ready: audio.readyState })";

async fn listen(page: &mut Page) {
    page.eval("document.getElementById('listen').click()").await;
    page.wait_for("!audio.paused && audio.readyState >= 3 && audio.currentTime > 0").await;
}

async fn heard(page: &mut Page) -> Value {
    page.eval(HEARD).await
}

/// Where a page's track began, by the clock of this machine; the same for two pages that hear the same.
fn beginning(heard: &Value) -> f64 {
    heard["when"].as_f64().expect("a time") / 1000.0 - heard["at"].as_f64().expect("a place")
}

/// Waits until both hear the same within half a second, and that the hub's position, and returns how far they are apart.
async fn until_together(one: &mut Page, other: &mut Page) -> f64 {
    for page in [&mut *one, &mut *other] {
        page.wait_for("scene?.track && Math.abs(audio.currentTime - target()) < 0.45 && !audio.seeking").await;
    }
    let (first, second) = (heard(one).await, heard(other).await);
    (beginning(&first) - beginning(&second)).abs()
}

#[tokio::test]
async fn two_listeners_hear_the_same_within_half_a_second() {
    let Some(browser) = Browser::start().await else { return };
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let (_jukebox, _) = stage(&hub, &alice, &[&bob]).await;
    dispatch(&alice, "play", json!({ "query": "so what" })).await;

    let mut one = browser.open(&listen_link(&alice).await.0).await;
    listen(&mut one).await;
    // The other comes later, into the middle of the track.
    one.wait_for("audio.currentTime > 2").await;
    let mut other = browser.open(&listen_link(&bob).await.0).await;
    listen(&mut other).await;
    let apart = until_together(&mut one, &mut other).await;
    assert!(apart < 0.5, "{apart} s apart");
    eprintln!("two listeners are {apart:.3} s apart");

    dispatch(&alice, "pause", json!({})).await;
    for page in [&mut one, &mut other] {
        page.wait_for("audio.paused && document.getElementById('state').textContent.startsWith('Paused')").await;
        page.wait_for("Math.abs(audio.currentTime - target()) < 0.1").await;
    }
    let (first, second) = (heard(&mut one).await, heard(&mut other).await);
    let apart = (first["at"].as_f64().unwrap() - second["at"].as_f64().unwrap()).abs();
    assert!(apart < 0.2, "paused at {first} and {second}");

    dispatch(&alice, "play", json!({ "query": "blue in green" })).await;
    dispatch(&alice, "skip", json!({})).await;
    for page in [&mut one, &mut other] {
        page.wait_for("document.getElementById('title').textContent === 'Blue in Green' && !audio.paused").await;
        page.wait_for("audio.readyState >= 3 && audio.currentTime > 0").await;
    }
    let apart = until_together(&mut one, &mut other).await;
    assert!(apart < 0.5, "after a skip {apart} s apart");
    eprintln!("after a skip they are {apart:.3} s apart");
}

#[tokio::test]
async fn the_next_track_begins_by_itself_for_everybody() {
    let Some(browser) = Browser::start().await else { return };
    let (hub, alice) = start().await;
    let (_jukebox, _) = stage(&hub, &alice, &[]).await;
    // Begun while paused, so that the pages are there in time however slow the machine is.
    dispatch(&alice, "play", json!({ "query": "blip" })).await;
    dispatch(&alice, "pause", json!({})).await;
    dispatch(&alice, "play", json!({ "query": "so what" })).await;
    let mut one = browser.open(&listen_link(&alice).await.0).await;
    let mut other = browser.open(&listen_link(&alice).await.0).await;
    for page in [&mut one, &mut other] {
        page.wait_for("scene?.track?.title === 'Blip' && scene.queue.length === 1").await;
        page.eval("document.getElementById('listen').click()").await;
    }
    dispatch(&alice, "resume", json!({})).await;
    for page in [&mut one, &mut other] {
        page.wait_for("scene.track.title === 'So What' && !audio.paused && audio.currentTime > 0").await;
        assert_eq!(page.eval("document.getElementById('title').textContent").await, "So What");
    }
    let apart = until_together(&mut one, &mut other).await;
    assert!(apart < 0.5, "{apart} s apart");
}

#[tokio::test]
async fn the_page_shows_the_queue_and_fits_a_phone() {
    let Some(browser) = Browser::start().await else { return };
    let (hub, alice) = start().await;
    let (_jukebox, _) = stage(&hub, &alice, &[]).await;
    for query in ["so what", "blue in green", "blip"] {
        dispatch(&alice, "play", json!({ "query": query })).await;
    }
    let mut page = browser.open(&listen_link(&alice).await.0).await;
    let phone = json!({ "width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    page.call("Emulation.setDeviceMetricsOverride", phone).await;
    page.wait_for("document.querySelectorAll('#queue li').length === 2").await;
    assert_eq!(page.eval("document.getElementById('title').textContent").await, "So What");
    assert_eq!(page.eval("document.getElementById('artist').textContent").await, "Miles Davis · Kind of Blue");
    assert_eq!(page.eval("document.documentElement.scrollWidth <= 360").await, true);
    page.wait_for("document.getElementById('progress').value > 0").await;
}

#[tokio::test]
async fn without_a_link_the_page_asks_to_log_in_and_then_plays() {
    let Some(browser) = Browser::start().await else { return };
    let (hub, alice) = start().await;
    let (_jukebox, _) = stage(&hub, &alice, &[]).await;
    dispatch(&alice, "play", json!({ "query": "so what" })).await;
    let mut page = browser.open(&hub.url("/listen/main/lobby")).await;
    page.wait_for("!document.getElementById('login').hidden").await;
    let fill = |email: &str, password: &str| {
        format!(
            "(() => {{ const form = document.getElementById('login'); form.email.value = '{email}'; \
             form.password.value = '{password}'; form.requestSubmit(); }})()"
        )
    };
    page.eval(&fill("alice@example.org", "wrong password")).await;
    page.wait_for("document.getElementById('state').textContent !== ''").await;
    page.eval(&fill("alice@example.org", crate::support::member::PASSWORD)).await;
    page.wait_for("document.getElementById('title').textContent === 'So What'").await;
    listen(&mut page).await;
}
