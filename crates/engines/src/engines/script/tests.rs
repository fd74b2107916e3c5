//! One test per rule of the scripts.

use super::{AGAIN, DEMONSTRATION, Script, TOUR, translate};
use crate::event::{EngineEvent, Subject};
use crate::testing::Play;

#[test]
fn placeholders_are_filled_and_comments_left_out() {
    let lines = translate::prepared("# c\n\n{\"a\":\"{{prompt}} in {{session}}\"}", "say \"hi\"\n", "s1");
    assert_eq!(lines, [r#"{"a":"say \"hi\"\n in s1"}"#]);
}

#[test]
fn the_demonstration_is_a_good_run() {
    let lines = translate::prepared(DEMONSTRATION, "hello", "s1");
    let events: Vec<&String> = lines.iter().filter(|line| !line.contains("\"delay\"")).collect();
    let mut play = Play::new(&Script, crate::engine::Mode::Plain);
    events.iter().for_each(|line| play.line(line));
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if !started.resume.value.is_empty()));
    assert!(play.completed().ok && !play.completed().answer.is_empty());
}

#[test]
fn a_demonstration_says_nothing_of_what_it_was_told() {
    for text in [DEMONSTRATION, TOUR, AGAIN] {
        let lines = translate::prepared(text, "the secret context of a prompt", "s1");
        assert!(lines.iter().all(|line| !line.contains("secret")), "{text}");
    }
}

#[test]
fn the_tour_shows_output_asks_with_a_diff_and_says_what_to_install() {
    let mut play = Play::new(&Script, crate::engine::Mode::Warm);
    for line in translate::prepared(TOUR, "hello", "s1") {
        if !line.contains("\"delay\"") && !line.contains("\"wait\"") {
            play.line(&line);
        }
    }
    let detail = |key: &str| {
        play.events.iter().any(|event| matches!(event, EngineEvent::Action(it) if it.action.detail.contains_key(key)))
    };
    assert!(detail("output") && detail("diff"));
    let asks = play.events.iter().find_map(|event| match event {
        EngineEvent::Asked(asked) => Some(&asked.ask.subject),
        _ => None,
    });
    assert!(matches!(asks, Some(Subject::Edit { diff, .. }) if !diff.is_empty()), "{asks:?}");
    assert!(play.completed().answer.contains("moot engines install claude"));
    assert!(!play.summary().iter().any(|line| line.contains("warning")), "{:?}", play.summary());
}

#[test]
fn what_is_neither_event_nor_direction_is_a_warning() {
    let play = Play::lines(&Script, "{\"type\":\"strted\"}");
    assert!(play.summary()[0].starts_with("Completed - warning"));
}

#[test]
fn a_script_says_what_it_asks_or_nothing_is_known_of_it() {
    let subject = |ask: &str| {
        let play = Play::lines(
            &Script,
            &format!(r#"{{"type":"asked","ask":{{"id":"1","kind":"permission","title":"t",{ask}}}}}"#),
        );
        let Some(EngineEvent::Asked(asked)) = play.events.last() else { panic!("{:?}", play.events) };
        asked.ask.subject.clone()
    };
    let edit = Subject::Edit { tool: String::new(), paths: vec!["a".into()], diff: Vec::new() };
    assert_eq!(subject(r#""subject":{"kind":"edit","paths":["a"]}"#), edit);
    let guessed = subject(r#""detail":{"tool_name":"Read","input":{"file_path":"a"}}"#);
    assert!(matches!(guessed, Subject::Tool { .. }), "{guessed:?}");
    assert!(matches!(subject(r#""detail":{"command":"rm x"}"#), Subject::Command { .. }));
}
