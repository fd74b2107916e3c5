//! One logged-in connection to a server, whichever protocol it speaks.

use std::sync::Arc;

use folkmoot_clients::calls::Bounds;
use folkmoot_clients::line::Line;
use reqwest::Client;
use tokio::sync::{Semaphore, mpsc};

mod lark;
mod snek;

use crate::error::{BotError, RpcFailure};
use crate::route::{Me, Message};
use crate::settings::{Protocol, Settings, seconds};
use lark::Lark;
use snek::Snek;

/// A channel as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub uid: String,
    pub name: String,
    /// The tag is `dm`.
    pub is_direct: bool,
}

/// What a server tells without being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A complete message; growing ones are passed over.
    Message(Message),
    Join(String),
    Leave(String),
}

/// Something to be said, whole or as far as it has grown.
#[derive(Clone, Copy, Debug)]
pub struct Saying<'a> {
    pub channel_uid: &'a str,
    /// The thread it belongs to, where the server has threads.
    pub thread_id: Option<&'a str>,
    pub text: &'a str,
    pub is_final: bool,
    /// The same for every attempt, so that a server that can tells a repetition from a second message.
    pub key: &'a str,
}

/// What every connection is made from.
#[derive(Clone)]
pub struct Dependencies {
    pub settings: Arc<Settings>,
    pub client: Client,
    /// Where to put what the server tells.
    pub incoming: mpsc::Sender<Incoming>,
    /// Calls under way at once, over all connections.
    pub operations: Arc<Semaphore>,
}

impl Dependencies {
    fn bounds(&self) -> Bounds {
        let timeout = seconds(self.settings.limits.request_timeout_s);
        Bounds { places: Arc::clone(&self.operations), timeout }
    }
}

/// A connection: logged in, the own user known, the channels listed.
pub enum Link {
    Snek(Snek),
    Lark(Lark),
}

impl Link {
    /// Steps 1 to 4 of the document's life cycle.
    pub async fn connect(dependencies: &Dependencies) -> Result<Self, BotError> {
        Ok(match dependencies.settings.protocol {
            Protocol::Snek => Self::Snek(Snek::connect(dependencies).await?),
            Protocol::Lark => Self::Lark(Lark::connect(dependencies).await?),
        })
    }

    pub fn me(&self) -> &Me {
        match self {
            Self::Snek(snek) => snek.me(),
            Self::Lark(lark) => lark.me(),
        }
    }

    pub async fn channels(&self) -> Result<Vec<Channel>, BotError> {
        match self {
            Self::Snek(snek) => snek.channels().await,
            Self::Lark(lark) => lark.channels().await,
        }
    }

    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        match self {
            Self::Snek(snek) => snek.say(saying).await,
            Self::Lark(lark) => lark.say(saying).await,
        }
    }

    /// Visual feedback; nobody waits for its answer.
    pub async fn set_typing(&self, channel_uid: &str, colour: &str) {
        match self {
            Self::Snek(snek) => snek.set_typing(channel_uid, colour).await,
            Self::Lark(lark) => lark.thinking(channel_uid).await,
        }
    }

    pub fn is_open(&self) -> bool {
        self.line().is_open()
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) -> RpcFailure {
        self.line().ended().await.into()
    }

    pub fn close(&self) {
        self.line().close();
    }

    fn line(&self) -> &Line {
        match self {
            Self::Snek(snek) => snek.line(),
            Self::Lark(lark) => lark.line(),
        }
    }
}
