//! What the daemon asks of the hub over REST: its agents' ids, and a place for long texts.

use std::time::Duration;

use folkmoot_wire::lark::RoleCard;
use reqwest::{Client, Method, Url};
use serde::Serialize;
use serde_json::Value;

use crate::settings::{AgentSpec, Key, Kind};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest diff the hub takes.
pub const MAX_DIFF_BYTES: usize = 4 << 20;

/// Why the hub does not have a text.
#[derive(Debug)]
pub enum NotKept {
    /// It may have it later.
    ForNow(String),
    Refused(String),
}

#[derive(Clone)]
pub struct Rest {
    client: Client,
    base: Url,
    key: Key,
}

impl Rest {
    /// `server` is the address of the hub's WebSocket.
    pub fn new(client: Client, server: &Url, key: Key) -> Self {
        let mut base = server.clone();
        let scheme = if server.scheme() == "wss" || server.scheme() == "https" { "https" } else { "http" };
        // Both are schemes of the same kind, so the change cannot be refused.
        let _ = base.set_scheme(scheme);
        base.set_path("/");
        base.set_query(None);
        Self { client, base, key }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<NewAgent<'_>>) -> Result<Value, String> {
        let url = self.base.join(path).map_err(|error| error.to_string())?;
        let mut request = self.client.request(method, url).timeout(ANSWER_TIMEOUT).bearer_auth((self.key)());
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = answer.status();
        let value: Value = answer.json().await.unwrap_or_default();
        if status.is_success() {
            return Ok(value);
        }
        Err(owned(&value, "error").unwrap_or_else(|| format!("the hub answered {status}")))
    }

    /// The member ids of the agents; those that do not exist are made, as far as the key's rights go.
    pub async fn find_agents(&self, workspace: &str, agents: &mut [AgentSpec]) -> Result<(), String> {
        if agents.iter().all(|agent| agent.id.is_some()) {
            return Ok(());
        }
        let path = format!("v1/workspaces/{workspace}/members");
        let members = self.ask(Method::GET, &path, None).await?;
        let list = members.as_array().cloned().unwrap_or_default();
        for agent in agents.iter_mut().filter(|agent| agent.id.is_none()) {
            let same =
                |member: &&Value| text(member, "name").is_some_and(|name| name.eq_ignore_ascii_case(&agent.name));
            match list.iter().find(same) {
                Some(member) if member["type"] == "agent" => agent.id = owned(member, "id"),
                Some(_) => tracing::error!(agent = agent.name, "a person has this name; the agent needs another"),
                None => match self.ask(Method::POST, &path, Some(new_agent(agent))).await {
                    Ok(made) => agent.id = owned(&made, "id").or_else(|| owned(&made, "member_id")),
                    Err(why) => tracing::error!(
                        agent = agent.name,
                        why,
                        "the agent is no member of the hub; `moot agent add` makes it one"
                    ),
                },
            }
        }
        Ok(())
    }

    pub async fn put_diff(&self, run: &str, diff: &str) -> Result<(), NotKept> {
        let mut end = diff.len().min(MAX_DIFF_BYTES);
        while !diff.is_char_boundary(end) {
            end -= 1;
        }
        let url =
            self.base.join(&format!("v1/runs/{run}/diff")).map_err(|error| NotKept::Refused(error.to_string()))?;
        let request = self.client.put(url).timeout(ANSWER_TIMEOUT).bearer_auth((self.key)());
        let request = request.header("content-type", "text/x-diff").body(diff[..end].to_owned());
        let answer = request.send().await.map_err(|error| NotKept::ForNow(error.without_url().to_string()))?;
        let (status, why) = (answer.status(), format!("the hub answered {}", answer.status()));
        match status.as_u16() {
            200..300 => Ok(()),
            408 | 429 | 500.. => Err(NotKept::ForNow(why)),
            _ => Err(NotKept::Refused(why)),
        }
    }
}

/// A member of the hub that is to be made.
#[derive(Serialize)]
struct NewAgent<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_card: Option<RoleCard>,
}

fn new_agent(agent: &AgentSpec) -> NewAgent<'_> {
    let role_card = match &agent.kind {
        Kind::Engine(engine) => Some(role_card(&engine.system_prompt, &engine.capabilities)),
        Kind::Program(_) => None,
    };
    NewAgent { name: &agent.name, kind: "agent", role_card }
}

pub fn role_card(system_prompt: &str, capabilities: &[String]) -> RoleCard {
    RoleCard { system_prompt: system_prompt.to_owned(), capabilities: Some(capabilities.to_vec()) }
}

/// A text field that says something.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str().filter(|text| !text.is_empty())
}

fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(str::to_owned)
}
