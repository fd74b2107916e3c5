//! What an engine, a repository and a careless typist cannot do to the machine that agents work on.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use crate::support::agents::{Daemon, Fake, hosted, hub_with_fake, replies, runs};
use crate::support::hub::{BINARY, moot};
use crate::support::{Hub, Member, Setup, eventually, items, register, text};

/// The fake claude behind a script that looks around first: its environment, every file of `wanted`, and what it says of itself.
const CURIOUS: &str = r#"#!/bin/sh
dir="@DIR@"
echo "$*" >> "$dir/calls"
case "$*" in *--help*|*--version*) exec "$dir/claude" "$@";; esac
env > "$dir/env.part" && mv "$dir/env.part" "$dir/env"
: > "$dir/stolen"
while IFS= read -r path; do
  cat "$path" > /dev/null 2>&1 && echo "read $path" >> "$dir/stolen"
  (echo x >> "$path") 2> /dev/null && echo "wrote $path" >> "$dir/stolen"
done < "$dir/wanted"
@RUN@
"#;

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a program");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
}

/// A program that does `run` in the place of claude, once it has looked around.
fn curious(fake: &Fake, run: &str) -> PathBuf {
    let program = fake.folder.join("curious");
    write_program(&program, &CURIOUS.replace("@RUN@", run).replace("@DIR@", &fake.folder.to_string_lossy()));
    std::fs::write(fake.folder.join("wanted"), "").expect("a list");
    program
}

async fn hub_with_curious(run: &str, environment: &[(&str, &str)]) -> (Hub, Member, Fake) {
    let folder = Arc::new(tempfile::TempDir::new().expect("a folder"));
    let fake = Fake::new(folder.path());
    let program = curious(&fake, run);
    let data = folder.path().join("data");
    let mut setup = Setup::default().env("MOOT_ENGINES__CLAUDE__COMMAND", &program.to_string_lossy());
    for (name, value) in environment {
        setup = setup.env(name, value);
    }
    let hub = setup.start_on(folder, data).await;
    let alice = register(&hub, "alice").await;
    (hub, alice, fake)
}

/// Says so when this kernel cannot keep engines out: then there is nothing to try.
fn walls_hold() -> bool {
    let possible = folkmoot_runs::process::walls::possible(Some(Path::new(BINARY)));
    if let Err(why) = &possible {
        eprintln!("NOT TRIED: {why}");
    }
    possible.is_ok()
}

#[tokio::test]
async fn an_engine_gets_a_clean_environment_and_never_a_secret_of_the_hub() {
    let environment = [
        ("AWS_SECRET_ACCESS_KEY", "s3cret-cloud"),
        ("ANTHROPIC_API_KEY", "s3cret-billing"),
        ("CLAUDE_CODE_X", "its-own"),
        ("GITHUB_TOKEN", "named-in-the-configuration"),
        ("MOOT_ENGINES__CLAUDE__PASS_ENV", "[\"GITHUB_TOKEN\"]"),
    ];
    let (_hub, alice, fake) = hub_with_curious("exec \"$dir/claude\" \"$@\"", &environment).await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    alice.post(&general, "@claude hello").await;
    runs(&alice, &general, "completed", 1).await;
    let seen = fake.note("env");
    assert!(seen.contains("PATH=") && seen.contains("HOME=") && seen.contains("CLAUDE_CODE_X=its-own"), "{seen}");
    assert!(seen.contains("GITHUB_TOKEN=named-in-the-configuration"), "{seen}");
    for hidden in ["MOOT_", "JWT_SECRET", "s3cret-cloud", "s3cret-billing", "AWS_"] {
        assert!(!seen.contains(hidden), "{hidden} in\n{seen}");
    }
}

#[tokio::test]
async fn an_engine_cannot_open_the_hubs_files_nor_look_into_its_memory() {
    if !walls_hold() {
        return;
    }
    let (hub, alice, fake) = hub_with_curious("exec \"$dir/claude\" \"$@\"", &[]).await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let (pid, data) = (hub.pid().as_raw_nonzero(), hub.data.display().to_string());
    let profile = hub.folder().path().join("config/folkmoot/profile.json");
    std::fs::create_dir_all(profile.parent().unwrap()).unwrap();
    std::fs::write(&profile, "{}").unwrap();
    let mut wanted = vec![
        format!("{data}/hub.db"),
        format!("{data}/hub.db-wal"),
        format!("/proc/{pid}/environ"),
        format!("/proc/{pid}/mem"),
        format!("/proc/{pid}/root{data}/hub.db"),
        format!("/proc/{pid}/cwd/Cargo.toml"),
        profile.display().to_string(),
    ];
    let db = std::fs::read(hub.data.join("hub.db")).expect("the database");
    wanted.extend((0..40).map(|number| format!("/proc/{pid}/fd/{number}")));
    std::fs::write(fake.folder.join("wanted"), wanted.join("\n") + "\n").unwrap();
    alice.post(&general, "@claude hello").await;
    runs(&alice, &general, "completed", 1).await;
    assert_eq!(fake.note("stolen"), "");
    assert!(!db.is_empty() && std::fs::read_to_string(profile).unwrap() == "{}");
}

#[tokio::test]
async fn without_walls_the_same_engine_does_open_them_and_the_doctor_says_so() {
    let (hub, alice, fake) = hub_with_curious("exec \"$dir/claude\" \"$@\"", &[("MOOT_ENGINES__WALLS", "off")]).await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let note = hub.data.join("note");
    std::fs::write(&note, "").unwrap();
    std::fs::write(fake.folder.join("wanted"), format!("{}\n", note.display())).unwrap();
    alice.post(&general, "@claude hello").await;
    runs(&alice, &general, "completed", 1).await;
    assert!(fake.note("stolen").contains("read") && fake.note("stolen").contains("wrote"));
    let (home, data) = (hub.folder(), hub.data.to_string_lossy().into_owned());
    let told = async |value: &str| {
        let arguments = ["doctor", "--data-dir", &data, "--listen", "127.0.0.1:1"];
        let done = moot(home.path(), &arguments, &[("MOOT_ENGINES__WALLS", value)]).await;
        done.stdout.lines().find(|line| line.contains("walls")).unwrap_or_default().to_owned()
    };
    assert!(told("off").await.contains("warn"), "{}", told("off").await);
    if walls_hold() {
        assert!(told("auto").await.contains("ok"), "{}", told("auto").await);
    }
}

#[tokio::test]
async fn a_program_that_the_daemon_hosts_is_behind_the_same_walls() {
    if !walls_hold() {
        return;
    }
    let (hub, alice) = crate::support::start().await;
    alice.add_agent("echo").await;
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let home = folder.path().join("home");
    let look = format!(
        "env > {0}/env; cat {1}/agentd.toml {1}/daemon/agentd.db > {0}/stolen 2>/dev/null; test -S \"$MOOT_AGENT_SOCKET\" && touch {0}/socket; touch mine {0}/looked; sleep 60",
        notes.display(),
        home.display()
    );
    let config = format!(
        "[agentd]\nserver = \"ws://{}/ws\"\n[agents.echo]\ncommand = [\"sh\", \"-c\", {look:?}]\n",
        hub.address
    );
    let key = alice.token.clone();
    let daemon = Daemon::start(&home, &config, &[("MOOT_AGENTD__API_KEY", key.as_str())]);
    eventually("the program has looked", || async { notes.join("looked").exists().then_some(()) }).await;
    let seen = std::fs::read_to_string(notes.join("env")).unwrap();
    assert!(seen.contains("MOOT_AGENT_TOKEN=") && !seen.contains("JWT_SECRET") && !seen.contains(&key), "{seen}");
    assert_eq!(std::fs::read_to_string(notes.join("stolen")).unwrap(), "");
    assert!(daemon.data().join("agents/echo/mine").exists(), "it works in its own folder");
    assert!(notes.join("socket").exists(), "and reaches the daemon, whose socket is in the closed folder");
}

#[tokio::test]
async fn an_option_as_the_name_of_a_model_is_refused_at_every_door() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    let body = json!({"name": "sly", "engine": "claude", "model": "--dangerously-skip-permissions"});
    let refused = alice.rest.post("/v1/hosting", body).await.refused(400, "BAD_REQUEST");
    assert!(refused.to_string().contains("no name of a model"), "{refused}");
    hosted(&alice, "claude", json!({})).await;
    let asked = alice.post(&general, "@claude hello").await;
    runs(&alice, &general, "completed", 1).await;
    let root = text(&asked, "id").to_owned();
    let reply = async |words: &str| {
        let reply = json!({"content": words, "thread_id": root});
        alice.rest.post(&format!("/v1/channels/{general}/messages"), reply).await.created();
    };
    reply("/model --dangerously-skip-permissions").await;
    eventually("the refusal", || async {
        replies(&alice, &root).await.iter().any(|said| said.contains("is no name of a model")).then_some(())
    })
    .await;
    reply("and now?").await;
    runs(&alice, &general, "completed", 2).await;
    let starts = fake.note("starts");
    assert!(starts.lines().count() == 2 && !starts.contains("dangerously"), "{starts}");
}

#[tokio::test]
async fn an_option_on_the_command_line_of_moot_run_stays_a_value() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [["run", "claude", "--resume=--continue", "hi"], ["run", "codex", "--resume=--last", "hi"]] {
        let done = moot(home.path(), &arguments, &[]).await;
        assert_ne!(done.code, Some(0));
        assert!(done.stderr.contains("session") || done.stderr.contains("resume"), "{}", done.stderr);
    }
    let done = moot(home.path(), &["run", "claude", "hi"], &[("MOOT_ENGINES__CLAUDE__MODEL", "--auto")]).await;
    assert!(done.code == Some(2) && done.stderr.contains("no name of a model"), "{}", done.stderr);
}

#[tokio::test]
async fn an_edit_of_gits_own_files_is_asked_about_even_where_edits_are_accepted() {
    let swap = r#"exec "$dir/claude" "$@" | sed -u 's/"tool_name":"Bash","input":{"command":"rm x"}/"tool_name":"Edit","input":{"file_path":"@PATH@"}/'"#;
    for (path, is_asked) in [(r".git\/hooks\/post-checkout", true), (r".GIT\/config", true), (r"src\/main.rs", false)] {
        let (_hub, alice, _fake) = hub_with_curious(&swap.replace("@PATH@", path), &[]).await;
        let general = alice.add_channel("general", &[]).await;
        let folder = repository();
        let more = json!({"policy": "accept-edits", "project": folder.path().to_string_lossy()});
        hosted(&alice, "claude", more).await;
        alice.post(&general, "@claude please ask").await;
        match is_asked {
            true => drop(runs(&alice, &general, "waiting", 1).await),
            false => drop(runs(&alice, &general, "completed", 1).await),
        }
        let open = alice.rest.get(&alice.path("approvals?status=pending")).await.ok();
        assert_eq!(items(&open).len(), usize::from(is_asked), "{path}");
    }
}

/// A repository with one commit.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.path().join("file"), "one\n").unwrap();
    git(folder.path(), &["add", "file"]);
    git(folder.path(), &["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "x"]);
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = std::process::Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_in_the_hub() {
    let (_hub, alice, _fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    let (folder, outside) = (repository(), tempfile::tempdir().unwrap());
    let (program, mark) = (outside.path().join("program"), outside.path().join("mark"));
    write_program(&program, &format!("#!/bin/sh\necho ran >> {}\ncat\n", mark.display()));
    let program = program.to_string_lossy().into_owned();
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        std::fs::copy(&program, folder.path().join(".git/hooks").join(hook)).unwrap();
    }
    std::fs::write(folder.path().join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    let keys = ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.external", "diff.evil.textconv"];
    keys.iter().for_each(|key| git(folder.path(), &["config", key, &program]));
    let _ = std::fs::remove_file(&mark);
    hosted(&alice, "claude", json!({"project": folder.path().to_string_lossy(), "worktrees": true})).await;
    alice.post(&general, "@claude edit this").await;
    let run = runs(&alice, &general, "completed", 1).await.remove(0);
    assert_eq!(run["changes"], json!([{"path": "work.txt", "kind": "added", "added": 1, "removed": 0}]));
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap_or_default());
}

#[tokio::test]
async fn the_list_of_engines_is_for_the_operator_and_starts_nothing_per_call() {
    let (_hub, alice, fake) = hub_with_curious("exec \"$dir/claude\" \"$@\"", &[]).await;
    let bob = alice.add_human("bob").await;
    bob.rest.get("/v1/engines").await.refused(403, "FORBIDDEN");
    let agent = alice.add_agent("robot").await;
    agent.rest.get("/v1/engines").await.refused(403, "FORBIDDEN");
    let versions = || fake.note("calls").lines().filter(|call| call.contains("--version")).count();
    assert_eq!(versions(), 0);
    let all = join_all((0..20).map(|_| alice.rest.get("/v1/engines"))).await;
    for answer in all {
        let found = answer.ok();
        let claude = items(&found).iter().find(|engine| engine["id"] == "claude").cloned().unwrap();
        assert_eq!((&claude["found"], &claude["version"]), (&json!(true), &json!("2.1.0")));
    }
    assert_eq!(versions(), 1, "{}", fake.note("calls"));
}
