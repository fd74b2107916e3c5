//! Messages and threads.

use std::sync::Arc;

use serde_json::{Value, json};

use super::member::{Member, id_of, is};
use super::{Stage, given};
use crate::case::{Verdict, ensure};
use crate::link::{short, word};

const MAX_CHARACTERS: usize = 10_000;

/// The first person speaks, the other listens.
async fn both(stage: &Stage) -> Verdict<(Member, Member)> {
    Ok((stage.person().await?, stage.other().await?))
}

/// Sends with these fields beside channel and content; what the other hears.
async fn heard(stage: &Stage, fields: Value) -> Verdict<Value> {
    let (mut speaker, mut reader) = both(stage).await?;
    let said = word();
    let mut data = json!({ "channel_id": stage.channel()?, "content": said });
    for (key, value) in fields.as_object().into_iter().flatten() {
        data[key] = value.clone();
    }
    speaker.ask("message.send", data, "message.ack").await?;
    reader.hears(&said).await
}

pub async fn ack(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    let said = word();
    let id = speaker.say(stage.channel()?, &said).await?;
    let message = reader.hears(&said).await?;
    ensure!(id_of(&message)? == id, "the acknowledged id {id:?} is not that of {}", short(&message));
    Ok(())
}

pub async fn broadcast(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    let said = word();
    speaker.say(stage.channel()?, &said).await?;
    let message = reader.hears(&said).await?;
    ensure!(message["channel_id"] == stage.channel()?, "`channel_id`: {}", short(&message));
    ensure!(message["sender_id"] == speaker.id.as_str(), "`sender_id`: {}", short(&message));
    Ok(())
}

pub async fn own(stage: Arc<Stage>) -> Verdict {
    let (mut person, said) = (stage.person().await?, word());
    person.say(stage.channel()?, &said).await?;
    person.hears(&said).await.map(drop)
}

pub async fn content_type(stage: Arc<Stage>) -> Verdict {
    for (fields, expected) in [(json!({}), "text"), (json!({ "content_type": "markdown" }), "markdown")] {
        let message = heard(&stage, fields).await?;
        ensure!(message["content_type"] == expected, "not {expected:?}: {}", short(&message));
    }
    Ok(())
}

pub async fn in_thread(stage: Arc<Stage>) -> Verdict {
    let root = stage.person().await?.say(stage.channel()?, &word()).await?;
    let message = heard(&stage, json!({ "thread_id": root })).await?;
    ensure!(message["thread_id"] == root.as_str(), "`thread_id`: {}", short(&message));
    Ok(())
}

pub async fn metadata(stage: Arc<Stage>) -> Verdict {
    let metadata = json!({ "suite": "conformance", "nested": { "number": 7 } });
    let message = heard(&stage, json!({ "metadata": metadata })).await?;
    ensure!(message["metadata"] == metadata, "`metadata`: {}", short(&message));
    Ok(())
}

pub async fn longest(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    for letter in ["x", "é"] {
        let said = word();
        let content = format!("{said}{}", letter.repeat(MAX_CHARACTERS - said.len()));
        speaker.say(stage.channel()?, &content).await?;
        reader.hears(&content).await?;
    }
    Ok(())
}

pub async fn too_long(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    let data = json!({ "channel_id": stage.channel()?, "content": "x".repeat(MAX_CHARACTERS + 1) });
    let error = person.refused("message.send", data).await?;
    ensure!(error == "content too long (max 10000 characters)", "the error is {error:?}");
    Ok(())
}

pub async fn required(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    for data in [json!({ "content": "to nobody" }), json!({ "channel_id": stage.channel()? })] {
        person.refused("message.send", data).await?;
    }
    Ok(())
}

pub async fn outside(stage: Arc<Stage>) -> Verdict {
    let channel = given(&stage.outside, "--outside")?;
    let mut person = stage.person().await?;
    for kind in ["message.send", "channel.join"] {
        let error = person.refused(kind, json!({ "channel_id": channel, "content": "let me in" })).await?;
        ensure!(error == "not a channel member", "`{kind}`: the error is {error:?}");
    }
    Ok(())
}

pub async fn edit(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    let id = speaker.say(stage.channel()?, &word()).await?;
    let changed = word();
    speaker.send("message.edit", json!({ "message_id": id, "content": changed })).await?;
    let message = reader.hears_as("message.edit", &changed).await?;
    ensure!(id_of(&message)? == id, "another message is edited: {}", short(&message));
    Ok(())
}

pub async fn foreign_edit(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut other) = both(&stage).await?;
    let id = speaker.say(stage.channel()?, &word()).await?;
    other.refused("message.edit", json!({ "message_id": id, "content": "not mine" })).await?;
    untold(&stage, &mut speaker, "message.edit", &id).await
}

pub async fn delete(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    let id = speaker.say(stage.channel()?, &word()).await?;
    speaker.send("message.delete", json!({ "message_id": id })).await?;
    let told = |frame: &Value| is_about(frame, "message.delete", &id);
    reader.link.find("`message.delete` of that message", told).await.map(drop)
}

pub async fn foreign_delete(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut other) = both(&stage).await?;
    let id = speaker.say(stage.channel()?, &word()).await?;
    other.refused("message.delete", json!({ "message_id": id })).await?;
    untold(&stage, &mut speaker, "message.delete", &id).await
}

/// Something said later is heard, and nothing of this kind came before it.
async fn untold(stage: &Stage, reader: &mut Member, kind: &str, id: &str) -> Verdict {
    let marker = word();
    reader.say(stage.channel()?, &marker).await?;
    reader.hears(&marker).await?;
    ensure!(!reader.link.has_kept(|frame| is_about(frame, kind, id)), "`{kind}` was told all the same");
    Ok(())
}

fn is_about(frame: &Value, kind: &str, id: &str) -> bool {
    is(frame, kind) && id_of(&frame["data"]).is_ok_and(|found| found == id)
}

pub async fn reply(stage: Arc<Stage>) -> Verdict {
    let (mut speaker, mut reader) = both(&stage).await?;
    let (channel, said) = (stage.channel()?, word());
    let root = speaker.say(channel, &word()).await?;
    speaker.send("thread.reply", json!({ "channel_id": channel, "parent_id": root, "content": said })).await?;
    let message = reader.hears(&said).await?;
    ensure!(message["thread_id"] == root.as_str(), "`thread_id`: {}", short(&message));
    Ok(())
}
