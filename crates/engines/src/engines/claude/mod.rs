//! claude: `claude -p` for one prompt, the same with JSON on standard input for a conversation with questions.

use serde_json::Value;

use super::plain::{Plain, Translate};
use crate::engine::{Engine, EngineError, Exit, Launch, Mode, Order, Output, Plan, Source, WarmProbe};
use crate::event::EngineId;
use crate::resume::{ResumeCodec, ValueRule};

mod asks;
mod stream;
#[cfg(test)]
mod tests;
mod translate;
mod trouble;
mod turns;
mod usage;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("claude");

static CODEC: ResumeCodec =
    ResumeCodec { engine: ID, forms: &[&["claude", "--resume"], &["claude", "-r"]], value: ValueRule::Word };

/// The configuration key that switches off every question, named after what it does.
const DANGER: &str = "dangerously_skip_permissions";
/// Permission modes that still ask; the others need the dangerous word.
const ASKING_MODES: [&str; 4] = ["default", "acceptEdits", "plan", "dontAsk"];

pub struct Claude;

impl Engine for Claude {
    fn id(&self) -> EngineId {
        ID
    }

    fn codec(&self) -> &'static ResumeCodec {
        &CODEC
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("allowed_tools", "tools that may be used without asking, such as [\"Bash(git *)\", \"Edit\"]"),
            ("background_wait_s", "how long a run waits in silence for what claude does in the background; 300"),
            ("effort", "how long it thinks: low, medium, high, xhigh, max"),
            ("permission_mode", "default, acceptEdits, plan or dontAsk"),
            ("use_api_billing", "true: passes ANTHROPIC_API_KEY on, so that runs are billed to it"),
            (DANGER, "true: uses every tool without asking; for throw-away machines only"),
        ]
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("effort")
    }

    fn warm_probe(&self) -> Option<WarmProbe> {
        Some(WarmProbe { args: &["--help"], says: "--input-format" })
    }

    fn variables(&self) -> Vec<&'static str> {
        vec!["ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "IS_SANDBOX"]
    }

    fn project_files(&self) -> &'static [&'static str] {
        &[".claude", ".claude.json", ".mcp.json"]
    }

    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        let settings = order.settings;
        let stream =
            ["-p", "--print", "--output-format", "--input-format", "--verbose", "--resume", "-r", "--continue", "-c"];
        settings.refuse_args(&ID, &stream, "they decide how we talk to it; leave them out")?;
        let bypass = ["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode"];
        settings.refuse_args(
            &ID,
            &bypass,
            "use `engines.claude.permission_mode`, or `engines.claude.dangerously_skip_permissions = true` to run without any question",
        )?;
        let launch = launch(order)?;
        Ok(match order.mode {
            Mode::Plain => {
                Plan { source: Source::Process(launch), dialog: Box::new(Plain(translate::State::new(order))) }
            }
            Mode::Warm => Plan { source: Source::Process(launch), dialog: Box::new(stream::Stream::new(order)) },
        })
    }
}

fn launch(order: &Order<'_>) -> Result<Launch, EngineError> {
    let settings = order.settings;
    let mut launch = Launch::of(order, &ID);
    match order.mode {
        Mode::Plain => launch.args(["-p"]),
        // Said back, our words are taken up.
        Mode::Warm => launch.args(["--input-format", "stream-json", "--replay-user-messages"]),
    };
    launch.args(["--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
    let mode = settings.own_text("permission_mode");
    if let Some(wrong) = mode.filter(|mode| !ASKING_MODES.contains(mode)) {
        let sentence =
            format!("`engines.claude.permission_mode` is `{wrong}`, which is not one of {}", ASKING_MODES.join(", "));
        return Err(EngineError::new(
            sentence,
            format!("to run without any question, set `engines.claude.{DANGER} = true`"),
        ));
    }
    if order.mode == Mode::Warm {
        launch.args(["--permission-mode", mode.unwrap_or("default"), "--permission-prompt-tool", "stdio"]);
    } else {
        launch.option("--permission-mode", mode);
    }
    launch.option("--resume", order.resume.map(|token| token.value.as_str()));
    launch.option("--model", Some(&settings.model)).option("--effort", settings.own_text("effort"));
    launch.option("--allowedTools", Some(&settings.own_list("allowed_tools").join(",")));
    if settings.own_flag(DANGER) {
        launch.args(["--dangerously-skip-permissions"]);
    }
    launch.args(&settings.extra_args);
    if !settings.own_flag("use_api_billing") {
        launch.without("ANTHROPIC_API_KEY");
    }
    // It says when it is done with everything; a result is only the end of a turn.
    launch.default_env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    Ok(launch)
}

impl Translate for translate::State {
    fn line(&mut self, line: &Value, out: &mut Output) {
        translate::translate(self, &wire::ClaudeLine::read(line), out);
    }

    fn settled(&mut self, out: &mut Output) {
        translate::settled(self, out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(self, exit, out);
    }

    fn answer_so_far(&self) -> String {
        Self::answer_so_far(self)
    }
}
