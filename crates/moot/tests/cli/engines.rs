//! `moot run` and `moot engines`, with fake engines that are small shell scripts.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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

/// A claude that takes a conversation: it asks what the file `question` holds, and says what it was told.
const ASKING: &str = r#"case "$*" in
  *--help*) echo probe >> probes.txt; echo "--input-format"; exit 0;;
  *--version*) echo "2.1.325 (Claude Code)"; exit 0;;
esac
echo "$@" > args.txt
result() { printf '{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"%s"}\n' "$1"; }
while IFS= read -r line; do
  case "$line" in
    *'"type":"user"'*) echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
      if [ -e question ]; then cat question; else result "hello"; fi;;
    *'"behavior":"deny"'*) result "denied: $(printf '%s' "$line" | sed -e 's/.*"message":"//' -e 's/".*//')";;
    *'"behavior":"allow"'*) result "allowed";;
    *control_request*) id=$(printf '%s' "$line" | sed -e 's/.*"request_id":"//' -e 's/".*//')
      printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\n' "$id";;
  esac
done"#;

fn with_claude(home: &Home, script: &str) -> String {
    let path = program(home, "bin/claude", script);
    home.write("moot.toml", &format!("[engines.claude]\ncommand = \"{path}\"\n"))
}

/// A program that is a small shell script.
fn program(home: &Home, name: &str, script: &str) -> String {
    let path = home.write(name, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// How it ended; one that hangs is killed, and the test fails.
fn ended(mut child: Child) -> Ran {
    let give_up = Instant::now() + Duration::from_secs(40);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > give_up {
            child.kill().unwrap();
            panic!("it hangs: {:?}", child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ran::of(child.wait_with_output().unwrap())
}

const QUESTIONS: [(&str, &str); 3] = [
    ("permission", r#""tool_name":"Bash","input":{"command":"rm x"}"#),
    (
        "question",
        r#""tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}"#,
    ),
    ("plan", r#""tool_name":"ExitPlanMode","input":{"plan":"Do it."}"#),
];

fn ask(home: &Home, request: &str) {
    let request = format!(r#"{{"subtype":"can_use_tool","tool_use_id":"t1",{request}}}"#);
    home.write("question", &format!("{{\"type\":\"control_request\",\"request_id\":\"77\",\"request\":{request}}}\n"));
}

fn answer_of(ran: &Ran) -> String {
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    last["answer"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_end_of_the_input_is_no_to_every_kind_of_question() {
    let home = Home::new();
    let config = with_claude(&home, ASKING);
    for (kind, request) in QUESTIONS {
        ask(&home, request);
        let ran = ended(start(&home, &config, &["run", "claude", "--json", "--warm", "go"]));
        assert_eq!(answer_of(&ran), "denied: nobody is here to answer", "{kind}: {ran:?}");
        let ran = ended(start(&home, &config, &["run", "claude", "--warm", "go"]));
        assert!(ran.out.contains("denied: nobody is here to answer"), "{kind}: {ran:?}");
    }
}

#[test]
fn a_question_that_is_open_when_the_input_ends_is_answered_with_no() {
    let home = Home::new();
    let config = with_claude(&home, ASKING);
    for (kind, request) in QUESTIONS {
        ask(&home, request);
        let mut command = home.command(&["run", "claude", "--json", "--warm", "go"]);
        command.env("MOOT_CONFIG", &config).env("PATH", PATH).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut events = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        while !seen.contains("\"asked\"") {
            assert!(events.read_line(&mut seen).unwrap() > 0, "{kind}: {seen}");
        }
        // A line that says nothing changes nothing, and is not passed over in silence.
        let mut keyboard = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut keyboard, b"what?\n{\"ask\":\"9\",\"verdict\":\"allow\"}\n").unwrap();
        drop(keyboard);
        let ran = ended(child);
        std::io::Read::read_to_string(&mut events, &mut seen).unwrap();
        assert!(seen.contains("denied: nobody is here to answer"), "{kind}: {seen}");
        assert!(
            ran.err.contains("not understood: what?") && ran.err.contains("no question `9` is open"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_model_and_an_effort_reach_the_engine_and_bad_ones_are_refused_in_words() {
    let home = Home::new();
    let config = with_codex(&home, &format!("echo \"$@\" > args.txt\n{GOOD}"));
    run(&home, &config, &["run", "codex", "--model", "gpt-x", "--effort", "high", "hi"]).good();
    let args = std::fs::read_to_string(home.path().join("args.txt")).unwrap();
    assert!(args.contains("gpt-x") && args.contains("model_reasoning_effort") && args.contains("high"), "{args}");
    for (engine, words, sentence) in [
        ("codex", ["--effort", "hihg"], "`hihg` is no level of thinking that codex knows"),
        ("codex", ["--effort", "max"], "hint: it knows none, minimal, low, medium, high, xhigh"),
        ("claude", ["--effort", "minimal"], "hint: it knows low, medium, high, xhigh, max"),
        ("pi", ["--effort", "max"], "hint: it knows off, minimal, low, medium, high, xhigh"),
        ("opencode", ["--effort", "a b"], "is no level of thinking"),
        ("claude", ["--model", "two words"], "is no name of a model"),
        ("claude", ["--model=--yolo", "hi"], "begins with a dash"),
        ("script", ["--effort", "high"], "script does not think"),
        ("script", ["--model", "x"], "script has no models"),
    ] {
        let err = run(&home, &config, &["run", engine, words[0], words[1], "hi"]).bad(2);
        assert!(err.contains(sentence), "{engine} {words:?}: {err}");
    }
    let help = run(&home, &config, &["run", "--help"]).good();
    assert!(help.contains("Levels for `--effort`") && help.contains("off, minimal, low"), "{help}");
}

#[test]
fn a_program_is_asked_once_what_it_can_and_again_when_it_is_another() {
    let home = Home::new();
    let config = with_claude(&home, ASKING);
    let probes = || std::fs::read_to_string(home.path().join("probes.txt")).unwrap_or_default().lines().count();
    for _ in 0..3 {
        run(&home, &config, &["run", "claude", "--warm", "hi"]).good();
        assert_eq!(probes(), 1);
        let args = std::fs::read_to_string(home.path().join("args.txt")).unwrap();
        assert!(args.contains("--input-format"), "it is driven warm: {args}");
    }
    let config = with_claude(&home, &format!("{ASKING}\n# another version"));
    run(&home, &config, &["run", "claude", "--warm", "hi"]).good();
    assert_eq!(probes(), 2);
}

/// pi 0.74.2 writes 9 KB of help to standard error, and its modes stand near the beginning.
#[test]
fn a_long_help_on_standard_error_is_read_to_its_beginning() {
    let home = Home::new();
    let pi = "case \"$*\" in\n--version) echo 0.74.2;;\n--help) { echo '--mode <mode>  text, json, or rpc'; seq 3000; } >&2;;\nesac";
    let pi = program(&home, "bin/pi", pi);
    let config = home.write("moot.toml", &format!("[engines.pi]\ncommand = \"{pi}\"\n"));
    let list = run(&home, &config, &["engines", "--json"]).json();
    let found = list.as_array().unwrap().iter().find(|engine| engine["engine"] == "pi").unwrap();
    assert_eq!(found["warm"], true, "{found:#}");
}

#[test]
fn an_engine_that_nobody_is_logged_in_to_is_told_from_one_that_is_ready_with_the_remedy() {
    let home = Home::new();
    let claude = |version: &str, logged_in: bool| {
        let status = format!("case \"$*\" in\n\"auth status\") echo '{{\"loggedIn\": {logged_in}}}'; exit 1;;\nesac\n");
        with_claude(&home, &format!("{status}echo \"{version} (Claude Code)\""))
    };
    let listed = |config: &str| {
        let list = run(&home, config, &["engines", "--json"]).json();
        list.as_array().unwrap().iter().find(|engine| engine["engine"] == "claude").unwrap().clone()
    };
    let config = claude("2.1.325", false);
    let out = listed(&config);
    assert_eq!((&out["state"], &out["usable"]), (&"installed, not logged in".into(), &false.into()), "{out:#}");
    assert!(out["hint"].as_str().unwrap().contains("moot engines login claude"), "{out:#}");
    let table = run(&home, &config, &["engines"]);
    assert!(table.out.contains("installed, not logged in"), "{table:?}");
    assert!(table.err.contains("hint: claude: `moot engines login claude`"), "{table:?}");
    let ready = listed(&claude("2.1.325", true));
    assert_eq!((&ready["state"], &ready["login"], &ready["notes"]), (&"ready".into(), &"in".into(), &json!([])));
    let newer = listed(&claude("2.2.0", true));
    assert_eq!((&newer["usable"], newer["notes"].as_array().unwrap().len()), (&true.into(), 1), "{newer:#}");
    let older = listed(&claude("1.0.0", false));
    assert_eq!(
        (&older["usable"], &older["login"]),
        (&true.into(), &"unknown".into()),
        "old ones are not asked: {older:#}"
    );
}

#[test]
fn a_key_that_runs_do_not_get_is_named_where_nobody_is_logged_in() {
    let home = Home::new();
    let claude = r#"case "$*" in
--version) echo "2.1.325 (Claude Code)";;
"auth status") echo "{\"loggedIn\": $([ -n "$ANTHROPIC_API_KEY" ] && echo true || echo false)}";;
esac"#;
    let config = with_claude(&home, claude);
    let mut command = home.command(&["engines"]);
    let ran =
        Ran::of(command.env("MOOT_CONFIG", &config).env("PATH", PATH).env("ANTHROPIC_API_KEY", "k").output().unwrap());
    assert!(ran.err.contains("engines.claude.use_api_billing"), "{ran:?}");
}

#[test]
fn a_refused_claude_is_said_to_lack_a_key_only_if_one_was_set_and_kept_back() {
    let home = Home::new();
    let refused = r#"cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"session_id":"s-1","result":"No."}'"#;
    let config = with_claude(&home, refused);
    let said = |key: Option<&str>| {
        let mut command = home.command(&["run", "claude", "--plain", "hello"]);
        command.env("MOOT_CONFIG", &config).env("PATH", PATH).envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        Ran::of(command.output().unwrap()).err
    };
    let (with, without) = (said(Some("k")), said(None));
    assert!(with.contains("moot removed ANTHROPIC_API_KEY") && with.contains("use_api_billing"), "{with}");
    assert!(without.contains("say /login") && !without.contains("moot removed"), "{without}");
}

/// A npm that installs a claude which says its version, and a node.
fn with_npm(home: &Home, npm: &str, node: &str) -> String {
    program(home, "tools/npm", npm);
    program(home, "tools/node", &format!("echo {node}"));
    format!("{}:{PATH}", home.path().join("tools").display())
}

const NPM: &str = r#"echo "$@" > "$HOME/npm.txt"
echo "added 1 package"
mkdir -p "$4/bin"
for last in "$@"; do version=${last##*@}; done
printf '#!/bin/sh\ncase "$*" in\n--version) echo %s;;\n"auth status") echo "{\\"loggedIn\\": false}";;\nesac\n' "$version" > "$4/bin/claude"
chmod 755 "$4/bin/claude""#;

fn install(home: &Home, path: &str, arguments: &[&str]) -> Ran {
    let mut command = home.command(&[&["engines", "install"], arguments].concat());
    Ran::of(command.env("PATH", path).output().unwrap())
}

#[test]
fn an_engine_is_installed_with_npm_in_a_version_that_was_tried_and_found_at_once() {
    let home = Home::new();
    let path = with_npm(&home, NPM, "v22.3.0");
    let err = install(&home, &path, &["claude"]).bad(2);
    assert!(err.contains("npm install --global --prefix") && err.contains("hint: `--yes`"), "it shows and asks: {err}");
    assert!(!home.path().join("npm.txt").exists(), "nothing was done unasked");
    let ran = install(&home, &path, &["claude", "--yes"]);
    let target = home.path().join(".local/bin/claude");
    assert_eq!((ran.code, ran.out), (0, format!("claude 2.1.325 is installed: {}\n", target.display())), "{}", ran.err);
    assert!(ran.err.contains("Log in next: `moot engines login claude`") && ran.err.contains("PATH"), "{}", ran.err);
    let said = std::fs::read_to_string(home.path().join("npm.txt")).unwrap();
    let prefix = home.path().join(".local");
    let wanted = format!(
        "install --global --prefix {} --no-audit --no-fund --allow-scripts=@anthropic-ai/claude-code @anthropic-ai/claude-code@2.1.325\n",
        prefix.display()
    );
    assert_eq!(said, wanted);
    std::fs::remove_file(home.path().join("npm.txt")).unwrap();
    install(&home, &path, &["claude", "--yes"]).good();
    assert!(!home.path().join("npm.txt").exists(), "what is there is not installed again");
    let list = Ran::of(home.command(&["engines", "--json"]).env("PATH", PATH).output().unwrap()).json();
    assert_eq!(list[0]["path"], target.to_str().unwrap(), "runs find it without the search path: {list:#}");
}

#[test]
fn an_older_node_gets_the_version_that_it_can_run_and_is_told_of_the_newer_one() {
    let home = Home::new();
    let path = with_npm(&home, NPM, "v20.20.2");
    let ran = install(&home, &path, &["claude", "--yes"]);
    assert!(ran.out.starts_with("claude 2.1.197 is installed") && ran.err.contains("2.1.325 is newer"), "{ran:?}");
    // With a newer Node the newer version replaces it.
    let path = with_npm(&home, NPM, "v22.3.0");
    assert!(install(&home, &path, &["claude", "--yes"]).good().starts_with("claude 2.1.325 is installed"));
}

#[test]
fn what_keeps_an_engine_from_being_installed_is_said_in_words() {
    let home = Home::new();
    let empty = home.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let err = install(&home, empty.to_str().unwrap(), &["claude", "--yes"]).bad(1);
    assert!(err.contains("`npm` is not installed") && err.contains("hint: install Node.js"), "{err}");
    let failing = with_npm(&home, "echo 'npm error 404 Not Found' >&2; exit 1", "v22.3.0");
    let err = install(&home, &failing, &["claude", "--yes"]).bad(1);
    assert!(err.contains("404") && err.contains("npm did not install claude (exit status: 1)"), "{err}");
    let old = with_npm(&home, NPM, "v12.0.0");
    assert!(
        install(&home, &old, &["codex", "--yes"])
            .bad(1)
            .contains("codex needs Node 16.0 or later, and this is v12.0.0")
    );
    assert!(install(&home, &old, &["script"]).bad(2).contains("script is built in"));
    assert!(install(&home, &old, &["clod"]).bad(2).contains("did you mean `claude`?"));
    let path = with_npm(&home, NPM, "v22.3.0");
    program(&home, "tools/claude", "echo 1.0.0");
    let err = install(&home, &path, &["claude", "--yes"]).bad(1);
    assert!(err.contains("claude 1.0.0 is installed already") && err.contains("the way it was installed"), "{err}");
    let config = with_claude(&home, "echo 2.1.325");
    let mut command = home.command(&["engines", "install", "claude", "--yes"]);
    let err = Ran::of(command.env("MOOT_CONFIG", config).env("PATH", path).output().unwrap()).bad(2);
    assert!(err.contains("`engines.claude.command` names another program"), "{err}");
}

#[test]
fn a_login_is_the_engines_own_with_its_input_and_the_environment_of_runs() {
    let home = Home::new();
    let codex = "case \"$*\" in\n--version) echo codex-cli 0.166.0;;\n\"login status\") [ -e \"$CODEX_HOME/auth\" ] || { echo 'Not logged in' >&2; exit 1; };;\n\"login --with-api-key\") cat > \"$CODEX_HOME/auth\";;\n*) exit 9;;\nesac";
    let path = program(&home, "bin/codex", codex);
    std::fs::create_dir(home.path().join("cx")).unwrap();
    let place = home.path().join("cx").display().to_string();
    let config = format!("[engines.codex]\ncommand = \"{path}\"\nenv = {{ CODEX_HOME = \"{place}\" }}\n");
    let config = home.write("moot.toml", &config);
    let err = run(&home, &config, &["engines", "login", "codex"]).bad(2);
    assert!(err.contains("a login needs a terminal"), "{err}");
    let login = |more: &str| {
        let mut command = home.command(&["engines", "login", "codex", "--", more]);
        command.env("MOOT_CONFIG", &config).env("PATH", PATH).env("MOOT_SECRET", "x").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"sk-1");
        ended(child)
    };
    assert!(login("--nonsense").bad(1).contains("the login of codex did not succeed (exit status: 9)"));
    assert_eq!(login("--with-api-key").good(), "codex is ready.\n");
    assert_eq!(std::fs::read_to_string(home.path().join("cx/auth")).unwrap(), "sk-1");
    assert!(run(&home, &config, &["engines", "login", "script"]).bad(2).contains("script is built in"));
    assert!(run(&home, &config, &["engines", "login", "pi"]).bad(1).contains("`moot engines install pi`"));
}

#[test]
fn an_engine_that_cannot_ask_is_refused_for_agents_whose_policy_asks() {
    let home = Home::new();
    let pi = program(&home, "bin/pi", "case \"$*\" in\n--version) echo 1.5.0;;\n--help) echo '--mode rpc';;\nesac");
    let config = |more: &str| home.write("moot.toml", &format!("[engines.pi]\ncommand = \"{pi}\"\n{more}"));
    let plain = config("");
    for policy in ["ask", "ask-commands", "accept-edits"] {
        let err = run(&home, &plain, &["agent", "add", "p", "--engine", "pi", "--policy", policy]).bad(2);
        assert!(
            err.contains(&format!("pi never asks before it acts, so the policy `{policy}` would not hold")),
            "{err}"
        );
        assert!(err.contains("`dangerously-allow-all`"), "{err}");
    }
    let denies = config("[agents.p]\nengine = \"pi\"\npolicy = \"dangerously-allow-all\"\ndeny = [\"git push\"]\n");
    let err = run(&home, &denies, &["agent", "add", "p", "--engine", "pi"]).bad(2);
    assert!(err.contains("so its list `deny` would not hold"), "{err}");
    let listed = config("[engines.claude]\nmode = \"plain\"\n");
    let err = run(&home, &listed, &["agent", "add", "c", "--engine", "claude"]).bad(2);
    assert!(err.contains("claude, as it is set up here, does not ask before it acts"), "{err}");
    let bypassed = config("[engines.claude]\ndangerously_skip_permissions = true\n");
    run(&home, &bypassed, &["agent", "add", "c", "--engine", "claude", "--policy", "ask"]).bad(2);
    let finding = |config: &str| {
        let ran = run(&home, config, &["doctor", "--json", "--listen", "127.0.0.1:0"]);
        let list: Value = serde_json::from_str(&ran.out).unwrap();
        list.as_array().unwrap().iter().find(|finding| finding["check"] == "agent").unwrap().clone()
    };
    let asks = finding(&config("[agents.p]\nengine = \"pi\"\n"));
    assert_eq!(asks["verdict"], "fail", "{asks:#}");
    assert!(asks["sentence"].as_str().unwrap().contains("p does not work: pi never asks"), "{asks:#}");
    let trusted = finding(&config("[agents.p]\nengine = \"pi\"\npolicy = \"dangerously-allow-all\"\n"));
    assert_eq!(trusted["verdict"], "ok", "{trusted:#}");
}
