//! Typing, presence, notifications, approvals.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Stage;
use super::agents::presence as is_told;
use super::member::{Member, is};
use crate::case::{Verdict, ensure};
use crate::link::{short, word};

pub async fn typing_start(stage: Arc<Stage>) -> Verdict {
    typing(&stage, "typing.start").await
}

pub async fn typing_stop(stage: Arc<Stage>) -> Verdict {
    typing(&stage, "typing.stop").await
}

async fn typing(stage: &Stage, kind: &str) -> Verdict {
    let (mut writer, mut reader) = (stage.person().await?, stage.other().await?);
    writer.send("typing.start", json!({ "channel_id": stage.channel()? })).await?;
    writer.send("typing.stop", json!({ "channel_id": stage.channel()? })).await?;
    let data = reader.expect_about(kind, &writer.id).await?;
    ensure!(data["channel_id"] == stage.channel()?, "in another channel: {}", short(&data));
    let named = data.as_object().is_some_and(|data| data.values().any(|value| *value == writer.name.as_str()));
    ensure!(named, "the member's name is not in {}", short(&data));
    Ok(())
}

pub async fn presence(stage: Arc<Stage>) -> Verdict {
    let mut reader = stage.person().await?;
    let id = is_told_of_going(&stage, &mut reader).await?;
    let _other = stage.other().await?;
    is_told(&mut reader, &id, "online").await
}

/// A server may keep changes to itself that were undone at once, so the other stays for a moment before it goes; where the
/// server had no time to tell of it, for longer. The id of the other.
async fn is_told_of_going(stage: &Stage, reader: &mut Member) -> Verdict<String> {
    let mut stay = stage.quiet;
    loop {
        let other = stage.other().await?;
        let id = other.id.clone();
        reader.link.silence(stay, "nothing in particular", |_| false).await?;
        reader.link.forget();
        other.link.close().await;
        if let Ok(told) = tokio::time::timeout(stay * 4, is_told(reader, &id, "offline")).await {
            return told.map(|()| id);
        }
        stay *= 2;
    }
}

fn is_notification(frame: &Value, said: &str) -> bool {
    is(frame, "notification.new") && frame["data"]["body"].as_str().is_some_and(|body| body.contains(said))
}

pub async fn notification(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut speaker) = (stage.person().await?, stage.other().await?);
    let said = word();
    let message = speaker.say(stage.channel()?, &format!("@{} {said}", person.name)).await?;
    let frame = person.link.find("`notification.new`", |frame| is_notification(frame, &said)).await?;
    let data = &frame["data"];
    for (key, value) in [
        ("member_id", json!(person.id)),
        ("type", json!("mention")),
        ("channel_id", json!(stage.channel()?)),
        ("message_id", json!(message)),
        ("is_read", json!(false)),
    ] {
        ensure!(data[key] == value, "`{key}` is not {value}: {}", short(data));
    }
    for key in ["id", "title"] {
        ensure!(data[key].as_str().is_some_and(|text| !text.is_empty()), "`{key}`: {}", short(data));
    }
    ensure!(data["created_at"].as_i64().is_some_and(|at| at > 1_600_000_000_000), "`created_at`: {}", short(data));
    Ok(())
}

pub async fn notification_is_personal(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut speaker) = (stage.person().await?, stage.other().await?);
    let said = word();
    speaker.say(stage.channel()?, &format!("@{} {said}", person.name)).await?;
    person.link.find("`notification.new`", |frame| is_notification(frame, &said)).await?;
    speaker.link.silence(stage.quiet, "somebody else's notification", |frame| is_notification(frame, &said)).await
}

pub async fn approval(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = (stage.person().await?, stage.agent().await?);
    agent.hello().await?;
    let action = word();
    let data = json!({ "channel_id": stage.channel()?, "action": action, "payload": "{\"service\":\"api\"}" });
    agent.send("approval.request", data).await?;
    let asked = |frame: &Value| is(frame, "approval.request") && frame["data"]["action"] == action.as_str();
    let frame = person.link.find("`approval.request`", asked).await?;
    ensure!(frame["data"]["id"].is_string(), "it has no id: {}", short(&frame));
    Ok(())
}
