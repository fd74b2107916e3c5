//! Upgrade, log-in, and which channels are heard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Stage;
use super::member::{Member, envelope, is, message};
use crate::case::{Verdict, ensure};
use crate::link::{Link, short, word};

pub async fn upgrade(stage: Arc<Stage>) -> Verdict {
    let mut link = Link::dial(&stage.url).await?;
    link.is_alive().await?;
    link.send(envelope("channel.join", json!({ "channel_id": "none" }))).await?;
    let answer = link.next("an answer").await?;
    ensure!(!is(&answer, "channel.join"), "somebody is logged in already: {}", short(&answer));
    Ok(())
}

pub async fn timeout(stage: Arc<Stage>) -> Verdict {
    let begun = Instant::now();
    let mut link = Link::dial(&stage.url).await?;
    let frame = link.next("`auth.fail` after 30 seconds").await?;
    ensure!(is(&frame, "auth.fail"), "instead of `auth.fail` came {}", short(&frame));
    ensure!(begun.elapsed() >= Duration::from_secs(25), "it came after {:?} already", begun.elapsed());
    link.end().await.map(drop)
}

pub async fn person(stage: Arc<Stage>) -> Verdict {
    let person = stage.person().await?;
    check_identity(&person, "human")
}

pub async fn agent(stage: Arc<Stage>) -> Verdict {
    let agent = stage.agent().await?;
    check_identity(&agent, "agent")
}

fn check_identity(member: &Member, kind: &str) -> Verdict {
    let identity = &member.identity;
    for key in ["member_id", "workspace_id", "name"] {
        let is_there = identity[key].as_str().is_some_and(|value| !value.is_empty());
        ensure!(is_there, "`{key}` is missing in {}", short(identity));
    }
    ensure!(identity["type"] == kind, "`type` is not {kind:?} in {}", short(identity));
    Ok(())
}

pub async fn wrong_token(stage: Arc<Stage>) -> Verdict {
    refused_log_in(&stage, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.c2lnbmF0dXJl").await
}

pub async fn wrong_key(stage: Arc<Stage>) -> Verdict {
    refused_log_in(&stage, &format!("lr_{}", "0".repeat(64))).await
}

async fn refused_log_in(stage: &Stage, token: &str) -> Verdict {
    let mut link = Link::dial(&stage.url).await?;
    link.send(envelope("auth.login", json!({ "token": token }))).await?;
    let frame = link.next("the answer to a wrong log-in").await?;
    ensure!(is(&frame, "auth.fail"), "it was answered with {}", short(&frame));
    ensure!(frame["data"]["error"] == "invalid credentials", "the error is another: {}", short(&frame));
    Ok(())
}

pub async fn first_message(stage: Arc<Stage>) -> Verdict {
    let (mut reader, said) = (stage.person().await?, word());
    let mut link = Link::dial(&stage.url).await?;
    link.send(envelope("message.send", json!({ "channel_id": stage.channel()?, "content": said }))).await?;
    let answer = link.next("the answer to an early message").await?;
    ensure!(is(&answer, "error") || is(&answer, "auth.fail"), "it was answered with {}", short(&answer));
    // What was said later is heard; what came too early would have been heard before it.
    let marker = word();
    reader.say(stage.channel()?, &marker).await?;
    reader.hears(&marker).await?;
    ensure!(!reader.link.has_kept(|frame| message(frame)["content"] == said.as_str()), "it was said all the same");
    Ok(())
}

pub async fn auto_subscribe(stage: Arc<Stage>) -> Verdict {
    let (mut reader, mut speaker) = (stage.person().await?, stage.other().await?);
    let said = word();
    speaker.say(stage.channel()?, &said).await?;
    reader.hears(&said).await.map(drop)
}

pub async fn join(stage: Arc<Stage>) -> Verdict {
    let mut person = stage.person().await?;
    let data = person.ask("channel.join", json!({ "channel_id": stage.channel()? }), "channel.join").await?;
    ensure!(data["channel_id"] == stage.channel()?, "another channel: {}", short(&data));
    Ok(())
}

pub async fn leave(stage: Arc<Stage>) -> Verdict {
    let (mut reader, mut speaker) = (stage.person().await?, stage.other().await?);
    let channel = stage.channel()?;
    reader.send("channel.leave", json!({ "channel_id": channel })).await?;
    // The document gives `channel.leave` no answer; the next answer says that it was read.
    reader.refused("channel.join", json!({})).await?;
    let (unheard, heard) = (word(), word());
    speaker.say(channel, &unheard).await?;
    reader.ask("channel.join", json!({ "channel_id": channel }), "channel.join").await?;
    speaker.say(channel, &heard).await?;
    reader.hears(&heard).await?;
    let heard_too =
        reader.link.has_kept(|frame| is(frame, "message.new") && message(frame)["content"] == unheard.as_str());
    ensure!(!heard_too, "a channel that was left is still heard");
    Ok(())
}
