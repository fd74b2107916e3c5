//! The door itself: who may connect, registration with its five errors, and what is ignored.

use std::net::{SocketAddr, TcpListener};

use serde_json::json;

use crate::support::smarthole::{self, address, client, connect, try_connect};
use crate::support::{Hub, Setup, eventually, items, start, text};

#[tokio::test]
async fn a_client_registers_and_is_told_its_id() {
    let (hub, alice) = start().await;
    let mut client = connect(&hub).await;
    let payload = json!({
        "name": "my-client",
        "description": "I handle task management and to-do lists.",
        "version": "1.0.0",
        "capabilities": ["tasks", "reminders"],
    });
    let answer = client.register(payload).await;
    assert_eq!(answer["success"], true);
    assert_eq!(answer["message"], "Client 'my-client' registered successfully");
    uuid::Uuid::parse_str(text(&answer, "clientId")).expect("a UUID");
    let clients = alice.rest.get("/v1/route/clients").await.ok();
    assert_eq!(items(&clients).len(), 1);
    assert_eq!(clients[0]["name"], "my-client");
    assert_eq!(clients[0]["description"], "I handle task management and to-do lists.");
    assert_eq!(clients[0]["version"], "1.0.0");
    assert_eq!(clients[0]["capabilities"], json!(["tasks", "reminders"]));
}

#[tokio::test]
async fn a_failed_registration_says_why_and_leaves_the_socket_open_for_a_better_one() {
    let (hub, _alice) = start().await;
    let _first = client(&hub, "Notebook", "notes").await;
    let mut second = connect(&hub).await;
    let long = "x".repeat(1025);
    for (payload, code) in [
        (json!({ "name": "9lives", "description": "d" }), "INVALID_NAME"),
        (json!({ "name": "a b", "description": "d" }), "INVALID_NAME"),
        (json!({ "name": "a".repeat(65), "description": "d" }), "INVALID_NAME"),
        (json!({ "description": "d" }), "INVALID_NAME"),
        (json!({ "name": "good" }), "INVALID_DESCRIPTION"),
        (json!({ "name": "good", "description": "" }), "INVALID_DESCRIPTION"),
        (json!({ "name": "good", "description": long }), "INVALID_DESCRIPTION"),
        (json!({ "name": "good", "description": "d", "version": 1 }), "VALIDATION_ERROR"),
        (json!({ "name": "good", "description": "d", "capabilities": "all" }), "VALIDATION_ERROR"),
        (json!("nonsense"), "VALIDATION_ERROR"),
        (json!({ "name": "notebook", "description": "d" }), "DUPLICATE_NAME"),
    ] {
        let answer = second.register(payload.clone()).await;
        assert_eq!((&answer["success"], &answer["code"]), (&json!(false), &json!(code)), "{payload} → {answer}");
        assert!(!text(&answer, "message").is_empty());
    }
    let answer = second.register(json!({ "name": "notebook", "description": "d" })).await;
    assert_eq!(answer["message"], "A client with name 'notebook' is already registered");
    let answer = second.register(json!({ "name": "good", "description": "x".repeat(1024) })).await;
    assert_eq!(answer["success"], true, "{answer}");
    let answer = second.register(json!({ "name": "better", "description": "d" })).await;
    assert_eq!(answer["code"], "ALREADY_REGISTERED");
}

#[tokio::test]
async fn a_name_is_free_again_when_its_client_is_gone() {
    let (hub, _alice) = start().await;
    client(&hub, "notebook", "notes").await.crash();
    eventually("the name is free", || async {
        let mut again = connect(&hub).await;
        let answer = again.register(json!({ "name": "NoteBook", "description": "notes" })).await;
        (answer["success"] == true).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_is_no_message_of_the_protocol_is_ignored() {
    let (hub, _alice) = start().await;
    let mut client = client(&hub, "notebook", "notes").await;
    for frame in [
        "not json",
        "[]",
        "7",
        "{}",
        r#"{"type":"unknown","payload":{}}"#,
        r#"{"type":"response"}"#,
        r#"{"type":"response","payload":{"messageId":"msg-nobody","type":"ack","payload":{}}}"#,
        r#"{"type":"response","payload":{"messageId":7,"type":"ack","payload":{}}}"#,
        r#"{"type":"response","payload":{"messageId":"x","type":"shrug","payload":{}}}"#,
    ] {
        client.send_text(frame.to_owned()).await;
    }
    client.send_binary(b"\x00\xff").await;
    client.heard_nothing().await;
}

#[tokio::test]
async fn a_frame_of_one_megabyte_is_read_and_a_larger_one_is_too_large() {
    let (hub, _alice) = start().await;
    let mut client = client(&hub, "notebook", "notes").await;
    let frame = |length: usize| {
        let head = r#"{"type":"unknown","payload":""#;
        format!("{head}{}\"}}", "x".repeat(length - head.len() - 2))
    };
    client.send_text(frame(1024 * 1024)).await;
    client.heard_nothing().await;
    client.send_text(frame(1024 * 1024 + 1)).await;
    assert_eq!(client.closed().await.map(|frame| u16::from(frame.code)), Some(1009));
}

#[tokio::test]
async fn web_pages_are_refused_and_programs_the_hub_and_obsidian_are_not() {
    let (hub, _alice) = start().await;
    let door = address(&hub).await;
    for origin in ["http://evil.example", "https://localhost", "null", "http://127.0.0.1:1", "app://other"] {
        let refused = try_connect(door, Some(origin)).await.err().map(|(status, _)| status);
        assert_eq!(refused, Some(403), "{origin}");
    }
    let own = hub.url("");
    for origin in [None, Some(own.as_str()), Some("app://obsidian.md")] {
        assert!(try_connect(door, origin).await.is_ok(), "{origin:?}");
    }
}

#[tokio::test]
async fn the_door_listens_on_both_loopbacks() {
    let (hub, _alice) = start().await;
    let door = address(&hub).await;
    assert_eq!(door.ip(), std::net::Ipv4Addr::LOCALHOST);
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("this machine has no [::1]; skipped");
        return;
    }
    let other = SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), door.port());
    assert!(try_connect(other, None).await.is_ok());
}

#[tokio::test]
async fn a_hundred_connections_are_all_there_is_room_for() {
    let (hub, _alice) = start().await;
    let door = address(&hub).await;
    let mut clients = Vec::new();
    for _ in 0..100 {
        clients.push(try_connect(door, None).await.expect("a place"));
    }
    let (status, body) = try_connect(door, None).await.err().expect("no place");
    assert_eq!((status, body.as_str()), (503, "Service Unavailable: Max connections reached"));
    clients.pop();
    eventually("a place is free", || async { try_connect(door, None).await.ok() }).await;
}

#[tokio::test]
async fn at_a_stop_clients_are_told_1001() {
    let (mut hub, _alice) = start().await;
    let mut registered = client(&hub, "notebook", "notes").await;
    let mut silent = connect(&hub).await;
    let stopping = tokio::spawn(async move { hub.stop().await });
    for client in [&mut registered, &mut silent] {
        assert_eq!(client.closed().await.map(|frame| u16::from(frame.code)), Some(1001));
    }
    assert_eq!(stopping.await.expect("stopped").code(), Some(0));
}

#[tokio::test]
async fn a_port_that_is_taken_closes_the_door_and_nothing_else() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let hub = Setup::default().env("MOOT_SMARTHOLE__LISTEN", &address.to_string()).start().await;
    let log = hub.logged("smarthole.listen").await;
    let line = log.lines().find(|line| line.contains("smarthole")).expect("a line about it");
    assert!(line.contains(&address.port().to_string()) && line.contains("smarthole.listen"), "{line}");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let ready = client.get(hub.url("/readyz")).send().await.expect("an answer");
    assert_eq!(ready.status().as_u16(), 200);
    let ready: serde_json::Value = ready.json().await.expect("JSON");
    let door = items(&ready["doors"]).iter().find(|door| door["door"] == "smarthole").expect("the door").clone();
    assert_eq!((&door["status"], &door["port"]), (&json!("closed"), &json!(address.port())));
    let finding = doctor(&hub).await;
    assert_eq!(finding["verdict"], "warn", "{finding}");
    let sentence = text(&finding, "sentence");
    assert!(
        sentence.contains("the hub runs without this door") && sentence.contains(&address.to_string()),
        "{finding}"
    );
    assert!(text(&finding, "remedy").contains("smarthole.listen"), "{finding}");
}

/// What `moot doctor` finds about this door of a hub that runs.
async fn doctor(hub: &Hub) -> serde_json::Value {
    let home = tempfile::TempDir::new().expect("a folder");
    let listen = hub.address.to_string();
    let done = crate::support::moot(home.path(), &["doctor", "--json", "--listen", &listen], &[]).await;
    let findings: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    items(&findings).iter().find(|finding| finding["check"] == "smarthole").expect("a finding").clone()
}

#[tokio::test]
async fn the_doctor_shows_the_door_as_the_running_hub_has_it() {
    let hub = Hub::start().await;
    let finding = doctor(&hub).await;
    assert_eq!(
        (&finding["verdict"], &finding["sentence"]),
        (&json!("ok"), &json!(format!("open on {}", address(&hub).await)))
    );
    let hub = Setup::default().env("MOOT_SMARTHOLE__ENABLED", "false").start().await;
    assert_eq!(doctor(&hub).await["sentence"], "turned off in the hub that runs");
}

#[tokio::test]
async fn a_door_that_is_not_on_loopback_is_refused_at_the_start() {
    let home = tempfile::TempDir::new().expect("a folder");
    let environment = [("MOOT_SMARTHOLE__LISTEN", "0.0.0.0:9473")];
    let done = crate::support::moot(home.path(), &["config", "check"], &environment).await;
    assert_eq!(done.code, Some(2), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("smarthole.listen"), "{}", done.stderr);
}

#[tokio::test]
async fn a_client_that_comes_before_the_first_account_is_there_afterwards() {
    let hub = Hub::start().await;
    let mut early = client(&hub, "notebook", "notes").await;
    let alice = crate::support::register(&hub, "alice").await;
    let said = eventually("the client is a member", || async {
        let answer = alice.rest.post("/v1/route", json!({ "text": "notebook: milk" })).await.ok();
        (answer["outcome"] == "routed").then_some(answer)
    })
    .await;
    assert_eq!(early.message().await["id"], said["message_id"]);
}

#[tokio::test]
async fn a_registered_client_is_an_agent_of_the_owner_with_presence() {
    let (hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let mut notebook = smarthole::client(&hub, "notebook", "I take notes.").await;
    let update = lark.expect_where("presence.update", |data| data["member_id"] != alice.id.as_str()).await;
    assert_eq!(update["status"], "online", "{update}");
    let members = alice.rest.get(&alice.path("members")).await.ok();
    let member = items(&members).iter().find(|member| member["name"] == "notebook").expect("a member").clone();
    assert_eq!((&member["type"], &member["id"]), (&json!("agent"), &update["member_id"]));
    notebook.heard_nothing().await;
    notebook.crash();
    let update = lark.expect_where("presence.update", |data| data["member_id"] == member["id"]).await;
    assert_eq!(update["status"], "offline", "{update}");
}
