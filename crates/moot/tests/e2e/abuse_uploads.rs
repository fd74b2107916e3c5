//! Whoever sends slowly, or connects and sends nothing, is let go after a while, and does not keep others out.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Hub, Setup, eventually, register, start};

const WAIT_TIMEOUT: Duration = Duration::from_secs(50);

/// Sends a byte now and then until the hub answers or hangs up, and returns what it answered.
async fn trickle(address: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("an open connection");
    let mut answer = vec![0; 1024];
    let waiting = async {
        loop {
            let read = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut answer)).await;
            match read {
                Ok(Ok(length)) => return length,
                Ok(Err(_)) => return 0,
                // Nothing yet: one more byte, if it is still wanted.
                Err(_) => drop(stream.write_all(b"x").await),
            }
        }
    };
    let length = tokio::time::timeout(WAIT_TIMEOUT, waiting).await.expect("the hub lets go");
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn an_upload_that_trickles_in_ends() {
    let (hub, alice) = start().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {}\r\nContent-Type: multipart/form-data; boundary=b\r\n\
         Content-Length: 1000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n",
        alice.path("files"),
        alice.token
    );
    let answer = trickle(hub.address, &head).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    let left = std::fs::read_dir(hub.data.join("files/incoming")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing stays of it");
}

/// A hub that waits only a moment for a request.
async fn impatient() -> Hub {
    Setup::default().env("MOOT_SERVER__HEADER_TIMEOUT_S", "1").start().await
}

#[tokio::test]
async fn a_request_whose_headers_trickle_in_ends() {
    let hub = impatient().await;
    let answer = trickle(hub.address, "GET /healthz HTTP/1.1\r\nX-Slow: ").await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_connection_that_says_nothing_more_ends() {
    let hub = impatient().await;
    let mut stream = TcpStream::connect(hub.address).await.expect("a connection");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n").await.expect("an open connection");
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(WAIT_TIMEOUT, stream.read_to_end(&mut answer)).await;
    ended.expect("the hub hangs up").expect("an orderly end");
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn one_address_has_only_so_many_connections() {
    let hub = Setup::default().env("MOOT_LIMITS__HTTP_CONNECTIONS_PER_ADDRESS", "8").start().await;
    let mut idle = Vec::new();
    for _ in 0..12 {
        idle.push(TcpStream::connect(hub.address).await.expect("a connection"));
    }
    let mut turned_away = 0;
    for stream in &mut idle {
        let read = tokio::time::timeout(Duration::from_millis(300), stream.read(&mut [0])).await;
        turned_away += usize::from(matches!(read, Ok(Ok(0) | Err(_))));
    }
    assert!(turned_away >= 4, "{turned_away} of 12");
    drop(idle);
    eventually("there is room again", || async {
        let asked = reqwest::Client::builder().no_proxy().build().ok()?.get(hub.url("/healthz")).send().await.ok()?;
        asked.status().is_success().then_some(())
    })
    .await;
    register(&hub, "alice").await;
}
