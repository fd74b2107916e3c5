//! pi: `pi --print --mode json` for one prompt, `pi --mode rpc` for a conversation.

use serde_json::Value;

use super::plain::{Plain, Translate};
use super::providers;
use crate::engine::{Dialog, Engine, EngineError, Exit, Launch, Mode, Order, Output, Plan, Source, WarmProbe};
use crate::event::EngineId;
use crate::resume::{ResumeCodec, ValueRule};

mod asks;
mod rpc;
mod sessions;
#[cfg(test)]
mod tests;
mod translate;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("pi");

static CODEC: ResumeCodec = ResumeCodec { engine: ID, forms: &[&["pi", "--session"]], value: ValueRule::Rest };

/// How it gets a key.
const LOGIN: &str = "start `pi` and log in with /login, or give it the key in `engines.pi.env`";

pub struct Pi;

impl Engine for Pi {
    fn id(&self) -> EngineId {
        ID
    }

    fn codec(&self) -> &'static ResumeCodec {
        &CODEC
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("provider", "the provider of the model"),
            ("thinking", "how long it thinks: off, minimal, low, medium, high, xhigh"),
        ]
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("thinking")
    }

    fn warm_probe(&self) -> Option<WarmProbe> {
        Some(WarmProbe { args: &["--help"], says: "rpc" })
    }

    fn variables(&self) -> Vec<&'static str> {
        [&["PI_*"], providers::KEYS].concat()
    }

    fn project_files(&self) -> &'static [&'static str] {
        &[".pi"]
    }

    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        let stream = ["--print", "-p", "--mode", "--session", "--continue", "-c", "--resume", "-r", "--no-session"];
        order.settings.refuse_args(&ID, &stream, "they decide how we talk to it; leave them out")?;
        if order.settings.own_text("provider").is_some() && order.settings.model.is_empty() {
            let hint = "pi takes a provider only together with a model: set `engines.pi.model` too";
            return Err(EngineError::new("`engines.pi.provider` is set without a model", hint));
        }
        let session = match order.resume {
            Some(token) => sessions::known(order, &token.value)?,
            None => sessions::new(order),
        };
        let mut launch = Launch::of(order, &ID);
        launch.args(&order.settings.extra_args);
        match order.mode {
            Mode::Plain => launch.args(["--print", "--mode", "json"]),
            Mode::Warm => launch.args(["--mode", "rpc"]),
        };
        launch.option("--provider", order.settings.own_text("provider")).option("--model", Some(&order.settings.model));
        launch.option("--thinking", order.settings.own_text("thinking")).args(["--session", &session.argument]);
        launch.default_env("NO_COLOR", "1").default_env("CI", "1");
        let state = translate::State::new(order, session.token);
        let dialog: Box<dyn Dialog> = match order.mode {
            Mode::Plain => Box::new(Plain(state)),
            Mode::Warm => Box::new(rpc::Rpc::new(state)),
        };
        Ok(Plan { source: Source::Process(launch), dialog })
    }
}

/// UTC as `2026-03-02T10-11-12-000Z`.
fn file_time(now: u64) -> String {
    let now = jiff::Timestamp::from_second(i64::try_from(now).unwrap_or(i64::MAX)).unwrap_or(jiff::Timestamp::MAX);
    now.strftime("%Y-%m-%dT%H-%M-%S-000Z").to_string()
}

impl Translate for translate::State {
    fn line(&mut self, line: &Value, out: &mut Output) {
        translate::translate(self, &wire::PiLine::read(line), out);
    }

    fn settled(&mut self, out: &mut Output) {
        translate::settled(self, out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(self, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.answer()
    }
}
