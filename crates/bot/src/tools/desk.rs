//! What a tool works with: the bot's means, and the conversation in which it was called.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::scratchpad::Scratchpads;
use crate::error::BotError;
use crate::model::Model;
use crate::settings::Limits;
use crate::store::Store;
use crate::web::Web;
use crate::workers::Workers;

/// One call's view of the bot.
#[derive(Clone)]
pub struct Desk {
    pub means: Arc<Means>,
    /// Where the question was asked.
    pub channel_uid: String,
}

/// What all tools share.
pub struct Means {
    pub store: Store,
    pub web: Web,
    pub model: Model,
    pub workers: Workers,
    pub limits: Limits,
    pub scratchpads: Scratchpads,
    pub herald: Arc<dyn Herald>,
    /// The present, as an argument.
    pub now: fn() -> jiff::Timestamp,
}

/// Whoever can say something in another channel.
pub trait Herald: Send + Sync {
    /// `channel` is a name or an id; the result says where it was said.
    fn say<'a>(&'a self, from: &'a str, channel: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, BotError>>;
}
