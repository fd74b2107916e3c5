//! A connection to a Snek server.

use std::sync::Arc;

use folkmoot_peers::line::Line;
use serde_json::{Map, Value, json};

use super::caller::Caller;
use super::calls::Calls;
use super::wire::{self, Frame, Request};
use super::{Channel, Incoming, Means, Saying};
use crate::error::{BotError, RpcFailure};
use crate::route::Me;
use crate::settings::Settings;

pub struct Snek {
    caller: Caller,
    settings: Arc<Settings>,
    me: Me,
}

impl Snek {
    pub async fn connect(means: &Means) -> Result<Self, BotError> {
        let settings = means.settings.clone();
        let known = Me { username: settings.username.clone(), nick: settings.username.clone() };
        let mut snek = Self { caller: Caller::open(means, read).await?, settings, me: known };
        snek.login().await?;
        let user = snek.call("get_user", &[Value::Null]).await?;
        snek.me = wire::me(&user, &snek.settings.username);
        Ok(snek)
    }

    pub fn me(&self) -> &Me {
        &self.me
    }

    pub fn line(&self) -> &Line {
        &self.caller.line
    }

    pub async fn channels(&self) -> Result<Vec<Channel>, BotError> {
        Ok(wire::channels(&self.call("get_channels", &[]).await?))
    }

    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        let args = [json!(saying.channel_uid), json!(saying.text), json!(saying.is_final)];
        self.call("send_message", &args).await.map(drop)
    }

    pub async fn set_typing(&self, channel_uid: &str, colour: &str) {
        let args = [json!(channel_uid), json!(colour)];
        let frame = request("set_typing", &args, &call_id());
        // Only a colour: the next one comes in a second.
        let _ = self.caller.line.write(frame).await;
    }

    async fn login(&self) -> Result<(), BotError> {
        let credentials = [json!(self.settings.username), json!(self.settings.password)];
        let refused = match self.call("login", &credentials).await {
            Ok(Value::Null | Value::Bool(false)) => "no such user, or the wrong password".to_owned(),
            Ok(data) if data.get("error").is_some() || data.get("exception").is_some() => wire::reason(&data),
            Ok(_) => return Ok(()),
            Err(BotError::Rpc { why: RpcFailure::Refused(why), .. }) => why,
            Err(error) => return Err(error),
        };
        Err(BotError::Authentication(refused))
    }

    async fn call(&self, method: &str, args: &[Value]) -> Result<Value, BotError> {
        let id = call_id();
        self.caller.call(method, &id, request(method, args, &id)).await
    }
}

/// Hands answers to their calls, and returns what the bot should hear of.
fn read(text: &str, calls: &Calls) -> Option<Incoming> {
    match wire::read(text, |id| calls.is_waiting(id)) {
        Frame::Answer { call_id, outcome } => calls.answer(&call_id, outcome),
        Frame::Told(incoming) => return Some(incoming),
        Frame::Nothing => {}
        Frame::Invalid => tracing::warn!("the server sent a frame that is no JSON object; it is skipped"),
    }
    None
}

/// Sixteen random hexadecimal digits, as the document recommends.
fn call_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}

fn request(method: &str, args: &[Value], call_id: &str) -> String {
    let request = Request { method, args, kwargs: Map::new(), call_id };
    serde_json::to_string(&request).expect("text and JSON values can be written")
}
