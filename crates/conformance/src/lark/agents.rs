//! Agents: hello, presence, thinking, and the daemons that carry them.

use std::sync::Arc;

use serde_json::json;

use super::Stage;
use super::member::is;
use crate::case::{Verdict, ensure};
use crate::link::{short, text};

pub async fn hello(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    let welcome = agent.hello().await?;
    ensure!(welcome["agent_id"] == agent.id.as_str(), "`agent_id` is not the agent's: {}", short(&welcome));
    ensure!(welcome["status"] == "awake", "`status` is not `awake`: {}", short(&welcome));
    Ok(())
}

pub async fn short_hello(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    let data = json!({ "name": agent.name, "role_card": { "system_prompt": "Short." } });
    agent.ask("agent.hello", data, "agent.welcome").await.map(drop)
}

pub async fn hello_again(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    agent.hello().await?;
    let data = json!({ "name": agent.name, "role_card": { "system_prompt": "Another.", "capabilities": ["more"] } });
    let welcome = agent.ask("agent.hello", data, "agent.welcome").await?;
    ensure!(welcome["agent_id"] == agent.id.as_str(), "another agent is welcome: {}", short(&welcome));
    Ok(())
}

pub async fn online(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = (stage.person().await?, stage.agent().await?);
    agent.hello().await?;
    agent.send("agent.sleep", json!({})).await?;
    presence(&mut person, &agent.id, "sleeping").await?;
    agent.hello().await?;
    presence(&mut person, &agent.id, "online").await
}

pub async fn sleep(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = (stage.person().await?, stage.agent().await?);
    agent.hello().await?;
    agent.send("agent.sleep", json!({})).await?;
    presence(&mut person, &agent.id, "sleeping").await?;
    agent.hello().await.map(drop)
}

/// Waits until this member is told to be so.
pub async fn presence(reader: &mut super::Member, member: &str, status: &str) -> Verdict {
    let what = format!("`presence.update` of {member}: {status}");
    let fits = |frame: &serde_json::Value| {
        is(frame, "presence.update") && frame["data"]["member_id"] == member && frame["data"]["status"] == status
    };
    reader.link.find(&what, fits).await.map(drop)
}

pub async fn thinking(stage: Arc<Stage>) -> Verdict {
    let (mut person, mut agent) = (stage.person().await?, stage.agent().await?);
    agent.hello().await?;
    agent.send("agent.thinking", json!({ "channel_id": stage.channel()? })).await?;
    let typing = person.expect_about("typing.start", &agent.id).await?;
    ensure!(typing["channel_id"] == stage.channel()?, "in another channel: {}", short(&typing));
    Ok(())
}

pub async fn replaced(stage: Arc<Stage>) -> Verdict {
    let mut older = stage.agent().await?;
    older.hello().await?;
    let mut newer = stage.agent().await?;
    newer.hello().await?;
    older.link.end().await?;
    newer.link.is_alive().await
}

pub async fn again_after_reconnect(stage: Arc<Stage>) -> Verdict {
    let mut agent = stage.agent().await?;
    agent.hello().await?;
    agent.link.close().await;
    let mut agent = stage.agent().await?;
    let welcome = agent.hello().await?;
    ensure!(welcome["status"] == "awake", "`status` is not `awake`: {}", short(&welcome));
    Ok(())
}

pub async fn daemon(stage: Arc<Stage>) -> Verdict {
    let agent = stage.agent().await?;
    let (id, name) = (agent.id.clone(), agent.name.clone());
    agent.link.close().await;
    let mut daemon = stage.person().await?;
    let request = json!({ "agents": [{ "name": name, "agent_id": id }] });
    let answer = daemon.ask("daemon.register", request, "daemon.registered").await?;
    ensure!(!text(&answer, "daemon_id")?.is_empty(), "`daemon_id` is empty");
    let named =
        answer["agents"].as_array().is_some_and(|agents| agents.iter().any(|agent| agent["agent_id"] == id.as_str()));
    ensure!(named, "the agent is not among `agents`: {}", short(&answer));
    Ok(())
}
