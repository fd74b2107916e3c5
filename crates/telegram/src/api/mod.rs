//! The Bot API: one method per call, typed answers, errors that say what to do next.
//!
//! The token is part of every address, so addresses never appear in an error or a log.

mod error;
mod links;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Client, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use error::{ApiError, BadToken};
pub use wire::*;

/// How long an ordinary call may take; what takes longer may have happened nevertheless.
const CALL: Duration = Duration::from_secs(30);
/// An edit or a removal can be repeated, and must not hold up an answer behind it for long.
const REPEATABLE: Duration = Duration::from_secs(5);
/// Files take longer.
const TRANSFER: Duration = Duration::from_secs(120);
/// What a long poll may take beyond the time it was given.
const POLL_GRACE: Duration = Duration::from_secs(10);
/// What the server means when it limits and does not say for how long.
const DEFAULT_PAUSE: Duration = Duration::from_secs(5);

/// The most that the server lets a bot download.
pub const MAX_DOWNLOAD: u64 = 20 << 20;
/// The most that it lets a bot send.
pub const MAX_UPLOAD: u64 = 50 << 20;
/// The longest text of a callback answer, in UTF-16 units.
pub const MAX_CALLBACK_TEXT: usize = 200;
/// The longest caption, in UTF-16 units.
pub const MAX_CAPTION: usize = 1024;
/// The most commands a menu holds.
pub const MAX_COMMANDS: usize = 100;

/// A bot at a server; cheap to clone.
#[derive(Clone)]
pub struct Bot {
    http: Client,
    /// `…/bot<token>`, a secret.
    methods: Arc<str>,
    /// `…/file/bot<token>`, a secret.
    files: Arc<str>,
}

impl std::fmt::Debug for Bot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bot")
    }
}

impl Bot {
    /// `api_base` is the server's address, such as `https://api.telegram.org`.
    pub fn new(api_base: &str, token: &str) -> Result<Self, BadToken> {
        error::check_token(token)?;
        let base = api_base.trim_end_matches('/');
        let builder = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .pool_idle_timeout(Duration::from_secs(60))
            // A redirect would carry the token to whoever it names.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if is_loopback(base) { builder.no_proxy() } else { builder };
        let http = builder.build().map_err(|_| BadToken::Client)?;
        Ok(Self { http, methods: format!("{base}/bot{token}").into(), files: format!("{base}/file/bot{token}").into() })
    }

    /// Waits up to `wait` for updates from `offset` on. What cannot be understood comes as [`Content::Other`].
    pub async fn get_updates(&self, offset: Option<UpdateId>, wait: Duration) -> Result<Vec<Update>, ApiError> {
        let body = json!({
            "offset": offset,
            "timeout": wait.as_secs(),
            "allowed_updates": ["message", "callback_query"],
        });
        let updates = self.call_within::<Option<Vec<Update>>>("getUpdates", &body, wait + POLL_GRACE).await;
        updates.map(Option::unwrap_or_default)
    }

    pub async fn get_me(&self) -> Result<Me, ApiError> {
        self.call("getMe", &json!({})).await
    }

    /// Some servers do not say which message it became.
    pub async fn send_message(&self, to: Address, message: MessageText<'_>) -> Result<Option<Sent>, ApiError> {
        let mut body = json!({ "chat_id": to.chat, "disable_notification": to.silent });
        if let Some(topic) = to.topic.and_then(wire::thread) {
            body["message_thread_id"] = json!(topic);
        }
        if let Some(target) = to.reply_to {
            body["reply_to_message_id"] = json!(target);
            // A message that was deleted meanwhile is no reason not to answer.
            body["allow_sending_without_reply"] = json!(true);
        }
        if !message.keyboard.is_empty() {
            body["reply_markup"] = json!(message.keyboard);
        }
        message.put_into(&mut body);
        self.call("sendMessage", &body).await
    }

    pub async fn edit_message_text(
        &self,
        chat: ChatId,
        message: MessageId,
        words: MessageText<'_>,
    ) -> Result<(), ApiError> {
        let mut body = json!({ "chat_id": chat, "message_id": message, "reply_markup": words.keyboard });
        words.put_into(&mut body);
        self.call_within::<Done>("editMessageText", &body, REPEATABLE).await.map(drop)
    }

    pub async fn delete_message(&self, chat: ChatId, message: MessageId) -> Result<(), ApiError> {
        let body = json!({ "chat_id": chat, "message_id": message });
        self.call_within::<Done>("deleteMessage", &body, REPEATABLE).await.map(drop)
    }

    pub async fn send_document(&self, document: Document<'_>) -> Result<Option<Sent>, ApiError> {
        let part = Part::bytes(document.content).file_name(document.name.to_owned());
        let mut form = Form::new().text("chat_id", document.chat.0.to_string()).part("document", part);
        if let Some(TopicId(topic)) = document.topic.and_then(wire::thread) {
            form = form.text("message_thread_id", topic.to_string());
        }
        if let Some(MessageId(message)) = document.reply_to {
            form = form.text("reply_to_message_id", message.to_string()).text("allow_sending_without_reply", "true");
        }
        if let Some(caption) = document.caption {
            form = form.text("caption", beginning(caption, MAX_CAPTION));
        }
        let request = self.http.post(self.address("sendDocument")).multipart(form).timeout(TRANSFER);
        understood(request.send().await.map_err(ApiError::from_http)?).await
    }

    /// Ends the waiting sign of a button, with a short text where there is one.
    pub async fn answer_callback_query(&self, id: &str, text: Option<&str>) -> Result<(), ApiError> {
        let text = text.map(|text| beginning(text, MAX_CALLBACK_TEXT));
        self.call::<Done>("answerCallbackQuery", &json!({ "callback_query_id": id, "text": text })).await.map(drop)
    }

    pub async fn set_my_commands(&self, commands: &[BotCommand]) -> Result<(), ApiError> {
        self.call::<Done>("setMyCommands", &json!({ "commands": commands })).await.map(drop)
    }

    pub async fn get_chat(&self, chat: ChatId) -> Result<Chat, ApiError> {
        self.call("getChat", &json!({ "chat_id": chat })).await
    }

    pub async fn get_chat_member(&self, chat: ChatId, user: UserId) -> Result<ChatMember, ApiError> {
        self.call("getChatMember", &json!({ "chat_id": chat, "user_id": user })).await
    }

    pub async fn create_forum_topic(&self, chat: ChatId, name: &str) -> Result<ForumTopic, ApiError> {
        self.call("createForumTopic", &json!({ "chat_id": chat, "name": name })).await
    }

    pub async fn edit_forum_topic(&self, chat: ChatId, topic: TopicId, name: &str) -> Result<(), ApiError> {
        let body = json!({ "chat_id": chat, "message_thread_id": topic, "name": name });
        self.call::<Done>("editForumTopic", &body).await.map(drop)
    }

    pub async fn get_file(&self, file: &str) -> Result<File, ApiError> {
        self.call("getFile", &json!({ "file_id": file })).await
    }

    /// The content of a file that [`Bot::get_file`] named, at most `most` bytes.
    pub async fn download(&self, path: &str, most: u64) -> Result<Vec<u8>, ApiError> {
        if path.split('/').any(|part| part == "..") || Path::new(path).is_absolute() {
            return Err(ApiError::rejected(400, "the server named a file outside its folder"));
        }
        let request = self.http.get(format!("{}/{path}", self.files)).timeout(TRANSFER);
        let mut response = request.send().await.map_err(ApiError::from_http)?;
        if !response.status().is_success() {
            return Err(ApiError::from_status(response.status().as_u16(), "the file could not be fetched"));
        }
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(ApiError::from_http)? {
            if (content.len() + chunk.len()) as u64 > most {
                return Err(ApiError::rejected(413, "the file is too large"));
            }
            content.extend_from_slice(&chunk);
        }
        Ok(content)
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, body: &impl Serialize) -> Result<T, ApiError> {
        self.call_within(method, body, CALL).await
    }

    async fn call_within<T: DeserializeOwned>(
        &self,
        method: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, ApiError> {
        let request = self.http.post(self.address(method)).json(body).timeout(limit);
        understood(request.send().await.map_err(ApiError::from_http)?).await
    }

    fn address(&self, method: &str) -> String {
        format!("{}/{method}", self.methods)
    }
}

fn is_loopback(base: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// As much of a text as has this many UTF-16 units, and so no more characters either.
fn beginning(text: &str, units: usize) -> String {
    text[..units_end(text, units)].to_owned()
}

/// Where the longest beginning of a text ends that has this many UTF-16 units at most, in bytes. Servers count either
/// those or characters, of which there are never more.
pub fn units_end(text: &str, units: usize) -> usize {
    let mut count = 0;
    let over = text.char_indices().find(|(_, letter)| {
        count += letter.len_utf16();
        count > units
    });
    over.map_or(text.len(), |(at, _)| at)
}

/// `true` or an object: what a method answers that only does something.
type Done = Value;

/// The frame around every answer.
#[derive(Deserialize)]
struct Reply {
    ok: bool,
    result: Option<Box<RawValue>>,
    error_code: Option<u16>,
    description: Option<String>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<ChatId>,
}

async fn understood<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(ApiError::from_http)?;
    answer(status, &body)
}

pub(crate) fn answer<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, ApiError> {
    let Ok(reply) = serde_json::from_slice::<Reply>(body) else {
        // A proxy on the way speaks no JSON; only its status tells something.
        return Err(ApiError::from_status(status, "the answer is not one of the Bot API"));
    };
    if reply.ok {
        // `ok` decides: what has no result, or `null` for one, was done all the same.
        let result = reply.result.as_deref().unwrap_or(RawValue::NULL);
        return serde_json::from_str(result.get())
            .map_err(|_| ApiError::Unreachable { cause: "the answer was not understood".into(), perhaps_done: true });
    }
    let code = reply.error_code.unwrap_or(status);
    let description = reply.description.unwrap_or_default();
    Err(match (code, reply.parameters) {
        (429, Parameters { retry_after, .. }) => {
            ApiError::RateLimited { retry_after: retry_after.map_or(DEFAULT_PAUSE, Duration::from_secs) }
        }
        (400..=499, Parameters { migrate_to_chat_id, .. }) => {
            ApiError::Rejected { code, description, moved_to: migrate_to_chat_id }
        }
        _ => ApiError::from_status(code, "the server has a problem"),
    })
}

#[cfg(test)]
mod tests;
