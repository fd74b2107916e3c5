//! A connection through the Lark door of a hub: the same bot as an agent with an API key.

use std::time::{SystemTime, UNIX_EPOCH};

use folkmoot_peers::line::Line;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::caller::Caller;
use super::calls::{Calls, Outcome};
use super::{Channel, Incoming, Means, Saying, wire};
use crate::drive;
use crate::error::{BotError, RpcFailure};
use crate::route::{Me, Message};
use crate::settings::seconds;

/// The login is answered by a frame of its own kind, so it waits under a name of its own.
const LOGIN: &str = "login";

pub struct Lark {
    caller: Caller,
    means: Means,
    workspace_id: String,
    me: Me,
}

impl Lark {
    pub async fn connect(means: &Means) -> Result<Self, BotError> {
        let nobody = Me { username: String::new(), nick: String::new() };
        let caller = Caller::open(means, read).await?;
        let mut lark = Self { caller, means: means.clone(), workspace_id: String::new(), me: nobody };
        let welcome = lark.login().await?;
        let field = |name: &str| welcome[name].as_str().unwrap_or_default().to_owned();
        lark.workspace_id = field("workspace_id");
        lark.me = Me { username: field("name"), nick: field("name") };
        if welcome["type"] == "agent" {
            lark.hello().await?;
        }
        Ok(lark)
    }

    pub fn me(&self) -> &Me {
        &self.me
    }

    pub fn line(&self) -> &Line {
        &self.caller.line
    }

    pub async fn channels(&self) -> Result<Vec<Channel>, BotError> {
        let origin = drive::origin(&self.means.settings.url);
        let url = format!("{origin}/v1/workspaces/{}/channels", self.workspace_id);
        let asked = self.means.client.get(url).bearer_auth(&self.means.settings.password).send();
        let listed = async { asked.await?.error_for_status()?.json::<Value>().await };
        let patience = seconds(self.means.settings.limits.request_timeout_s);
        let listed = timeout(patience, listed).await.map_err(|_| RpcFailure::Timeout(patience));
        let listed =
            listed.and_then(|listed| listed.map_err(|error| RpcFailure::Broken(error.without_url().to_string())));
        listed.map(|list| channels(&list)).map_err(|why| BotError::rpc("channels", why))
    }

    /// Only whole messages: the protocol has no way to show how one grows.
    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        if !saying.is_final {
            return Ok(());
        }
        let data = json!({
            "channel_id": saying.channel_uid,
            "content": saying.text,
            "content_type": "markdown",
            "thread_id": saying.thread_id.unwrap_or_default(),
        });
        self.call(saying.key, "message.send", &data).await.map(drop)
    }

    pub async fn thinking(&self, channel_uid: &str) {
        let data = json!({"channel_id": channel_uid});
        // Only a sign: the next one comes in a second.
        let _ = self.caller.line.write(envelope(&uuid(), "agent.thinking", &data)).await;
    }

    async fn login(&self) -> Result<Value, BotError> {
        let data = json!({"token": self.means.settings.password});
        match self.call(LOGIN, "auth.login", &data).await {
            Err(BotError::Rpc { why: RpcFailure::Refused(why), .. }) => Err(BotError::Authentication(why)),
            other => other,
        }
    }

    async fn hello(&self) -> Result<(), BotError> {
        let data = json!({
            "name": self.me.username,
            "role_card": {"system_prompt": self.means.settings.system_prompt, "capabilities": ["chat", "tools"]},
            "runtime": {"type": "llm"},
        });
        self.call(&uuid(), "agent.hello", &data).await.map(drop)
    }

    async fn call(&self, id: &str, kind: &str, data: &Value) -> Result<Value, BotError> {
        self.caller.call(kind, id, envelope(id, kind, data)).await
    }
}

/// A fresh id for an envelope; a message keeps its id over all attempts and is stored once.
pub fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn envelope(id: &str, kind: &str, data: &Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    json!({"v": 1, "id": id, "type": kind, "ts": now as u64, "data": data}).to_string()
}

/// Hands answers to their calls, and returns what the bot should hear of.
fn read(text: &str, calls: &Calls) -> Option<Incoming> {
    let Ok(frame) = serde_json::from_str::<Value>(text) else {
        tracing::warn!("the hub sent a frame that is no JSON; it is skipped");
        return None;
    };
    let data = &frame["data"];
    let outcome = |good: bool| -> Outcome { if good { Ok(data.clone()) } else { Err(wire::reason(data)) } };
    match frame["type"].as_str()? {
        kind @ ("auth.success" | "auth.fail") => calls.answer(LOGIN, outcome(kind == "auth.success")),
        "message.new" => return message(data).map(Incoming::Message),
        kind => {
            if let Some(id) = frame["reply_to"].as_str() {
                calls.answer(id, outcome(kind != "error"));
            }
        }
    }
    None
}

fn message(data: &Value) -> Option<Message> {
    let field = |name: &str| data[name].as_str().map(str::to_owned);
    if data["type"] == "system" {
        return None;
    }
    let name = field("sender_name").or_else(|| field("sender_id"))?;
    Some(Message {
        channel_uid: field("channel_id")?,
        username: name.clone(),
        user_nick: name,
        text: field("content")?,
        thread_id: field("thread_id").filter(|thread| !thread.is_empty()),
    })
}

fn channels(list: &Value) -> Vec<Channel> {
    let list = list.as_array().or_else(|| list["channels"].as_array()).or_else(|| list["items"].as_array());
    let channel = |entry: &Value| {
        let uid = entry["id"].as_str()?.to_owned();
        let name = entry["name"].as_str().unwrap_or(&uid).to_owned();
        let is_direct = matches!(entry["type"].as_str(), Some("dm" | "group_dm"));
        (entry["is_member"] != false).then_some(Channel { uid, name, is_direct })
    };
    list.into_iter().flatten().filter_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_hub_is_a_message() {
        let frame = json!({"type": "message.new", "data": {"channel_id": "ch_1", "sender_id": "mem_1",
            "sender_name": "ann", "content": "hi", "type": "user", "thread_id": "msg_1"}});
        let told = read(&frame.to_string(), &Calls::default());
        let Some(Incoming::Message(message)) = told else { panic!("{told:?}") };
        assert_eq!((message.username.as_str(), message.text.as_str()), ("ann", "hi"));
        assert_eq!(message.thread_id.as_deref(), Some("msg_1"));
    }

    #[tokio::test]
    async fn answers_are_matched_by_reply_to_and_errors_say_why() {
        let calls = Calls::default();
        let (mut good, mut bad, mut login) = (calls.begin("1"), calls.begin("2"), calls.begin(LOGIN));
        read(r#"{"type":"message.ack","reply_to":"1","data":{"message_id":"m"}}"#, &calls);
        read(r#"{"type":"error","reply_to":"2","data":{"error":"not a channel member"}}"#, &calls);
        read(r#"{"type":"auth.fail","data":{"error":"invalid credentials"}}"#, &calls);
        assert_eq!(good.answer().await, Some(Ok(json!({"message_id": "m"}))));
        assert_eq!(bad.answer().await, Some(Err("not a channel member".into())));
        assert_eq!(login.answer().await, Some(Err("invalid credentials".into())));
    }

    #[test]
    fn the_channels_of_a_hub_are_those_it_is_a_member_of() {
        let listed = channels(&json!([
            {"id": "ch_1", "name": "general", "type": "channel", "is_member": true},
            {"id": "ch_2", "name": "other", "type": "channel", "is_member": false},
            {"id": "ch_3", "name": "", "type": "dm", "is_member": true}]));
        let seen: Vec<_> = listed.iter().map(|channel| (channel.uid.as_str(), channel.is_direct)).collect();
        assert_eq!(seen, [("ch_1", false), ("ch_3", true)]);
    }
}
