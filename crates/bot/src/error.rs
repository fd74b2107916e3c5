//! What can go wrong, as the document sorts it (section 13).

use std::time::Duration;

pub use folkmoot_clients::CallFailure as RpcFailure;

/// Any failure of the bot. The text is for people; it never holds a secret or what somebody said.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BotError {
    /// Connection or WebSocket failures.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// Login failures.
    #[error("the login was refused: {0}")]
    Authentication(String),
    /// RPC call failures and timeouts: the rows of "RPC Error Conditions", and the server's own no.
    #[error("the call `{method}` failed: {why}")]
    Rpc { method: String, why: RpcFailure },
    /// Tool execution failures.
    #[error("{0}")]
    Tool(String),
    /// Database operation failures.
    #[error("the bot's database failed: {0}")]
    Database(String),
    /// Input validation failures: the caller can do better, the tool is well.
    #[error("{0}")]
    Validation(String),
    /// Circuit breaker tripped.
    #[error("the tool `{tool}` has failed too often and rests for {} s", retry_in.as_secs_f64().ceil())]
    CircuitBreakerOpen { tool: String, retry_in: Duration },
}

impl BotError {
    pub fn rpc(method: &str, why: RpcFailure) -> Self {
        Self::Rpc { method: method.to_owned(), why }
    }

    /// Whether the same thing could work on a new connection; the server's own no would be repeated.
    pub fn may_be_retried(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Rpc { why, .. } => !matches!(why, RpcFailure::Refused(_)),
            Self::Authentication(_)
            | Self::Tool(_)
            | Self::Database(_)
            | Self::Validation(_)
            | Self::CircuitBreakerOpen { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_retried_and_a_lost_connection_is() {
        assert!(BotError::Connection("gone".into()).may_be_retried());
        for why in
            [RpcFailure::Closed, RpcFailure::Broken("reset".into()), RpcFailure::Timeout(Duration::from_secs(190))]
        {
            assert!(BotError::rpc("send_message", why).may_be_retried());
        }
        assert!(!BotError::rpc("send_message", RpcFailure::Refused("Not allowed".into())).may_be_retried());
        assert!(!BotError::Authentication("wrong password".into()).may_be_retried());
    }

    #[test]
    fn a_sentence_names_the_thing() {
        let timeout = BotError::rpc("get_user", RpcFailure::Timeout(Duration::from_secs(190)));
        assert_eq!(timeout.to_string(), "the call `get_user` failed: no answer within 190 s");
        let open = BotError::CircuitBreakerOpen { tool: "web_search".into(), retry_in: Duration::from_millis(41_200) };
        assert_eq!(open.to_string(), "the tool `web_search` has failed too often and rests for 42 s");
    }
}
