//! A connection through the Lark door of a hub: the same bot as an agent with an API key.

use folkmoot_clients::lark::{Connection, LoginError, Outside, Timing, login};
use folkmoot_clients::line::Line;
use folkmoot_wire::lark::{
    AgentHello, AgentThinking, ContentType, Frame, MemberKind, Message as Told, MessageSend, Request, RoleCard, Runtime,
};
use serde_json::Value;
use tokio::time::timeout;

use super::{Channel, Dependencies, Incoming, Saying};
use crate::drive;
use crate::error::{BotError, RpcFailure};
use crate::route::{Me, Message};
use crate::settings::seconds;

pub struct Lark {
    connection: Connection,
    dependencies: Dependencies,
    me: Me,
}

impl Lark {
    pub async fn connect(dependencies: &Dependencies) -> Result<Self, BotError> {
        let settings = &dependencies.settings;
        let bounds = dependencies.bounds();
        let timing = Timing { heartbeat: seconds(settings.limits.ws_heartbeat_s), timeout: bounds.timeout };
        let login = login(settings.password.clone(), None);
        let calm = (timing, bounds, Outside::REAL);
        let opened =
            Connection::open(&dependencies.client, &settings.url, &login, calm, dependencies.incoming.clone(), told)
                .await;
        let connection = opened.map_err(|error| match error {
            LoginError::Refused(why) => BotError::Authentication(why),
            other => BotError::Connection(other.to_string()),
        })?;
        let name = connection.identity.name.clone();
        let lark =
            Self { connection, dependencies: dependencies.clone(), me: Me { username: name.clone(), nick: name } };
        if lark.connection.identity.kind == MemberKind::Agent {
            lark.hello().await?;
        }
        Ok(lark)
    }

    pub fn me(&self) -> &Me {
        &self.me
    }

    pub fn line(&self) -> &Line {
        self.connection.line()
    }

    pub async fn channels(&self) -> Result<Vec<Channel>, BotError> {
        let origin = drive::origin(&self.dependencies.settings.url);
        let url = format!("{origin}/v1/workspaces/{}/channels", self.connection.identity.workspace_id);
        let asked = self.dependencies.client.get(url).bearer_auth(&self.dependencies.settings.password).send();
        let listed = async { asked.await?.error_for_status()?.json::<Value>().await };
        let most = seconds(self.dependencies.settings.limits.request_timeout_s);
        let listed = timeout(most, listed).await.map_err(|_| RpcFailure::Timeout(most));
        let listed =
            listed.and_then(|listed| listed.map_err(|error| RpcFailure::Broken(error.without_url().to_string())));
        listed.map(|list| channels(&list)).map_err(|why| BotError::rpc("channels", why))
    }

    /// Only whole messages: the protocol has no way to show how one grows.
    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        if !saying.is_final {
            return Ok(());
        }
        let message = MessageSend {
            channel_id: saying.channel_uid.into(),
            content: saying.text.to_owned(),
            content_type: Some(ContentType::Markdown),
            thread_id: saying.thread_id.map(Into::into),
            ..MessageSend::default()
        };
        self.call(saying.key, &message).await.map(drop)
    }

    pub async fn thinking(&self, channel_uid: &str) {
        // Only a sign: the next one comes in a second.
        let _ = self.connection.tell(&AgentThinking { channel_id: channel_uid.into() }).await;
    }

    async fn hello(&self) -> Result<(), BotError> {
        let capabilities = ["chat", "tools"].map(str::to_owned).to_vec();
        let system_prompt = self.dependencies.settings.system_prompt.clone();
        let hello = AgentHello {
            name: Some(self.me.username.clone()),
            role_card: RoleCard { system_prompt, capabilities: Some(capabilities) },
            runtime: Some(Runtime { kind: Some("llm".to_owned()), provider: None, model: None }),
        };
        self.call(&(Outside::REAL.id)(), &hello).await.map(drop)
    }

    async fn call<R: Request>(&self, id: &str, asked: &R) -> Result<R::Answer, BotError> {
        self.connection.call(id, asked).await.map_err(|why| BotError::rpc(R::TYPE, why))
    }
}

/// What the bot should hear of.
fn told(frame: Frame) -> Option<Incoming> {
    match frame.kind.as_str() {
        "message.new" => message(frame.read()?).map(Incoming::Message),
        _ => None,
    }
}

/// What the hub itself says is nobody's message, and one that still grows comes again when it is whole.
fn message(told: Told) -> Option<Message> {
    if told.kind == "system" || told.partial {
        return None;
    }
    let name = if told.sender_name.is_empty() { told.sender_id.to_string() } else { told.sender_name };
    Some(Message {
        channel_uid: told.channel_id.into(),
        username: name.clone(),
        user_nick: name,
        text: told.content,
        thread_id: told.thread_id.map(String::from).filter(|thread| !thread.is_empty()),
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_of_a_hub_is_a_message() {
        let frame = json!({"type": "message.new", "data": {"id": "msg_2", "channel_id": "ch_1", "sender_id": "mem_1",
            "sender_name": "ann", "content": "hi", "type": "user", "thread_id": "msg_1"}});
        let told = told(Frame::parse(&frame.to_string()).unwrap());
        let Some(Incoming::Message(message)) = told else { panic!("{told:?}") };
        assert_eq!((message.username.as_str(), message.text.as_str()), ("ann", "hi"));
        assert_eq!(message.thread_id.as_deref(), Some("msg_1"));
    }

    #[test]
    fn what_the_hub_itself_says_is_nobodys_message() {
        let frame = json!({"type": "message.new", "data": {"id": "msg_2", "channel_id": "ch_1", "sender_id": "mem_1",
            "content": "ann joined", "type": "system"}});
        assert_eq!(told(Frame::parse(&frame.to_string()).unwrap()), None);
    }

    #[test]
    fn a_message_that_still_grows_is_skipped() {
        let frame = json!({"type": "message.new", "data": {"id": "msg_2", "channel_id": "ch_1", "sender_id": "mem_1",
            "content": "I thi", "type": "user", "partial": true, "final_id": "msg_3"}});
        assert_eq!(told(Frame::parse(&frame.to_string()).unwrap()), None);
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
