//! Where something is said, and saying what is no answer of an engine.

use crate::api::{ChatId, Message, MessageId, TopicId};
use crate::journal::{Content, Draft, JournalError, OutgoingKind, Prompt, Rows};
use crate::text::{self, Overflow};

/// Where something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub reply_to: Option<MessageId>,
}

impl Spot {
    /// As an answer to a message.
    pub fn at(message: &Message) -> Self {
        Self { chat: message.chat.id, topic: message.topic(), reply_to: Some(message.message_id) }
    }

    /// As an answer to whoever asked.
    pub fn of(prompt: &Prompt) -> Self {
        Self { chat: prompt.chat, topic: prompt.topic, reply_to: Some(prompt.message) }
    }

    pub fn draft(self, kind: OutgoingKind, content: Content) -> Draft {
        Draft { topic: self.topic, reply_to: self.reply_to, ..Draft::new(self.chat, kind, content) }
    }
}

/// Posts Markdown, in as many messages as it takes.
pub fn post(rows: &mut Rows<'_>, spot: Spot, markdown: &str) -> Result<(), JournalError> {
    let message = text::Message { header: String::new(), body: markdown.to_owned(), footer: None };
    for page in text::pages(&message, Overflow::Split) {
        rows.post(&spot.draft(OutgoingKind::Notice, Content::new(page)))?;
    }
    Ok(())
}
