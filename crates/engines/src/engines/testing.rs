//! Plays a recorded conversation to a dialog, for tests: what a real program wrote, and what people did in between.
//!
//! Lines that begin with `!` are people: `! prompt TEXT` begins a run, then `! steer TEXT`, `! interrupt`, `! allow ASK`,
//! `! deny ASK`, `! reply ASK TEXT`, and `! settle` when nothing was written for a while. `#` is for readers.

use std::path::Path;

use serde_json::Value;

use crate::contract::{Contract, Step};
use crate::engine::{Control, Dialog, Engine, EngineSettings, Mode, Order, Output, Piece};
use crate::event::{Ask, AskAnswer, Completed, EngineEvent, ResumeToken};

pub struct Recorded {
    dialog: Box<dyn Dialog>,
    engine: &'static dyn Engine,
    pub runs: Vec<RecordedRun>,
    pub sent: Vec<Value>,
}

/// What one run said.
pub struct RecordedRun {
    contract: Contract,
    pub events: Vec<EngineEvent>,
    pub pieces: Vec<Piece>,
    pub unknown: Vec<String>,
    /// What would be kept if it were cut short, after each line.
    pub so_far: Vec<String>,
}

impl Recorded {
    pub fn new(engine: &'static dyn Engine, mode: Mode, resume: Option<&str>, settings: &EngineSettings) -> Self {
        let token = resume.map(|value| ResumeToken::new(engine.id(), value));
        let order = Order { settings, prompt: "", resume: token.as_ref(), folder: Path::new("/r"), mode, now: 0 };
        let dialog = engine.prepare(&order).unwrap().dialog;
        Self { dialog, engine, runs: Vec::new(), sent: Vec::new() }
    }

    pub fn play(engine: &'static dyn Engine, mode: Mode, text: &str) -> Self {
        let mut play = Self::new(engine, mode, None, &EngineSettings::default());
        play.lines(text);
        play
    }

    pub fn lines(&mut self, text: &str) {
        if !text.contains("\n! prompt ") {
            self.people("prompt hi");
        }
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match line.strip_prefix("! ") {
                Some(done) => self.people(done),
                None => self.program(&serde_json::from_str(line).unwrap()),
            }
        }
    }

    /// More of what the program wrote.
    pub fn lines_after(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.program(&serde_json::from_str(line).unwrap()));
    }

    pub fn program(&mut self, line: &Value) {
        let mut out = Output::default();
        self.dialog.line(line, &mut out);
        self.take(out);
    }

    pub fn people(&mut self, done: &str) {
        let (what, rest) = done.split_once(' ').unwrap_or((done, ""));
        let (ask, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let answer = |answer: AskAnswer| Control::Answer { ask: ask.to_owned(), answer };
        let mut out = Output::default();
        let control = match what {
            "prompt" => {
                let contract = Contract::new(self.engine.id(), None);
                let (events, pieces, unknown, so_far) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                self.runs.push(RecordedRun { contract, events, pieces, unknown, so_far });
                self.dialog.prompt(rest, &mut out);
                None
            }
            "settle" => {
                self.dialog.settled(&mut out);
                None
            }
            "steer" => Some(Control::Steer(rest.to_owned())),
            "interrupt" => Some(Control::Interrupt),
            "allow" => Some(answer(AskAnswer::Allow { input: None })),
            "deny" => Some(answer(AskAnswer::Deny { note: String::new(), stop: false })),
            "reply" => Some(answer(AskAnswer::Reply { answers: vec![text.to_owned()] })),
            other => panic!("nobody does {other}"),
        };
        if let Some(control) = control {
            self.dialog.control(&control, &mut out).unwrap();
        }
        self.take(out);
    }

    fn take(&mut self, out: Output) {
        self.sent.extend(out.send.iter().filter_map(|line| serde_json::from_str(line).ok()));
        let so_far = self.dialog.answer_so_far();
        let run = self.runs.last_mut().unwrap();
        run.so_far.push(so_far);
        run.pieces.extend(out.pieces);
        run.unknown.extend(out.unknown);
        let steps = out.events.into_iter().flat_map(|event| run.contract.admit(event)).collect::<Vec<_>>();
        run.events.extend(steps.into_iter().filter_map(|step| match step {
            Step::Emit(event) => Some(event),
            Step::Lock(_) => None,
        }));
    }

    /// The only run.
    pub fn run(&self) -> &RecordedRun {
        assert_eq!(self.runs.len(), 1);
        &self.runs[0]
    }
}

impl RecordedRun {
    pub fn completed(&self) -> &Completed {
        match self.events.last() {
            Some(EngineEvent::Completed(completed)) => completed,
            other => panic!("the last event is {other:?}"),
        }
    }

    /// The session that it says it is in.
    pub fn session(&self) -> &str {
        let mut tokens = self.events.iter().filter_map(|event| match event {
            EngineEvent::Started(started) => Some(started.resume.value.as_str()),
            _ => None,
        });
        tokens.next().unwrap()
    }

    pub fn asks(&self) -> Vec<&Ask> {
        let ask = |event: &'_ EngineEvent| matches!(event, EngineEvent::Asked(_));
        let asks = self.events.iter().filter(|event| ask(event)).map(|event| match event {
            EngineEvent::Asked(asked) => &*asked.ask,
            _ => unreachable!(),
        });
        asks.collect()
    }

    /// `phase ok kind title` of every action but the beginnings of turns.
    pub fn actions(&self) -> Vec<String> {
        let line = |event: &EngineEvent| match event {
            EngineEvent::Action(event) if event.action.kind.as_str() != "turn" => {
                let ok = event.ok.map_or(' ', |ok| if ok { '+' } else { '-' });
                Some(format!("{:?} {ok} {} {}", event.phase, event.action.kind.as_str(), event.action.title))
            }
            _ => None,
        };
        self.events.iter().filter_map(line).collect()
    }

    /// What was said block by block; thoughts in brackets.
    pub fn said(&self) -> Vec<String> {
        let mut blocks: Vec<(bool, String)> = Vec::new();
        let mut anew = true;
        for piece in &self.pieces {
            let (thought, text) = match piece {
                Piece::Break => {
                    anew = true;
                    continue;
                }
                Piece::Answer(text) => (false, text),
                Piece::Thought(text) => (true, text),
            };
            match blocks.last_mut() {
                Some((kind, block)) if !anew && *kind == thought => block.push_str(text),
                _ => blocks.push((thought, text.clone())),
            }
            anew = false;
        }
        blocks.into_iter().map(|(thought, text)| if thought { format!("[{text}]") } else { text }).collect()
    }
}
