//! `moot say` and `moot client echo`, and a fake model behind the router.

use axum::Json;
use axum::routing::post;
use serde_json::{Value, json};

use crate::support::smarthole::{address, client};
use crate::support::{Hub, Setup, eventually, moot, register, start, text};

/// An OpenAI-compatible endpoint that always gives this answer.
async fn model(status: u16, answer: Value) -> String {
    let respond = move || async move { (axum::http::StatusCode::from_u16(status).expect("a status"), Json(answer)) };
    let router = axum::Router::new().route("/v1/chat/completions", post(respond));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn calls(tools: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "id": "c", "type": "function", "function": function })
    };
    let calls: Vec<_> = tools.iter().map(call).collect();
    json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls } }] })
}

async fn with_model(url: &str) -> Hub {
    Setup::default().env("MOOT_LLM__BASE_URL", url).start().await
}

#[tokio::test]
async fn the_models_choice_is_delivered_with_its_reason_and_the_speakers_own_words() {
    let arguments = json!({ "message": "something else", "reason": "because" });
    let hub =
        with_model(&model(200, calls(&[("route_to_my_notes", arguments.clone()), ("route_to_mail", arguments)])).await)
            .await;
    let alice = register(&hub, "alice").await;
    let mut notes = client(&hub, "my-notes", "notes").await;
    let mut mail = client(&hub, "mail", "mail").await;
    let answer = alice.rest.post("/v1/route", json!({ "text": "xyzzy" })).await.ok();
    assert_eq!(answer["deliveries"].as_array().map(Vec::len), Some(2), "{answer}");
    for client in [&mut notes, &mut mail] {
        let message = client.message().await;
        assert_eq!((&message["id"], &message["text"]), (&answer["message_id"], &json!("xyzzy")));
        assert_eq!(message["metadata"]["routingReason"], "because");
    }
}

#[tokio::test]
async fn a_model_that_fails_or_chooses_nobody_there_is_leaves_it_to_the_words() {
    for (status, answer) in [
        (200, calls(&[("route_to_nobody", json!({ "message": "x" }))])),
        (200, json!({ "choices": [{ "message": { "role": "assistant", "content": "I am a model." } }] })),
        (200, json!("nonsense")),
        (429, json!({ "error": "slow down" })),
        (500, json!({ "error": "broken" })),
    ] {
        let hub = with_model(&model(status, answer).await).await;
        let alice = register(&hub, "alice").await;
        let mut weather = client(&hub, "weather", "I know the weather forecast.").await;
        let _mail = client(&hub, "mail", "I read and send mail.").await;
        let answer = alice.rest.post("/v1/route", json!({ "text": "will it rain" })).await.ok();
        assert_eq!(answer["deliveries"][0]["client"], "weather", "{status}: {answer}");
        weather.message().await;
    }
}

#[tokio::test]
async fn say_prints_who_took_it_and_fails_when_nobody_does() {
    let (hub, alice) = start().await;
    let home = tempfile::TempDir::new().expect("a folder");
    let (server, token) = (hub.url(""), alice.token.clone());
    let said = ["say", "--server", server.as_str(), "--token", token.as_str(), "notebook: milk"];
    let done = moot(home.path(), &said, &[]).await;
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("no clients are connected"), "{}", done.stderr);
    let mut notebook = client(&hub, "notebook", "notes").await;
    let taking = tokio::spawn(async move {
        let id = text(&notebook.message().await, "id").to_owned();
        notebook.ack(&id).await;
        notebook
    });
    let done = moot(home.path(), &said, &[]).await;
    assert_eq!((done.code, done.stdout.trim()), (Some(0), "notebook took it"), "{}", done.stderr);
    drop(taking.await.expect("a client"));
    let done = moot(home.path(), &["say", "--history", "--server", &server, "--token", &token], &[]).await;
    assert!(done.stdout.contains("milk  [taken]") && done.stdout.contains("notebook took it"), "{}", done.stdout);
}

#[tokio::test]
async fn the_echo_client_takes_what_is_said() {
    let (hub, alice) = start().await;
    let url = format!("ws://{}", address(&hub).await);
    let mut echo = std::process::Command::new(env!("CARGO_BIN_EXE_moot"))
        .args(["client", "echo", "--url", &url])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    let answer = eventually("the echo is there", || async {
        let answer = alice.rest.post("/v1/route", json!({ "text": "echo: hello" })).await.ok();
        (answer["outcome"] == "routed").then_some(answer)
    })
    .await;
    let path = format!("/v1/route/{}", text(&answer, "message_id"));
    eventually("the echo", || async {
        let route = alice.rest.get(&path).await.ok();
        (route["attempts"][0]["responses"][1]["body"] == "hello").then_some(())
    })
    .await;
    let _ = echo.kill();
    let _ = echo.wait();
}
