//! One run with an engine that says what its script says, under a clock that stands still.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use folkmoot_engines::engine::{Dialog, Exit, Plan, Source};
use folkmoot_engines::engines;
use folkmoot_engines::event::{Action, ActionEvent, ActionKind, Completed, Phase};
use folkmoot_engines::resume::ResumeCodec;

/// Each of its processes plays one of the scripts.
#[derive(Default)]
struct Talker {
    scripts: Mutex<VecDeque<Vec<Value>>>,
    starts: AtomicUsize,
}

impl Engine for Talker {
    fn id(&self) -> EngineId {
        EngineId::new("codex")
    }

    fn codec(&self) -> &'static ResumeCodec {
        engines::find("codex").unwrap().codec()
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn may_begin_again(&self, exit: &Exit) -> bool {
        exit.stderr.contains("locked")
    }

    fn plan(&self, _order: &Order<'_>) -> Result<Plan, EngineError> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        let script = self.scripts.lock().pop_front().expect("a process more than expected");
        let lines = script.iter().map(Value::to_string).collect();
        Ok(Plan { source: Source::Script(lines), dialog: Box::<Talk>::default() })
    }
}

#[derive(Default)]
struct Talk {
    said: String,
}

impl Dialog for Talk {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        self.said.clear();
        out.send.push(prompt.to_owned());
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        let text = line["text"].as_str().unwrap_or_default();
        let engine = EngineId::new("codex");
        match line["type"].as_str().unwrap_or_default() {
            "started" => {
                let session = if text.is_empty() { "t-1" } else { text };
                out.event(EngineEvent::started(ResumeToken::new("codex", session), None, Detail::new()));
            }
            "say" => {
                self.said.push_str(text);
                out.say(text);
            }
            "think" => out.think(text),
            "tool" => {
                let action = Action::new(text, ActionKind::Tool, text);
                out.event(EngineEvent::action(&engine, action, Phase::Completed, Some(true)));
            }
            "done" => self.settled(out),
            "heartbeat" => {}
            "idle" => out.settle = Some(Duration::from_secs(2)),
            other => out.unknown(other),
        }
    }

    fn settled(&mut self, out: &mut Output) {
        out.event(EngineEvent::Completed(Completed {
            engine: EngineId::new("codex"),
            ok: true,
            answer: std::mem::take(&mut self.said),
            resume: None,
            error: None,
            usage: Detail::new(),
        }));
    }

    fn ended(&mut self, _exit: &Exit, _out: &mut Output) {}

    fn answer_so_far(&self) -> String {
        self.said.clone()
    }
}

fn started() -> Value {
    json!({"type": "started"})
}

fn say(text: &str) -> Value {
    json!({"type": "say", "text": text})
}

fn pause(ms: u64) -> Value {
    json!({"type": "delay", "ms": ms})
}

fn done() -> Value {
    json!({"type": "done"})
}

fn heard(word: &str) -> Value {
    json!({"type": "wait", "for": word})
}

fn talker(scripts: Vec<Vec<Value>>) -> &'static Talker {
    Box::leak(Box::new(Talker { scripts: Mutex::new(scripts.into()), ..Talker::default() }))
}

fn runner() -> Runner {
    let mut settings = EngineSettings::default();
    settings.own.insert("keep_warm_s".into(), 60.into());
    Runner::new(BTreeMap::from([("codex".to_owned(), settings)]), Locks::default(), engines::codecs())
}

fn start(runner: &Runner, talker: &'static Talker, prompt: &str, resume: bool) -> Run {
    let resume = resume.then(|| ResumeToken::new("codex", "t-1"));
    runner.run(talker, Request { prompt: prompt.into(), resume, mode: Mode::Warm, ..Request::default() })
}

async fn collect(run: &mut Run) -> (Vec<ActionEvent>, Completed) {
    let mut actions = Vec::new();
    loop {
        match run.next().await.expect("a run never just ends") {
            EngineEvent::Action(action) => actions.push(action),
            EngineEvent::Completed(completed) => return (actions, completed),
            EngineEvent::Started(_) | EngineEvent::Asked(_) => {}
        }
    }
}

async fn play(script: Vec<Value>) -> (Vec<ActionEvent>, Completed) {
    collect(&mut start(&runner(), talker(vec![script]), "x", false)).await
}

#[tokio::test(start_paused = true)]
async fn text_that_streams_is_told_in_one_note_at_most_every_half_second() {
    let mut script = vec![started()];
    for number in 0..300 {
        script.extend([pause(10), say(&format!("w{number} "))]);
    }
    script.extend([json!({"type": "tool", "text": "ls"}), done()]);
    let (actions, completed) = play(script).await;
    assert!(completed.answer.ends_with("w298 w299 "));
    let said: Vec<&ActionEvent> = actions.iter().filter(|action| action.is_saying()).collect();
    assert!((5..=8).contains(&said.len()), "3 s of text: {said:#?}");
    assert!(said.iter().all(|event| event.action.id == said[0].action.id));
    assert_eq!(actions.last().unwrap().phase, Phase::Completed, "what was said is said before the answer");
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_engine_does_not_keep_back_what_it_said() {
    let script = vec![started(), say("Beginning slowly. "), pause(30_000), say("Done."), done()];
    let mut run = start(&runner(), talker(vec![script]), "x", false);
    let begun = Instant::now();
    run.next().await;
    let Some(EngineEvent::Action(said)) = run.next().await else { panic!() };
    assert_eq!(said.action.title, "Beginning slowly.");
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_at_once_is_the_only_news() {
    let (actions, completed) = play(vec![started(), say("Hel"), say("lo."), done()]).await;
    assert_eq!((actions.len(), completed.answer.as_str()), (0, "Hello."));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_keeps_what_was_said() {
    let script = vec![started(), say("Half an "), say("ans"), pause(60_000), done()];
    let mut run = start(&runner(), talker(vec![script]), "x", false);
    while !matches!(run.next().await, Some(EngineEvent::Action(_))) {}
    run.handle().cancel();
    let (_, completed) = collect(&mut run).await;
    assert_eq!((completed.error.as_deref(), completed.answer.as_str()), (Some("cancelled"), "Half an ans"));
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_killed_keeps_what_was_said() {
    let (_, completed) = play(vec![started(), say("Half an ans"), json!({"type": "fail", "code": 137})]).await;
    assert!(!completed.ok);
    assert_eq!(completed.answer, "Half an ans");
}

#[tokio::test(start_paused = true)]
async fn of_lines_that_nobody_can_read_the_first_are_told_and_the_rest_is_counted_before_the_end() {
    let noise = || (0..500).map(|number| json!(number));
    let (actions, completed) = play([started()].into_iter().chain(noise()).chain([done()]).collect()).await;
    let titles: Vec<&str> = actions.iter().map(|event| event.action.title.as_str()).collect();
    assert!(completed.ok && titles.len() == 4, "{titles:?}");
    assert_eq!(
        (titles[0], titles[3]),
        ("invalid JSON from codex: 0", "497 more lines that nobody can read were skipped")
    );
    let script = [started()].into_iter().chain(noise()).chain([say("Half"), pause(60_000), done()]).collect();
    let mut run = start(&runner(), talker(vec![script]), "x", false);
    let is_said = |event: &Option<EngineEvent>| matches!(event, Some(EngineEvent::Action(said)) if said.is_saying());
    while !is_said(&run.next().await) {}
    run.handle().cancel();
    let (actions, completed) = collect(&mut run).await;
    assert_eq!(completed.error.as_deref(), Some("cancelled"));
    assert!(actions.iter().any(|event| event.action.title.starts_with("497 more lines")), "{actions:?}");
}

#[tokio::test(start_paused = true)]
async fn lines_that_nobody_knows_are_noted_once_and_counted() {
    let counted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&counted);
    let runner = runner().counting_unknown(move |engine| {
        assert_eq!(engine.as_str(), "codex");
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let dance = json!({"type": "dance"});
    let script = vec![started(), dance.clone(), dance, json!({"type": "sing"}), say("ok"), done()];
    let (actions, completed) = collect(&mut start(&runner, talker(vec![script]), "x", false)).await;
    assert!(completed.ok);
    assert_eq!((actions.len(), counted.load(Ordering::SeqCst)), (2, 3));
}

/// As opencode 1.18.33 ends when several of them start at once.
fn locked() -> Value {
    json!({"type": "fail", "code": 1, "message": "Error: Unexpected error\n\ndatabase is locked"})
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_could_not_begin_is_started_again_but_not_for_ever() {
    let answers = vec![started(), say("hello"), done()];
    let good = talker(vec![vec![locked()], vec![locked()], answers]);
    let (_, completed) = collect(&mut start(&runner(), good, "x", false)).await;
    assert_eq!((completed.answer.as_str(), good.starts.load(Ordering::SeqCst)), ("hello", 3));
    let bad = talker(vec![vec![locked()]; 4]);
    let (_, completed) = collect(&mut start(&runner(), bad, "x", false)).await;
    assert!(completed.error.unwrap().contains("database is locked"));
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_had_begun_is_not_started_again() {
    let once = talker(vec![vec![started(), say("half"), locked()]]);
    let (_, completed) = collect(&mut start(&runner(), once, "x", false)).await;
    assert_eq!((completed.ok, completed.answer.as_str()), (false, "half"));
}

/// A process that answers `one`, does what `meanwhile` says, and answers `two` when it is asked.
fn first_process(meanwhile: Vec<Value>) -> Vec<Value> {
    let mut script = vec![heard("one"), started(), say("answer one"), done()];
    script.extend(meanwhile);
    script.extend([heard("two"), say("answer two"), done(), json!({"type": "linger"})]);
    script
}

fn second_process() -> Vec<Value> {
    vec![heard("two"), started(), say("fresh answer two"), done(), json!({"type": "linger"})]
}

/// Asks `one`, waits ten seconds, asks `two`; the second answer, and how many processes it took.
async fn two_prompts(meanwhile: Vec<Value>, model: Option<&str>) -> (String, usize) {
    let (runner, talker) = (runner(), talker(vec![first_process(meanwhile), second_process()]));
    let mut first = start(&runner, talker, "one", false);
    assert_eq!(collect(&mut first).await.1.answer, "answer one");
    first.gone().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let request = Request {
        prompt: "two".into(),
        resume: Some(ResumeToken::new("codex", "t-1")),
        mode: Mode::Warm,
        model: model.map(str::to_owned),
        ..Request::default()
    };
    let (_, second) = collect(&mut runner.run(talker, request)).await;
    (second.answer, talker.starts.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waits_quietly_answers_the_next_prompt() {
    let signs = vec![pause(1000), json!({"type": "heartbeat"}), json!({"type": "future"}), pause(1000)];
    assert_eq!(two_prompts(signs, None).await, ("answer two".to_owned(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_late_turn_of_a_process_that_waits_is_never_the_answer_to_the_next_prompt() {
    for late in [vec![done()], vec![say("left over"), done()], vec![say("left"), pause(20_000), done()]] {
        let meanwhile = [vec![pause(1000)], late].concat();
        assert_eq!(two_prompts(meanwhile, None).await, ("fresh answer two".to_owned(), 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ended_while_it_waited_is_replaced() {
    let dies = vec![pause(1000), json!({"type": "fail", "code": 1})];
    assert_eq!(two_prompts(dies, None).await, ("fresh answer two".to_owned(), 2));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_when_it_is_asked_is_replaced() {
    let dies = vec![heard("two"), json!({"type": "fail", "code": 1})];
    assert_eq!(two_prompts(dies, None).await, ("fresh answer two".to_owned(), 2));
}

#[tokio::test(start_paused = true)]
async fn a_process_of_another_model_is_not_used() {
    assert_eq!(two_prompts(Vec::new(), Some("other")).await, ("fresh answer two".to_owned(), 2));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waited_its_time_is_ended() {
    let (runner, talker) = (runner(), talker(vec![first_process(Vec::new()), second_process()]));
    collect(&mut start(&runner, talker, "one", false)).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(collect(&mut start(&runner, talker, "two", true)).await.1.answer, "fresh answer two");
}

#[tokio::test(start_paused = true)]
async fn of_too_many_processes_that_wait_the_one_that_waited_longest_is_ended() {
    let sessions: Vec<String> = (0..=crate::warm::MAX_WAITING).map(|number| format!("s-{number}")).collect();
    let process = |session: &String| {
        let begun = json!({"type": "started", "text": session});
        vec![begun, say("once"), done(), heard("again"), say("again"), done(), json!({"type": "linger"})]
    };
    let fresh = vec![json!({"type": "started", "text": "s-0"}), say("anew"), done(), json!({"type": "linger"})];
    let scripts: Vec<_> = sessions.iter().map(process).chain([fresh]).collect();
    let (runner, talker) = (runner(), talker(scripts));
    for _ in &sessions {
        let mut run = start(&runner, talker, "x", false);
        collect(&mut run).await;
        run.gone().await;
    }
    let ask = |session: &String| {
        let resume = Some(ResumeToken::new("codex", session.as_str()));
        runner.run(talker, Request { prompt: "again".into(), resume, mode: Mode::Warm, ..Request::default() })
    };
    assert_eq!(collect(&mut ask(sessions.last().unwrap())).await.1.answer, "again");
    assert_eq!(collect(&mut ask(&sessions[0])).await.1.answer, "anew");
}

#[tokio::test(start_paused = true)]
async fn noise_does_not_put_off_what_comes_of_silence() {
    let script = vec![started(), say("all"), json!({"type": "idle"}), pause(1500), json!("noise"), heard("never")];
    let played = tokio::time::timeout(Duration::from_secs(60), play(script)).await;
    let (actions, completed) = played.expect("it ends two seconds after the last line that says anything");
    assert_eq!(completed.answer, "all");
    assert!(actions.iter().any(|event| event.action.kind == ActionKind::Warning), "{actions:?}");
}
