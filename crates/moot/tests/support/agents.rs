//! Agents at work: a fake claude as a process, and the daemon as one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::hub::{BINARY, clean_command, collect, wait_for_end};
use super::{Hub, Member, Setup, eventually, eventually_within, items, text};

/// How long engines, a daemon and a hub may take together on a busy machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A conversation in JSON lines, as claude has it. What is asked, behind what was said before, decides: `ask` asks for permission (for what the file `question` says, and once it is allowed for what `second` says), `wait` waits
/// to be steered, `slow` waits for the file `go`, `late` changes a file after that, `many` does 300 things, 200 of them after it, and waits for `end`; everything else is answered with `echo: PROMPT`.
const CLAUDE: &str = r##"#!/bin/sh
dir="@DIR@"
case "$*" in
  *--help*) echo "--input-format"; exit 0;;
  *--version*) echo "2.1.0 (Claude Code)"; exit 0;;
esac
session="s$$"
last=""
for word in "$@"; do
  [ "$last" = "--resume" ] && session="$word"
  last="$word"
done
echo "$$ $(date +%s%N) $*" >> "$dir/starts"
result() {
  printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"%s","total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":2}}\n' "$session" "$1"
}
waiting=""
while IFS= read -r line; do
  case "$line" in
    *'"type":"user"'*)
      prompt=$(printf '%s' "$line" | sed -e 's/.*"content":"//' -e 's/","role".*//' -e 's/"}.*//')
      printf '%s\n' "$prompt" >> "$dir/prompts"
      if [ -n "$waiting" ]; then waiting=""; result "steered: $prompt"; continue; fi
      printf '{"type":"system","subtype":"init","session_id":"%s","model":"m"}\n' "$session"
      printf '{"type":"assistant","session_id":"%s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}\n' "$session"
      case "${prompt##*asks you:}" in
        *ask*) if [ -e "$dir/question" ]; then cat "$dir/question"; else printf '{"type":"control_request","request_id":"77","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm x"}}}\n'; fi;;
        *wait*) waiting=1;;
        *slow*) while [ ! -e "$dir/go" ]; do sleep 0.02; done; result "echo: $prompt";;
        *edit*) echo changed >> work.txt; result "edited";;
        *late*) while [ ! -e "$dir/go" ]; do sleep 0.02; done; echo changed >> work.txt; echo done > "$dir/emitted"; result "late";;
        *many*) number=0
          while [ $number -lt 300 ]; do
            number=$((number + 1))
            printf '{"type":"assistant","session_id":"%s","message":{"id":"m%s","role":"assistant","content":[{"type":"tool_use","id":"a%s","name":"Bash","input":{"command":"ls %s"}}]}}\n' "$session" $number $number $number
            if [ $number = 100 ]; then while [ ! -e "$dir/go" ]; do sleep 0.02; done; fi
          done
          echo done > "$dir/emitted"
          while [ ! -e "$dir/end" ]; do sleep 0.02; done
          result "many";;
        *) result "echo: $prompt";;
      esac;;
    *'"behavior":"allow"'*) echo done >> "$dir/done"
      if [ -e "$dir/second" ]; then cat "$dir/second"; rm "$dir/second"; else result "accepted"; fi;;
    *'"behavior":"deny"'*) result "declined $(printf '%s' "$line" | sed -e 's/.*"message":"//' -e 's/".*//')";;
    *control_request*) id=$(printf '%s' "$line" | sed -e 's/.*"request_id":"//' -e 's/".*//')
      printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\n' "$id";;
  esac
done
"##;

/// The fake, in a folder that also holds its notes.
pub struct Fake {
    pub folder: PathBuf,
    pub program: PathBuf,
}

impl Fake {
    pub fn new(folder: &Path) -> Self {
        let folder = folder.join("fake");
        std::fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join("claude");
        std::fs::write(&program, CLAUDE.replace("@DIR@", &folder.to_string_lossy())).expect("the fake");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { folder, program }
    }

    pub fn note(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    pub fn let_go(&self) {
        self.touch("go");
    }

    /// Makes a file that the fake waits for.
    pub fn touch(&self, name: &str) {
        std::fs::write(self.folder.join(name), "").expect("a file");
    }
}

/// A hub whose claude is the fake.
pub async fn hub_with_fake() -> (Hub, Member, Fake) {
    let folder = Arc::new(tempfile::TempDir::new().expect("a folder"));
    let fake = Fake::new(folder.path());
    let data = folder.path().join("data");
    let setup = Setup::default()
        .env("MOOT_ENGINES__CLAUDE__COMMAND", &fake.program.to_string_lossy())
        .env("MOOT_WAKES__MAX_MENTIONS", "0");
    let hub = setup.start_on(folder, data).await;
    let alice = super::register(&hub, "alice").await;
    (hub, alice, fake)
}

/// Makes an agent that the hub hosts, and waits until it can be reached.
pub async fn hosted(alice: &Member, name: &str, more: Value) -> Value {
    let mut body = json!({"name": name, "engine": "claude"});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    let agent = alice.rest.post("/v1/hosting", body).await.created();
    running(alice, name).await;
    agent["agent"].clone()
}

pub async fn running(alice: &Member, name: &str) {
    eventually("the agent is running", || async {
        let hosted = alice.rest.get("/v1/hosting").await.ok();
        items(&hosted)
            .iter()
            .any(|agent| text(agent, "name") == name && text(agent, "state") == "running")
            .then_some(())
    })
    .await;
}

/// Every run of a channel, oldest first, once there are `count` of them in that state.
pub async fn runs(alice: &Member, channel: &str, state: &str, count: usize) -> Vec<Value> {
    let path = format!("/v1/channels/{channel}/runs");
    let enough = || async {
        let all = alice.rest.get(&path).await.ok();
        let mut found: Vec<Value> = items(&all).iter().filter(|run| text(run, "state") == state).cloned().collect();
        found.reverse();
        (found.len() >= count).then_some(found)
    };
    eventually_within(WAIT_TIMEOUT, &format!("{count} runs that are {state}"), enough).await
}

/// What stands in a thread, without the first message.
pub async fn replies(alice: &Member, root: &str) -> Vec<String> {
    let thread = alice.rest.get(&format!("/v1/messages/{root}/thread")).await.ok();
    let all = thread.as_array().cloned().unwrap_or_else(|| items(&thread["messages"]).to_vec());
    all.iter()
        .filter(|message| text(message, "id") != root)
        .map(|message| text(message, "content").to_owned())
        .collect()
}

/// `moot agentd` as a process of its own.
pub struct Daemon {
    child: Child,
    log: Arc<Mutex<String>>,
    home: PathBuf,
    environment: Vec<(String, String)>,
}

impl Daemon {
    pub fn start(home: &Path, config: &str, environment: &[(&str, &str)]) -> Self {
        std::fs::create_dir_all(home).expect("a home");
        std::fs::write(home.join("agentd.toml"), config).expect("a configuration");
        let environment: Vec<_> =
            environment.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (child, log) = spawn(home, &environment);
        Self { child, log, home: home.to_owned(), environment }
    }

    pub fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    pub fn data(&self) -> PathBuf {
        self.home.join("daemon")
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("the daemon is running");
        self.child.wait().expect("the daemon has ended");
    }

    pub fn restart(&mut self) {
        (self.child, self.log) = spawn(&self.home, &self.environment);
    }

    /// How it ends by itself; none when it does not.
    pub async fn ended(&mut self) -> Option<i32> {
        wait_for_end(&mut self.child, WAIT_TIMEOUT).await.and_then(|status| status.code())
    }

    pub async fn stop(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the daemon is running");
        wait_for_end(&mut self.child, super::DEADLINE).await.and_then(|status| status.code())
    }
}

fn spawn(home: &Path, environment: &[(String, String)]) -> (Child, Arc<Mutex<String>>) {
    let mut child = clean_command(BINARY, home)
        .args(["agentd", "--config"])
        .arg(home.join("agentd.toml"))
        .arg("--data-dir")
        .arg(home.join("daemon"))
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let log = Arc::new(Mutex::new(String::new()));
    collect(child.stdout.take().expect("piped"), log.clone());
    collect(child.stderr.take().expect("piped"), log.clone());
    (child, log)
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- output of the daemon ---\n{log}");
        } else {
            assert!(!log.contains("panicked at"), "the daemon panicked:\n{log}");
        }
    }
}
