//! The Chopsticks suite: a controller that agents connect to.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Errand, Fault, Verdict, cases, ensure};
use crate::link::{Ended, Link, short, text, word};

/// What the suite is given.
pub struct Stage {
    pub url: String,
    /// The runner secret, where the controller wants one.
    pub secret: Option<String>,
    /// Lets the controller ask an agent: gets the agent's id and the operation.
    pub ask: Option<Errand>,
    /// How long to listen for what must not come.
    pub quiet: Duration,
}

cases! { Stage:
    "1.1" "Protocol Versioning" "an agent of version 1.0.0 is taken" => taken;
    "2.1" "hello" "without `protocolVersion` it gets an `error` and is closed with 1008" => no_version;
    "2.2" "hello" "with an incompatible version it gets an `error` and is closed with 1008" => wrong_version;
    "2.3" "hello" "without `agentId` it is ignored: no answer, and the connection stays" => no_agent_id;
    "2.4" "hello" "bot and tag may be null" => nulls;
    "2.5" "hello" "is said again as a heartbeat, without an answer" => heartbeat;
    "3.1" "guilds" "is taken without an answer" => guilds;
    "4.1" "event released" "is taken without an answer" => released;
    "4.2" "event add" "is taken without an answer, whether it went well or not" => added;
    "5.1" "resp" "the answer of an agent reaches who asked" => answered;
    "5.2" "resp" "an error of an agent reaches who asked" => refused;
    "5.3" "resp" "an answer to no request does no harm" => stray_answer;
    "6.1" "req" "has an id, an operation, data and the agent's own id" => request;
    "6.2" "req" "every request has an id of its own" => request_ids;
    "7.1" "error" "has the type `error` and a sentence" => error_shape;
    "8.1" "Graceful Disconnect" "an agent that said goodbye may come again under its id" => comes_again;
    "9.1" "Error Handling" "a message of an invalid format does not end the connection" => invalid_format;
    "9.2" "Error Handling" "a message without a required field is ignored" => missing_fields;
}

struct Agent {
    link: Link,
    id: String,
}

impl Stage {
    fn hello(&self, id: &str) -> Value {
        let mut hello = json!({
            "type": "hello", "protocolVersion": "1.0.0", "agentId": id, "botUserId": "1468195142467981395",
            "tag": "Suite#1234", "ready": true, "guildIds": ["1445809891242414226"], "poolId": "pool_conformance",
        });
        if let Some(secret) = &self.secret {
            hello["runnerSecret"] = json!(secret);
        }
        hello
    }

    /// An agent that has said hello and was not sent away.
    async fn agent(&self) -> Verdict<Agent> {
        let (mut link, id) = (Link::dial(&self.url).await?, format!("agent{}", word()));
        link.send(self.hello(&id)).await?;
        let mut agent = Agent { link, id };
        self.nothing_comes(&mut agent.link).await?;
        Ok(agent)
    }

    /// The connection stays, and nothing is said on it. Requests may come: they are the controller's own affair.
    async fn nothing_comes(&self, link: &mut Link) -> Verdict {
        link.silence(self.quiet, "an answer", |frame| frame["type"] != "req").await?;
        link.is_alive().await
    }

    /// Sends what must be taken without an answer.
    async fn swallowed(&self, frames: Vec<Value>) -> Verdict {
        let mut agent = self.agent().await?;
        for frame in frames {
            agent.link.send(frame).await?;
        }
        self.nothing_comes(&mut agent.link).await
    }
}

async fn taken(stage: Arc<Stage>) -> Verdict {
    stage.agent().await.map(drop)
}

/// Says this hello, which must be refused; the sentence of the error.
async fn turned_away(stage: &Stage, hello: Value) -> Verdict<String> {
    let mut link = Link::dial(&stage.url).await?;
    link.send(hello).await?;
    let error = link.next("an `error`").await?;
    ensure!(error["type"] == "error", "instead of an error came {}", short(&error));
    let ended = link.end().await?;
    ensure!(ended == Ended(Some(1008)), "it was not closed with 1008: {ended:?}");
    Ok(text(&error, "error")?.to_owned())
}

async fn no_version(stage: Arc<Stage>) -> Verdict {
    let mut hello = stage.hello(&format!("agent{}", word()));
    hello.as_object_mut().expect("an object").remove("protocolVersion");
    turned_away(&stage, hello).await.map(drop)
}

async fn wrong_version(stage: Arc<Stage>) -> Verdict {
    for version in ["0.9.0", "2.0.0"] {
        let mut hello = stage.hello(&format!("agent{}", word()));
        hello["protocolVersion"] = json!(version);
        turned_away(&stage, hello).await?;
    }
    Ok(())
}

async fn error_shape(stage: Arc<Stage>) -> Verdict {
    let mut hello = stage.hello(&format!("agent{}", word()));
    hello["protocolVersion"] = json!("0.9.0");
    let sentence = turned_away(&stage, hello).await?;
    ensure!(!sentence.is_empty(), "the error says nothing");
    Ok(())
}

async fn no_agent_id(stage: Arc<Stage>) -> Verdict {
    let mut link = Link::dial(&stage.url).await?;
    let mut hello = stage.hello("nobody");
    hello.as_object_mut().expect("an object").remove("agentId");
    link.send(hello).await?;
    stage.nothing_comes(&mut link).await?;
    link.send(stage.hello(&format!("agent{}", word()))).await?;
    stage.nothing_comes(&mut link).await
}

async fn nulls(stage: Arc<Stage>) -> Verdict {
    let mut link = Link::dial(&stage.url).await?;
    let mut hello = stage.hello(&format!("agent{}", word()));
    (hello["botUserId"], hello["tag"]) = (Value::Null, Value::Null);
    link.send(hello).await?;
    stage.nothing_comes(&mut link).await
}

async fn heartbeat(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    agent.link.send(stage.hello(&agent.id)).await?;
    stage.nothing_comes(&mut agent.link).await
}

async fn guilds(stage: Arc<Stage>) -> Verdict {
    let guilds = |ids: Value| json!({ "type": "guilds", "guildIds": ids });
    stage.swallowed(vec![guilds(json!(["1445809891242414226", "987654321098765432"])), guilds(json!([]))]).await
}

fn event(kind: &str, ok: bool) -> Value {
    json!({
        "type": "event", "event": kind, "agentId": "any", "guildId": "1445809891242414226", "ok": ok, "kind": "music",
        "voiceChannelId": format!("v{}", word()), "channelId": "1445809891242414229", "reason": "USER_LEFT",
    })
}

async fn released(stage: Arc<Stage>) -> Verdict {
    stage.swallowed(vec![event("released", true)]).await
}

async fn added(stage: Arc<Stage>) -> Verdict {
    stage.swallowed(vec![event("add", false)]).await?;
    let mut agent = stage.agent().await?;
    let (add, mut gone) = (event("add", true), event("released", true));
    gone["voiceChannelId"] = add["voiceChannelId"].clone();
    agent.link.send(add).await?;
    stage.nothing_comes(&mut agent.link).await?;
    agent.link.send(gone).await
}

/// Lets the controller ask the agent, which answers as told: the request, and what came of it for who asked.
async fn asked(stage: &Stage, answer: impl Fn(&Value) -> Value) -> Verdict<(Value, Result<String, String>, String)> {
    let ask = stage.ask.clone().ok_or_else(|| Fault::needs("--ask"))?;
    let mut agent = stage.agent().await?;
    let asking = tokio::spawn(ask(vec![agent.id.clone(), "status".to_owned()]));
    let request = agent.link.find("a `req`", |frame| frame["type"] == "req" && frame["op"] == "status").await?;
    agent.link.send(answer(&request)).await?;
    crate::link::waiting_for("who asked to get the answer");
    let came = asking.await.map_err(|error| Fault::broken(format!("the request could not be given: {error}")))?;
    Ok((request, came, agent.id))
}

fn good(request: &Value) -> Value {
    json!({ "type": "resp", "id": request["id"], "ok": true, "data": { "action": "idle" } })
}

async fn answered(stage: Arc<Stage>) -> Verdict {
    let said = word();
    let (_, came, _) =
        asked(&stage, |request| json!({ "type": "resp", "id": request["id"], "ok": true, "data": { "word": said } }))
            .await?;
    ensure!(came.as_ref().is_ok_and(|out| out.contains(&said)), "who asked got {came:?}");
    Ok(())
}

async fn refused(stage: Arc<Stage>) -> Verdict {
    let said = word();
    let (_, came, _) =
        asked(&stage, |request| json!({ "type": "resp", "id": request["id"], "ok": false, "error": said })).await?;
    ensure!(came.as_ref().is_err_and(|error| error.contains(&said)), "who asked got {came:?}");
    Ok(())
}

async fn stray_answer(stage: Arc<Stage>) -> Verdict {
    let id = uuid::Uuid::new_v4().to_string();
    stage.swallowed(vec![json!({ "type": "resp", "id": id, "ok": true, "data": {} })]).await
}

async fn request(stage: Arc<Stage>) -> Verdict {
    let (request, _, agent) = asked(&stage, good).await?;
    ensure!(!text(&request, "id")?.is_empty(), "`id` is empty");
    ensure!(request.get("data").is_some(), "there is no `data`: {}", short(&request));
    ensure!(request["agentId"] == agent.as_str(), "`agentId` is another: {}", short(&request));
    Ok(())
}

async fn request_ids(stage: Arc<Stage>) -> Verdict {
    let (one, ..) = asked(&stage, good).await?;
    let (other, ..) = asked(&stage, good).await?;
    ensure!(one["id"] != other["id"], "two requests have the id {}", one["id"]);
    Ok(())
}

async fn comes_again(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    agent.link.send(event("released", true)).await?;
    agent.link.close().await;
    let mut link = Link::dial(&stage.url).await?;
    link.send(stage.hello(&agent.id)).await?;
    stage.nothing_comes(&mut link).await
}

/// The document says "ignored"; real controllers answer with an `error`. Both keep the connection.
async fn invalid_format(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    for wrong in ["not JSON", "[1, 2]", "7", "{}", "{\"type\": 7}"] {
        agent.link.send_text(wrong.to_owned()).await?;
    }
    agent.link.silence(stage.quiet, "something else than an error", |frame| frame["type"] != "error").await?;
    agent.link.is_alive().await
}

async fn missing_fields(stage: Arc<Stage>) -> Verdict {
    let frames = [json!({ "type": "guilds" }), json!({ "type": "event" }), json!({ "type": "resp" })];
    stage.swallowed(frames.to_vec()).await
}
