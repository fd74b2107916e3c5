//! `make record-engines`: plays the cases with the real programs and keeps what they write, as `tests/fixtures/recorded`.
//!
//! The programs are started and spoken to as our adapters do it, but nothing that they say is left out when an adapter thinks
//! that it is over: a recording ends when the program is silent, or gone. `RECORD=claude/warm` records only what is so called.

#[path = "../models/mod.rs"]
mod models;
#[path = "../programs/mod.rs"]
mod programs;

mod process;
mod tape;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use folkmoot_engines::engine::{Control, Dialog, Engine, EngineSettings, Mode, Order, Output};
use folkmoot_engines::engines;
use folkmoot_engines::event::{Ask, AskAnswer, EngineEvent, ResumeToken};
use models::Models;
use process::{Incoming, Process};
use programs::Program;
use programs::cases::{self, CASES, Case, Event};
use serde_json::{Value, json};
use tape::Tape;
use tokio::time::{Instant, timeout};

/// A program that says nothing for this long after its answer has nothing more to say.
const QUIET: Duration = Duration::from_secs(3);
/// The same for one that has left something running.
const LONG_QUIET: Duration = Duration::from_secs(6);
/// A program that does not come to an answer.
const DEADLINE: Duration = Duration::from_secs(120);
/// How long after the model has begun somebody says something, or wants it to stop.
const MEANWHILE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let Some(wanted) = std::env::var("RECORD").ok() else {
        println!("streams of the real engines are recorded with `make record-engines`");
        return ExitCode::SUCCESS;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(record_all(&wanted))
}

async fn record_all(wanted: &str) -> ExitCode {
    let models = Models::start().await;
    let (programs, missing) = programs::installed();
    missing.iter().for_each(|sentence| eprintln!("{sentence}"));
    let mut failed = 0;
    for program in &programs {
        for (mode, warm) in [("plain", false), ("warm", true)] {
            for case in CASES.iter().filter(|case| is_recorded(program, warm, case)) {
                let name = format!("{}-{mode}-{}", program.label, case.name);
                if !name.replace('-', "/").contains(&wanted.replace('-', "/")) {
                    continue;
                }
                match Recording::new(program, warm, case, &models).record().await {
                    Ok(tape) => tape.write(&place().join(format!("{name}.jsonl"))),
                    Err(error) => {
                        failed += 1;
                        eprintln!("{name}: {error}");
                    }
                }
                println!("{name}");
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recorded")
}

/// A killed `moot` and two threads are about more than one stream.
fn is_recorded(program: &Program, warm: bool, case: &Case) -> bool {
    let about_one = !matches!(case.event, Event::Kill | Event::TwoThreads);
    about_one && cases::not_offered(program.engine, warm, case).is_none()
}

/// One case with one program.
struct Recording<'a> {
    program: &'a Program,
    engine: &'static dyn Engine,
    mode: Mode,
    case: &'a Case,
    models: &'a Models,
    folder: tempfile::TempDir,
}

impl<'a> Recording<'a> {
    fn new(program: &'a Program, warm: bool, case: &'a Case, models: &'a Models) -> Self {
        let stages = programs::folder().join("stages");
        std::fs::create_dir_all(&stages).expect("a folder");
        let folder = tempfile::TempDir::with_prefix_in("stage-", stages).expect("a folder");
        programs::project(folder.path());
        let mode = if warm { Mode::Warm } else { Mode::Plain };
        let engine = engines::find(program.engine).expect("an engine");
        Self { program, engine, mode, case, models, folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    async fn record(self) -> Result<Tape, String> {
        std::fs::write(self.project().join("note.txt"), "before\n").expect("a file");
        let prompts: Vec<String> = self.case.prompts.iter().map(|prompt| self.filled(prompt)).collect();
        match (self.case.name, &prompts[..]) {
            ("resume", [first, second]) => {
                let before = self.play(std::slice::from_ref(first), None).await?;
                let token = before.token.ok_or("the first run named no session")?;
                Ok(self.play(std::slice::from_ref(second), Some(token)).await?.tape)
            }
            _ => Ok(self.play(&prompts, None).await?.tape),
        }
    }

    fn filled(&self, prompt: &str) -> String {
        prompt.replace("FILE", &self.project().join("note.txt").to_string_lossy())
    }

    fn settings(&self) -> EngineSettings {
        let made = self.program.settings(&self.models.url(""), self.folder.path(), self.mode == Mode::Warm);
        let mut env = made.env;
        env.insert("PATH".to_owned(), self.program.path());
        env.insert("HOME".to_owned(), self.folder.path().to_string_lossy().into_owned());
        let command = self.program.command.to_string_lossy().into_owned();
        EngineSettings { command, env, model: made.model, own: made.own, ..EngineSettings::default() }
    }

    async fn play(&self, prompts: &[String], resume: Option<ResumeToken>) -> Result<Played, String> {
        let settings = self.settings();
        let project = self.project();
        let order = Order {
            settings: &settings,
            prompt: &prompts[0],
            resume: resume.as_ref(),
            folder: &project,
            mode: self.mode,
            now: 0,
        };
        let plan = self.engine.prepare(&order).map_err(|error| error.whole())?;
        let header = self.header(resume.as_ref());
        let tape = Tape::new(header, self.folder.path(), &programs::folder(), &self.models.address.to_string());
        let process = Process::start(plan.source)?;
        let player = Player {
            recording: self,
            dialog: plan.dialog,
            process,
            tape,
            token: None,
            done: false,
            acted: false,
            settle: None,
        };
        player.play(prompts).await
    }

    /// What a reader of the file, and the test that plays it, need to know.
    fn header(&self, resume: Option<&ResumeToken>) -> Value {
        let warm = self.mode == Mode::Warm;
        let case = self.case;
        let asks = case.asks.filter(|_| cases::is_asked(self.program.engine, warm, case));
        json!({
            "program": self.program.package, "version": self.program.version, "engine": self.program.engine,
            "mode": if warm { "warm" } else { "plain" }, "case": case.name,
            "again": format!("make record-engines RECORD={}-{}-{}", self.program.label, if warm { "warm" } else { "plain" }, case.name),
            "resume": resume.map(|token| token.value.as_str()),
            "ok": !case.fails, "says": cases::says(self.program.engine, warm, case), "does": case.does,
            "error": cases::error(self.program.engine, warm, case),
            "asks": asks.map(|asks| asks.replace("FILE", "note.txt")),
        })
    }
}

/// What came of a play.
struct Played {
    tape: Tape,
    token: Option<ResumeToken>,
}

struct Player<'a> {
    recording: &'a Recording<'a>,
    dialog: Box<dyn Dialog>,
    process: Process,
    tape: Tape,
    token: Option<ResumeToken>,
    /// The adapter has said its `completed` since the last prompt.
    done: bool,
    /// Whether what happens meanwhile has happened.
    acted: bool,
    /// When the adapter wants to know that nothing more was said.
    settle: Option<Instant>,
}

impl Player<'_> {
    async fn play(mut self, prompts: &[String]) -> Result<Played, String> {
        for prompt in prompts {
            self.tape.note("prompt", json!(prompt));
            self.done = false;
            let waits = self.recording.models.waits();
            self.dialog(|dialog, out| dialog.prompt(prompt, out))?;
            if !self.follow(waits).await? {
                break;
            }
        }
        self.process.end().await;
        Ok(Played { tape: self.tape, token: self.token })
    }

    /// Reads until the program is silent after its answer; `false`: it is gone.
    async fn follow(&mut self, waits: u64) -> Result<bool, String> {
        let begun = Instant::now();
        let mut heard = Instant::now();
        let mut since = None;
        loop {
            match timeout(Duration::from_millis(100), self.process.next()).await {
                Ok(Incoming::Line(line)) => {
                    heard = Instant::now();
                    self.settle = None;
                    self.line(&line)?;
                }
                Ok(Incoming::Exited(exit)) => {
                    self.tape.note("exit", json!({"code": exit.code, "signal": exit.signal, "stderr": exit.stderr}));
                    return Ok(false);
                }
                Err(_) if self.done && heard.elapsed() > self.quiet() => return Ok(true),
                Err(_) if begun.elapsed() > DEADLINE => return Err("it does not come to an end".to_owned()),
                Err(_) if self.settle.is_some_and(|settle| settle < Instant::now()) => {
                    self.settle = None;
                    self.dialog(|dialog, out| dialog.settled(out))?;
                }
                Err(_) => {}
            }
            if since.is_none() && self.recording.models.waits() > waits {
                since = Some(Instant::now());
            }
            if !self.acted && since.is_some_and(|since| since.elapsed() > MEANWHILE) {
                self.meanwhile()?;
            }
        }
    }

    fn quiet(&self) -> Duration {
        if ["background", "subagent"].contains(&self.recording.case.name) { LONG_QUIET } else { QUIET }
    }

    fn meanwhile(&mut self) -> Result<(), String> {
        self.acted = true;
        match self.recording.case.event {
            Event::Words(words) => {
                self.tape.note("words", json!(words));
                self.control(&Control::Steer(words.to_owned()))
            }
            Event::Cancel if self.recording.mode == Mode::Warm => {
                self.tape.note("interrupt", json!(true));
                self.control(&Control::Interrupt)
            }
            Event::Cancel => {
                self.tape.note("cancel", json!(true));
                self.process.terminate();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => {
                self.tape.note("got", value.clone());
                self.dialog(|dialog, out| dialog.line(&value, out))
            }
            _ => {
                self.tape.note("text", json!(line));
                Ok(())
            }
        }
    }

    fn control(&mut self, control: &Control) -> Result<(), String> {
        let mut outcome = Ok(());
        self.dialog(|dialog, out| outcome = dialog.control(control, out))?;
        outcome.map_err(|error| error.to_string())
    }

    /// Lets the adapter speak, sends what it wants sent, and answers what it asks.
    fn dialog(&mut self, call: impl FnOnce(&mut dyn Dialog, &mut Output)) -> Result<(), String> {
        let mut out = Output::default();
        call(&mut *self.dialog, &mut out);
        for text in &out.send {
            self.tape.note("sent", serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
            self.process.send(text);
        }
        if out.close {
            self.process.close();
        }
        self.settle = out.settle.map(|after| Instant::now() + after).or(self.settle);
        for event in out.events {
            match event {
                EngineEvent::Started(started) => self.token = Some(started.resume),
                EngineEvent::Asked(asked) if !asked.ask.withdrawn => self.answer(&asked.ask)?,
                EngineEvent::Completed(_) => self.done = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, ask: &Ask) -> Result<(), String> {
        let answer = match self.recording.case.event {
            Event::Deny => AskAnswer::Deny { note: "not today".to_owned(), stop: false },
            Event::Reply(words) => AskAnswer::Reply { answers: vec![words.to_owned()] },
            _ => AskAnswer::Allow { input: None },
        };
        self.tape.note("answer", serde_json::to_value(&answer).expect("an answer"));
        self.control(&Control::Answer { ask: ask.id.clone(), answer })
    }
}
