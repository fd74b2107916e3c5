//! One test per rule of the renderer.

use super::*;
use folkmoot_engines::engines;

const ENGINE: EngineId = EngineId::new("codex");

fn act(id: &str, kind: ActionKind, title: &str, phase: Phase, ok: Option<bool>) -> EngineEvent {
    EngineEvent::action(&ENGINE, Action::new(id, kind, title), phase, ok)
}

fn started() -> EngineEvent {
    EngineEvent::started(ResumeToken::new("codex", "019a-77"), None, Detail::new())
}

fn completed(ok: bool, answer: &str, error: Option<&str>) -> EngineEvent {
    let error = error.map(str::to_owned);
    let resume = Some(ResumeToken::new("codex", "019a-77"));
    EngineEvent::Completed(Completed { engine: ENGINE, ok, answer: answer.into(), resume, error, usage: Detail::new() })
}

fn play(events: &[EngineEvent]) -> Progress {
    let codecs = engines::codecs();
    let mut progress = Progress::new(ENGINE);
    for event in events {
        progress.take(event, |token| codecs.format_resume(token));
    }
    progress
}

fn shown_as(events: &[EngineEvent], seconds: u64) -> String {
    markdown::message(&play(events), Duration::from_secs(seconds)).to_markdown()
}

#[test]
fn completed_only_actions_render_correctly() {
    let events = [started(), act("1", ActionKind::Command, "ls", Phase::Completed, Some(true))];
    assert_eq!(shown_as(&events, 5), "working · codex · 5s · step 1\n\n✓ `ls`\n\n`codex resume 019a-77`");
}

#[test]
fn repeated_events_for_the_same_action_id_collapse() {
    let phases = [(Phase::Started, "▸"), (Phase::Started, "↻"), (Phase::Updated, "↻"), (Phase::Completed, "✗")];
    let mut events = vec![act("0", ActionKind::Note, "first", Phase::Completed, None)];
    for (phase, mark) in phases {
        let ok = (phase == Phase::Completed).then_some(false);
        events.push(act("1", ActionKind::Tool, "grep: x", phase, ok));
        assert_eq!(shown_as(&events, 0), format!("working · codex · 0s · step 2\n\n✓ first  \n{mark} tool: grep: x"));
    }
}

#[test]
fn the_last_five_actions_are_shown_and_all_are_counted() {
    let mut events: Vec<EngineEvent> =
        (0..9).map(|n| act(&n.to_string(), ActionKind::Note, &format!("n{n}"), Phase::Completed, Some(true))).collect();
    events.insert(0, act("slow", ActionKind::Command, "sleep", Phase::Started, None));
    let progress = play(&events);
    assert_eq!(progress.steps(), 10);
    let shown: Vec<&str> = progress.actions().map(|action| action.text.as_str()).collect();
    assert_eq!(shown, ["`sleep`", "n5", "n6", "n7", "n8"], "what runs stays visible");
}

#[test]
fn an_action_that_scrolled_away_is_not_counted_twice() {
    let begin = |n: usize| act(&n.to_string(), ActionKind::Tool, "t", Phase::Started, None);
    let mut events: Vec<EngineEvent> = (0..7).map(begin).collect();
    events.push(act("0", ActionKind::Tool, "t", Phase::Completed, Some(true)));
    assert_eq!(play(&events).steps(), 7);
}

#[test]
fn words_on_their_way_are_one_line_beside_the_five_and_no_step() {
    let saying = |number: usize, title: &str, phase: Phase| {
        EngineEvent::saying(&ENGINE, EngineEvent::saying_id(&ENGINE, number), title.to_owned(), None, phase)
    };
    let command = |n: usize| act(&n.to_string(), ActionKind::Note, &format!("n{n}"), Phase::Completed, Some(true));
    let mut events: Vec<EngineEvent> = (0..5).map(command).collect();
    events.push(saying(1, "I will", Phase::Updated));
    events.push(saying(1, "I will run it.", Phase::Completed));
    events.push(command(5));
    events.extend((0..300).map(|n| saying(2, &format!("word {n}"), Phase::Updated)));
    let progress = play(&events);
    let shown: Vec<&str> = progress.actions().map(|action| action.text.as_str()).collect();
    assert_eq!(shown, ["n1", "n2", "n3", "n4", "n5", "word 299"]);
    assert_eq!(progress.steps(), 6);
    assert!(shown_as(&events, 0).ends_with("✓ n5  \n↻ word 299"));
    assert!(events.iter().filter(|event| terminal::plain_line(event).is_some()).count() == 6);
}

#[test]
fn words_that_end_do_not_answer_a_question() {
    let ask = Ask { id: "7".into(), title: "may I?".into(), ..Ask::default() };
    let id = EngineEvent::saying_id(&ENGINE, 1);
    let said = EngineEvent::saying(&ENGINE, id, "I want to.".into(), None, Phase::Completed);
    assert_eq!(play(&[EngineEvent::asked(&ENGINE, ask), said]).asks().len(), 1);
}

#[test]
fn turns_are_never_shown_and_unknown_kinds_are_notes() {
    let events = [
        act("t", ActionKind::Turn, "turn", Phase::Started, None),
        act("x", ActionKind::Other("dance".into()), "a step", Phase::Completed, Some(true)),
    ];
    assert_eq!(shown_as(&events, 0), "working · codex · 0s · step 1\n\n✓ a step");
}

#[test]
fn titles_get_their_prefix_and_failures_their_exit_code() {
    let title = |kind: ActionKind, title: &str, key: &str, value: serde_json::Value| {
        shown(&Action::new("1", kind, title).with(key, value), Phase::Completed)
    };
    assert_eq!(title(ActionKind::Command, "false", "exit_code", 1.into()), "`false` (exit 1)");
    assert_eq!(title(ActionKind::Command, "a `b`", "exit_code", 0.into()), "`` a `b` ``");
    assert_eq!(title(ActionKind::WebSearch, "rust", "x", 0.into()), "searched: rust");
    assert_eq!(title(ActionKind::Subagent, "look", "x", 0.into()), "subagent: look");
    let changes = serde_json::json!([{"path": "a", "kind": "add"}, {"path": "b"}, {"path": "c"}, {"path": "d"}]);
    let files = title(ActionKind::FileChange, "a, b", "changes", changes);
    assert_eq!(files, "files: add `a`, update `b`, update `c` …(1 more)");
    assert_eq!(title(ActionKind::Note, "two\n\nlines", "x", 0.into()), "two lines");
    assert_eq!(title(ActionKind::Note, &"x".repeat(400), "x", 0.into()).chars().count(), 300);
}

#[test]
fn the_final_message_has_status_answer_error_and_resume_line() {
    let done = [started(), completed(true, "Fixed.", None)];
    assert_eq!(shown_as(&done, 65), "done · codex · 1m 05s\n\nFixed.\n\n`codex resume 019a-77`");
    let failed = [started(), completed(false, "```\nhalf", Some("it broke"))];
    let text = shown_as(&failed, 7380);
    assert_eq!(text, "error · codex · 2h 03m\n\n```\nhalf\n```\n\nit broke\n\n`codex resume 019a-77`");
    let cancelled = [started(), completed(false, "", Some("cancelled"))];
    assert_eq!(shown_as(&cancelled, 1), "cancelled · codex · 1s\n\n`codex resume 019a-77`");
    let empty = [started(), completed(true, "", None)];
    assert!(shown_as(&empty, 1).starts_with("done"), "an empty answer is no error");
}

#[test]
fn usage_and_cost_are_shown_where_known() {
    let EngineEvent::Completed(mut event) = completed(true, "", None) else { unreachable!() };
    event.usage = serde_json::from_str(r#"{"input_tokens":9120,"output_tokens":400,"total_cost_usd":0.0123}"#).unwrap();
    let line = play(&[EngineEvent::Completed(event)]).status_line(Duration::ZERO);
    assert_eq!(line, "done · codex · 0s · 9.1k in, 400 out · $0.01");
}

#[test]
fn a_question_shows_until_it_is_answered_or_withdrawn() {
    let ask = |withdrawn| {
        let (id, title, options) = ("q".to_owned(), "run `rm`".to_owned(), vec!["yes".to_owned(), "no".to_owned()]);
        let ask = Ask { id, title, options, withdrawn, ..Ask::default() };
        EngineEvent::asked(&ENGINE, ask)
    };
    let mut progress = play(&[started(), ask(false)]);
    assert_eq!(progress.label(), Label::Waiting);
    assert!(markdown::message(&progress, Duration::ZERO).body.contains("yes · no"));
    progress.answered("q");
    assert_eq!(progress.label(), Label::Working);
    assert!(play(&[started(), ask(false), ask(true)]).asks().is_empty());
}

#[test]
fn nothing_changes_when_the_same_event_comes_again() {
    let mut progress = play(&[started()]);
    let event = act("1", ActionKind::Note, "n", Phase::Updated, None);
    assert!(progress.take(&event, |_| None));
    assert!(!progress.take(&event, |_| None));
}

#[test]
fn terminal_lines_fit_and_hold_nothing_that_steers() {
    let evil = act("1", ActionKind::Command, "a\u{1b}[31mb\u{202e}", Phase::Started, None);
    let lines = terminal::lines(&play(&[started(), evil.clone()]), Duration::from_secs(3), 24, false);
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.chars().count() <= 24 && !line.contains(['\u{1b}', '\u{202e}'])), "{lines:?}");
    assert_eq!(lines[2], "codex resume 019a-77");
    assert!(terminal::plain_line(&evil).unwrap().starts_with("▸ a"));
    assert_eq!(terminal::plain_line(&act("t", ActionKind::Turn, "", Phase::Started, None)), None);
}
