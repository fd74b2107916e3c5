//! The first five minutes of the README are true: its transcript is played against a fresh hub.

use std::path::Path;
use std::process::Command;

use crate::support::{Home, Hub, Ran};

/// One command of the transcript and what it prints.
struct Step {
    command: String,
    expected: Vec<String>,
}

fn transcript() -> Vec<Step> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = text.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a transcript");
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), expected: Vec::new() }),
            (None, Some(step)) => step.expected.push(line.to_owned()),
            (None, None) => panic!("the transcript begins with output: {line}"),
        }
    }
    steps
}

/// Plays all commands in one shell, as a person would; a line with a mark begins the output of each.
fn play(home: &Home, hub: &Hub, steps: &[Step]) -> Vec<Vec<String>> {
    let mut script = String::new();
    for step in steps {
        // Without a terminal the password comes from standard input instead of the question.
        let typed = step.command.starts_with("moot login");
        let command = if typed {
            format!("echo 'correct horse battery' | {} --password-stdin", step.command)
        } else {
            step.command.clone()
        };
        script.push_str(&format!("echo '>>>'\n{command}\n"));
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_moot")).parent().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!("exec 2>&1\n{script}")]).env_clear().current_dir(home.path()).env("HOME", home.path());
    shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).env("MOOT_SERVER__LISTEN", &hub.address);
    let output = Ran::of(shell.output().unwrap()).good();
    output.split(">>>\n").skip(1).map(|part| part.lines().map(str::to_owned).collect()).collect()
}

/// `…` stands for anything.
fn matches(pattern: &str, line: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == line,
        Some((head, tail)) => line.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail)),
    }
}

#[test]
fn the_first_five_minutes_of_the_readme_work() {
    let home = Home::new();
    let hub = Hub::start(&home);
    let steps = transcript();
    assert!(steps.len() >= 5, "hardly a transcript");
    let printed = play(&home, &hub, &steps);
    assert_eq!(printed.len(), steps.len(), "{printed:#?}");
    for (step, printed) in steps.iter().zip(printed) {
        let expected: Vec<String> = step.expected.iter().filter(|line| *line != "Password:").cloned().collect();
        let expected: Vec<String> = expected.iter().map(|line| line.replace("127.0.0.1:8484", &hub.address)).collect();
        let same =
            expected.len() == printed.len() && expected.iter().zip(&printed).all(|(want, have)| matches(want, have));
        assert!(same, "`{}` prints {printed:#?}, the README says {expected:#?}", step.command);
    }
}
