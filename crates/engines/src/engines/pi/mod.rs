//! pi: `pi --print --mode json` for one prompt, `pi --mode rpc` for a conversation.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plain::{Plain, Translate};
use super::providers;
use crate::engine::{Dialog, Engine, EngineError, Exit, Launch, Mode, Order, Output, Plan, Source, WarmProbe};
use crate::event::EngineId;
use crate::resume::{ResumeCodec, ValueRule};

mod asks;
mod rpc;
#[cfg(test)]
mod tests;
mod translate;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("pi");

static CODEC: ResumeCodec = ResumeCodec { engine: ID, forms: &[&["pi", "--session"]], value: ValueRule::Rest };

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
        let session = match order.resume {
            Some(token) => known_session(order, &token.value)?,
            None => new_session(order).to_string_lossy().into_owned(),
        };
        let mut launch = Launch::of(order, &ID);
        launch.args(&order.settings.extra_args);
        match order.mode {
            Mode::Plain => launch.args(["--print", "--mode", "json"]),
            Mode::Warm => launch.args(["--mode", "rpc"]),
        };
        launch.option("--provider", order.settings.own_text("provider")).option("--model", Some(&order.settings.model));
        launch.option("--thinking", order.settings.own_text("thinking")).args(["--session", &session]);
        launch.default_env("NO_COLOR", "1").default_env("CI", "1");
        let state = translate::State::new(order, session);
        let dialog: Box<dyn Dialog> = match order.mode {
            Mode::Plain => Box::new(Plain(state)),
            Mode::Warm => Box::new(rpc::Rpc::new(state)),
        };
        Ok(Plan { source: Source::Process(launch), dialog })
    }
}

/// A session by its id, or by its file; a file that is none of pi's own would be read, and written to.
fn known_session(order: &Order<'_>, value: &str) -> Result<String, EngineError> {
    let path = Path::new(value);
    let plain = |part: std::path::Component<'_>| part != std::path::Component::ParentDir;
    let own = || path.starts_with(sessions(order)) && path.components().all(plain) && value.ends_with(".jsonl");
    if !value.contains(['/', '\\']) && value != "~" || own() {
        return Ok(value.to_owned());
    }
    let hint = format!("pi keeps its sessions in {}", sessions(order).display());
    Err(EngineError::new(format!("`{value}` is not a session of pi"), hint))
}

/// The file of a new session, where pi itself would put it.
fn new_session(order: &Order<'_>) -> PathBuf {
    let place = order.folder.to_string_lossy();
    let place = place.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
    let name = format!("{}_{}.jsonl", file_time(order.now), uuid::Uuid::new_v4().simple());
    sessions(order).join(format!("--{place}--")).join(name)
}

fn sessions(order: &Order<'_>) -> PathBuf {
    let folder = order.settings.env.get("PI_CODING_AGENT_DIR").cloned();
    let folder = folder.or_else(|| std::env::var("PI_CODING_AGENT_DIR").ok()).map(PathBuf::from).unwrap_or_else(|| {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        home.join(".pi/agent")
    });
    folder.join("sessions")
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
        self.answer().to_owned()
    }
}
