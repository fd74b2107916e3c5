//! One test per rule, on streams that the real program wrote; `tests/fixtures/claude/README.md` says how they came about.

use std::path::Path;
use std::time::Duration;

use folkmoot_action::CommandLine;
use serde_json::{Value, json};

use super::super::{Claude, ID};
use crate::contract::{Contract, Step};
use crate::engine::{Control, Dialog, EngineSettings, Exit, Mode, Output, Piece};
use crate::event::{ActionEvent, Ask, AskAnswer, Completed, EngineEvent, Subject};
use crate::testing::plan;

/// A run as its reader sees it.
#[derive(Default)]
struct Told {
    events: Vec<EngineEvent>,
    /// The pieces of the answer, `|` between two blocks.
    said: String,
    thought: String,
    /// What the dialog last waited for.
    settle: Option<Duration>,
}

struct Play {
    dialog: Box<dyn Dialog>,
    contract: Contract,
    runs: Vec<Told>,
    sent: Vec<Value>,
    unknown: Vec<String>,
}

fn stream(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/claude/{name}.jsonl"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The runs of a recorded stream.
fn played(name: &str) -> Play {
    let text = stream(name);
    let mode = if text.lines().next().unwrap().contains("stream-json") { Mode::Warm } else { Mode::Plain };
    let resume = ["resume", "other-folder"].iter().any(|begins| name.starts_with(begins)).then_some("SESSION");
    let dialog = plan(&Claude, mode, resume, &EngineSettings::default()).dialog;
    let contract = Contract::new(ID, None);
    let runs = if mode == Mode::Plain { vec![Told::default()] } else { Vec::new() };
    let mut play = Play { dialog, contract, runs, sent: Vec::new(), unknown: Vec::new() };
    text.lines().skip(1).for_each(|line| play.line(line));
    play
}

impl Play {
    fn line(&mut self, line: &str) {
        let Some(ours) = line.strip_prefix("> ") else {
            let users = self.sent.iter().filter(|sent| sent["type"] == "user");
            let uuids: Vec<String> = users.map(|sent| sent["uuid"].as_str().unwrap().to_owned()).collect();
            let named =
                |line: String, at: usize| line.replace(&format!("UUID{}\"", at + 1), &format!("{}\"", uuids[at]));
            let line = (0..uuids.len()).fold(line.to_owned(), named);
            let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
            return self.with(|dialog, out| dialog.line(&value, out));
        };
        let (word, rest) = ours.split_once(' ').unwrap_or((ours, ""));
        match word {
            "prompt" => {
                self.contract = Contract::new(ID, None);
                self.runs.push(Told::default());
                self.with(|dialog, out| dialog.prompt(rest, out));
            }
            "steer" => self.control(Control::Steer(rest.to_owned())),
            "interrupt" => self.control(Control::Interrupt),
            "allow" => self.answer(AskAnswer::Allow { input: None }),
            "deny" => {
                let stop = rest.starts_with("stop ");
                self.answer(AskAnswer::Deny { note: rest.trim_start_matches("stop ").to_owned(), stop });
            }
            "reply" => self.answer(AskAnswer::Reply { answers: vec![rest.to_owned()] }),
            "settle" => self.with(|dialog, out| dialog.settled(out)),
            "exit" => {
                let exit = Exit { code: rest.parse().ok(), ..Exit::default() };
                self.with(|dialog, out| dialog.ended(&exit, out));
            }
            other => panic!("{other} is not known"),
        }
    }

    fn control(&mut self, control: Control) {
        self.with(|dialog, out| dialog.control(&control, out).unwrap());
    }

    fn answer(&mut self, answer: AskAnswer) {
        let ask = self.run().asks().last().expect("a question").id.clone();
        self.control(Control::Answer { ask, answer });
    }

    fn with(&mut self, call: impl FnOnce(&mut dyn Dialog, &mut Output)) {
        let mut out = Output::default();
        call(&mut *self.dialog, &mut out);
        self.sent.extend(out.send.iter().filter_map(|line| serde_json::from_str(line).ok()));
        self.unknown.append(&mut out.unknown);
        let Some(run) = self.runs.last_mut() else { return };
        run.settle = out.settle;
        for piece in out.pieces {
            match piece {
                Piece::Answer(text) => run.said.push_str(&text),
                Piece::Thought(text) => run.thought.push_str(&text),
                Piece::Break if run.said.is_empty() || run.said.ends_with('|') => {}
                Piece::Break => run.said.push('|'),
            }
        }
        let steps = out.events.into_iter().flat_map(|event| self.contract.admit(event)).collect::<Vec<_>>();
        run.events.extend(steps.into_iter().filter_map(|step| match step {
            Step::Emit(event) => Some(event),
            Step::Lock(_) => None,
        }));
    }

    fn run(&self) -> &Told {
        self.runs.last().unwrap()
    }

    fn completed(&self) -> &Completed {
        self.run().completed()
    }

    fn requests(&self, subtype: &str) -> Vec<&Value> {
        self.sent.iter().map(|sent| &sent["request"]).filter(|request| request["subtype"] == subtype).collect()
    }
}

impl Told {
    fn completed(&self) -> &Completed {
        let Some(EngineEvent::Completed(completed)) = self.events.last() else { panic!("{:#?}", self.events) };
        completed
    }

    fn asks(&self) -> Vec<&Ask> {
        let asks = self.events.iter().filter_map(|event| match event {
            EngineEvent::Asked(asked) => Some(&*asked.ask),
            _ => None,
        });
        asks.collect()
    }

    /// `phase ok kind title` of every action.
    fn actions(&self) -> Vec<String> {
        let line = |event: &ActionEvent| {
            let ok = event.ok.map_or(" ", |ok| if ok { "+" } else { "-" });
            format!("{:?} {ok} {} {}", event.phase, event.action.kind.as_str(), event.action.title)
        };
        let actions = self.events.iter().filter_map(|event| match event {
            EngineEvent::Action(event) => Some(line(event)),
            _ => None,
        });
        actions.collect()
    }

    fn cost(&self) -> &Value {
        &self.completed().usage["total_cost_usd"]
    }
}

const HELLO: &str = "Hello from the fake model.";

#[test]
fn every_run_of_every_stream_is_understood_and_ends_by_itself() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut count = 0;
    for name in names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)) {
        let play = played(&name);
        assert!(play.unknown.is_empty(), "{name}: {:?}", play.unknown);
        for run in &play.runs {
            let done = run.completed();
            assert_eq!(done.ok, done.error.is_none(), "{name}: {done:?}");
            assert!(!done.answer.contains("API Error") && !done.answer.contains("/login"), "{name}: {done:?}");
        }
        // What comes after the last answer is nothing that would make a waiting process speak.
        assert_eq!(play.run().settle, None, "{name}");
        count += 1;
    }
    assert!(count > 30);
}

#[test]
fn a_run_names_its_model_although_signs_of_life_name_the_session_first() {
    for name in ["hello", "hello-2.1.197", "words"] {
        let play = played(name);
        let EngineEvent::Started(started) = &play.runs[0].events[0] else { panic!("{name}") };
        assert!(started.title.as_deref().is_some_and(|model| model.starts_with("claude-opus")), "{name}: {started:?}");
        assert!(started.meta.contains_key("claude_code_version"));
    }
}

#[test]
fn a_run_ends_when_all_words_that_were_said_meanwhile_are_answered() {
    for name in ["words", "words-2.1.197"] {
        let play = played(name);
        assert_eq!(play.completed().answer, format!("Beginning slowly. Now done slowly.\n\n{HELLO}"), "{name}");
        assert_eq!(play.run().said, format!("Beginning slowly. Now done slowly.|{HELLO}|"), "{name}");
        let each = if name == "words" { 0.006_286 } else { 0.008_107_5 };
        assert_eq!(*play.run().cost(), json!(2.0 * each), "{name}: both turns");
    }
    let taken = played("words-tool");
    assert_eq!(
        taken.completed().answer,
        "Done. The tool said: hi",
        "words that a turn takes up have no turn of their own"
    );
}

#[test]
fn a_run_waits_for_what_claude_does_in_the_background_and_keeps_every_answer() {
    for name in ["background", "background-2.1.197", "background-plain"] {
        let play = played(name);
        let answers: Vec<&str> = play.completed().answer.split("\n\n").collect();
        assert_eq!(answers.len(), 2, "{name}: {answers:?}");
        assert!(answers[0].starts_with("Called: Command running in background"), "{name}");
        let told: Vec<String> =
            play.run().actions().into_iter().filter(|title| title.contains("in the background")).collect();
        let both = ["Started   command in the background: a sleep", "Completed + command in the background: a sleep"];
        assert_eq!(told, both, "{name}");
    }
    for name in ["subagent", "subagent-plain"] {
        let answer = played(name).completed().answer.clone();
        assert_eq!(answer.matches("Sub: Async agent launched").count(), 2, "{name}: {answer}");
    }
    assert_eq!(
        played("subagent-2.1.197").completed().answer.matches("Sub: ").count(),
        1,
        "there the turn itself waits"
    );
}

#[test]
fn what_claude_ends_in_the_background_is_shown_as_failed() {
    let play = played("background-plain-2.1.197");
    assert!(play.run().actions().contains(&"Completed - command in the background: a sleep".to_owned()));
    assert!(play.completed().ok);
}

/// The lines of a stream up to the first that holds this, played.
fn played_until(name: &str, holds: &str) -> Play {
    let mut play = played("hello");
    let mode = if stream(name).starts_with("# Claude Code 2.1.325, stream-json") { Mode::Warm } else { Mode::Plain };
    play.dialog = plan(&Claude, mode, None, &EngineSettings::default()).dialog;
    (play.runs, play.sent, play.contract) = (vec![Told::default()], Vec::new(), Contract::new(ID, None));
    let text = stream(name);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let end = lines.iter().position(|line| line.contains(holds)).expect("such a line");
    lines[..=end].iter().for_each(|line| play.line(line));
    play
}

#[test]
fn the_wait_for_the_background_is_bounded_and_people_are_told_what_still_runs() {
    for name in ["background", "background-plain"] {
        let mut play = played_until(name, "\"queued_turn_count\":0");
        assert_eq!(play.run().settle, Some(Duration::from_secs(300)), "{name}");
        assert!(!matches!(play.run().events.last(), Some(EngineEvent::Completed(_))), "{name}");
        play.line("> settle");
        assert!(play.completed().ok && play.completed().answer.starts_with("Called: "), "{name}");
        let said = "Completed - warning still running in the background: a sleep, and the run does not wait any longer";
        assert!(play.run().actions().contains(&said.to_owned()), "{name}: {:?}", play.run().actions());
    }
}

#[test]
fn a_process_that_ends_ends_what_was_in_its_background() {
    let mut play = played_until("background", "\"queued_turn_count\":0");
    play.line("> exit 1");
    let said = "Completed - warning still running in the background: a sleep, and ended with claude";
    assert_eq!(play.run().actions().last().unwrap(), said);
    let mut within = played_until("background", "task_updated");
    within.line(r#"{"type":"system","subtype":"init","session_id":"SESSION"}"#);
    within.line("> exit 1");
    assert_eq!(
        within.completed().error.as_deref(),
        Some("claude failed (rc=1)."),
        "a turn without an end is no success"
    );
    assert!(within.completed().answer.starts_with("Called: "));
}

#[test]
fn an_interrupt_ends_what_is_in_the_background_too() {
    let play = played("background-stopped");
    assert_eq!(play.requests("stop_task"), [&json!({"subtype": "stop_task", "task_id": "bc503eide"})]);
    assert!(play.run().actions().contains(&"Completed - command in the background: a sleep".to_owned()));
    assert!(play.completed().ok && play.completed().answer.starts_with("Called: "));
}

#[test]
fn what_the_last_run_left_behind_is_never_the_answer_to_the_next_prompt() {
    let play = played("left-over");
    let [first, second] = &play.runs[..] else { panic!("two runs") };
    assert!(first.completed().answer.starts_with("Called: "));
    assert!(second.completed().answer.starts_with("You said so far: "), "{:?}", second.completed());
    let note = |title: &String| title.starts_with("Completed + note about what went on in the background: Called: ");
    assert!(second.actions().iter().any(note), "{:?}", second.actions());
    for name in ["left-over-late", "left-over-late-2.1.197"] {
        let play = played(name);
        assert_eq!(play.completed().answer, "Beginning slowly. Now done slowly.", "{name}");
        let note = |title: &String| title.starts_with("Completed + note about what went on in the background: ");
        assert!(play.run().actions().iter().any(note), "{name}: {:?}", play.run().actions());
    }
}

#[test]
fn a_process_that_is_kept_warm_gives_every_prompt_its_own_answer_and_its_own_cost() {
    let play = played("keep-warm");
    let answers: Vec<&str> = play.runs.iter().map(|run| run.completed().answer.as_str()).collect();
    assert_eq!(answers, [HELLO, "Done. The tool said: hi", "Hello after thinking."]);
    let api: Vec<&Value> = play.runs.iter().map(|run| &run.completed().usage["duration_api_ms"]).collect();
    assert_eq!(api, [21, 60, 13], "where claude counts 21, 81, 94");
    let costs: Vec<&Value> = play.runs.iter().map(Told::cost).collect();
    assert_eq!(costs, [&json!(0.006_286), &json!(0.012_572), &json!(0.006_286)]);
    let commands = played("slash-2.1.197");
    assert_eq!(commands.runs[2].completed().answer, "Unknown command: /nonsense");
    assert_eq!(*commands.runs[2].cost(), json!(0.0));
}

#[test]
fn a_run_costs_what_it_costs_however_often_its_session_went_on() {
    assert_eq!(*played("hello").run().cost(), json!(0.006_286));
    assert_eq!(*played("resume").run().cost(), json!(0.006_286), "where claude says 0.012572");
    assert_eq!(played("resume").completed().usage["input_tokens"], 1234);
    assert!(
        !played("resume").completed().usage.contains_key("duration_api_ms"),
        "which counts on, from nobody knows where"
    );
    assert_eq!(*played("resume-2.1.197").run().cost(), json!(0.008_107_5), "which begins anew with every process");
}

#[test]
fn text_and_thoughts_are_said_as_they_come_and_only_once() {
    let think = played("think");
    assert_eq!(think.run().said, "Hello after thinking.|");
    assert_eq!(think.run().thought, "Let me think about it. The person wants a greeting.");
    assert_eq!(think.run().actions(), ["Completed + note Let me think about it. The person wants a greeting."]);
    assert_eq!(played("tool").run().said, "I will run it.|Done. The tool said: hi|");
    assert_eq!(played("cut").run().said, "This will be cut |This will be cut |");
}

#[test]
fn what_was_said_is_kept_also_without_an_end() {
    let play = played_until("interrupt", "Beginning slowly");
    assert_eq!(play.dialog.answer_so_far(), "Beginning slowly.");
    let second = played_until("words", "\"text\":\"Hello from the fake model.\"");
    assert_eq!(second.dialog.answer_so_far(), format!("Beginning slowly. Now done slowly.\n\n{HELLO}"));
}

#[test]
fn an_interrupt_is_called_one_and_keeps_what_was_said() {
    let interrupted = played("interrupt");
    let done = interrupted.completed();
    assert_eq!((done.error.as_deref(), done.answer.trim()), (Some("interrupted"), "Beginning slowly."));
    let words = played("interrupt-words");
    assert!(words.completed().ok && words.completed().answer.ends_with(HELLO), "{:?}", words.completed());
    assert!(words.run().actions().contains(&"Completed - warning interrupted".to_owned()));
    assert_eq!(played("deny-stop").completed().error.as_deref(), Some("interrupted"));
}

#[test]
fn failures_of_the_api_are_shown_while_claude_tries_again_and_are_never_the_answer() {
    let mended = played("error-500-mended");
    let tries =
        ["Updated   warning API error 500, trying again in 1 s (1 of 10)", "Completed + warning the API answers again"];
    assert_eq!(mended.run().actions(), tries);
    let failed = played("error-500");
    assert_eq!(failed.run().actions()[1], "Updated   warning API error 500, trying again in 2 s (2 of 2)");
    let done = failed.completed();
    assert!(done.answer.is_empty() && done.error.as_deref().unwrap().starts_with("API Error: 500 "), "{done:?}");
    assert!(failed.run().said.is_empty());
    let limited = played("error-429");
    assert!(limited.run().actions()[0].contains("rate limited (API error 429), trying again in 1 s"));
}

#[test]
fn who_is_not_logged_in_is_told_what_to_do() {
    for name in ["error-401", "error-401-2.1.197", "not-logged-in"] {
        let play = played(name);
        let error = play.completed().error.as_deref().unwrap();
        assert!(error.contains("hint: start `claude` and say /login"), "{name}: {error}");
        assert!(error.contains("ANTHROPIC_API_KEY") && error.contains("engines.claude.env"), "{error}");
        assert!(play.completed().answer.is_empty(), "{name}");
    }
    assert!(played("error-401").run().actions()[0].contains("\nhint: start `claude`"), "it tries for minutes");
}

#[test]
fn a_limit_is_said_with_the_time_at_which_it_ends() {
    let play = played("rate-limit");
    let said = "Completed - warning claude's 5-hour limit is used up; it begins anew on 2026-11-17 at 07:20 UTC";
    assert_eq!(play.run().actions(), [said]);
    assert_eq!(play.completed().error.as_deref(), Some("You've hit your 5-hour limit · resets 7:20am (UTC)"));
}

#[test]
fn a_session_of_another_folder_is_refused_in_words_where_claude_does_not_find_it() {
    let play = played("other-folder-2.1.197");
    let error = play.completed().error.as_deref().unwrap();
    assert!(error.contains("no session") && error.contains("hint: its sessions belong to the folder"), "{error}");
    assert!(played("other-folder").completed().ok, "newer versions go on in the folder that they are given");
}

#[test]
fn the_real_requests_are_what_they_say() {
    let edit = played("edit");
    let Subject::Edit { paths, diff, .. } = &edit.runs[1].asks()[0].subject else {
        panic!("{:?}", edit.runs[1].asks())
    };
    assert_eq!((paths.as_slice(), diff[0].text.as_str()), (&["/r/e.txt".to_owned()][..], "-two\n+three"));
    let write = played("write");
    let Subject::Edit { paths, diff, .. } = &write.run().asks()[0].subject else { panic!("{:?}", write.run().asks()) };
    assert_eq!((paths.as_slice(), diff[0].text.as_str()), (&["/r/a.txt".to_owned()][..], "+written by the fake model"));
    let allow = played("allow");
    let ask = allow.run().asks()[0];
    let lines = vec![CommandLine::Text("touch made-here.txt".into())];
    assert_eq!(ask.subject, Subject::Command { tool: "Bash".into(), lines });
    assert_eq!(
        (ask.rest["blocked_path"].as_str(), ask.rest["description"].as_str()),
        (Some("/r/made-here.txt"), Some("run it"))
    );
    assert_eq!(allow.completed().answer.trim(), "Done. The tool said: (Bash completed with no output)");
    let denied = played("deny");
    assert_eq!(denied.runs[0].completed().answer, "Done. The tool said: ERROR not now");
    assert_eq!(denied.runs[1].actions(), Vec::<String>::new(), "a denial is told once");
    let question = played("question");
    assert_eq!(question.run().asks()[0].subject, Subject::Question);
    assert!(question.completed().answer.contains("\"Which colour?\"=\"Blue\""));
}

#[test]
fn people_who_are_asked_may_take_longer_than_the_background() {
    let mut play = played_until("background", "\"queued_turn_count\":0");
    play.line(r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}"#);
    assert_eq!(play.run().settle, None);
    play.line("> allow");
    assert_eq!(play.run().settle, Some(Duration::from_secs(300)));
}

#[test]
fn words_that_claude_drops_are_not_lost_silently() {
    let mut play = played_until("words", "Beginning slowly. ");
    play.line("> steer never mind");
    let uuid = play.sent.last().unwrap()["uuid"].as_str().unwrap().to_owned();
    play.line(&json!({"type": "command_lifecycle", "command_uuid": uuid, "state": "discarded"}).to_string());
    assert_eq!(play.run().actions(), ["Completed - warning claude did not take up: never mind"]);
}

#[test]
fn lines_that_nobody_knows_are_named() {
    let mut play = played_until("hello", "\"init\"");
    for line in [r#"{"type":"hologram"}"#, r#"{"type":"system","subtype":"teleport"}"#, r#"{"type":"tool_progress"}"#] {
        play.line(line);
    }
    assert_eq!(play.unknown, ["hologram", "system.teleport"]);
}

#[test]
fn what_claude_itself_says_to_people_is_a_note() {
    let mut play = played_until("hello", "\"init\"");
    // In the shapes that 2.1.325 declares; no fake model makes it say so.
    play.line(r#"{"type":"system","subtype":"model_fallback","content":"another model goes on"}"#);
    play.line(r#"{"type":"system","subtype":"informational","level":"info","content":"for the log"}"#);
    assert_eq!(play.run().actions(), ["Completed + note another model goes on"]);
}
