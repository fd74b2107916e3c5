//! The envelope, and errors.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Stage;
use super::member::{Member, envelope, is};
use crate::case::{Verdict, ensure};
use crate::link::{Link, short, word};

/// A short conversation, and every frame of the server in it.
async fn frames(stage: &Stage) -> Verdict<Vec<Value>> {
    let mut link = Link::dial(&stage.url).await?;
    let mut frames = Vec::new();
    link.send(envelope("channel.join", json!({ "channel_id": "none" }))).await?;
    frames.push(link.next("an answer before the log-in").await?);
    link.send(envelope("auth.login", json!({ "token": stage.key }))).await?;
    frames.push(link.find("`auth.success`", |frame| is(frame, "auth.success")).await?);
    let channel = stage.channel()?;
    for kind in ["channel.join", "typing.start", "message.send", "message.send"] {
        link.send(envelope(kind, json!({ "channel_id": channel, "content": word() }))).await?;
    }
    link.send(envelope("message.send", json!("not an object"))).await?;
    loop {
        let frame = link.next("the answers of a short conversation").await?;
        let is_last = is(&frame, "error");
        frames.push(frame);
        if is_last {
            return Ok(frames);
        }
    }
}

pub async fn fields(stage: Arc<Stage>) -> Verdict {
    for frame in frames(&stage).await? {
        ensure!(frame["v"] == 1, "`v` is not 1: {}", short(&frame));
        ensure!(frame["type"].is_string(), "`type` is not a string: {}", short(&frame));
        let ts = frame["ts"].as_i64().unwrap_or(0);
        ensure!(
            (1_600_000_000_000..10_000_000_000_000).contains(&ts),
            "`ts` is not in milliseconds: {}",
            short(&frame)
        );
    }
    Ok(())
}

pub async fn data_is_an_object(stage: Arc<Stage>) -> Verdict {
    for frame in frames(&stage).await? {
        let data = frame.get("data");
        ensure!(data.is_none_or(|data| data.is_object() || data.is_null()), "`data` is no object: {}", short(&frame));
    }
    Ok(())
}

pub async fn types(stage: Arc<Stage>) -> Verdict {
    for frame in frames(&stage).await? {
        let kind = frame["type"].as_str().unwrap_or_default();
        let is_dotted = kind.contains('.') && kind.split('.').all(|word| !word.is_empty());
        ensure!(is_dotted || kind == "error", "`type` is not dotted: {}", short(&frame));
    }
    Ok(())
}

pub async fn no_id(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    let said = word();
    let data = json!({ "channel_id": stage.channel()?, "content": said });
    person.link.send(json!({ "v": 1, "type": "message.send", "ts": 1_716_849_600_000_i64, "data": data })).await?;
    person.hears(&said).await.map(drop)
}

pub async fn correlation(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    let request = envelope("channel.join", json!({ "channel_id": stage.channel()? }));
    let id = request["id"].clone();
    person.link.send(request).await?;
    let answer = person.link.find("`channel.join`", |frame| is(frame, "channel.join")).await?;
    ensure!(answer["reply_to"] == id || answer["id"] == id, "the request's id is not in {}", short(&answer));
    Ok(())
}

pub async fn not_authenticated(stage: Arc<Stage>) -> Verdict {
    let mut link = Link::dial(&stage.url).await?;
    for kind in ["message.send", "channel.join", "agent.hello", "typing.start", "call.offer"] {
        link.send(envelope(kind, json!({ "channel_id": "none", "content": "early" }))).await?;
        let answer = link.next(&format!("the answer to an early `{kind}`")).await?;
        ensure!(is(&answer, "error"), "`{kind}` was answered with {}", short(&answer));
        ensure!(answer["data"]["error"] == "not authenticated", "another error: {}", short(&answer));
    }
    Ok(())
}

pub async fn invalid_data(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    for (kind, data) in [("channel.join", json!({ "channel_id": 7 })), ("typing.start", json!("nonsense"))] {
        let error = person.refused(kind, data).await?;
        ensure!(error == "invalid data", "`{kind}`: the error is {error:?}");
    }
    Ok(())
}

pub async fn goes_on(stage: Arc<Stage>) -> Verdict {
    let mut person: Member = stage.person().await?;
    person.refused("channel.join", json!({})).await?;
    let said = word();
    person.say(stage.channel()?, &said).await.map(drop)
}
