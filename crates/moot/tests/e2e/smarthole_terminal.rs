//! `moot say` and `moot client echo`, and a fake model behind the router.

use axum::Json;
use axum::routing::post;
use serde_json::{Value, json};

use crate::support::hub::Done;
use crate::support::smarthole::{SmartHole, address, client};
use crate::support::terminal::Terminal;
use crate::support::{Hub, Member, Setup, eventually, moot, register, start, text};

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
    let said = ["say", "--timeout", "1", "--server", server.as_str(), "--token", token.as_str(), "notebook: milk"];
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
    assert!(done.stderr.contains("no answer of notebook within 1 s; `moot say --history`"), "{}", done.stderr);
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

async fn say(hub: &Hub, member: &Member, arguments: &[&str]) -> Done {
    let (home, server) = (tempfile::TempDir::new().expect("a folder"), hub.url(""));
    let mut whole = vec!["say", "--server", &server, "--token", &member.token];
    whole.extend(arguments);
    moot(home.path(), &whole, &[]).await
}

/// Takes the next sentence at once, and says something to it when everybody knows that it is taken.
fn takes_and_answers_later(
    member: &Member,
    mut client: SmartHole,
    notification: Value,
) -> tokio::task::JoinHandle<SmartHole> {
    let member = member.clone();
    tokio::spawn(async move {
        let id = text(&client.message().await, "id").to_owned();
        client.ack(&id).await;
        let path = format!("/v1/route/{id}");
        eventually("it is taken", || async { (member.rest.get(&path).await.ok()["state"] == "taken").then_some(()) })
            .await;
        client.respond(&id, "notification", notification).await;
        client
    })
}

#[tokio::test]
async fn say_waits_for_the_answer_that_comes_after_the_ack_and_shows_it() {
    let (hub, alice) = start().await;
    let notebook = client(&hub, "notebook", "notes").await;
    let answering = takes_and_answers_later(&alice, notebook, json!({ "body": "Saved to the journal." }));
    let done = say(&hub, &alice, &["--timeout", "600", "notebook: milk"]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.stdout, "notebook took it\nnotebook: Saved to the journal.\n");
    assert_eq!(done.stderr, "", "nobody looks, so no progress");
    // As JSON, the answer is part of the route.
    let answering = takes_and_answers_later(&alice, answering.await.expect("a client"), json!({ "title": "Done" }));
    let done = say(&hub, &alice, &["--json", "--timeout", "600", "notebook: milk"]).await;
    let route: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(route["attempts"][0]["responses"][1]["title"], "Done", "{route}");
    drop(answering.await);
}

#[tokio::test]
async fn say_at_a_terminal_shows_what_it_waits_for() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "notes").await;
    let home = tempfile::TempDir::new().expect("a folder");
    let (server, timeout) = (hub.url(""), "600");
    let said = ["say", "--server", &server, "--token", &alice.token, "--timeout", timeout, "notebook: milk"];
    let mut terminal = Terminal::run(home.path(), &said);
    terminal.shows("waiting for notebook to take it").await;
    let id = text(&notebook.message().await, "id").to_owned();
    notebook.ack(&id).await;
    terminal.shows("notebook took it").await;
    terminal.shows("waiting for the answer of notebook").await;
    notebook.respond(&id, "notification", json!({ "title": "Noted", "body": "milk" })).await;
    terminal.shows("notebook: Noted: milk").await;
    assert_eq!(terminal.end().await, Some(0));
}

#[tokio::test]
async fn say_without_waiting_ends_when_somebody_took_it() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "notes").await;
    let taking = tokio::spawn(async move {
        let id = text(&notebook.message().await, "id").to_owned();
        notebook.ack(&id).await;
        notebook
    });
    let done = say(&hub, &alice, &["--no-wait", "notebook: milk"]).await;
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "notebook took it\n", ""));
    drop(taking.await);
}

#[tokio::test]
async fn an_empty_notification_prints_nothing_odd() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "notes").await;
    let taking = tokio::spawn(async move {
        let id = text(&notebook.message().await, "id").to_owned();
        notebook.respond(&id, "notification", json!({ "title": "", "body": " " })).await;
        notebook
    });
    let done = say(&hub, &alice, &["--timeout", "600", "notebook: milk"]).await;
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "notebook took it\n", ""));
    drop(taking.await);
    assert_eq!(alice.rest.get("/v1/notifications").await.ok(), json!([]));
}

#[tokio::test]
async fn say_names_the_candidates_when_nobody_took_it() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "notes").await;
    let _calendar = client(&hub, "calendar", "appointments").await;
    let done = say(&hub, &alice, &["xyzzy"]).await;
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("hint: name one of notebook, calendar, like `moot say \"notebook: …\"`"),
        "{}",
        done.stderr
    );
    let refusing = tokio::spawn(async move {
        let id = text(&notebook.message().await, "id").to_owned();
        notebook.reject(&id, "no paper").await;
        notebook
    });
    let done = say(&hub, &alice, &["notebook: milk"]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), "notebook did not: no paper\n"));
    assert!(
        done.stderr.contains("nobody took it") && done.stderr.contains("there are also calendar"),
        "{}",
        done.stderr
    );
    drop(refusing.await);
}

#[tokio::test]
async fn say_shows_what_an_agent_of_the_hub_answers() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut agent = codebot.lark_agent().await;
    let answering = tokio::spawn(async move {
        let wake = agent.expect("agent.wake").await;
        agent.say(text(&wake["context"]["channel"], "id"), "looks fine").await;
        agent
    });
    let done = say(&hub, &alice, &["--timeout", "600", "codebot: have a look"]).await;
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "codebot took it\ncodebot: looks fine\n"),
        "{}",
        done.stderr
    );
    drop(answering.await);
}
