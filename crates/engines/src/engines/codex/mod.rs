//! codex: `codex exec --json` for one prompt, `codex app-server` for a conversation.

use serde_json::Value;

use super::plain::{Plain, Translate};
use crate::engine::{Engine, EngineError, Exit, Launch, Mode, Order, Output, Plan, Source, WarmProbe};
use crate::event::EngineId;
use crate::resume::{ResumeCodec, ValueRule};

mod app_server;
mod asks;
mod command;
mod items;
mod profile;
mod rollout;
mod spent;
#[cfg(test)]
mod tests;
mod translate;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("codex");

static CODEC: ResumeCodec = ResumeCodec { engine: ID, forms: &[&["codex", "resume"]], value: ValueRule::Word };

/// The configuration key that switches off every question, named after what it does.
const DANGER: &str = "dangerously_bypass_approvals_and_sandbox";

/// How it gets a key.
const LOGIN: &str = "log in with `codex login`, or give it its key in `engines.codex.env`";

/// Lets its model ask people while it works (`request_user_input`). codex 0.166 keeps that to its plan mode otherwise, and warns
/// at every start of what its makers have not finished.
const ASKING: [&str; 2] =
    ["--config=features.default_mode_request_user_input=true", "--config=suppress_unstable_features_warning=true"];

pub struct Codex;

impl Engine for Codex {
    fn id(&self) -> EngineId {
        ID
    }

    fn codec(&self) -> &'static ResumeCodec {
        &CODEC
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("profile", "profile of codex' own configuration"),
            ("reasoning_effort", "how long it thinks: minimal, low, medium, high, xhigh"),
            ("sandbox", "what commands may touch: read-only or workspace-write"),
            (DANGER, "true: runs every command without asking and without a sandbox; for throw-away machines only"),
        ]
    }

    /// Several that start at once in a home that none has used get into each other's way at the database that they make.
    fn may_begin_again(&self, exit: &Exit) -> bool {
        exit.stderr.contains("failed to initialize sqlite state runtime")
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("reasoning_effort")
    }

    fn warm_probe(&self) -> Option<WarmProbe> {
        Some(WarmProbe { args: &["app-server", "--help"], says: "app-server" })
    }

    fn variables(&self) -> Vec<&'static str> {
        vec!["CODEX_*", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"]
    }

    fn project_files(&self) -> &'static [&'static str] {
        &[".codex"]
    }

    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        let settings = order.settings;
        let stream = ["--json", "--skip-git-repo-check", "--color", "-o", "--output-schema", "--output-last-message"];
        settings.refuse_args(&ID, &stream, "they decide how we read its output; leave them out")?;
        let bypass = ["--yolo", "--full-auto", "--dangerously-bypass-approvals-and-sandbox"];
        settings.refuse_args(
            &ID,
            &bypass,
            "to run without any question, set `engines.codex.dangerously_bypass_approvals_and_sandbox = true`",
        )?;
        if let Some(token) = order.resume {
            refuse_beginning(&token.value)?;
        }
        Ok(match order.mode {
            Mode::Plain => {
                let before = order.resume.map(|token| rollout::spent(settings, &token.value));
                let state = translate::State::new(order).counting_from(before.unwrap_or(Some(Value::Null)));
                Plan { source: Source::Process(exec(order)), dialog: Box::new(Plain(state)) }
            }
            Mode::Warm => Plan {
                source: Source::Process(app_server(order)),
                dialog: Box::new(app_server::AppServer::new(order)?),
            },
        })
    }
}

fn exec(order: &Order<'_>) -> Launch {
    let settings = order.settings;
    let mut launch = Launch::of(order, &ID);
    launch
        .args(&settings.extra_args)
        .option("--profile", settings.own_text("profile"))
        .option("--model", Some(&settings.model));
    launch.option("--sandbox", sandbox(order));
    if let Some(effort) = settings.own_text("reasoning_effort") {
        launch.args(["-c".to_owned(), format!("model_reasoning_effort={effort}")]);
    }
    if settings.own_flag(DANGER) {
        launch.args(["--dangerously-bypass-approvals-and-sandbox"]);
    }
    launch.args(["exec", "--json", "--skip-git-repo-check", "--color=never"]);
    if let Some(token) = order.resume {
        launch.args(["resume", &token.value]);
    }
    launch.args(["-"]);
    launch
}

fn app_server(order: &Order<'_>) -> Launch {
    let settings = order.settings;
    let mut launch = Launch::of(order, &ID);
    // Before the others, so that who wants it otherwise can say so.
    launch.args(ASKING).args(&settings.extra_args).args(["app-server"]);
    launch
}

/// codex takes what is no whole id for a name, and begins a new conversation when it finds none.
fn refuse_beginning(session: &str) -> Result<(), EngineError> {
    let digits = session.bytes().filter(u8::is_ascii_hexdigit).count();
    let is_part = (8..32).contains(&digits) && session.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_part {
        let hint = "give the whole id: codex would begin a new session";
        return Err(EngineError::new(format!("`{session}` is only the beginning of a session of codex"), hint));
    }
    Ok(())
}

/// The sandbox asked for; the one without walls needs the dangerous word.
fn sandbox<'a>(order: &Order<'a>) -> Option<&'a str> {
    order.settings.own_text("sandbox").filter(|word| ["read-only", "workspace-write"].contains(word))
}

impl Translate for translate::State {
    fn line(&mut self, line: &Value, out: &mut Output) {
        translate::translate(self, &wire::CodexLine::read(line), out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(self, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.answer()
    }
}
