//! The catalogue of configuration keys: what exists, what it takes, and what it is for.

use super::nearest::nearest;

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Choice(&'static [&'static str]),
    Flag,
    Integer,
    /// A whole number that is not negative.
    Count,
    Number,
    /// A number of seconds, whole or not.
    Seconds,
    TextList,
    IntegerList,
    /// A key that only its engine understands; passed on as it is.
    Any,
}

impl Kind {
    /// The kind in words, for "must be …".
    pub fn expected(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::Flag => "true or false".into(),
            Self::Integer => "a whole number".into(),
            Self::Count => "a whole number from 0 to 4294967295".into(),
            Self::Number => "a number".into(),
            Self::Seconds => "a number of seconds".into(),
            Self::TextList => "a list of texts".into(),
            Self::IntegerList => "a list of whole numbers".into(),
            Self::Any => "any value".into(),
        }
    }
}

/// One row of the catalogue; `*` in a path stands for a name of the operator's choice.
#[derive(Debug)]
pub struct Key {
    pub path: &'static str,
    pub kind: Kind,
    pub secret: bool,
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { path, kind, secret: false, about }
}

const fn secret(path: &'static str, about: &'static str) -> Key {
    Key { path, kind: Kind::Text, secret: true, about }
}

/// Every key there is, in the order in which they are listed.
pub const KEYS: &[Key] = &[
    key("server.listen", Kind::Text, "address and port of the main listener"),
    key(
        "server.public_url",
        Kind::Text,
        "address under which people reach the hub; follows `server.listen` when not set",
    ),
    key("server.data_dir", Kind::Text, "folder of the database and the uploads; empty: the XDG data folder"),
    key("server.registration", Kind::Choice(&["first", "open", "closed"]), "who may create an account"),
    secret("server.jwt_secret", "key that signs login tokens; made and kept in the data folder when empty"),
    key(
        "server.log",
        Kind::Text,
        "what is logged: error, warn, info, debug, trace, or a filter like `info,folkmoot_hub=debug`",
    ),
    key("server.log_format", Kind::Choice(&["text", "json"]), "how log lines look"),
    key("server.allowed_origins", Kind::TextList, "further web origins that may use the hub from a browser"),
    key(
        "server.trusted_proxies",
        Kind::TextList,
        "addresses or networks of reverse proxies whose `X-Forwarded-For` is believed",
    ),
    key(
        "server.header_timeout_s",
        Kind::Seconds,
        "how long the head of a request may take, and how long an HTTP connection may be idle",
    ),
    key("server.write_timeout_s", Kind::Seconds, "a WebSocket that takes nothing for this long is closed"),
    key(
        "store.url",
        Kind::Text,
        "where everything is kept: `sqlite`, a file in the data folder, or `postgres://USER:PASSWORD@HOST/DATABASE`",
    ),
    key("bus.url", Kind::Text, "how several hubs would tell each other what happened: `local`, there is one hub"),
    key("llm.base_url", Kind::Text, "OpenAI-compatible endpoint"),
    secret("llm.api_key", "its key"),
    key("llm.model", Kind::Text, "its model"),
    key("stt.base_url", Kind::Text, "OpenAI-compatible transcription endpoint"),
    secret("stt.api_key", "its key"),
    key("stt.model", Kind::Text, "its model"),
    key("smarthole.enabled", Kind::Flag, "whether the SmartHole door opens"),
    key("smarthole.listen", Kind::Text, "its loopback address and port"),
    key("smarthole.response_timeout_s", Kind::Seconds, "how long a client may take to answer"),
    key("smarthole.choice_timeout_s", Kind::Seconds, "how long the model may take to choose a client"),
    key("chopsticks.enabled", Kind::Flag, "whether the Chopsticks door opens"),
    key("chopsticks.listen", Kind::Text, "a listener of its own; empty: only /agents on the main listener"),
    secret(
        "chopsticks.runner_secret",
        "what agents must show; empty: nothing, and only agents on this machine may connect",
    ),
    key("chopsticks.request_timeout_s", Kind::Seconds, "how long an agent may take to answer"),
    key("chopsticks.handshake_s", Kind::Seconds, "how long an agent may take to say hello; at least 1"),
    key("chopsticks.stale_s", Kind::Seconds, "an agent that is silent for this long is gone"),
    key("chopsticks.reconnect_grace_s", Kind::Seconds, "a lost agent that is back within this time keeps its session"),
    key(
        "chopsticks.probe_s",
        Kind::Seconds,
        "how long a connected agent may take to show that it is alive before another connection takes its place",
    ),
    key(
        "chopsticks.idle_release_s",
        Kind::Seconds,
        "a session nobody used for this long is freed, unless it plays; 0: never",
    ),
    key("chopsticks.max_connections", Kind::Integer, "how many agents may be connected at once"),
    key("chopsticks.max_connections_per_ip", Kind::Integer, "how many of them from one address"),
    key("wakes.quiet_ms", Kind::Count, "a wake waits this long for more of the same sender, where typing is known"),
    key("wakes.quiet_elsewhere_ms", Kind::Count, "the same on doors that do not tell of typing"),
    key("wakes.typing_ms", Kind::Count, "a sign of typing keeps a wake waiting for this long"),
    key("wakes.longest_ms", Kind::Count, "no wake waits longer than this after its first message"),
    key("wakes.expire_s", Kind::Seconds, "an agent that has not answered in this time will not; the sender is told"),
    key(
        "wakes.nearby_s",
        Kind::Seconds,
        "an agent's message is taken for an answer to what was said this short before",
    ),
    key("wakes.max_depth", Kind::Count, "how many agents may hand one matter on; 0: no limit"),
    key("wakes.max_wakes", Kind::Count, "how often agents may wake agents over one matter; 0: no limit"),
    key("wakes.max_pair", Kind::Count, "how often one agent may wake the same other one over one matter; 0: no limit"),
    key("wakes.max_row", Kind::Count, "how many turns agents may take without a person between them; 0: no limit"),
    key(
        "wakes.max_alone",
        Kind::Count,
        "how often an agent may wake others within an hour without a person asking for it; 0: no limit",
    ),
    key("wakes.max_mentions", Kind::Count, "how many agents one message wakes; 0: no limit"),
    key("wakes.grant", Kind::Count, "how much is added to the limits when people let agents continue"),
    key(
        "limits.requests_per_second",
        Kind::Count,
        "REST requests and frames of a member, in bursts of two seconds' worth; 0 here and below: no limit",
    ),
    key(
        "limits.messages_per_second",
        Kind::Count,
        "messages and edits of a member, on every door, in bursts of ten seconds' worth",
    ),
    key("limits.workspace_messages_per_second", Kind::Count, "the same of all members of a workspace together"),
    key("limits.uploads_per_minute", Kind::Count, "uploads of a member"),
    key("limits.member_storage_mb", Kind::Count, "megabytes that the files of a member may hold"),
    key("limits.workspace_storage_mb", Kind::Count, "megabytes that all files of a workspace may hold"),
    key("limits.channels_per_hour", Kind::Count, "channels a person may make, those of its agents included"),
    key("limits.members_per_hour", Kind::Count, "members that may come into a workspace, agents included"),
    key("limits.reactions_per_message", Kind::Count, "reactions on one message, of all members together"),
    key("limits.http_connections", Kind::Count, "open HTTP connections; WebSockets that were opened do not count"),
    key(
        "limits.http_connections_per_address",
        Kind::Count,
        "those of one address; trusted proxies may have as many as there are",
    ),
    secret("telegram.bot_token", "token of the Telegram bot"),
    key("telegram.chat_id", Kind::Integer, "the chat that the bridge serves"),
    key("telegram.allowed_user_ids", Kind::IntegerList, "Telegram users who may give orders"),
    key("telegram.api_base", Kind::Text, "address of the Bot API"),
    key("telegram.edit_interval_s", Kind::Seconds, "least time between two edits of a progress message"),
    key("telegram.join_window_s", Kind::Seconds, "how long a message waits for another one to join it"),
    key("telegram.message_overflow", Kind::Choice(&["split", "trim"]), "what happens to an answer that is too long"),
    key(
        "telegram.session_mode",
        Kind::Choice(&["stateless", "chat"]),
        "whether every message begins a thread, or goes on with that of its chat",
    ),
    key("telegram.uploads_dir", Kind::Text, "where files from a chat go, below the project's folder"),
    key("engines.default", Kind::Text, "the engine of new threads"),
    key(
        "engines.walls",
        Kind::Choice(&["auto", "required", "off"]),
        "keep the hub's own files from engines: where the kernel can, or else start none, or never",
    ),
    key("engines.*.command", Kind::Text, "program that runs the engine; default: its name"),
    key("engines.*.extra_args", Kind::TextList, "further arguments for it"),
    key("engines.*.model", Kind::Text, "model to ask for; empty: the engine's own choice"),
    secret("engines.*.env.*", "environment variable for it"),
    key("engines.*.pass_env", Kind::TextList, "variables of the hub's own environment that it gets too"),
    key("engines.*.*", Kind::Any, "a key that only this engine knows"),
    key("projects.*.path", Kind::Text, "folder of the project"),
    key("projects.*.default_engine", Kind::Text, "its engine; empty: `engines.default`"),
    key("projects.*.chat_id", Kind::Integer, "the Telegram chat of the project; 0: none"),
    key("projects.*.worktrees_dir", Kind::Text, "where worktrees of its branches go, below its folder"),
    key("projects.*.worktree_base", Kind::Text, "what a new branch begins from; empty: what is checked out"),
    key("bot.protocol", Kind::Choice(&["snek", "lark"]), "how the bot joins"),
    key("bot.url", Kind::Text, "the server that the bot joins: `/rpc.ws` with Snek, `/ws` with Lark"),
    key("bot.username", Kind::Text, "its name there; with Lark the API key says it"),
    secret("bot.password", "its password there; with Lark, and for an agent of a hub, its API key"),
    key("bot.triggers", Kind::TextList, "regular expressions that make the bot answer in a public channel"),
    key("bot.system_prompt", Kind::Text, "what the model is told about its part"),
    key("bot.image_format", Kind::Choice(&["openai", "deepseek"]), "how images are shown to the model"),
    key("bot.database", Kind::Text, "the bot's SQLite file; empty: bot.db in the data folder"),
    key("bot.status_listen", Kind::Text, "loopback address of the bot's status page; empty: none"),
    key("bot.search_api_base", Kind::Text, "the search service"),
    key("bot.ws_heartbeat_s", Kind::Seconds, "how often the connection is pinged"),
    key("bot.request_timeout_s", Kind::Seconds, "how long a call, or a tool, may take"),
    key("bot.http_connect_timeout_s", Kind::Seconds, "how long a TCP connection may take to open"),
    key("bot.reconnect_max_retries", Kind::Count, "attempts with growing delays before it begins anew"),
    key(
        "bot.reconnect_initial_delay_s",
        Kind::Seconds,
        "the first delay before a connection, or the model, is tried again",
    ),
    key("bot.reconnect_backoff_factor", Kind::Number, "what each delay is multiplied with"),
    key("bot.ws_receive_retry_delay_s", Kind::Seconds, "least pause after a receive error"),
    key("bot.max_concurrent_operations", Kind::Count, "calls under way at once"),
    key("bot.max_concurrent_requests", Kind::Count, "HTTP requests under way at once"),
    key("bot.thread_pool_workers", Kind::Count, "blocking jobs at once"),
    key("bot.process_pool_workers", Kind::Count, "jobs that need the processor at once"),
    key("bot.executor_timeout_s", Kind::Seconds, "how long such a job may take"),
    key("bot.max_message_history", Kind::Count, "messages of a channel kept in memory"),
    key("bot.openai_limit", Kind::Count, "messages sent to the model at once"),
    key("bot.context_window_token_limit", Kind::Count, "tokens sent to the model at once"),
    key("bot.streaming_update_interval_s", Kind::Seconds, "least time between two updates of a growing answer"),
    key("bot.max_tool_call_depth", Kind::Count, "consecutive rounds of tool calls"),
    key("bot.max_repeated_tool_calls", Kind::Count, "identical tool calls within one answer"),
    key("bot.max_consecutive_tool_errors", Kind::Count, "consecutive failures that end the rounds"),
    key("bot.max_retry_attempts", Kind::Count, "attempts to send a message, or to ask the model"),
    key("bot.circuit_failure_threshold", Kind::Count, "consecutive failures that open a tool's circuit breaker"),
    key("bot.circuit_recovery_timeout_s", Kind::Seconds, "how long it stays open"),
    key("bot.circuit_half_open_max_calls", Kind::Count, "calls let through to try whether all is well again"),
    key("bot.task_check_interval_s", Kind::Seconds, "how often the bot looks after itself"),
    key("bot.thinking_task_interval_s", Kind::Seconds, "how often the typing colour changes while it thinks"),
    key("bot.service_cleanup_interval_s", Kind::Seconds, "how often it forgets what is old"),
    key("bot.shutdown_timeout_s", Kind::Seconds, "how long answers under way may take when it stops"),
    key("bot.min_counter_update_interval_s", Kind::Seconds, "least time between two writes of its counters"),
    key("bot.agentic_max_research_queries", Kind::Count, "searches of one piece of research"),
    key("bot.agentic_max_plan_steps", Kind::Count, "steps of a plan"),
    key("bot.agentic_scratchpad_size", Kind::Count, "notes on a scratchpad"),
    key("bot.color_hue_min", Kind::Number, "least hue of the typing colour, from 0 to 1"),
    key("bot.color_hue_max", Kind::Number, "greatest hue"),
    key("bot.color_saturation_min", Kind::Number, "least saturation, from 0 to 1"),
    key("bot.color_saturation_max", Kind::Number, "greatest saturation"),
    key("bot.color_lightness_min", Kind::Number, "least lightness, from 0 to 1"),
    key("bot.color_lightness_max", Kind::Number, "greatest lightness"),
    key("bot.media_hunt_dedup_max_size", Kind::Count, "images remembered"),
    key("bot.media_hunt_dedup_ttl_s", Kind::Seconds, "for how long"),
    key("bot.media_hunt_head_timeout_s", Kind::Seconds, "how long the question about an image may take"),
    key("bot.media_hunt_fetch_timeout_s", Kind::Seconds, "how long an image, a page or a search may take"),
    key("bot.media_max_bytes", Kind::Count, "the largest image that is shown to the model"),
    key("bot.sanitized_names", Kind::TextList, "names of other bots that an answer must not call"),
    key("agentd.server", Kind::Text, "the hub that the daemon serves"),
    secret(
        "agentd.api_key",
        "the key it logs in with: that of a machine (`moot machine add`); empty: it makes one with your login",
    ),
    key("agentd.socket", Kind::Text, "Unix socket for local agents; empty: agentd.sock in the runtime or data folder"),
    key("agents.*.engine", Kind::Text, "the engine that works as this agent"),
    key("agents.*.project", Kind::Text, "where it works: a project's name or a folder; empty: a folder of its own"),
    key("agents.*.model", Kind::Text, "model to ask for; empty: that of the engine"),
    key("agents.*.system_prompt", Kind::Text, "what it is told about its part"),
    key("agents.*.capabilities", Kind::TextList, "what it can do, for the router"),
    key(
        "agents.*.policy",
        Kind::Choice(&["ask", "ask-commands", "accept-edits", "dangerously-allow-all"]),
        "what it may do without asking: nothing, all but commands, changes of files inside the project, everything",
    ),
    key("agents.*.deny", Kind::TextList, "what it may never do: patterns over tool and command, `*` for anything"),
    key("agents.*.worktrees", Kind::Flag, "whether each thread gets a git work tree and a branch of its own"),
    key("agents.*.command", Kind::TextList, "instead of an engine: a program with its arguments"),
    secret("agents.*.env.*", "environment variable for the program"),
    key("agents.*.auto_start", Kind::Flag, "whether the daemon starts the program"),
    key("agents.*.restart", Kind::Flag, "whether it is started again when it ends"),
    key("agents.*.max_restarts", Kind::Count, "how often in a row; running for a minute counts as well"),
];

/// A key as far as the operator's names fill in its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub secret: bool,
}

/// The key with this path, such as `engines.codex.command`.
pub fn find(path: &str) -> Option<Found> {
    let key = KEYS.iter().find(|key| matches(key.path, path))?;
    // Nobody told us about an engine's own keys, so their names have to do.
    let telling = ["key", "token", "secret", "password"];
    let guessed = key.kind == Kind::Any && telling.iter().any(|word| path.contains(word));
    Some(Found { kind: key.kind, secret: key.secret || guessed })
}

/// What the key is for.
pub fn about(path: &str) -> &'static str {
    KEYS.iter().find(|key| matches(key.path, path)).map_or("", |key| key.about)
}

/// Whether keys lie below this path.
pub fn is_section(path: &str) -> bool {
    let depth = path.split('.').count();
    KEYS.iter().any(|key| {
        let parts: Vec<&str> = key.path.split('.').collect();
        parts.len() > depth && matches(&parts[..depth].join("."), path)
    })
}

/// The known key or section that a path was probably meant to be.
pub fn suggest(path: &str) -> Option<String> {
    let names: Vec<&str> = path.split('.').collect();
    let mut known: Vec<String> =
        KEYS.iter().filter(|key| key.kind != Kind::Any).map(|key| filled(key.path, &names)).collect();
    if !path.contains('.') {
        known.extend(sections());
    }
    nearest(path, known.iter().map(String::as_str)).map(str::to_owned)
}

/// What every table of an engine may hold.
pub fn of_engines() -> impl Iterator<Item = &'static str> {
    let known = KEYS.iter().filter(|key| key.kind != Kind::Any);
    known.filter_map(|key| key.path.strip_prefix("engines.*.")).map(|rest| rest.split('.').next().unwrap_or(rest))
}

/// The names of the top-level tables.
pub fn sections() -> Vec<String> {
    let mut names: Vec<String> = KEYS.iter().filter_map(|key| Some(key.path.split_once('.')?.0.to_owned())).collect();
    names.dedup();
    names
}

fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let path: Vec<&str> = path.split('.').collect();
    pattern.len() == path.len() && pattern.iter().zip(&path).all(|(want, have)| *want == "*" || want == have)
}

/// A pattern with the names of `path` in place of its stars.
fn filled(pattern: &str, names: &[&str]) -> String {
    let parts = pattern.split('.').enumerate();
    let parts: Vec<&str> =
        parts.map(|(at, part)| if part == "*" { names.get(at).copied().unwrap_or("NAME") } else { part }).collect();
    parts.join(".")
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
