//! Plays one recording to an adapter under the contract, as a run would, and says what is wrong with what came out.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use folkmoot_engines::contract::{Contract, Step};
use folkmoot_engines::engine::{Control, Dialog, EngineSettings, Exit, Mode, Order, Output};
use folkmoot_engines::engines;
use folkmoot_engines::event::{ActionKind, AskAnswer, Completed, Detail, EngineEvent, EngineId, Phase, ResumeToken};
use serde_json::Value;

/// Where the recorder says that everything happened.
const FOLDER: &str = "/home/ann/project";

pub struct Recording {
    pub header: Value,
    pub lines: Vec<Value>,
}

impl Recording {
    pub fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let header = lines.next().unwrap();
        Self { header, lines: lines.collect() }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.header[key].as_str()
    }

    pub fn play(&self) -> Played {
        let engine = engines::find(self.text("engine").unwrap()).unwrap();
        let resume = self.text("resume").map(|value| ResumeToken::new(engine.id(), value));
        let settings = EngineSettings::default();
        let mode = if self.text("mode") == Some("warm") { Mode::Warm } else { Mode::Plain };
        let folder = Path::new(FOLDER);
        let order = Order { settings: &settings, prompt: "", resume: resume.as_ref(), folder, mode, now: 0 };
        let dialog = engine.prepare(&order).unwrap().dialog;
        let contract = Contract::new(engine.id(), resume);
        let mut played = Played {
            engine: engine.id(),
            dialog,
            contract,
            runs: Vec::new(),
            unknown: Vec::new(),
            refused: Vec::new(),
            asked: Vec::new(),
            left: Vec::new(),
            settle: None,
            at: 0,
            ids: Ids::default(),
        };
        self.lines.iter().for_each(|line| played.line(line));
        played.settled_within(u64::MAX);
        played
    }
}

pub struct Played {
    engine: EngineId,
    dialog: Box<dyn Dialog>,
    contract: Contract,
    /// The events of each prompt.
    runs: Vec<Vec<EngineEvent>>,
    unknown: Vec<String>,
    /// What people wanted and the adapter could not do.
    refused: Vec<String>,
    /// Questions that wait, by their ids.
    asked: Vec<String>,
    /// What came after the answer: a process that is kept has it read with the next prompt.
    left: Vec<Value>,
    settle: Option<Duration>,
    at: u64,
    ids: Ids,
}

impl Played {
    fn line(&mut self, line: &Value) {
        let at = line["at"].as_u64().unwrap_or(self.at);
        self.settled_within(at - self.at);
        self.at = at;
        let Some((kind, value)) = line.as_object().and_then(|fields| fields.iter().find(|(name, _)| *name != "at"))
        else {
            return;
        };
        match kind.as_str() {
            "prompt" => self.prompt(value.as_str().unwrap_or_default()),
            "sent" => self.ids.recorded(value),
            "got" if self.contract.is_completed() => self.left.push(value.clone()),
            "got" => self.got(value),
            "text" => {
                let steps = self.contract.warn(format!("invalid JSON: {value}"));
                self.admit(steps);
            }
            "answer" => self.answer(serde_json::from_value(value.clone()).unwrap()),
            "words" => self.control(&Control::Steer(value.as_str().unwrap_or_default().to_owned())),
            "interrupt" => self.control(&Control::Interrupt),
            "cancel" => {
                let steps = self.contract.fail("cancelled", self.dialog.answer_so_far());
                self.admit(steps);
            }
            "exit" => self.exit(value),
            other => panic!("a recording has no `{other}`"),
        }
    }

    fn settled_within(&mut self, gap: u64) {
        let silent = self.settle.is_some_and(|settle| u128::from(gap) >= settle.as_millis());
        if silent && !self.contract.is_completed() {
            self.settle = None;
            self.dialog(|dialog, out| dialog.settled(out));
        }
    }

    fn prompt(&mut self, prompt: &str) {
        if !self.runs.is_empty() {
            let token = self.contract.token().cloned();
            self.contract = Contract::new(self.engine.clone(), token.clone());
            self.runs.push(Vec::new());
            if let Some(token) = token {
                let steps = self.contract.admit(EngineEvent::started(token, None, Detail::new()));
                self.admit(steps);
            }
        } else {
            self.runs.push(Vec::new());
        }
        self.dialog(|dialog, out| dialog.prompt(prompt, out));
        for line in std::mem::take(&mut self.left) {
            self.got(&line);
        }
    }

    fn got(&mut self, line: &Value) {
        self.settle = None;
        let line = self.ids.ours(line);
        self.dialog(|dialog, out| dialog.line(&line, out));
    }

    fn answer(&mut self, answer: AskAnswer) {
        match self.asked.pop() {
            Some(ask) => self.control(&Control::Answer { ask, answer }),
            None => self.refused.push(format!("nobody was asked for {answer:?}")),
        }
    }

    fn control(&mut self, control: &Control) {
        let mut outcome = Ok(());
        self.dialog(|dialog, out| outcome = dialog.control(control, out));
        if outcome.is_err() {
            self.refused.push(format!("{control:?} was refused"));
        }
    }

    fn exit(&mut self, value: &Value) {
        if self.contract.is_completed() {
            return;
        }
        let number = |key: &str| value[key].as_i64().and_then(|number| i32::try_from(number).ok());
        let stderr = value["stderr"].as_str().unwrap_or_default().to_owned();
        let exit = Exit { code: number("code"), signal: number("signal"), stderr };
        self.dialog(|dialog, out| dialog.ended(&exit, out));
        let steps = self.contract.fail(exit.failure(self.engine.as_str()), String::new());
        self.admit(steps);
    }

    fn dialog(&mut self, call: impl FnOnce(&mut dyn Dialog, &mut Output)) {
        let mut out = Output::default();
        call(&mut *self.dialog, &mut out);
        for text in &out.send {
            if let Ok(value) = serde_json::from_str(text) {
                self.ids.sent(&value);
            }
        }
        self.unknown.extend(out.unknown);
        self.settle = out.settle.or(self.settle);
        for event in out.events {
            let steps = self.contract.admit(event);
            self.admit(steps);
        }
    }

    fn admit(&mut self, steps: Vec<Step>) {
        for step in steps {
            let Step::Emit(event) = step else { continue };
            if let EngineEvent::Asked(asked) = &event {
                self.asked.retain(|id| *id != asked.ask.id);
                if !asked.ask.withdrawn {
                    self.asked.push(asked.ask.id.clone());
                }
            }
            if let Some(run) = self.runs.last_mut() {
                run.push(event);
            }
        }
    }

    /// Everything that is not as the header wants it.
    pub fn faults(&self, recording: &Recording) -> Vec<String> {
        let mut faults = self.refused.clone();
        if !self.unknown.is_empty() {
            faults.push(format!("these lines are not known: {:?}", self.unknown));
        }
        for (number, run) in self.runs.iter().enumerate() {
            faults.extend(contract_faults(run).into_iter().map(|fault| format!("prompt {}: {fault}", number + 1)));
        }
        let events = self.runs.last().map_or(&[][..], Vec::as_slice);
        if let Some(EngineEvent::Completed(completed)) = events.last() {
            faults.extend(answer_faults(completed, &recording.header));
        }
        faults.extend(deed_faults(events, &recording.header));
        faults
    }
}

fn contract_faults(events: &[EngineEvent]) -> Vec<String> {
    let count = |test: fn(&EngineEvent) -> bool| events.iter().filter(|event| test(event)).count();
    let started = count(|event| matches!(event, EngineEvent::Started(_)));
    let completed = count(|event| matches!(event, EngineEvent::Completed(_)));
    let mut faults = Vec::new();
    if started > 1 {
        faults.push(format!("{started} times started"));
    }
    if completed != 1 || !matches!(events.last(), Some(EngineEvent::Completed(_))) {
        faults.push(format!("completed {completed} times"));
    }
    let mut begun = HashMap::new();
    for event in events {
        if let EngineEvent::Action(action) = event {
            let times = begun.entry(&action.action.id).or_insert(0);
            *times += usize::from(action.phase == Phase::Started);
            if *times > 1 {
                faults.push(format!("`{}` begins {times} times", action.action.title));
            }
        }
    }
    faults
}

fn answer_faults(completed: &Completed, header: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let said = format!("answer {:?}, error {:?}", completed.answer, completed.error);
    if completed.ok != (header["ok"] == true) || completed.ok != completed.error.is_none() {
        faults.push(format!("ok is {}: {said}", completed.ok));
    }
    for words in header["says"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !completed.answer.contains(words) {
            faults.push(format!("the answer does not say `{words}`: {said}"));
        }
    }
    if let Some(words) = header["error"].as_str()
        && !completed.error.as_deref().unwrap_or_default().contains(words)
    {
        faults.push(format!("the error does not say `{words}`: {said}"));
    }
    let refused = ["500", "401", "429"].contains(&header["case"].as_str().unwrap_or_default());
    if refused && !completed.answer.is_empty() {
        faults.push(format!("an error is the answer too: {said}"));
    }
    faults
}

/// What was done and asked is named as it was meant, without what the program wraps around it.
fn deed_faults(events: &[EngineEvent], header: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let actions = || {
        events.iter().filter_map(|event| if let EngineEvent::Action(one) = event { Some(&one.action) } else { None })
    };
    if let Some(command) = header["does"].as_str() {
        let mut commands = actions().filter(|action| action.kind == ActionKind::Command);
        if !commands.any(|action| action.title == command) {
            let titles: Vec<_> = actions().map(|action| &action.title).collect();
            faults.push(format!("no command is called `{command}`: {titles:?}"));
        }
    }
    let asks: Vec<_> = events
        .iter()
        .filter_map(|event| if let EngineEvent::Asked(asked) = event { Some(&asked.ask) } else { None })
        .filter(|ask| !ask.withdrawn)
        .collect();
    if let Some(wanted) = header["asks"].as_str() {
        let named = |value: &Value| match value {
            Value::String(text) => text == wanted || text.ends_with(&format!("/{wanted}")),
            _ => false,
        };
        let found = asks.iter().any(|ask| {
            let subject = serde_json::to_value(&ask.subject).unwrap();
            leaves(&subject).into_iter().any(named) || (header["case"] == "question" && ask.title.contains(wanted))
        });
        if !found {
            let subjects: Vec<_> = asks.iter().map(|ask| (&ask.title, &ask.subject)).collect();
            faults.push(format!("nobody is asked about `{wanted}`: {subjects:?}"));
        }
    }
    faults
}

fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

/// Requests are numbered by the adapter, perhaps otherwise than when the stream was recorded: an answer gets the number of the
/// request that is the same in name and turn.
#[derive(Default)]
struct Ids {
    recorded: Vec<(String, Value)>,
    ours: Vec<(String, Value)>,
}

impl Ids {
    fn recorded(&mut self, sent: &Value) {
        self.recorded.extend(request(sent));
    }

    fn sent(&mut self, sent: &Value) {
        self.ours.extend(request(sent));
    }

    fn ours(&self, got: &Value) -> Value {
        let mut got = got.clone();
        if got["method"].is_null()
            && let Some(id) = got.get_mut("id").filter(|id| id.is_number())
            && let Some(ours) = self.of(id)
        {
            *id = ours.clone();
        }
        self.rename(&mut got);
        got
    }

    /// Our number of the request that had this one.
    fn of(&self, id: &Value) -> Option<&Value> {
        let at = self.recorded.iter().position(|(_, known)| known == id)?;
        let name = &self.recorded[at].0;
        let turn = self.recorded[..at].iter().filter(|(other, _)| other == name).count();
        self.ours.iter().filter(|(other, _)| other == name).nth(turn).map(|(_, ours)| ours)
    }

    /// Names, unlike numbers, are meant wherever they stand.
    fn rename(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.rename(field)),
            Value::String(_) => {
                if let Some(ours) = self.of(value) {
                    *value = ours.clone();
                }
            }
            _ => {}
        }
    }
}

/// A request's name and number.
fn request(sent: &Value) -> Option<(String, Value)> {
    let control = &sent["request"]["subtype"];
    let (name, id) = match () {
        () if control.is_string() => (control, &sent["request_id"]),
        () if sent["uuid"].is_string() => (&sent["type"], &sent["uuid"]),
        () => (&sent["method"], &sent["id"]),
    };
    Some((name.as_str()?.to_owned(), Some(id).filter(|id| !id.is_null())?.clone()))
}
