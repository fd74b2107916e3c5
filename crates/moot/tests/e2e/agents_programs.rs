//! Programs in any language over the daemon's socket, and those that may not come in.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::agents::{Daemon, WAIT_TIMEOUT, replies};
use crate::support::{DEADLINE, Hub, Member, eventually, eventually_within, start, text};

/// The program of `docs/agents.md`, which also notes what it was given.
const ECHO: &str = r#"
import json, os, socket, sys
with open(sys.argv[1], "a") as notes:
    notes.write(str(os.getpid()) + " " + json.dumps(dict(os.environ)) + "\n")
print("hello from the program", flush=True)
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["MOOT_AGENT_SOCKET"])
lines = link.makefile("r")
def send(kind, data):
    link.sendall((json.dumps({"v": 1, "type": kind, "ts": 0, "data": data}) + "\n").encode())
send("agent.auth", {"token": os.environ["MOOT_AGENT_TOKEN"], "agent_name": os.environ["MOOT_AGENT_NAME"]})
for line in lines:
    frame = json.loads(line)
    if frame["type"] == "agent.auth_ok":
        send("agent.hello", {"name": os.environ["MOOT_AGENT_NAME"], "role_card": {"system_prompt": "Repeats."}})
    elif frame["type"] == "agent.wake":
        context = frame["data"]["context"]
        said = context["recent_messages"][-1]["content"]
        send("thread.reply", {"channel_id": context["channel"]["id"], "parent_id": context["delivery"]["message_ids"][-1],
                              "content": "You said: " + said, "delivery_id": context["delivery"]["id"]})
"#;

struct Scene {
    hub: Hub,
    alice: Member,
    general: String,
    daemon: Daemon,
    key: String,
}

/// A daemon with one program as `echo`.
async fn scene(command: &[&str]) -> Scene {
    let (hub, alice) = start().await;
    let (key, echo) = (alice.machine_key().await, alice.add_agent("echo").await);
    let general = alice.add_channel("general", &[&echo]).await;
    let home = hub.folder().path().join("laptop");
    std::fs::create_dir_all(&home).unwrap();
    let config = format!(
        "[agentd]\nserver = \"ws://{}/ws\"\napi_key = \"{}\"\nsocket = \"{}\"\n[agents.echo]\ncommand = {}\n",
        hub.address,
        key,
        home.join("s").display(),
        json!(command)
    );
    let daemon = Daemon::start(&home, &config, &[]);
    Scene { key, hub, alice, general, daemon }
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: python3 is not installed on this machine");
    }
    found
}

async fn answered(scene: &Scene, words: &str) {
    let asked = scene.alice.post(&scene.general, &format!("@echo {words}")).await;
    let root = text(&asked, "id").to_owned();
    let some = || async {
        let said = replies(&scene.alice, &root).await;
        (!said.is_empty()).then_some(said)
    };
    let said = eventually_within(WAIT_TIMEOUT, "an answer", some).await;
    assert_eq!(said, [format!("You said: @echo {words}")]);
}

#[tokio::test]
async fn a_python_program_with_only_a_socket_is_an_agent_and_is_started_again_when_it_dies() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, notes) = (folder.path().join("echo.py"), folder.path().join("notes"));
    std::fs::write(&program, ECHO).unwrap();
    let mut scene = scene(&["python3", &program.to_string_lossy(), &notes.to_string_lossy()]).await;
    answered(&scene, "one").await;
    let note = std::fs::read_to_string(&notes).unwrap();
    assert!(!note.contains(&scene.key), "the hub's key does not reach programs");
    assert!(note.contains("MOOT_AGENT_TOKEN") && !note.contains("JWT_SECRET"), "an environment of its own");
    let pid: i32 = note.split(' ').next().unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    answered(&scene, "two").await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap().lines().count(), 2);
    let log = std::fs::read_to_string(scene.daemon.data().join("logs/agents/echo.log")).unwrap();
    assert!(log.contains("hello from the program") && log.contains("signal 9"), "{log}");

    // The hub goes and comes back; the program need not know.
    scene.hub.kill();
    scene.hub.restart().await;
    answered(&scene, "three").await;
    assert_eq!(scene.daemon.stop().await, Some(0));
    let last = std::fs::read_to_string(&notes).unwrap();
    let pid = last.lines().last().unwrap().split(' ').next().unwrap().to_owned();
    eventually("the program is gone", || async { (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()) }).await;
}

fn says(socket: &Path, line: &Value) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    writeln!(stream, "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn a_hostile_local_program_is_refused() {
    let scene = scene(&["sleep", "60"]).await;
    let socket = scene.hub.folder().path().join("laptop/s");
    let token = scene.daemon.data().join("agent-tokens/echo");
    eventually("the daemon is ready", || async { (socket.exists() && token.exists()).then_some(()) }).await;
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let right = std::fs::read_to_string(&token).unwrap();
    let auth = |token: &str, name: &str| json!({"type": "agent.auth", "data": {"token": token, "agent_name": name}});
    for line in [
        auth("wrong", "echo"),
        auth("", "echo"),
        auth(&right, "daemon"),
        auth(&right, "alice"),
        auth(&right[..right.len() - 1], "echo"),
        json!({"type": "message.send", "data": {"channel_id": scene.general, "content": "hi"}}),
        json!({"type": "auth.login", "data": {"token": right}}),
        json!("not an envelope"),
    ] {
        let answer = says(&socket, &line);
        assert!(answer.contains("\"type\":\"error\""), "{line}: {answer}");
        assert!(!answer.contains(&scene.key));
    }
    let until = std::time::Instant::now() + WAIT_TIMEOUT;
    let ok = loop {
        let answer = says(&socket, &auth(&right, "echo"));
        // The hub may still be told whom the daemon hosts.
        if answer.contains("auth_ok") || std::time::Instant::now() > until {
            break answer;
        }
    };
    assert!(ok.contains("agent.auth_ok") && ok.contains("workspace_id"), "{ok}");
    assert!(scene.alice.texts(&scene.general).await.is_empty());
}

#[tokio::test]
async fn another_users_program_is_refused_even_if_the_socket_lets_it_in() {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || !has_python() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let scene = scene(&["sleep", "60"]).await;
    let socket = scene.hub.folder().path().join("laptop/s");
    let token = scene.daemon.data().join("agent-tokens/echo");
    eventually("the daemon is ready", || async { (socket.exists() && token.exists()).then_some(()) }).await;
    let mut open = socket.clone();
    while open.pop() && open.starts_with(std::env::temp_dir()) && open != std::env::temp_dir() {
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666)).unwrap();
    let line = json!({"type": "agent.auth", "data": {"token": std::fs::read_to_string(&token).unwrap(), "agent_name": "echo"}});
    let program = "import socket,sys\nlink=socket.socket(socket.AF_UNIX)\nlink.connect(sys.argv[1])\nlink.sendall((sys.argv[2]+'\\n').encode())\nprint(link.recv(1000))";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", program, &socket.to_string_lossy(), &line.to_string()]).uid(65534).gid(65534);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("auth_ok"), "{said}");
    eventually("it is in the log", || async { scene.daemon.log().contains("another user").then_some(()) }).await;
}

#[tokio::test]
async fn a_daemon_whose_workspace_was_deleted_stops_knocking_and_says_so_once() {
    let mut scene = scene(&["sleep", "1000"]).await;
    let is_connected = || async { scene.daemon.log().contains("the agents are registered").then_some(()) };
    eventually_within(WAIT_TIMEOUT, "the daemon is there", is_connected).await;
    let workspace = format!("/v1/workspaces/{}", scene.alice.workspace);
    scene.alice.rest.delete(&workspace).await.ok();
    assert_eq!(scene.daemon.ended().await, Some(1), "{}", scene.daemon.log());
    let log = scene.daemon.log();
    assert_eq!(log.matches("does not know the key").count(), 1, "{log}");
    assert!(log.contains("workspace deleted"), "it says what may have happened: {log}");
}
