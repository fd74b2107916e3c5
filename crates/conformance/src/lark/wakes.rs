//! What wakes an agent, and what it is told then.

use std::sync::Arc;

use serde_json::{Value, json};

use super::member::{Member, is, says};
use super::{Stage, given};
use crate::case::{Fault, Verdict, ensure};
use crate::link::{short, word};

/// Somebody to speak, and an agent that has said hello.
async fn both(stage: &Stage) -> Verdict<(Member, Member)> {
    let (person, mut agent) = (stage.person().await?, stage.agent().await?);
    agent.hello().await?;
    Ok((person, agent))
}

/// The agent is mentioned in the channel: the wake, and the word that was said.
async fn mentioned(stage: &Stage) -> Verdict<(Value, String)> {
    let (mut person, mut agent) = both(stage).await?;
    let said = word();
    person.say(stage.channel()?, &format!("@{} {said}", agent.name)).await?;
    let wake = agent.woken(&said).await?;
    agent.answer(stage.channel()?, None).await?;
    Ok((wake, said))
}

pub async fn mention(stage: Arc<Stage>) -> Verdict {
    let (wake, _) = mentioned(&stage).await?;
    ensure!(wake["reason"] == "mention", "the reason is another: {}", short(&wake["reason"]));
    ensure!(wake["context"]["channel"]["id"] == stage.channel()?, "not this channel: {}", short(&wake["context"]));
    Ok(())
}

pub async fn message_fields(stage: Arc<Stage>) -> Verdict {
    let (wake, said) = mentioned(&stage).await?;
    let message = recent(&wake)?.iter().find(|message| says(message, &said)).expect("the wake is about it");
    for key in ["id", "sender_id", "content"] {
        ensure!(message[key].is_string(), "`{key}` is not a string: {}", short(message));
    }
    ensure!(
        message["created_at"].as_i64().is_some_and(|at| at > 1_600_000_000_000),
        "`created_at`: {}",
        short(message)
    );
    Ok(())
}

pub async fn no_thread(stage: Arc<Stage>) -> Verdict {
    let (wake, _) = mentioned(&stage).await?;
    ensure!(wake["context"]["thread"].is_null(), "there is a thread: {}", short(&wake["context"]["thread"]));
    Ok(())
}

pub async fn direct(stage: Arc<Stage>) -> Verdict {
    let channel = given(&stage.direct, "--direct")?;
    let (mut person, mut agent) = both(&stage).await?;
    let said = word();
    person.say(channel, &said).await?;
    let wake = agent.woken(&said).await?;
    agent.answer(channel, None).await?;
    ensure!(wake["reason"] == "dm", "the reason is another: {}", short(&wake["reason"]));
    Ok(())
}

pub async fn thread_reply(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = both(&stage).await?;
    let (channel, said) = (stage.channel()?, word());
    let root = agent.say(channel, &format!("a thread {}", word())).await?;
    let data = json!({ "channel_id": channel, "parent_id": root, "content": said });
    person.send("thread.reply", data).await?;
    let what = "`agent.wake` with the reason `thread_reply`";
    let fits = |frame: &Value| is(frame, "agent.wake") && frame["data"]["reason"] == "thread_reply";
    let wake = agent.link.find(what, fits).await?;
    agent.answer(channel, Some(&root)).await?;
    let context = &wake["data"]["context"];
    ensure!(!context["thread"].is_null(), "there is no thread in {}", short(context));
    ensure!(!recent(&wake["data"])?.is_empty(), "no messages in {}", short(context));
    Ok(())
}

pub async fn twenty(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = both(&stage).await?;
    let channel = stage.channel()?;
    let mut said = Vec::new();
    for _ in 0..22 {
        said.push(word());
        person.say(channel, said.last().expect("just pushed")).await?;
    }
    let last = word();
    person.say(channel, &format!("@{} {last}", agent.name)).await?;
    let wake = agent.woken(&last).await?;
    agent.answer(channel, None).await?;
    let recent = recent(&wake)?;
    ensure!(recent.len() == 20, "{} messages are in the wake", recent.len());
    let missing = said[3..].iter().find(|said| !recent.iter().any(|message| says(message, said)));
    ensure!(missing.is_none(), "not the newest 20: {missing:?} is missing");
    Ok(())
}

pub async fn sleeping(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = both(&stage).await?;
    agent.send("agent.sleep", json!({})).await?;
    super::agents::presence(&mut person, &agent.id, "sleeping").await?;
    let said = word();
    person.say(stage.channel()?, &format!("@{} {said}", agent.name)).await?;
    agent.woken(&said).await?;
    agent.hello().await?;
    agent.answer(stage.channel()?, None).await
}

pub async fn no_trigger(stage: Arc<Stage>) -> Verdict {
    is_no_mention(&stage, |name| vec![format!("{name} is not called"), "just talk".to_owned()]).await
}

pub async fn inside_a_word(stage: Arc<Stage>) -> Verdict {
    is_no_mention(&stage, |name| vec![format!("mail@{name} is an address"), format!("@{name}x is somebody else")]).await
}

/// None of these sentences wakes; the mention behind them does, and no wake comes before it.
async fn is_no_mention(stage: &Stage, sentences: impl Fn(&str) -> Vec<String>) -> Verdict {
    let (mut person, mut agent) = both(stage).await?;
    let (channel, marker) = (stage.channel()?, word());
    for sentence in sentences(&agent.name) {
        let said = word();
        person.say(channel, &format!("{sentence} {said}")).await?;
        let woken = |frame: &Value| is(frame, "agent.wake") && frame.to_string().contains(&said);
        agent.link.silence(stage.quiet, "a wake", woken).await?;
    }
    person.say(channel, &format!("@{} {marker}", agent.name)).await?;
    agent.woken(&marker).await?;
    agent.answer(channel, None).await
}

pub async fn punctuation(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = both(&stage).await?;
    for behind in [",", ".", "!", "?", ":"] {
        let said = word();
        person.say(stage.channel()?, &format!("{said} and @{}{behind} so", agent.name)).await?;
        agent.woken(&said).await?;
        agent.answer(stage.channel()?, None).await?;
    }
    Ok(())
}

pub async fn mention_in_reply(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = both(&stage).await?;
    let (channel, said) = (stage.channel()?, word());
    let root = person.say(channel, &format!("a thread {}", word())).await?;
    let content = format!("@{} {said}", agent.name);
    person.send("thread.reply", json!({ "channel_id": channel, "parent_id": root, "content": content })).await?;
    let woken = |frame: &Value| is(frame, "agent.wake") && frame.to_string().contains(&root);
    agent.link.find("`agent.wake` in that thread", woken).await?;
    agent.answer(channel, Some(&root)).await
}

pub async fn through_a_daemon(stage: Arc<Stage>) -> Verdict {
    let agent = stage.agent().await?;
    let (id, name) = (agent.id.clone(), agent.name.clone());
    agent.link.close().await;
    let (mut daemon, mut speaker) = (stage.person().await?, stage.other().await?);
    let request = json!({ "agents": [{ "name": name, "agent_id": id }] });
    daemon.ask("daemon.register", request, "daemon.registered").await?;
    let said = word();
    speaker.say(stage.channel()?, &format!("@{name} {said}")).await?;
    daemon.woken(&said).await.map(drop)
}

fn recent(wake: &Value) -> Verdict<&Vec<Value>> {
    let recent = wake["context"]["recent_messages"].as_array();
    recent.ok_or_else(|| Fault::broken(format!("no `recent_messages` in {}", short(wake))))
}
