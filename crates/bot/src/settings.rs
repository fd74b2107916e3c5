//! What can be set about a bot: who it is, and every constant of the document as a value with its default.
//!
//! The constants keep the document's names in small letters; a time in seconds ends with `_s`. So `WS_HEARTBEAT` is
//! `ws_heartbeat_s`. Three of them live elsewhere: `DEFAULT_WS_URL` is [`Settings::url`], `DEFAULT_OPENAI_URL` belongs
//! to the model, and the names to sanitise are [`Limits::sanitized_names`].

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use reqwest::Url;
use serde::{Deserialize, Serialize};

/// Everything one bot has to know before it starts.
#[derive(Clone)]
pub struct Settings {
    pub protocol: Protocol,
    /// The WebSocket of the server: `/rpc.ws` with Snek, `/ws` with Lark.
    pub url: Url,
    pub username: String,
    /// The password; with Lark, and for an agent of a hub, its API key.
    pub password: String,
    pub triggers: Vec<Regex>,
    pub system_prompt: String,
    pub image_format: ImageFormat,
    /// The SQLite file of the bot.
    pub database: PathBuf,
    pub limits: Limits,
}

/// How the bot joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    #[default]
    Snek,
    Lark,
}

/// How images are shown to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// As content blocks of their own.
    #[default]
    Openai,
    /// Inside the text.
    Deepseek,
}

/// One table for field, kind, default and meaning, in the order of the document's section 14.
macro_rules! limits {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $default:expr,)*) => {
        /// The constants of the document.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Limits {
            $($(#[$about])* pub $name: $kind,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

limits! {
    // Connection
    /// The search service.
    search_api_base: String = "https://search.molodetz.nl".into(),
    /// How often the connection is pinged.
    ws_heartbeat_s: f64 = 30.0,
    /// How long a call may take.
    request_timeout_s: f64 = 190.0,
    /// How long a TCP connection may take to open.
    http_connect_timeout_s: f64 = 90.0,

    // Reconnection
    /// Attempts with growing delays before it all begins anew.
    reconnect_max_retries: u32 = 3,
    /// The first delay.
    reconnect_initial_delay_s: f64 = 1.0,
    /// What each delay is multiplied with.
    reconnect_backoff_factor: f64 = 2.0,
    /// The pause after a receive error, before anything else is tried.
    ws_receive_retry_delay_s: f64 = 1.0,

    // Concurrency
    /// Calls under way at once.
    max_concurrent_operations: u32 = 100,
    /// HTTP requests under way at once.
    max_concurrent_requests: u32 = 10,
    /// Blocking jobs at once.
    thread_pool_workers: u32 = 8,
    /// Jobs that need the processor at once.
    process_pool_workers: u32 = 4,
    /// How long such a job, or a tool, may take.
    executor_timeout_s: f64 = 30.0,

    // Message handling
    /// Messages of a channel kept in memory.
    max_message_history: u32 = 50,
    /// Messages sent to the model at once.
    openai_limit: u32 = 200,
    /// Tokens sent to the model at once.
    context_window_token_limit: u32 = 120_000,
    /// Least time between two updates of a growing answer.
    streaming_update_interval_s: f64 = 0.0,

    // Tools
    /// Consecutive rounds of tool calls.
    max_tool_call_depth: u32 = 25,
    /// Identical calls within one answer.
    max_repeated_tool_calls: u32 = 5,
    /// Consecutive failures that end the rounds.
    max_consecutive_tool_errors: u32 = 3,
    /// Attempts of a request to the model.
    max_retry_attempts: u32 = 3,
    /// Consecutive failures that open a tool's circuit breaker.
    circuit_failure_threshold: u32 = 5,
    /// How long it stays open.
    circuit_recovery_timeout_s: f64 = 60.0,
    /// Calls that are let through to try whether all is well again.
    circuit_half_open_max_calls: u32 = 3,

    // Timing
    /// How often the bot looks after itself.
    task_check_interval_s: f64 = 0.5,
    /// How often the typing colour changes while it thinks.
    thinking_task_interval_s: f64 = 1.0,
    /// How often it forgets what is old.
    service_cleanup_interval_s: f64 = 3600.0,
    /// How long answers under way may take when it stops.
    shutdown_timeout_s: f64 = 5.0,
    /// Least time between two writes of its counters.
    min_counter_update_interval_s: f64 = 240.0,

    // Agentic
    /// Searches of one piece of research.
    agentic_max_research_queries: u32 = 8,
    /// Steps of a plan.
    agentic_max_plan_steps: u32 = 10,
    /// Notes on the scratchpad.
    agentic_scratchpad_size: u32 = 50,

    // Visual
    /// The range of hues of the typing colour.
    color_hue_min: f64 = 0.0,
    /// Its end.
    color_hue_max: f64 = 1.0,
    /// The range of saturations.
    color_saturation_min: f64 = 0.7,
    /// Its end.
    color_saturation_max: f64 = 1.0,
    /// The range of lightnesses.
    color_lightness_min: f64 = 0.5,
    /// Its end.
    color_lightness_max: f64 = 0.7,

    // Media
    /// Images remembered.
    media_hunt_dedup_max_size: u32 = 10_000,
    /// For how long.
    media_hunt_dedup_ttl_s: f64 = 86_400.0,
    /// How long the question about an image may take.
    media_hunt_head_timeout_s: f64 = 5.0,
    /// How long an image, or a page, may take to arrive.
    media_hunt_fetch_timeout_s: f64 = 30.0,
    /// The largest image that is shown to the model, in bytes.
    media_max_bytes: u32 = 10_000_000,

    // Names
    /// Names of other bots that an answer must not call.
    sanitized_names: Vec<String> =
        ["snek", "grok", "snik", "lisa", "gemma", "joanne", "ira", "thomas"].map(str::to_owned).into(),
}

/// A number of seconds of the configuration as a time.
pub fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Section 14, row by row.
    #[test]
    fn every_constant_of_the_document_has_its_default() {
        let rows = [
            ("search_api_base", json!("https://search.molodetz.nl")),
            ("ws_heartbeat_s", json!(30.0)),
            ("request_timeout_s", json!(190.0)),
            ("http_connect_timeout_s", json!(90.0)),
            ("reconnect_max_retries", json!(3)),
            ("reconnect_initial_delay_s", json!(1.0)),
            ("reconnect_backoff_factor", json!(2.0)),
            ("ws_receive_retry_delay_s", json!(1.0)),
            ("max_concurrent_operations", json!(100)),
            ("max_concurrent_requests", json!(10)),
            ("thread_pool_workers", json!(8)),
            ("process_pool_workers", json!(4)),
            ("executor_timeout_s", json!(30.0)),
            ("max_message_history", json!(50)),
            ("openai_limit", json!(200)),
            ("context_window_token_limit", json!(120000)),
            ("streaming_update_interval_s", json!(0.0)),
            ("max_tool_call_depth", json!(25)),
            ("max_repeated_tool_calls", json!(5)),
            ("max_consecutive_tool_errors", json!(3)),
            ("max_retry_attempts", json!(3)),
            ("circuit_failure_threshold", json!(5)),
            ("circuit_recovery_timeout_s", json!(60.0)),
            ("circuit_half_open_max_calls", json!(3)),
            ("task_check_interval_s", json!(0.5)),
            ("thinking_task_interval_s", json!(1.0)),
            ("service_cleanup_interval_s", json!(3600.0)),
            ("shutdown_timeout_s", json!(5.0)),
            ("min_counter_update_interval_s", json!(240.0)),
            ("agentic_max_research_queries", json!(8)),
            ("agentic_max_plan_steps", json!(10)),
            ("agentic_scratchpad_size", json!(50)),
            ("color_hue_min", json!(0.0)),
            ("color_hue_max", json!(1.0)),
            ("color_saturation_min", json!(0.7)),
            ("color_saturation_max", json!(1.0)),
            ("color_lightness_min", json!(0.5)),
            ("color_lightness_max", json!(0.7)),
            ("media_hunt_dedup_max_size", json!(10000)),
            ("media_hunt_dedup_ttl_s", json!(86400.0)),
            ("media_hunt_head_timeout_s", json!(5.0)),
            ("media_hunt_fetch_timeout_s", json!(30.0)),
            ("media_max_bytes", json!(10_000_000)),
            ("sanitized_names", json!(["snek", "grok", "snik", "lisa", "gemma", "joanne", "ira", "thomas"])),
        ];
        let limits = serde_json::to_value(Limits::default()).unwrap();
        for (name, value) in &rows {
            assert_eq!(&limits[name], value, "{name}");
        }
        assert_eq!(limits.as_object().unwrap().len(), rows.len(), "a constant is missing in this table");
    }
}
