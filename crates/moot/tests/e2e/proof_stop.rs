//! A graceful stop: 1001 to every socket, exit 0, within five seconds, nothing left behind.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::start;

#[tokio::test]
async fn sigterm_closes_sockets_with_1001_and_exits_0_within_5_seconds() {
    stops_cleanly_on(Signal::TERM).await;
}

#[tokio::test]
async fn sigint_does_the_same() {
    stops_cleanly_on(Signal::INT).await;
}

async fn stops_cleanly_on(signal: Signal) {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut larks = [alice.lark().await, codebot.lark_agent().await];
    let started = Instant::now();
    hub.signal(signal);
    for (lark, whose) in larks.iter_mut().zip(["a human", "an agent"]) {
        assert_eq!(lark.closed().await, Some(1001), "the socket of {whose}");
    }
    let status = hub.wait().await;
    assert_eq!(status.code(), Some(0), "{}", hub.log());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_socket_that_has_not_logged_in_is_closed_with_1001_as_well() {
    let (hub, alice) = start().await;
    let mut lark = alice.dial().await;
    lark.refused("channel.join", serde_json::json!({ "channel_id": "ch_x" })).await;
    hub.signal(Signal::TERM);
    assert_eq!(lark.closed().await, Some(1001));
}

#[tokio::test]
async fn a_client_that_never_answers_does_not_hold_up_the_stop() {
    let (mut hub, alice) = start().await;
    // This one does not read, so it never answers the close frame.
    let _deaf = alice.lark().await;
    let started = Instant::now();
    let status = hub.stop().await;
    assert_eq!(status.code(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn after_a_stop_the_hub_starts_again_on_the_same_address_and_folder() {
    let (mut hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    for round in 0..3 {
        let _open = alice.lark().await;
        alice.post(&general, &format!("round {round}")).await;
        assert!(hub.stop().await.success());
        hub.restart().await;
    }
    assert_eq!(alice.texts(&general).await, ["round 0", "round 1", "round 2"]);
}
