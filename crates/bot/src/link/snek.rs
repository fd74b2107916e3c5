//! A connection to a Snek server.

use folkmoot_clients::line::Line;
use folkmoot_clients::snek::{self, Connection, Login, LoginError};
use folkmoot_wire::snek::{MessageFields, Received};

use super::{Channel, Dependencies, Incoming, Saying};
use crate::error::BotError;
use crate::route::{Me, Message};
use crate::settings::seconds;

pub struct Snek {
    connection: Connection,
    me: Me,
}

impl Snek {
    pub async fn connect(dependencies: &Dependencies) -> Result<Self, BotError> {
        let settings = &dependencies.settings;
        let login = Login { username: &settings.username, password: &settings.password };
        let calm = (seconds(settings.limits.ws_heartbeat_s), dependencies.bounds(), snek::call_id as fn() -> String);
        let opened =
            Connection::open((&dependencies.client, &settings.url), login, calm, dependencies.incoming.clone(), told)
                .await;
        let connection = opened.map_err(|error| match error {
            LoginError::Unreachable(why) => BotError::Connection(why),
            LoginError::Refused(why) => BotError::Authentication(why),
            LoginError::Failed { method, why } => BotError::rpc(method, why),
        })?;
        let me = Me { username: connection.user.username.to_string(), nick: connection.user.nick.to_string() };
        Ok(Self { connection, me })
    }

    pub fn me(&self) -> &Me {
        &self.me
    }

    pub fn line(&self) -> &Line {
        self.connection.line()
    }

    pub async fn channels(&self) -> Result<Vec<Channel>, BotError> {
        let listed = self.connection.channels().await.map_err(|why| BotError::rpc("get_channels", why))?;
        Ok(listed.into_iter().map(channel).collect())
    }

    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        let said = self.connection.send_message(saying.channel_uid, saying.text, saying.is_final).await;
        said.map_err(|why| BotError::rpc("send_message", why))
    }

    pub async fn set_typing(&self, channel_uid: &str, colour: &str) {
        self.connection.set_typing(channel_uid, colour).await;
    }
}

/// A channel without a name is called by its id.
fn channel(listed: folkmoot_wire::snek::Channel<'_>) -> Channel {
    let name = if listed.name.is_empty() { listed.uid.to_string() } else { listed.name.into_owned() };
    Channel { uid: listed.uid.into(), name, is_direct: listed.tag == "dm" }
}

/// What the bot should hear of.
fn told(received: Received) -> Option<Incoming> {
    match received {
        Received::Message(fields) => message(*fields).map(Incoming::Message),
        Received::Join(channel) => Some(Incoming::Join(channel.into())),
        Received::Leave(channel) => Some(Incoming::Leave(channel.into())),
        Received::Answer { .. } | Received::Nothing | Received::Invalid => None,
    }
}

/// A complete message; one that still grows is skipped.
fn message(fields: MessageFields<'_>) -> Option<Message> {
    if !fields.is_final {
        return None;
    }
    let username = fields.username.into_owned();
    Some(Message {
        channel_uid: fields.channel_uid.into(),
        user_nick: if fields.user_nick.is_empty() { username.clone() } else { fields.user_nick.into_owned() },
        username,
        text: fields.message.into_owned(),
        thread_id: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn heard(frame: &Value) -> Option<Incoming> {
        told(Received::read(&frame.to_string(), |_| false))
    }

    fn hello(is_final: &Value) -> Value {
        json!({"event": "message", "message": "Hello world", "username": "sender_username",
               "user_nick": "SenderNick", "channel_uid": "target_channel_uid", "is_final": is_final})
    }

    #[test]
    fn a_message_event_has_its_fields_at_the_top() {
        let expected = Message {
            channel_uid: "target_channel_uid".into(),
            username: "sender_username".into(),
            user_nick: "SenderNick".into(),
            text: "Hello world".into(),
            thread_id: None,
        };
        assert_eq!(heard(&hello(&json!(true))), Some(Incoming::Message(expected)));
    }

    #[test]
    fn a_message_of_the_other_published_form_is_the_same_message() {
        let data = json!({"uid": "m1", "message": "Hello world", "user_uid": "u1", "username": "sender_username"});
        let frame = json!({"channel_uid": "target_channel_uid", "event": "new_message", "data": data});
        let expected = Message {
            channel_uid: "target_channel_uid".into(),
            username: "sender_username".into(),
            user_nick: "sender_username".into(),
            text: "Hello world".into(),
            thread_id: None,
        };
        assert_eq!(heard(&frame), Some(Incoming::Message(expected)));
        assert_eq!(heard(&json!({"channel_uid": "c", "event": "update_message_text", "data": data})), None, "an edit");
    }

    #[test]
    fn a_message_that_is_not_final_is_skipped() {
        assert_eq!(heard(&hello(&json!(false))), None);
    }

    #[test]
    fn join_and_leave_name_their_channel() {
        let told = |event: &str| heard(&json!({"event": event, "data": {"channel_uid": "abc123"}}));
        assert_eq!(told("join"), Some(Incoming::Join("abc123".into())));
        assert_eq!(told("leave"), Some(Incoming::Leave("abc123".into())));
    }

    #[test]
    fn a_channel_without_a_name_is_called_by_its_id_and_only_a_dm_is_direct() {
        let listed = |value: Value| channel(serde_json::from_value(value).unwrap());
        let expected = |name: &str, is_direct| Channel { uid: "ch1".into(), name: name.into(), is_direct };
        assert_eq!(listed(json!({"uid": "ch1", "name": "general", "tag": "public"})), expected("general", false));
        assert_eq!(listed(json!({"uid": "ch1", "name": "DM", "tag": "dm"})), expected("DM", true));
        assert_eq!(listed(json!({"uid": "ch1", "tag": null})), expected("ch1", false));
    }
}
