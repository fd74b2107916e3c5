//! The lines of `claude --output-format stream-json`, in its own words. Reading never fails.

use serde_json::Value;

use crate::json::{field, flag, list, text, whole, words};

pub struct ClaudeLine<'a> {
    /// Every line may name its session.
    pub session_id: Option<&'a str>,
    pub body: Body<'a>,
}

pub enum Body<'a> {
    Init {
        model: Option<&'a str>,
        line: &'a Value,
    },
    /// Whether it works; said only by programs that were asked to say it.
    State {
        idle: bool,
    },
    /// What became of words that it was given.
    Words {
        uuid: &'a str,
        state: &'a str,
    },
    Task(TaskNews<'a>),
    Retry(Retry<'a>),
    RateLimit(&'a Value),
    /// Words of claude itself to people, such as that another model goes on.
    Note(&'a str),
    Assistant {
        content: Vec<Block<'a>>,
        parent: Option<&'a str>,
        /// It is not the model who speaks: the words are an error.
        api_error: Option<&'a str>,
    },
    User {
        content: Vec<Block<'a>>,
        /// Words of ours, said back when it takes them up.
        replay: Option<&'a str>,
    },
    Delta(Delta<'a>),
    Result(Outcome<'a>),
    ControlRequest {
        request_id: &'a str,
        request: &'a Value,
    },
    ControlCancel {
        request_id: &'a str,
    },
    ControlResponse {
        error: Option<&'a str>,
    },
    /// Known, and nothing for people.
    Quiet,
    Unknown(String),
}

/// What happens beside the turns: subagents, commands in the background.
pub enum TaskNews<'a> {
    Started(Task<'a>),
    Ended {
        id: &'a str,
        status: &'a str,
    },
    /// All that is in the background now.
    Background(Vec<Task<'a>>),
}

pub struct Task<'a> {
    pub id: &'a str,
    /// One of perhaps many runs of it.
    pub run: &'a str,
    pub kind: &'a str,
    pub description: &'a str,
    /// The turn itself waits for it.
    pub foreground: bool,
}

pub struct Retry<'a> {
    pub attempt: i64,
    pub most: i64,
    pub delay_ms: f64,
    pub status: Option<i64>,
    pub error: &'a str,
}

/// Some of what the model is saying.
pub enum Delta<'a> {
    Begun,
    Text(&'a str),
    Thinking(&'a str),
    BlockEnded,
}

pub enum Block<'a> {
    Text(&'a str),
    Thinking(&'a str),
    ToolUse { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: &'a str, content: &'a Value, is_error: bool },
    Other,
}

pub struct Outcome<'a> {
    pub subtype: &'a str,
    pub is_error: bool,
    pub result: &'a str,
    pub errors: &'a [Value],
    pub denials: &'a [Value],
    /// Why there was a turn at all, when nobody had said anything.
    pub origin: Option<&'a str>,
    pub origin_run: Option<&'a str>,
    /// Which words of ours it answers, where it says so.
    pub answers: &'a [Value],
    pub status: Option<i64>,
    pub reason: &'a str,
    pub line: &'a Value,
}

/// Lines of 2.1.197 and 2.1.325 that have nothing for people in them.
const QUIET: &str = "tool_progress tool_use_summary keep_alive auth_status prompt_suggestion transcript_mirror \
                     streamlined_text streamlined_tool_use_summary";
const QUIET_SYSTEM: &str = "status thinking thinking_tokens task_progress task_summary post_turn_summary turn_duration \
                            session_metadata session_title_changed hook_started hook_progress hook_response \
                            stop_hook_summary compact_boundary commands_changed files_persisted file_snapshot \
                            memory_recall permission_check_status permission_denied control_request_progress";
const NOTES: &str = "informational notification model_fallback model_refusal_fallback model_refusal_no_fallback \
                     model_consent_fallback";

fn is_one_of(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

impl<'a> ClaudeLine<'a> {
    pub fn read(line: &'a Value) -> Self {
        Self { session_id: words(line, "session_id"), body: Body::read(line) }
    }
}

impl<'a> Body<'a> {
    fn read(line: &'a Value) -> Self {
        let said = |key: &str| text(line, key).unwrap_or_default();
        let parent = || text(line, "parent_tool_use_id");
        match said("type") {
            "system" => Self::system(line),
            "command_lifecycle" => Self::Words { uuid: said("command_uuid"), state: said("state") },
            "rate_limit_event" => Self::RateLimit(field(line, "rate_limit_info")),
            "assistant" => {
                let api_error = flag(line, "is_api_error_message") == Some(true) || words(line, "error").is_some();
                let api_error = api_error.then(|| said("error"));
                Self::Assistant { content: blocks(line), parent: parent(), api_error }
            }
            "user" => {
                let replay = (flag(line, "isReplay") == Some(true)).then(|| said("uuid"));
                Self::User { content: blocks(line), replay }
            }
            "stream_event" if parent().is_none() => Delta::read(field(line, "event")).map_or(Self::Quiet, Self::Delta),
            "stream_event" => Self::Quiet,
            "result" => Self::Result(Outcome::read(line)),
            "control_request" => {
                Self::ControlRequest { request_id: said("request_id"), request: field(line, "request") }
            }
            "control_cancel_request" => Self::ControlCancel { request_id: said("request_id") },
            "control_response" => Self::ControlResponse { error: text(field(line, "response"), "error") },
            name if is_one_of(QUIET, name) => Self::Quiet,
            name => Self::Unknown(name.to_owned()),
        }
    }

    fn system(line: &'a Value) -> Self {
        let said = |key: &str| text(line, key).unwrap_or_default();
        match said("subtype") {
            "init" => Self::Init { model: words(line, "model"), line },
            "session_state_changed" => Self::State { idle: said("state") == "idle" },
            "task_started" => Task::read(line).map_or(Self::Quiet, |task| Self::Task(TaskNews::Started(task))),
            "task_updated" => match text(field(line, "patch"), "status").unwrap_or_default() {
                status @ ("completed" | "failed" | "killed") => {
                    Self::Task(TaskNews::Ended { id: said("task_id"), status })
                }
                _ => Self::Quiet,
            },
            "task_notification" => Self::Task(TaskNews::Ended { id: said("task_id"), status: said("status") }),
            "background_tasks_changed" => {
                Self::Task(TaskNews::Background(list(line, "tasks").iter().filter_map(Task::read).collect()))
            }
            "api_retry" => Self::Retry(Retry {
                attempt: whole(line, "attempt").unwrap_or(0),
                most: whole(line, "max_retries").unwrap_or(0),
                delay_ms: field(line, "retry_delay_ms").as_f64().unwrap_or(0.0),
                status: whole(line, "error_status"),
                error: said("error"),
            }),
            // Only for whoever reads everything.
            "informational" if said("level") == "info" => Self::Quiet,
            name if is_one_of(NOTES, name) => {
                words(line, "content").or_else(|| words(line, "text")).map_or(Self::Quiet, Self::Note)
            }
            name if is_one_of(QUIET_SYSTEM, name) => Self::Quiet,
            name => Self::Unknown(format!("system.{name}")),
        }
    }
}

impl<'a> Task<'a> {
    /// Nothing for what only watches, or works elsewhere: nobody waits for that.
    fn read(task: &'a Value) -> Option<Self> {
        let said = |key: &str| text(task, key).unwrap_or_default();
        let aside = |key: &str| flag(task, key) == Some(true);
        let foreground = flag(task, "is_backgrounded") == Some(false);
        (!aside("ambient") && !aside("off_host")).then(|| Self {
            id: said("task_id"),
            run: said("run_id"),
            kind: said("task_type"),
            description: said("description"),
            foreground,
        })
    }
}

impl<'a> Delta<'a> {
    fn read(event: &'a Value) -> Option<Self> {
        let delta = field(event, "delta");
        match (text(event, "type")?, text(delta, "type")) {
            ("message_start", _) => Some(Self::Begun),
            ("content_block_stop", _) => Some(Self::BlockEnded),
            ("content_block_delta", Some("text_delta")) => text(delta, "text").map(Self::Text),
            ("content_block_delta", Some("thinking_delta")) => text(delta, "thinking").map(Self::Thinking),
            _ => None,
        }
    }
}

impl<'a> Outcome<'a> {
    fn read(line: &'a Value) -> Self {
        let said = |key: &str| text(line, key).unwrap_or_default();
        Self {
            subtype: said("subtype"),
            is_error: flag(line, "is_error").unwrap_or(said("subtype").starts_with("error")),
            result: said("result"),
            errors: list(line, "errors"),
            denials: list(line, "permission_denials"),
            origin: words(field(line, "origin"), "kind"),
            origin_run: words(field(line, "origin"), "runId"),
            answers: list(line, "user_message_uuids"),
            status: whole(line, "api_error_status"),
            reason: said("terminal_reason"),
            line,
        }
    }
}

fn blocks(line: &Value) -> Vec<Block<'_>> {
    match field(field(line, "message"), "content") {
        Value::String(text) => vec![Block::Text(text)],
        Value::Array(blocks) => blocks.iter().map(Block::read).collect(),
        _ => Vec::new(),
    }
}

impl<'a> Block<'a> {
    fn read(block: &'a Value) -> Self {
        let said = |key: &str| text(block, key).unwrap_or_default();
        match said("type") {
            "text" => Self::Text(said("text")),
            "thinking" => Self::Thinking(said("thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                Self::ToolUse { id: said("id"), name: said("name"), input: field(block, "input") }
            }
            // advisor_tool_result, web_search_tool_result and whatever comes next.
            kind if kind == "tool_result" || kind.ends_with("_tool_result") => Self::ToolResult {
                tool_use_id: said("tool_use_id"),
                content: field(block, "content"),
                is_error: flag(block, "is_error").unwrap_or(false),
            },
            _ => Self::Other,
        }
    }
}
