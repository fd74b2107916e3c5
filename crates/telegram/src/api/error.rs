//! What can go wrong with a call, sorted by what helps.

use std::time::Duration;

use super::{ChatId, DEFAULT_PAUSE};

/// Why a call brought no result. No variant holds an address, so none holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// Too many calls: wait, then ask again.
    #[error("Telegram asks to wait {} s", retry_after.as_secs())]
    RateLimited { retry_after: Duration },
    /// Asking again would change nothing.
    #[error("Telegram refused: {description} ({code})")]
    Rejected { code: u16, description: String, moved_to: Option<ChatId> },
    /// The network or the server failed: asking again helps, some time.
    #[error("Telegram cannot be reached: {cause}")]
    Unreachable {
        cause: String,
        /// The call may have had its effect, only the answer was lost.
        perhaps_done: bool,
    },
}

impl ApiError {
    pub(super) fn rejected(code: u16, description: &str) -> Self {
        Self::Rejected { code, description: description.into(), moved_to: None }
    }

    pub(super) fn from_status(status: u16, cause: &str) -> Self {
        match status {
            429 => Self::RateLimited { retry_after: DEFAULT_PAUSE },
            400..=499 => Self::rejected(status, cause),
            // Whoever is behind the gateway may have heard all of it.
            504 => Self::Unreachable { cause: format!("{cause} ({status})"), perhaps_done: true },
            500..=599 => Self::Unreachable { cause: format!("{cause} ({status})"), perhaps_done: false },
            _ => Self::Unreachable { cause: format!("{cause} ({status})"), perhaps_done: true },
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` asks for")]
    pub(super) fn from_http(error: reqwest::Error) -> Self {
        // The error's own words hold the address.
        let (cause, perhaps_done) = match &error {
            error if error.is_connect() => ("no connection", false),
            error if error.is_timeout() => ("no answer in time", true),
            error if error.is_builder() => ("the address is not valid", false),
            _ => ("the connection broke", true),
        };
        Self::Unreachable { cause: cause.into(), perhaps_done }
    }

    /// The message already says that.
    pub fn is_not_modified(&self) -> bool {
        self.says(&["message is not modified"])
    }

    /// The message to change or to remove is not there (any more), or too old for it.
    pub fn is_message_gone(&self) -> bool {
        let words =
            ["message to edit not found", "message to delete not found", "message_id_invalid", "message not found"];
        self.says(&words) || self.says(&["message can't be edited", "message can't be deleted"])
    }

    /// The message is there, but it cannot be removed (any more).
    pub fn is_irremovable(&self) -> bool {
        self.says(&["message can't be deleted"])
    }

    /// The topic is not there any more.
    pub fn is_topic_gone(&self) -> bool {
        self.says(&["message thread not found", "topic_deleted", "topic_closed", "topic_id_invalid"])
    }

    /// Nobody is there to read: the chat is gone, or the bot is not wanted in it.
    pub fn is_chat_gone(&self) -> bool {
        matches!(self, Self::Rejected { code: 403, .. })
            || self.says(&[
                "chat not found",
                "user is deactivated",
                "chat was deactivated",
                "peer_id_invalid",
                "have no rights to send",
                "not enough rights to send",
                "chat_write_forbidden",
                "chat_restricted",
                "bot was kicked",
                "bot was blocked",
            ])
    }

    /// The token is not one of a bot.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Rejected { code: 401, .. })
            || matches!(self, Self::Rejected { code: 404, description, .. } if description == "Not Found")
    }

    /// Somebody else fetches the updates of this bot, or a webhook does.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Rejected { code: 409, .. })
    }

    fn says(&self, words: &[&str]) -> bool {
        let Self::Rejected { description, .. } = self else { return false };
        let description = description.to_lowercase();
        words.iter().any(|words| description.contains(words))
    }
}

/// Why there is no bot for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("the bot token does not look like `123456:ABC…`")]
    Form,
    #[error("the HTTP client could not be set up")]
    Client,
}

pub(super) fn check_token(token: &str) -> Result<(), BadToken> {
    let (id, secret) = token.split_once(':').ok_or(BadToken::Form)?;
    let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if digits && !secret.is_empty() && secret.bytes().all(plain) { Ok(()) } else { Err(BadToken::Form) }
}
