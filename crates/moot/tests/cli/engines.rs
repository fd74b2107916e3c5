//! `moot run` and `moot engines`, with fake engines that are small shell scripts.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{Home, Ran, wait_for};

/// A codex that does what the text says, configured in a file.
fn with_codex(home: &Home, script: &str) -> String {
    let path = home.write("bin/codex", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    home.write("moot.toml", &format!("[engines.codex]\ncommand = \"{path}\"\n"))
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const GOOD: &str = r#"cat > stdin.txt
echo '{"type":"thread.started","thread_id":"th-1"}'
echo '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}'
echo '{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"It is done."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}'"#;

fn run(home: &Home, config: &str, arguments: &[&str]) -> Ran {
    let mut command = home.command(arguments);
    Ran::of(command.env("MOOT_CONFIG", config).env("PATH", PATH).output().unwrap())
}

fn start(home: &Home, config: &str, arguments: &[&str]) -> Child {
    let mut command = home.command(arguments);
    command.env("MOOT_CONFIG", config).env("PATH", PATH).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

#[test]
fn a_run_prints_answer_and_resume_line_and_its_progress_in_plain_lines() {
    let home = Home::new();
    let config = with_codex(&home, GOOD);
    let ran = run(&home, &config, &["run", "codex", "fix", "it"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is done.\n\ncodex resume th-1\n"), "{ran:?}");
    assert!(ran.err.contains("✓ ls\n") && ran.err.contains("done · codex"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "no escape sequences where nobody looks");
    assert_eq!(
        std::fs::read_to_string(home.path().join("stdin.txt")).unwrap(),
        "fix it",
        "the prompt is on standard input"
    );
}

#[test]
fn json_prints_nothing_but_events() {
    let home = Home::new();
    let config = with_codex(&home, GOOD);
    let ran = run(&home, &config, &["run", "codex", "--json", "hi"]);
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["started", "action", "completed"]);
    assert_eq!(events[2]["resume"]["value"], "th-1");
    assert_eq!(ran.err, "");
}

#[test]
fn a_session_is_resumed_by_token_or_line_in_the_folder_asked_for() {
    let home = Home::new();
    let config = with_codex(&home, &format!("echo \"$@\" > args.txt\n{GOOD}"));
    std::fs::create_dir(home.path().join("project")).unwrap();
    for token in ["th-1", "`codex resume th-1`"] {
        run(&home, &config, &["run", "codex", "--resume", token, "--cwd", "project", "go on"]).good();
        let args = std::fs::read_to_string(home.path().join("project/args.txt")).unwrap();
        assert_eq!(args.trim_end(), "exec --json --skip-git-repo-check --color=never resume th-1 -");
    }
    let err = run(&home, &config, &["run", "codex", "--resume", "claude --resume x", "hi"]).bad(2);
    assert!(err.contains("session of claude") && err.contains("hint: moot run claude --resume x"), "{err}");
    run(&home, &config, &["run", "codex", "--cwd", "nowhere", "hi"]).bad(2);
}

#[test]
fn a_failed_engine_is_exit_code_1_with_its_last_words() {
    let home = Home::new();
    let config =
        with_codex(&home, "echo '{\"type\":\"thread.started\",\"thread_id\":\"th-1\"}'; echo 'no credit' >&2; exit 7");
    let ran = run(&home, &config, &["run", "codex", "hi"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "\ncodex resume th-1\n"));
    assert!(ran.err.contains("error: codex exec failed (rc=7).\nno credit\n"), "{}", ran.err);
}

#[test]
fn wrong_engines_prompts_and_settings_are_wrong_usage() {
    let home = Home::new();
    let config = with_codex(&home, GOOD);
    assert!(run(&home, &config, &["run", "cdex", "hi"]).bad(2).contains("hint: did you mean `codex`?"));
    assert!(run(&home, &config, &["run", "codex"]).bad(2).contains("there is no prompt"));
    let config = home.write("bad.toml", "[engines.codex]\nextra_args = [\"--yolo\"]\n");
    assert!(run(&home, &config, &["run", "codex", "hi"]).bad(2).contains("dangerously_bypass"));
    let config = home.write("typo.toml", "[engines.claude]\nuse_api_biling = true\n");
    let err = run(&home, &config, &["config", "check"]);
    assert!(err.err.contains("engines.claude.use_api_billing"), "{err:?}");
}

#[test]
fn ctrl_c_cancels_and_prints_what_was_done_and_the_resume_line() {
    let home = Home::new();
    let config = with_codex(
        &home,
        "echo '{\"type\":\"thread.started\",\"thread_id\":\"th-1\"}'\necho '{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"web_search\",\"query\":\"moot\"}}'\necho $$ > pid.txt\nexec sleep 1000",
    );
    let child = start(&home, &config, &["run", "codex", "hi"]);
    let pid = wait_for("the engine", || {
        std::fs::read_to_string(home.path().join("pid.txt")).ok().filter(|text| text.ends_with('\n'))
    });
    // The lines are in the pipe before the pid is in the file; give them their reader.
    let mut child = child;
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("searched: moot") {
        assert!(progress.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    signal(&child, "-INT");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut progress, &mut rest).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (130, "\ncodex resume th-1\n"));
    assert!(rest.contains("cancelled · codex") && rest.contains("✓ searched: moot"), "{rest}");
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "the engine is gone");
}

#[test]
fn one_token_is_serialised_across_processes() {
    let home = Home::new();
    let config = with_codex(
        &home,
        "echo begin >> log.txt\necho '{\"type\":\"thread.started\",\"thread_id\":\"th-1\"}'\nwhile ! [ -e go ]; do sleep 0.01; done\necho '{\"type\":\"turn.completed\"}'\necho end >> log.txt",
    );
    let log = || std::fs::read_to_string(home.path().join("log.txt")).unwrap_or_default();
    let first = start(&home, &config, &["run", "codex", "--resume", "th-1", "one"]);
    wait_for("the first run", || (log() == "begin\n").then_some(()));
    let second = start(&home, &config, &["run", "codex", "--resume", "th-1", "two"]);
    home.write("go", "");
    for child in [first, second] {
        Ran::of(child.wait_with_output().unwrap()).good();
    }
    assert_eq!(log(), "begin\nend\nbegin\nend\n");
}

#[test]
fn nothing_survives_when_moot_itself_is_killed() {
    let home = Home::new();
    let config = with_codex(
        &home,
        "echo '{\"type\":\"thread.started\",\"thread_id\":\"th-1\"}'\nsetsid sh -c 'echo $$ >> pids.txt; exec sleep 1000' &\nsleep 1000 &\necho $! >> pids.txt\necho $$ >> pids.txt\nwait",
    );
    let mut child = start(&home, &config, &["run", "codex", "hi"]);
    let pids = wait_for("three processes", || {
        let text = std::fs::read_to_string(home.path().join("pids.txt")).ok()?;
        (text.lines().count() == 3).then_some(text)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in pids.lines() {
        wait_for("its end", || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    }
}

#[test]
fn engines_are_listed_with_version_path_state_and_reason() {
    let home = Home::new();
    let config = with_codex(&home, "echo codex-cli 1.2.3");
    let list = run(&home, &config, &["engines", "--json"]).json();
    let of = |name: &str| list.as_array().unwrap().iter().find(|engine| engine["engine"] == name).unwrap().clone();
    let codex = of("codex");
    assert_eq!((&codex["version"], &codex["usable"], &codex["default"]), (&"1.2.3".into(), &true.into(), &true.into()));
    assert!(codex["path"].as_str().unwrap().ends_with("bin/codex"));
    assert_eq!(of("script")["usable"], true);
    let table = run(&home, &config, &["engines"]).good();
    assert!(table.contains("codex (default)") && table.contains("1.2.3"), "{table}");
    if of("pi")["usable"] == false {
        assert!(of("pi")["reason"].as_str().unwrap().contains("not installed") && of("pi")["hint"].is_string());
    }
}

#[test]
fn a_script_needs_no_engine_and_standard_input_can_hold_the_prompt() {
    let home = Home::new();
    home.write("play.jsonl", "{\"type\":\"started\"}\n{\"type\":\"completed\",\"answer\":\"played\"}\n");
    assert!(home.run(&["run", "script", "play.jsonl"]).good().starts_with("played\n\nmoot run script --resume "));
    assert!(home.run_with_input(&["run", "script", "-"], "play.jsonl").good().starts_with("played\n"));
}
