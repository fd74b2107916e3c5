//! The walks of the map: how one thing goes through the tree, step by step. Every step names where it happens, and that is there.

use super::tree::{read, root};

const WALKS: [&str; 4] = ["One message", "One Telegram prompt", "One approval", "One `/play`"];
const MAX_LINES: usize = 12;

/// The lines of a section of the map.
fn section<'a>(map: &'a str, title: &str) -> Vec<&'a str> {
    let heading = format!("### {title}");
    let lines = map.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.starts_with('#')).filter(|line| !line.trim().is_empty()).collect()
}

/// `crates/hub/src/net.rs::respond` is a file and a function in it.
fn steps(line: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let quoted = line.split('`').skip(1).step_by(2).filter(|word| word.starts_with("crates/"));
    quoted.map(|word| word.split_once("::").map_or((word, None), |(file, name)| (file, Some(name))))
}

fn is_there(file: &str, function: Option<&str>) -> bool {
    let Some(name) = function else { return root().join(file).exists() };
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    text.contains(&format!("fn {name}(")) || text.contains(&format!("fn {name}<"))
}

#[test]
fn every_walk_is_short_and_every_step_of_it_is_in_the_tree() {
    let map = read("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for title in WALKS {
        let lines = section(&map, title);
        assert!((3..=MAX_LINES).contains(&lines.len()), "the walk of {title} has {} lines", lines.len());
        for line in lines {
            assert!(steps(line).next().is_some(), "{title}: a step without a place: {line}");
            wrong.extend(steps(line).filter(|(file, name)| !is_there(file, *name)).map(|step| format!("{step:?}")));
        }
    }
    assert!(wrong.is_empty(), "the walks of ARCHITECTURE.md name what is not there: {wrong:#?}");
}

#[test]
fn a_step_that_is_not_there_is_found() {
    assert!(is_there("crates/moot/tests/tidy/walks.rs", Some("is_there")));
    assert!(!is_there("crates/moot/tests/tidy/walks.rs", Some("is_nowhere")));
    assert!(!is_there("crates/moot/tests/tidy/nothing.rs", None));
    let line = "1. `crates/a.rs::b` does it, then `crates/c.rs`; `docs/x.md` says why";
    assert_eq!(steps(line).collect::<Vec<_>>(), [("crates/a.rs", Some("b")), ("crates/c.rs", None)]);
}
