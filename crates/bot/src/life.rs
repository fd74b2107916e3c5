//! The states of a bot's life (Appendix C), and which may follow which.

use serde::Serialize;

/// Where a bot is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// HTTP sessions, signal handlers and background tasks are being set up.
    Initializing,
    /// Setup complete, ready to connect.
    Initialized,
    /// The WebSocket connection is in progress.
    Connecting,
    /// Authenticated, and the channels are enumerated.
    Connected,
    /// Processing messages in the receive loop.
    Running,
    /// Graceful shutdown initiated, cancelling background tasks.
    ShuttingDown,
    /// All resources released.
    Shutdown,
    /// Initialization or fatal runtime failure.
    Error,
}

impl State {
    /// The document's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Initializing => "INITIALIZING",
            Self::Initialized => "INITIALIZED",
            Self::Connecting => "CONNECTING",
            Self::Connected => "CONNECTED",
            Self::Running => "RUNNING",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::Shutdown => "SHUTDOWN",
            Self::Error => "ERROR",
        }
    }

    /// Whether `next` may follow. Besides the document's line: a lost connection leads back to connecting, and a stop
    /// or a fatal failure can come at any time.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Shutdown | Self::Error, _) => false,
            (Self::Initializing, Self::Initialized)
            | (Self::Initialized, Self::Connecting)
            | (Self::Connecting, Self::Connected)
            | (Self::Connected, Self::Running)
            | (Self::Connected | Self::Running, Self::Connecting)
            | (Self::ShuttingDown, Self::Shutdown) => true,
            (Self::ShuttingDown, Self::ShuttingDown) => false,
            (_, Self::ShuttingDown | Self::Error) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [State; 8] = [
        State::Initializing,
        State::Initialized,
        State::Connecting,
        State::Connected,
        State::Running,
        State::ShuttingDown,
        State::Shutdown,
        State::Error,
    ];

    #[test]
    fn the_line_of_appendix_c_can_be_walked() {
        for pair in ALL[..7].windows(2) {
            assert!(pair[0].may_become(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_lost_connection_leads_back_to_connecting() {
        assert!(State::Running.may_become(State::Connecting));
        assert!(State::Connected.may_become(State::Connecting));
    }

    #[test]
    fn an_error_can_come_from_any_living_state_and_is_the_end() {
        for state in ALL {
            let over = matches!(state, State::Shutdown | State::Error);
            assert_eq!(state.may_become(State::Error), !over, "{state:?}");
            assert!(!State::Error.may_become(state));
            assert!(!State::Shutdown.may_become(state));
        }
    }

    #[test]
    fn no_state_is_skipped() {
        assert!(!State::Initializing.may_become(State::Connecting));
        assert!(!State::Connecting.may_become(State::Running));
        assert!(!State::Running.may_become(State::Connected));
        assert!(!State::Running.may_become(State::Shutdown));
    }

    #[test]
    fn the_words_are_the_documents() {
        for state in ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.word());
        }
    }
}
