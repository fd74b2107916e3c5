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
    let mut larks = vec![alice.lark().await, codebot.lark_agent().await, alice.dial().await];
    let started = Instant::now();
    hub.signal(signal);
    for lark in &mut larks {
        assert_eq!(lark.closed().await, Some(1001));
    }
    let status = hub.wait().await;
    assert_eq!(status.code(), Some(0), "{}", hub.log());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
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
