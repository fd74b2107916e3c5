//! The Chopsticks suite for agents: the suite is the controller, and an agent connects to it.

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

    /// Where the agent is to connect to.
    pub fn url(&self) -> std::io::Result<String> {
        Ok(format!("ws://{}", self.listener.address()?))
    }

    /// An agent that has said hello; nothing is answered to that.
    async fn agent(&self) -> Verdict<Seat> {
        self.listener.seat(async |_: &mut Seat| Ok(())).await
    }
}

cases! { Stage:
    "1.1" "Protocol Versioning" "the first frame is `hello` with the protocol version 1.0.0" => version;
    "2.1" "hello" "names the agent with an id that is not empty" => agent_id;
    "2.2" "hello" "has bot, tag, ready, guilds and pool in the types of the document" => types;
    "2.3" "hello" "is said again as a heartbeat (about every 30 seconds), with the version in it" => heartbeat, takes 45;
    "3.1" "guilds" "is told again as a heartbeat (about every 30 seconds), as a list of ids" => guilds, takes 45;
    "5.1" "resp" "a request is answered under its id, with `ok` and, if not, an error in words" => response;
    "5.2" "resp" "an operation that does not exist is answered with `ok: false` and an error" => unknown_operation;
    "5.3" "resp" "requests that come one upon the other are answered each under its own id" => each;
    "7.1" "error" "does not end the agent, which comes again after it was closed" => after_error;
    "8.1" "Connection Lifecycle" "a lost connection is made again, with a hello of the same agent" => reconnect;
    "8.2" "Connection Lifecycle" "it is a WebSocket: pings are answered with pongs" => pong;
}

fn operation(op: &str) -> (String, Value) {
    let id = uuid::Uuid::new_v4().to_string();
    let data = json!({ "guildId": "main", "voiceChannelId": "v1", "query": "anything" });
    (id.clone(), json!({ "type": "req", "id": id, "op": op, "data": data, "agentId": "the one that is asked" }))
}

async fn answered(seat: &mut Seat, id: &str) -> Verdict<Value> {
    let fits = |frame: &Value| frame["type"] == "resp" && frame["id"] == id;
    let answer = seat.link.find("a `resp` to the request", fits).await?;
    ensure!(answer["ok"].is_boolean(), "`ok` is no boolean: {}", short(&answer));
    ensure!(answer["ok"] == true || answer["error"].is_string(), "an error without words: {}", short(&answer));
    Ok(answer)
}

/// A request as the agent's own: it names the agent.
async fn ask(seat: &mut Seat, op: &str) -> Verdict<Value> {
    let (id, mut request) = operation(op);
    request["agentId"] = seat.first["agentId"].clone();
    seat.link.send(request).await?;
    answered(seat, &id).await
}

async fn version(stage: Arc<Stage>) -> Verdict {
    let seat = stage.agent().await?;
    ensure!(seat.first["type"] == "hello", "the first frame is {}", short(&seat.first));
    ensure!(seat.first["protocolVersion"] == "1.0.0", "`protocolVersion`: {}", short(&seat.first));
    stage.listener.leave(seat).await
}

async fn agent_id(stage: Arc<Stage>) -> Verdict {
    let seat = stage.agent().await?;
    ensure!(!text(&seat.first, "agentId")?.is_empty(), "`agentId` is empty");
    stage.listener.leave(seat).await
}

async fn types(stage: Arc<Stage>) -> Verdict {
    let seat = stage.agent().await?;
    let hello = &seat.first;
    for key in ["botUserId", "tag"] {
        ensure!(hello[key].is_string() || hello[key].is_null(), "`{key}`: {}", short(hello));
    }
    ensure!(hello["ready"].is_boolean(), "`ready` is no boolean: {}", short(hello));
    ensure!(are_strings(&hello["guildIds"]), "`guildIds` are no strings: {}", short(hello));
    ensure!(hello["poolId"].is_string(), "`poolId` is no string: {}", short(hello));
    stage.listener.leave(seat).await
}

fn are_strings(list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

async fn heartbeat(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    let hello = seat.link.find("another `hello`", |frame| frame["type"] == "hello").await?;
    ensure!(hello["protocolVersion"] == "1.0.0", "`protocolVersion`: {}", short(&hello));
    ensure!(hello["agentId"] == seat.first["agentId"], "another agent: {}", short(&hello));
    stage.listener.leave(seat).await
}

async fn guilds(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    let guilds = seat.link.find("`guilds`", |frame| frame["type"] == "guilds").await?;
    ensure!(are_strings(&guilds["guildIds"]), "`guildIds` are no strings: {}", short(&guilds));
    stage.listener.leave(seat).await
}

async fn response(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    ask(&mut seat, "status").await?;
    stage.listener.leave(seat).await
}

async fn unknown_operation(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    let answer = ask(&mut seat, &word()).await?;
    ensure!(answer["ok"] == false, "it was done: {}", short(&answer));
    stage.listener.leave(seat).await
}

async fn each(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    let requests: Vec<(String, Value)> = ["status", "queue", "search"].into_iter().map(operation).collect();
    for (_, request) in &requests {
        let mut request = request.clone();
        request["agentId"] = seat.first["agentId"].clone();
        seat.link.send(request).await?;
    }
    for (id, _) in requests.iter().rev() {
        answered(&mut seat, id).await?;
    }
    stage.listener.leave(seat).await
}

async fn pong(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    seat.link.is_alive().await?;
    stage.listener.leave(seat).await
}

async fn after_error(stage: Arc<Stage>) -> Verdict {
    let mut seat = stage.agent().await?;
    seat.link.send(json!({ "type": "error", "error": "Something went wrong here." })).await?;
    seat.link.close().await;
    comes_again(&stage, &seat.first).await
}

async fn reconnect(stage: Arc<Stage>) -> Verdict {
    let seat = stage.agent().await?;
    drop(seat.link);
    comes_again(&stage, &seat.first).await
}

async fn comes_again(stage: &Stage, before: &Value) -> Verdict {
    let seat = stage.listener.next().await?;
    ensure!(seat.first["type"] == "hello", "it begins with {}", short(&seat.first));
    ensure!(seat.first["agentId"] == before["agentId"], "another agent: {}", short(&seat.first));
    stage.listener.leave(seat).await
}
