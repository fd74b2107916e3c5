//! opencode: `opencode run --format json` for one prompt, `opencode serve` for a conversation.

use serde_json::Value;

use super::plain::{Plain, Translate};
use super::providers;
use crate::engine::{Engine, EngineError, Exit, Launch, LocalServer, Mode, Order, Output, Plan, Source, WarmProbe};
use crate::event::EngineId;
use crate::resume::{ResumeCodec, ValueRule};

mod asks;
mod permissions;
mod serve;
mod sessions;
#[cfg(test)]
mod tests;
mod translate;
mod trouble;
mod turn;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("opencode");

static CODEC: ResumeCodec = ResumeCodec {
    engine: ID,
    forms: &[
        &["opencode", "--session"],
        &["opencode", "-s"],
        &["opencode", "run", "--session"],
        &["opencode", "run", "-s"],
    ],
    value: ValueRule::WordLike(is_session),
};

fn is_session(value: &str) -> bool {
    value.strip_prefix("ses_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The configuration key that switches off every question, named after what it does.
const DANGER: &str = "dangerously_auto_approve";

pub struct Opencode;

impl Engine for Opencode {
    fn id(&self) -> EngineId {
        ID
    }

    fn codec(&self) -> &'static ResumeCodec {
        &CODEC
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("variant", "how long it thinks, in the words of the provider"),
            ("agent", "the agent of opencode's own configuration"),
            (DANGER, "true: approves everything that is not forbidden, without asking; for throw-away machines only"),
        ]
    }

    /// Several that start at once get into each other's way at the database that they share.
    fn may_begin_again(&self, exit: &Exit) -> bool {
        let makes_tables = exit.stderr.contains("Failed query") && exit.stderr.contains("CREATE TABLE");
        makes_tables || exit.stderr.contains("database is locked")
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("variant")
    }

    fn warm_probe(&self) -> Option<WarmProbe> {
        Some(WarmProbe { args: &["serve", "--help"], says: "--hostname" })
    }

    fn variables(&self) -> Vec<&'static str> {
        [&["OPENCODE_*"], providers::KEYS].concat()
    }

    fn project_files(&self) -> &'static [&'static str] {
        &[".opencode", "opencode.json", "opencode.jsonc"]
    }

    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        let settings = order.settings;
        settings.refuse_args(
            &ID,
            &["--format", "--session", "-s", "--continue", "-c", "--fork", "--dir", "--attach", "--interactive", "-i"],
            "they decide how and where we talk to it; leave them out",
        )?;
        settings.refuse_args(
            &ID,
            &["--auto", "--yolo", "--dangerously-skip-permissions"],
            "to run without any question, set `engines.opencode.dangerously_auto_approve = true`",
        )?;
        sessions::refuse_foreign(order)?;
        Ok(match order.mode {
            Mode::Plain => {
                Plan { source: Source::Process(run(order)?), dialog: Box::new(Plain(translate::State::new(order))) }
            }
            Mode::Warm => Plan { source: Source::Server(serve(order)?), dialog: Box::new(serve::Serve::new(order)) },
        })
    }
}

/// The program, told to ask before it acts.
fn launch(order: &Order<'_>) -> Result<Launch, EngineError> {
    let mut launch = Launch::of(order, &ID);
    if !order.settings.own_flag(DANGER) {
        launch.env.push((permissions::VARIABLE.to_owned(), Some(permissions::configuration(order)?)));
    }
    Ok(launch)
}

fn run(order: &Order<'_>) -> Result<Launch, EngineError> {
    let settings = order.settings;
    let mut launch = launch(order)?;
    launch.args(["run", "--format", "json"]);
    if !settings.extra_args.iter().any(|argument| argument.contains("thinking")) {
        launch.args(["--thinking"]);
    }
    launch.option("--session", order.resume.map(|token| token.value.as_str()));
    launch.option("--model", Some(&settings.model)).option("--variant", settings.own_text("variant"));
    launch.option("--agent", settings.own_text("agent"));
    if settings.own_flag(DANGER) {
        launch.args(["--auto"]);
    }
    launch.args(&settings.extra_args);
    Ok(launch)
}

fn serve(order: &Order<'_>) -> Result<LocalServer, EngineError> {
    let mut launch = launch(order)?;
    launch.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]).args(&order.settings.extra_args);
    Ok(LocalServer { launch, user: "opencode", password: "OPENCODE_SERVER_PASSWORD" })
}

impl Translate for translate::State {
    fn line(&mut self, line: &Value, out: &mut Output) {
        translate::translate(self, &wire::OpencodeLine::read(line), out);
    }

    fn settled(&mut self, out: &mut Output) {
        translate::settled(self, out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(self, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.texts.joined()
    }
}
