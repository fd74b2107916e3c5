//! The SmartHole suite for clients: the suite is the server, and a client connects to it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::case::{Verdict, cases, ensure};
use crate::link::{short, text, word};
use crate::listener::{Listener, Seat};

pub struct Stage {
    listener: Listener,
}

impl Stage {
    pub async fn bind(port: u16) -> std::io::Result<Self> {
        Ok(Self { listener: Listener::bind(port).await? })
    }

    /// Where the client is to connect to.
    pub fn url(&self) -> std::io::Result<String> {
        Ok(format!("ws://{}", self.listener.address()?))
    }

    /// A client that is registered.
    async fn client(&self) -> Verdict<Seat> {
        self.listener.seat(welcome).await
    }
}

cases! { Stage:
    "2.1" "Messages" "frames that it does not know do not end it" => unknown_frame;
    "3.1" "Registration" "the first frame is a registration" => first_frame;
    "3.2" "Registration" "the name begins with a letter, has only letters, digits, `-` and `_`, and at most 64" => name;
    "3.3" "Registration" "the description is not empty and has at most 1024 characters" => description;
    "3.4" "Registration" "version is a string and capabilities are strings, where they are told" => optional_fields;
    "6.1" "Response" "a routed message is answered under its id with ack, reject or notification" => response;
    "6.2" "Response" "what an answer carries has the types of the document" => payload;
    "6.3" "Response" "messages that come one upon the other are answered each under its own id" => each;
    "7.1" "Heartbeat" "pings are answered with pongs" => pong;
    "7.3" "Reconnection" "a lost connection is made again, and registered again under the same name" => reconnect;
    "8.1" "Direct Routing" "a message that was addressed is answered too" => direct;
}

async fn welcome(seat: &mut Seat) -> Verdict {
    let id = uuid::Uuid::new_v4().to_string();
    let payload = json!({ "success": true, "clientId": id, "message": "Client registered successfully" });
    seat.link.send(json!({ "type": "registration_response", "payload": payload })).await
}

fn routed(said: &str, metadata: Value) -> (String, Value) {
    let id = format!("msg-{}", uuid::Uuid::new_v4());
    let payload = json!({ "id": id, "text": said, "timestamp": "2024-01-15T10:30:00.000Z", "metadata": metadata });
    (id, json!({ "type": "message", "payload": payload }))
}

fn typed() -> Value {
    json!({ "inputMethod": "text", "directRouted": false, "routingReason": "It fits the description" })
}

/// The payload of the client's first answer to this message.
async fn answered(seat: &mut Seat, id: &str) -> Verdict<Value> {
    let answers = |frame: &Value| frame["type"] == "response" && frame["payload"]["messageId"] == id;
    let frame = seat.link.find("a `response` to the routed message", answers).await?;
    Ok(frame["payload"].clone())
}

async fn ask(seat: &mut Seat, metadata: Value) -> Verdict<Value> {
    let (id, message) = routed(&format!("remember {}", word()), metadata);
    seat.link.send(message).await?;
    answered(seat, &id).await
}

fn check(answer: &Value) -> Verdict {
    let kind = text(answer, "type")?;
    ensure!(["ack", "reject", "notification"].contains(&kind), "an answer of the type {kind:?}");
    Ok(())
}

async fn first_frame(stage: Arc<Stage>) -> Verdict {
    let seat = stage.client().await?;
    ensure!(seat.first["type"] == "registration", "the first frame is {}", short(&seat.first));
    ensure!(seat.first["payload"].is_object(), "`payload` is no object: {}", short(&seat.first));
    stage.listener.leave(seat).await
}

async fn name(stage: Arc<Stage>) -> Verdict {
    let seat = stage.client().await?;
    let name = text(&seat.first["payload"], "name")?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    ensure!(name.starts_with(|first: char| first.is_ascii_alphabetic()), "{name:?} does not begin with a letter");
    ensure!(name.chars().all(plain) && name.len() <= 64, "{name:?} is no name of the document");
    stage.listener.leave(seat).await
}

async fn description(stage: Arc<Stage>) -> Verdict {
    let seat = stage.client().await?;
    let length = text(&seat.first["payload"], "description")?.chars().count();
    ensure!((1..=1024).contains(&length), "the description has {length} characters");
    stage.listener.leave(seat).await
}

async fn optional_fields(stage: Arc<Stage>) -> Verdict {
    let seat = stage.client().await?;
    let payload = &seat.first["payload"];
    ensure!(payload["version"].is_null() || payload["version"].is_string(), "`version`: {}", short(payload));
    let capabilities = &payload["capabilities"];
    let are_strings = capabilities.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    ensure!(capabilities.is_null() || are_strings, "`capabilities`: {}", short(payload));
    stage.listener.leave(seat).await
}

async fn response(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    check(&ask(&mut seat, typed()).await?)?;
    stage.listener.leave(seat).await
}

async fn payload(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    let answer = ask(&mut seat, typed()).await?;
    let payload = &answer["payload"];
    ensure!(payload.is_object(), "`payload` is no object: {}", short(&answer));
    for key in ["reason", "title", "body"] {
        ensure!(payload[key].is_null() || payload[key].is_string(), "`{key}` is no string: {}", short(&answer));
    }
    let known = payload["priority"].as_str().is_some_and(|priority| ["low", "normal", "high"].contains(&priority));
    ensure!(payload["priority"].is_null() || known, "`priority`: {}", short(&answer));
    stage.listener.leave(seat).await
}

async fn each(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    let messages: Vec<(String, Value)> = (0..3).map(|_| routed(&word(), typed())).collect();
    for (_, message) in &messages {
        seat.link.send(message.clone()).await?;
    }
    for (id, _) in messages.iter().rev() {
        answered(&mut seat, id).await?;
    }
    stage.listener.leave(seat).await
}

async fn pong(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    seat.link.is_alive().await?;
    stage.listener.leave(seat).await
}

async fn reconnect(stage: Arc<Stage>) -> Verdict {
    let seat = stage.client().await?;
    let before = seat.first["payload"]["name"].clone();
    drop(seat);
    let mut seat = stage.listener.next().await?;
    ensure!(seat.first["type"] == "registration", "it begins with {}", short(&seat.first));
    ensure!(seat.first["payload"]["name"] == before, "it has another name than {before}: {}", short(&seat.first));
    welcome(&mut seat).await?;
    stage.listener.leave(seat).await
}

async fn direct(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    check(&ask(&mut seat, json!({ "inputMethod": "voice", "directRouted": true, "confidence": 0.95 })).await?)?;
    stage.listener.leave(seat).await
}

async fn unknown_frame(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.client().await?;
    seat.link.send(json!({ "type": "something_new", "payload": { "a": 1 } })).await?;
    check(&ask(&mut seat, typed()).await?)?;
    stage.listener.leave(seat).await
}
