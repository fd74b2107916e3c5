//! How large anything may get before two things live in it.

use super::tree::{Source, crates, sources};

const MAX_CRATE_LINES: usize = 9_000;
/// The rules are the product; everything else is around them.
const MAY_BE_LARGER: &str = "core";
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 80;
/// Of a function that is one flat `match`, at least this part is arms.
const ARMS_PER_LINE: f64 = 1.0 / 4.0;

/// Crates that are still too large, or have files or functions that are.
const NOT_YET: &[&str] = &[];

#[test]
fn nothing_is_too_large_to_know_or_too_long_to_read() {
    let mut wrong = Vec::new();
    for name in crates() {
        let found = too_large(&name);
        match (found.is_empty(), NOT_YET.contains(&name.as_str())) {
            (false, false) => wrong.extend(found),
            (true, true) => wrong.push(format!("crates/{name} is as it should be; take it out of NOT_YET")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The crate itself, its files and its functions.
fn too_large(name: &str) -> Vec<String> {
    let sources = sources(name);
    let mut found = Vec::new();
    let lines: usize = sources.iter().map(|source| source.text.lines().count()).sum();
    if lines > MAX_CRATE_LINES && name != MAY_BE_LARGER {
        found.push(format!("crates/{name} has {lines} lines without tests"));
    }
    for source in sources {
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            found.push(format!("crates/{name}/src/{} has {lines} lines", source.path));
        }
        let functions = long_functions(&source);
        found.extend(functions.map(|function| format!("crates/{name}/src/{}: {function}", source.path)));
    }
    found
}

/// Functions that are too long, by their first lines. rustfmt closes each in the column in which it began.
fn long_functions(source: &Source) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    for (begin, line) in lines.iter().enumerate().filter(|(_, line)| is_function(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = lines[begin..].iter().position(|line| line.strip_prefix(indent) == Some("}"));
        let body = &lines[begin..begin + end.unwrap_or(0)];
        let arms = body.iter().filter(|line| line.contains("=>") || line.trim_start().starts_with("| ")).count();
        let is_flat = arms as f64 >= body.len() as f64 * ARMS_PER_LINE;
        if body.len() > MAX_FUNCTION_LINES && !is_flat {
            found.push(format!("{} ({} lines)", line.trim(), body.len()));
        }
    }
    found.into_iter()
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = if line.starts_with("pub(") { line.split_once(") ").map_or(line, |(_, rest)| rest) } else { line };
    ["fn ", "async fn ", "const fn "].iter().any(|start| line.starts_with(start))
}

#[test]
fn a_long_function_is_found_and_a_flat_match_is_not() {
    let source = |line: &str| {
        let body = format!("        {line}\n").repeat(MAX_FUNCTION_LINES + 1);
        Source {
            path: "a.rs".into(),
            text: format!("impl A {{\n    pub(super) async fn long() {{\n{body}    }}\n}}\n"),
        }
    };
    assert_eq!(long_functions(&source("call();")).count(), 1);
    assert_eq!(long_functions(&source("A::B => c,")).count(), 0);
}
