//! A client of a Snek server: one connection, logged in, with the calls that a bot makes.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_wire::snek::{Channel, Received, Request, User, reason};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::calls::{Bounds, CallFailure, Caller, Calls};
use crate::line::{self, Line};

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Refused(String),
    #[error("`{method}` failed: {why}")]
    Failed { method: &'static str, why: CallFailure },
}

/// Whom to log in as.
pub struct Login<'a> {
    pub username: &'a str,
    pub password: &'a str,
}

/// One connection. Dropping it closes it.
pub struct Connection {
    caller: Caller<Value>,
    /// Who we are there.
    pub user: User<'static>,
    new_id: fn() -> String,
}

/// Sixteen random hexadecimal digits, as the document recommends.
pub fn call_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}

impl Connection {
    /// Connects, logs in and asks who we are. `on_event` sees what is no answer and returns what is to be passed on.
    pub async fn open<T: Send + 'static>(
        (client, url): (&Client, &Url),
        login: Login<'_>,
        (heartbeat, bounds, new_id): (Duration, Bounds, fn() -> String),
        incoming: mpsc::Sender<T>,
        mut on_event: impl FnMut(Received) -> Option<T> + Send + 'static,
    ) -> Result<Self, LoginError> {
        let opened = timeout(bounds.timeout, line::connect(client, url)).await;
        let opened = opened.map_err(|_| LoginError::Unreachable("the server does not answer".to_owned()))?;
        let socket = opened.map_err(|error| LoginError::Unreachable(line::words(&error)))?;
        let calls: Arc<Calls<Result<Value, String>>> = Arc::default();
        let reading = Arc::clone(&calls);
        let on_text = move |text: &str| match Received::read(text, |id| reading.is_waiting(id)) {
            Received::Answer { call_id, outcome } => {
                reading.answer(&call_id, outcome);
                None
            }
            Received::Invalid => {
                tracing::warn!("the server sent a frame that is no JSON object; it is skipped");
                None
            }
            other => on_event(other),
        };
        let line = Line::start(socket, heartbeat, incoming, on_text);
        let mut connection = Self { caller: Caller::new(line, calls, bounds), user: User::default(), new_id };
        connection.log_in(&login).await?;
        let user = connection.call("get_user", &[Value::Null]).await;
        let user = user.map_err(|why| LoginError::Failed { method: "get_user", why })?;
        connection.user = own_user(user, login.username);
        Ok(connection)
    }

    async fn log_in(&self, login: &Login<'_>) -> Result<(), LoginError> {
        let credentials = [json!(login.username), json!(login.password)];
        let refused = match self.call("login", &credentials).await {
            Ok(Value::Null | Value::Bool(false)) => "no such user, or the wrong password".to_owned(),
            Ok(data) if data.get("error").is_some() || data.get("exception").is_some() => reason(&data),
            Ok(_) => return Ok(()),
            Err(CallFailure::Refused(why)) => why,
            Err(why) => return Err(LoginError::Failed { method: "login", why }),
        };
        Err(LoginError::Refused(refused))
    }

    pub fn line(&self) -> &Line {
        self.caller.line()
    }

    /// The channels; an entry without an id is none.
    pub async fn channels(&self) -> Result<Vec<Channel<'static>>, CallFailure> {
        Ok(channels(&self.call("get_channels", &[]).await?))
    }

    pub async fn send_message(&self, channel_uid: &str, text: &str, is_final: bool) -> Result<(), CallFailure> {
        let args = [json!(channel_uid), json!(text), json!(is_final)];
        self.call("send_message", &args).await.map(drop)
    }

    /// Only a colour: nobody waits for the answer, the next one comes in a second.
    pub async fn set_typing(&self, channel_uid: &str, colour: &str) {
        let args = [json!(channel_uid), json!(colour)];
        let _ = self.line().write(frame("set_typing", &args, &(self.new_id)())).await;
    }

    async fn call(&self, method: &str, args: &[Value]) -> Result<Value, CallFailure> {
        let id = (self.new_id)();
        self.caller.call(&id, frame(method, args, &id)).await
    }
}

fn frame(method: &str, args: &[Value], call_id: &str) -> String {
    let request = Request { method, args, kwargs: Map::new(), call_id };
    // Text and JSON values can be written.
    serde_json::to_string(&request).unwrap_or_default()
}

/// The own user in the answer of `get_user`; `known` stands in for what is missing.
fn own_user(data: Value, known: &str) -> User<'static> {
    let mut user = User::deserialize(data).unwrap_or_default();
    if user.username.is_empty() {
        user.username = known.to_owned().into();
    }
    if user.nick.is_empty() {
        user.nick = user.username.clone();
    }
    user
}

fn channels(data: &Value) -> Vec<Channel<'static>> {
    data.as_array().into_iter().flatten().filter_map(|entry| Channel::deserialize(entry).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_user_and_the_channels_are_read_from_their_answers() {
        let user = |data: Value, known| own_user(data, known);
        assert_eq!(user(json!({"username": "botname", "nick": "BotNick"}), "x").nick, "BotNick");
        let nobody = user(Value::Null, "bot");
        assert_eq!((&*nobody.username, &*nobody.nick), ("bot", "bot"));
        let listed = channels(&json!([
            {"uid": "ch1", "name": "general", "tag": "public"}, {"uid": "ch2", "name": "DM", "tag": "dm"},
            {"uid": "ch3", "tag": null}, {"name": "no id"}, 7
        ]));
        let seen: Vec<_> = listed.iter().map(|channel| (&*channel.uid, &*channel.name, &*channel.tag)).collect();
        assert_eq!(seen, [("ch1", "general", "public"), ("ch2", "DM", "dm"), ("ch3", "", "")]);
    }
}
