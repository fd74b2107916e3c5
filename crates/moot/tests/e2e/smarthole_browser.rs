//! A web page is no client: a real browser with a page from elsewhere does not get in.

use axum::response::Html;
use axum::routing::get;
use serde_json::json;

use crate::support::smarthole::{address, client};
use crate::support::{Browser, column, start};

/// A web site of somebody else, on this machine because tests reach no other; its origin is foreign all the same.
async fn foreign_site() -> String {
    let router = axum::Router::new().route("/", get(|| async { Html("<!doctype html><title>A page</title>") }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// Tries to become a client, and tells how that ended.
fn attempt(url: &str) -> String {
    let registration =
        json!({ "type": "registration", "payload": { "name": "spy", "description": "I take everything." } });
    let frame = json!(registration.to_string());
    format!(
        "new Promise((done) => {{
            const socket = new WebSocket('{url}');
            const seen = [];
            socket.onopen = () => {{ seen.push('open'); socket.send({frame}); }};
            socket.onmessage = (event) => {{ seen.push(event.data); socket.close(); }};
            socket.onerror = () => seen.push('error');
            socket.onclose = (event) => done([...seen, event.code]);
        }})"
    )
}

#[tokio::test]
async fn a_web_page_that_tries_to_connect_is_refused_and_becomes_no_client() {
    let Some(browser) = Browser::start().await else { return };
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let door = format!("ws://{}", address(&hub).await);
    let mut page = browser.open(&foreign_site().await).await;
    // 1006 is what a browser says of a socket that never opened.
    assert_eq!(page.eval(&attempt(&door)).await, json!(["error", 1006]));
    let clients = alice.rest.get("/v1/route/clients").await.ok();
    assert_eq!(column(&clients, "name"), ["notebook"]);
    notebook.heard_nothing().await;

    // The same script in a page of the hub gets in: it was the origin that was refused, not the script.
    let mut own = browser.open(&hub.url("/healthz")).await;
    let ended = own.eval(&attempt(&door)).await;
    assert_eq!(ended[0], "open", "{ended}");
    assert!(ended[1].as_str().is_some_and(|answer| answer.contains("registered successfully")), "{ended}");
}
