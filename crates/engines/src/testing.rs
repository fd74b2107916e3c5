//! Plays lines to a dialog and collects what it says; for the tests of the engines.

use std::path::Path;

use serde_json::Value;

use crate::contract::{Contract, Step};
use crate::engine::{
    Control, Dialog, Engine, EngineSettings, Exit, Launch, LocalServer, Mode, Order, Output, Plan, Source, Unsupported,
};
use crate::event::{ActionEvent, Ask, Completed, EngineEvent, ResumeToken};

pub struct Play {
    engine: &'static dyn Engine,
    dialog: Box<dyn Dialog>,
    contract: Contract,
    pub events: Vec<EngineEvent>,
    pub sent: Vec<Value>,
    pub settles: bool,
}

pub fn plan(engine: &'static dyn Engine, mode: Mode, resume: Option<&str>, settings: &EngineSettings) -> Plan {
    let token = resume.map(|value| ResumeToken::new(engine.id(), value));
    let order = Order { settings, prompt: "hi", resume: token.as_ref(), folder: Path::new("/r"), mode, now: 0 };
    engine.prepare(&order).unwrap()
}

pub fn launch(engine: &'static dyn Engine, mode: Mode, resume: Option<&str>, settings: &EngineSettings) -> Launch {
    match plan(engine, mode, resume, settings).source {
        Source::Process(launch) | Source::Server(LocalServer { launch, .. }) => launch,
        Source::Script(_) => panic!("a script has no process"),
    }
}

impl Play {
    pub fn new(engine: &'static dyn Engine, mode: Mode) -> Self {
        let dialog = plan(engine, mode, None, &EngineSettings::default()).dialog;
        let contract = Contract::new(engine.id(), None);
        Self { engine, dialog, contract, events: Vec::new(), sent: Vec::new(), settles: false }
    }

    pub fn lines(engine: &'static dyn Engine, lines: &str) -> Self {
        let mut play = Self::new(engine, Mode::Plain);
        lines.lines().filter(|line| !line.trim().is_empty()).for_each(|line| play.line(line));
        play
    }

    pub fn line(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap();
        self.with(|dialog, out| dialog.line(&value, out));
    }

    pub fn prompt(&mut self, prompt: &str) {
        self.with(|dialog, out| dialog.prompt(prompt, out));
    }

    pub fn settle(&mut self) {
        self.with(|dialog, out| dialog.settled(out));
    }

    pub fn control(&mut self, control: &Control) -> Result<(), Unsupported> {
        let mut done = Ok(());
        self.with(|dialog, out| done = dialog.control(control, out));
        done
    }

    pub fn exit(&mut self, code: i32, stderr: &str) {
        let exit = Exit { code: Some(code), signal: None, stderr: stderr.to_owned() };
        self.with(|dialog, out| dialog.ended(&exit, out));
    }

    fn with(&mut self, call: impl FnOnce(&mut dyn Dialog, &mut Output)) {
        let mut out = Output::default();
        call(&mut *self.dialog, &mut out);
        self.settles = out.settle.is_some();
        self.sent.extend(out.send.iter().filter_map(|line| serde_json::from_str(line).ok()));
        let steps = out.events.into_iter().flat_map(|event| self.contract.admit(event)).collect::<Vec<_>>();
        self.events.extend(steps.into_iter().filter_map(|step| match step {
            Step::Emit(event) => Some(event),
            Step::Lock(_) => None,
        }));
    }

    pub fn completed(&self) -> &Completed {
        match self.events.last() {
            Some(EngineEvent::Completed(completed)) => completed,
            other => panic!("{}: the last event is {other:?}", self.engine.id()),
        }
    }

    pub fn actions(&self) -> Vec<&ActionEvent> {
        self.events
            .iter()
            .filter_map(|event| if let EngineEvent::Action(action) = event { Some(action) } else { None })
            .collect()
    }

    /// `phase ok kind title` of every action.
    pub fn summary(&self) -> Vec<String> {
        let ok = |ok: Option<bool>| match ok {
            Some(true) => "+",
            Some(false) => "-",
            None => " ",
        };
        let line = |event: &&ActionEvent| {
            format!("{:?} {} {} {}", event.phase, ok(event.ok), event.action.kind.as_str(), event.action.title)
        };
        self.actions().iter().map(line).collect()
    }
}

/// Every value of a request is part of what tells the ask from others, and no field that only counts is.
pub fn assert_identity_is_the_action(request: &Value, bookkeeping: &[&str], ask: impl Fn(&Value) -> Ask) {
    let before = ask(request).identity;
    for place in places(request) {
        let counts = bookkeeping.iter().any(|name| place.split('/').nth(1) == Some(name));
        let mut other = request.clone();
        change(other.pointer_mut(&place).unwrap());
        assert_eq!(ask(&other).identity == before, counts, "{place} of {request}");
    }
}

/// Every value of a request is shown, but those of fields that only count.
pub fn assert_nothing_is_hidden(request: &Value, bookkeeping: &[&str], ask: impl Fn(&Value) -> Ask) {
    let shown = serde_json::to_value(ask(request).shown(None, None)).unwrap().to_string();
    for place in
        places(request).iter().filter(|place| !bookkeeping.iter().any(|name| place.split('/').nth(1) == Some(name)))
    {
        let value = request.pointer(place).unwrap();
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let quoted = Value::from(text).to_string();
        assert!(shown.contains(quoted.trim_matches('"')), "{place} of {request} is not in {shown}");
    }
}

/// Where the values of a request stand.
fn places(value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => return vec![String::new()],
    };
    let below = |(name, value): (String, &Value)| places(value).into_iter().map(move |rest| format!("/{name}{rest}"));
    inner.into_iter().flat_map(below).collect()
}

fn change(value: &mut Value) {
    *value = match value {
        Value::String(text) => Value::from(format!("{text}~")),
        Value::Number(number) => Value::from(number.as_f64().unwrap_or(0.0) + 1.0),
        Value::Bool(flag) => Value::from(!*flag),
        _ => Value::from(1),
    };
}
