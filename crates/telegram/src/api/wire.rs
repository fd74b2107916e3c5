//! The Bot API's objects, in its words, as far as the bridge needs them.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A chat; that of a group is negative.
    ChatId
);
id!(
    /// A message within its chat.
    MessageId
);
id!(
    /// A topic of a forum, `message_thread_id`.
    TopicId
);
id!(UserId);
id!(UpdateId);

impl ChatId {
    /// Groups, supergroups and channels.
    pub fn is_group(self) -> bool {
        self.0 < 0
    }

    /// Supergroups and channels: their messages are counted for themselves, while private chats and small groups share the
    /// bot's own count.
    pub fn counts_for_itself(self) -> bool {
        self.0 < -1_000_000_000_000
    }
}

/// The general topic is 1 in updates, but must not be named when sending.
pub(super) fn thread(topic: TopicId) -> Option<TopicId> {
    (topic.0 != 1).then_some(topic)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub update_id: UpdateId,
    pub content: Content,
}

/// What an update is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Message(Box<Message>),
    CallbackQuery(Box<CallbackQuery>),
    /// A kind that was not asked for, or one that could not be read. It is taken as seen, so that it does not come for ever.
    Other,
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            update_id: UpdateId,
            message: Option<Value>,
            callback_query: Option<Value>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let message = raw.message.and_then(|value| serde_json::from_value(value).ok()).map(Content::Message);
        let query = || raw.callback_query.and_then(|value| serde_json::from_value(value).ok());
        let content = message.or_else(|| query().map(Content::CallbackQuery)).unwrap_or(Content::Other);
        Ok(Self { update_id: raw.update_id, content })
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Message {
    pub message_id: MessageId,
    pub chat: Chat,
    pub from: Option<User>,
    /// Who a message is from that was written in the name of a chat, as anonymous admins do.
    pub sender_chat: Option<Chat>,
    #[serde(default)]
    pub date: i64,
    pub message_thread_id: Option<TopicId>,
    #[serde(default)]
    pub is_topic_message: bool,
    pub reply_to_message: Option<Box<Self>>,
    /// The part of the message replied to that was chosen.
    pub quote: Option<Quote>,
    pub text: Option<String>,
    #[serde(default)]
    pub entities: Vec<Entity>,
    pub caption: Option<String>,
    #[serde(default)]
    pub caption_entities: Vec<Entity>,
    pub media_group_id: Option<String>,
    /// There for every forwarded message.
    pub forward_origin: Option<Value>,
    /// There in the service message that opens a topic, which is also the silent target of messages in it.
    pub forum_topic_created: Option<Value>,
    #[serde(default)]
    pub photo: Vec<Attachment>,
    pub document: Option<Attachment>,
    pub voice: Option<Attachment>,
    pub audio: Option<Attachment>,
    pub video: Option<Attachment>,
    pub video_note: Option<Attachment>,
    pub animation: Option<Attachment>,
    pub sticker: Option<Attachment>,
    /// Things that people send and that say nothing to an engine.
    pub location: Option<IgnoredAny>,
    pub contact: Option<IgnoredAny>,
    pub poll: Option<IgnoredAny>,
    pub dice: Option<IgnoredAny>,
    pub game: Option<IgnoredAny>,
    pub story: Option<IgnoredAny>,
    pub checklist: Option<IgnoredAny>,
    pub paid_media: Option<IgnoredAny>,
    /// There in the service message that says that the group has another id now.
    pub migrate_to_chat_id: Option<ChatId>,
    /// The buttons below it, for a message of the bot's own.
    pub reply_markup: Option<Value>,
}

impl Message {
    /// The text, or what was written under a picture or file.
    pub fn words(&self) -> Option<&str> {
        self.text.as_deref().or(self.caption.as_deref())
    }

    /// The topic it was written in.
    pub fn topic(&self) -> Option<TopicId> {
        self.message_thread_id.filter(|_| self.is_topic_message)
    }

    /// The message that was really replied to: in a topic every message replies to the one that opened it.
    pub fn replied_to(&self) -> Option<&Self> {
        self.reply_to_message.as_deref().filter(|target| {
            let opens = target.forum_topic_created.is_some();
            let is_root = self.message_thread_id.is_some_and(|topic| topic.0 == target.message_id.0);
            !(opens || is_root && self.is_topic_message)
        })
    }

    /// What the first button below it says to us.
    pub fn button_data(&self) -> Option<&str> {
        self.reply_markup.as_ref()?.pointer("/inline_keyboard/0/0/callback_data")?.as_str()
    }

    /// Whether somebody sent something that is neither words nor a file. Service messages are nobody's.
    pub fn is_unreadable(&self) -> bool {
        let things = [
            &self.location,
            &self.contact,
            &self.poll,
            &self.dice,
            &self.game,
            &self.story,
            &self.checklist,
            &self.paid_media,
        ];
        self.sticker.is_some() || things.into_iter().any(Option::is_some)
    }

    /// Says something else instead of its words.
    pub fn replace_words(&mut self, words: &str) {
        let place = if self.text.is_some() { &mut self.text } else { &mut self.caption };
        *place = Some(words.to_owned());
    }

    pub fn is_forwarded(&self) -> bool {
        self.forward_origin.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Quote {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Chat {
    pub id: ChatId,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type", default)]
    pub kind: String,
    pub title: Option<String>,
    pub username: Option<String>,
    pub first_name: Option<String>,
    #[serde(default)]
    pub is_forum: bool,
}

impl Chat {
    pub fn is_private(&self) -> bool {
        if self.kind.is_empty() { !self.id.is_group() } else { self.kind == "private" }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    pub id: UserId,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

impl User {
    /// What they call themselves.
    pub fn name(&self) -> String {
        let names = [Some(self.first_name.as_str()), self.last_name.as_deref()];
        let words: Vec<&str> = names.into_iter().flatten().filter(|word| !word.trim().is_empty()).collect();
        words.join(" ")
    }
}

/// The bot itself, as `getMe` tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    pub id: UserId,
    #[serde(default)]
    pub first_name: String,
    #[serde(default)]
    pub username: String,
    /// Whether it sees all messages of a group, or only those that address it.
    #[serde(default)]
    pub can_read_all_group_messages: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CallbackQuery {
    pub id: String,
    pub from: User,
    /// The message with the button; missing when it is too old.
    pub message: Option<Message>,
    pub data: Option<String>,
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Attachment {
    pub file_id: String,
    pub file_name: Option<String>,
    pub file_size: Option<u64>,
    pub width: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct File {
    pub file_id: String,
    pub file_size: Option<u64>,
    pub file_path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChatMember {
    /// `creator`, `administrator`, `member`, `restricted`, `left` or `kicked`.
    pub status: String,
    #[serde(default)]
    pub can_manage_topics: bool,
    /// Said only of those who are restricted.
    pub can_send_messages: Option<bool>,
    /// Said only of those who are restricted: they may have left.
    pub is_member: Option<bool>,
}

impl ChatMember {
    pub fn is_there(&self) -> bool {
        !matches!(self.status.as_str(), "left" | "kicked") && self.is_member != Some(false)
    }

    pub fn may_write(&self) -> bool {
        self.status != "restricted" || self.can_send_messages == Some(true)
    }

    pub fn is_admin(&self) -> bool {
        matches!(self.status.as_str(), "creator" | "administrator")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ForumTopic {
    pub message_thread_id: TopicId,
    #[serde(default)]
    pub name: String,
}

/// What is left to know of a message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Sent {
    pub message_id: MessageId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BotCommand {
    pub command: String,
    pub description: String,
}

/// A part of a text with a look or a meaning; offset and length in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    #[serde(rename = "type")]
    pub kind: EntityKind,
    pub offset: usize,
    pub length: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

impl Entity {
    pub fn end(&self) -> usize {
        self.offset + self.length
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Blockquote,
    ExpandableBlockquote,
    Code,
    Pre,
    TextLink,
    Url,
    Mention,
    BotCommand,
    #[serde(other)]
    Other,
}

/// Buttons below a message, row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyboard {
    pub inline_keyboard: Vec<Vec<Button>>,
}

impl Keyboard {
    /// No buttons; in an edit this takes those away that are there.
    pub fn none() -> Self {
        Self::default()
    }

    pub fn row(buttons: impl IntoIterator<Item = Button>) -> Self {
        Self { inline_keyboard: vec![buttons.into_iter().collect()] }
    }

    pub fn is_empty(&self) -> bool {
        self.inline_keyboard.iter().all(Vec::is_empty)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub text: String,
    /// At most 64 bytes.
    pub callback_data: String,
}

impl Button {
    pub fn new(text: impl Into<String>, callback_data: impl Into<String>) -> Self {
        Self { text: text.into(), callback_data: callback_data.into() }
    }
}

/// A message to send, or the words that one is to have from now on.
#[derive(Clone, Copy, Debug)]
pub struct MessageText<'a> {
    pub text: &'a str,
    pub entities: &'a [Entity],
    /// In an edit, those that are there go away where there are none.
    pub keyboard: &'a Keyboard,
}

impl MessageText<'_> {
    pub(super) fn put_into(self, body: &mut Value) {
        body["text"] = json!(self.text);
        body["link_preview_options"] = json!({ "is_disabled": true });
        if !self.entities.is_empty() {
            body["entities"] = json!(self.entities);
        }
    }
}

/// Where a message goes, and how.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub reply_to: Option<MessageId>,
    pub silent: bool,
}

/// A file to send.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub reply_to: Option<MessageId>,
    pub name: &'a str,
    pub content: Vec<u8>,
    pub caption: Option<&'a str>,
}
