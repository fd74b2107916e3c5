//! The Telegram bridge as a process between a strict fake of the Bot API and fake engines that are processes too.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

#[path = "../../../telegram/tests/support/fake_api/mod.rs"]
pub mod fake_api;

pub use fake_api::{FakeApi, Fault, Message, TOKEN};

use super::agents::Fake;
use super::hub::{BINARY, clean_command, collect, wait_for_end};
use super::{Hub, Member};

/// The person who may, and the private chat with them.
pub const ANN: i64 = 1001;
/// Somebody else.
pub const EVE: i64 = 6666;
pub const GROUP: i64 = -100_200;

/// A codex that does what its prompt says, and notes in `log` when it begins and ends.
///
/// `nap` takes a moment, `hold` waits for the file `go`, `linger` stays after its answer, `fail` fails with words, `big` answers at length,
/// `quote` answers with another engine's resume line, `quick` and everything else is echoed. A `#name` in the prompt makes
/// it wait for the file `go-name`, and `unnamed` for the file `go-thread` before it says which thread it is in.
const CODEX: &str = r#"#!/bin/sh
dir="$(dirname "$0")/.."
case "$*" in *--help*) echo "no such thing"; exit 2;; *--version*) echo "codex 1.2.3"; exit 0;; esac
prompt="$(cat)"
session=""; last=""
for word in "$@"; do [ "$last" = resume ] && session="$word"; last="$word"; done
[ -n "$session" ] || session="th-$$"
words="$(printf '%s' "$prompt" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{printf "%s%s", sep, $0; sep="\\n"}')"
printf '%s\n' "begin $session $(pwd) $words" >> "$dir/log"
echo "$$" >> "$dir/pids"
trap 'echo "term $session" >> "$dir/log"; exit 143' TERM
[ -z "${prompt##*late*}" ] && sleep 0.5
[ -z "${prompt##*unnamed*}" ] && while [ ! -e "$dir/go-thread" ]; do sleep 0.02; done
echo '{"type":"thread.started","thread_id":"'"$session"'"}'
echo '{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":0,"status":"completed"}}'
case "$prompt" in
  *fail*) echo "no credit left" >&2; exit 3;;
  *nap*) sleep 0.3;;
  *hold*) while [ ! -e "$dir/go" ]; do sleep 0.02; done;;
  *'#'*) name="$(printf '%s' "$prompt" | sed 's/.*#\([a-z0-9]*\).*/\1/' | head -1)"; while [ ! -e "$dir/go-$name" ]; do sleep 0.02; done;;
esac
answer="echo: $words"
case "$prompt" in *big*) answer="$(awk 'BEGIN{for(i=0;i<900;i++) printf "line %d of a long answer\\\\n\\\\n", i}')";; *quote*) answer="claude --resume 0199aaaa-1";; esac
printf '%s\n' "end $session $words" >> "$dir/log"
printf '%s\n' '{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"'"$answer"'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":2}}'
case "$prompt" in *linger*) while :; do sleep 0.1; done;; esac
exit 0
"#;

/// A claude that asks for permission before it answers, in the words of its interactive mode.
const CLAUDE: &str = r#"#!/bin/sh
dir="$(dirname "$0")/.."
case "$*" in *--help*) echo "--input-format stream-json"; exit 0;; *--version*) echo "1.0.0 (Claude)"; exit 0;; esac
echo '{"type":"system","subtype":"init","session_id":"cl-1","model":"sonnet","tools":[],"permissionMode":"default"}'
while read -r line; do
  case "$line" in
    *'"type":"user"'*) echo '{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm -rf build"}}}';;
    *control_response*)
      printf '%s\n' "$line" >> "$dir/answers"
      echo '{"type":"result","subtype":"success","is_error":false,"session_id":"cl-1","result":"went on","total_cost_usd":0.25,"usage":{"input_tokens":7,"output_tokens":3}}'
      exit 0;;
  esac
done
"#;

/// What a test may choose before the bridge starts.
pub struct Setup {
    pub api: FakeApi,
    folder: Arc<TempDir>,
    config: String,
    arguments: Vec<String>,
}

impl Setup {
    /// One private chat with Ann, and a codex.
    pub async fn new() -> Self {
        let api = FakeApi::start().await;
        api.with(|world| {
            world.add_private(ANN);
            world.add_private(EVE);
        });
        let folder = TempDir::new().expect("a temporary folder");
        for (name, script) in [("codex", CODEX), ("claude", CLAUDE)] {
            let path = folder.path().join("bin").join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("bin");
            std::fs::write(&path, script).expect("a script");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
        }
        std::fs::create_dir_all(folder.path().join("work")).expect("work");
        Self { api, folder: Arc::new(folder), config: String::new(), arguments: Vec::new() }.telegram("chat_id = 1001")
    }

    /// The `[telegram]` table, beside token and address.
    pub fn telegram(mut self, lines: &str) -> Self {
        let bin = self.folder.path().join("bin");
        let command = |name: &str| format!("[engines.{name}]\ncommand = \"{}\"\n", bin.join(name).display());
        self.config = format!(
            "{}{}[telegram]\nbot_token = \"{TOKEN}\"\napi_base = \"{}\"\n{lines}\n",
            command("codex"),
            command("claude"),
            self.api.base()
        );
        self
    }

    /// More of the configuration.
    pub fn config(mut self, lines: &str) -> Self {
        self.config.push_str(lines);
        self.config.push('\n');
        self
    }

    pub fn argument(mut self, word: &str) -> Self {
        self.arguments.push(word.to_owned());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub async fn start(self) -> Bridge {
        let file = self.path("config/folkmoot/config.toml");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("config");
        std::fs::write(&file, &self.config).expect("a configuration");
        let mut bridge = Bridge::spawn(self.api, self.folder, self.arguments);
        bridge.wait_until_ready().await;
        bridge
    }
}

/// A hub that runs the bot itself, and an account on it; nobody is allowed to give the bot orders.
pub async fn hub_with_bot(environment: &[(&str, &str)]) -> (Hub, Member, FakeApi) {
    let api = FakeApi::start().await;
    api.with(|world| {
        world.add_private(ANN);
        world.add_private(EVE);
    });
    let mut setup =
        super::Setup::default().env("MOOT_TELEGRAM__BOT_TOKEN", TOKEN).env("MOOT_TELEGRAM__API_BASE", &api.base());
    for (key, value) in environment {
        setup = setup.env(key, value);
    }
    let hub = setup.start().await;
    let alice = super::register(&hub, "alice").await;
    (hub, alice, api)
}

/// A hub that runs the bot itself and whose claude is the fake; the account on it is linked.
pub async fn hub_with_bot_and_fake() -> (Hub, Member, FakeApi, Fake) {
    let folder = Arc::new(TempDir::new().expect("a folder"));
    let (fake, api) = (Fake::new(folder.path()), FakeApi::start().await);
    api.with(|world| {
        world.add_private(ANN);
    });
    let setup = super::Setup::default()
        .env("MOOT_ENGINES__CLAUDE__COMMAND", &fake.program.to_string_lossy())
        .env("MOOT_TELEGRAM__BOT_TOKEN", TOKEN)
        .env("MOOT_TELEGRAM__API_BASE", &api.base());
    let data = folder.path().join("data");
    let hub = setup.start_on(folder, data).await;
    let alice = super::register(&hub, "alice").await;
    link(&api, &alice, ANN).await;
    (hub, alice, api, fake)
}

/// Links a person's Telegram account, as they do it: with a code from the hub.
pub async fn link(api: &FakeApi, member: &Member, user: i64) {
    let code = member.rest.post("/v1/telegram/link", serde_json::json!({})).await.created();
    api.say(user, user, code["command"].as_str().expect("a command"));
    let words = format!("linked: here you decide as {}", member.name);
    api.wait_shown(user, "the account is linked", |message| message.text.starts_with(&words)).await;
}

/// `moot telegram setup` with these words, the token on its standard input; its exit code and what it said.
pub async fn walk_through_setup(home: &Path, api: &FakeApi, token: &str, words: &[&str]) -> (Option<i32>, String) {
    use std::io::Write;
    let mut command = clean_command(BINARY, home);
    command.args(["telegram", "setup", "--token-stdin"]).args(words).env("MOOT_TELEGRAM__API_BASE", api.base());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(token.as_bytes()).expect("it reads");
    let log = Arc::new(Mutex::new(String::new()));
    let readers = [
        collect(child.stdout.take().expect("piped"), log.clone()),
        collect(child.stderr.take().expect("piped"), log.clone()),
    ];
    let status = wait_for_end(&mut child, super::DEADLINE).await;
    if status.is_none() {
        let _ = child.kill();
    }
    readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
    let log = log.lock().expect("log").clone();
    (status.and_then(|status| status.code()), log)
}

/// A running bridge.
pub struct Bridge {
    pub api: FakeApi,
    child: Child,
    log: Arc<Mutex<String>>,
    folder: Arc<TempDir>,
    arguments: Vec<String>,
}

impl Bridge {
    pub async fn start() -> Self {
        Setup::new().await.start().await
    }

    fn command(folder: &TempDir, arguments: &[String]) -> Command {
        let mut command = clean_command(BINARY, folder.path());
        command.current_dir(folder.path().join("work")).arg("telegram").args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn spawn(api: FakeApi, folder: Arc<TempDir>, arguments: Vec<String>) -> Self {
        let mut child = Self::command(&folder, &arguments).spawn().expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), log.clone());
        collect(child.stderr.take().expect("piped"), log.clone());
        Self { api, child, log, folder, arguments }
    }

    /// A second one of the same configuration, which is expected to end.
    pub async fn second(&self) -> (Option<i32>, String) {
        let mut child = Self::command(&self.folder, &self.arguments).spawn().expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        let readers = [
            collect(child.stdout.take().expect("piped"), log.clone()),
            collect(child.stderr.take().expect("piped"), log.clone()),
        ];
        let status = wait_for_end(&mut child, super::DEADLINE).await;
        if status.is_none() {
            let _ = child.kill();
        }
        readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
        let log = log.lock().expect("log").clone();
        (status.and_then(|status| status.code()), log)
    }

    async fn wait_until_ready(&mut self) {
        let give_up = Instant::now() + 2 * super::DEADLINE;
        while !self.log().contains("bridge runs") {
            if let Some(status) = self.child.try_wait().expect("a child") {
                panic!("the bridge ended with {status}:\n{}", self.log());
            }
            assert!(Instant::now() < give_up, "not ready:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn lock(&self) -> PathBuf {
        self.path("config/folkmoot/config.lock")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets an engine that waits for the file go on.
    pub fn go(&self, name: &str) {
        std::fs::write(self.path(name), "").expect("a file");
    }

    /// What the engines noted so far.
    pub fn engine_log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the engines have noted something.
    pub async fn wait_engine(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        super::eventually(what, || async {
            let log = self.engine_log();
            wanted(&log).then_some(log)
        })
        .await
    }

    /// Processes of engines that still live.
    pub fn engines_alive(&self) -> Vec<String> {
        let pids = std::fs::read_to_string(self.path("pids")).unwrap_or_default();
        pids.lines().filter(|pid| Path::new("/proc").join(pid).exists()).map(str::to_owned).collect()
    }

    /// The first message to Ann that begins with this word.
    pub async fn wait_text(&self, chat: i64, begin: &str) -> Message {
        // What it says now, or said a moment ago: a sign is soon overwritten.
        let said =
            |message: &Message| message.history.iter().chain([&message.text]).any(|text| text.starts_with(begin));
        self.api.wait_shown(chat, begin, said).await
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("the bridge is running");
        self.child.wait().expect("the bridge has ended");
    }

    pub async fn stop(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the bridge is running");
        wait_for_end(&mut self.child, super::DEADLINE).await.expect("the bridge ends when it is told to")
    }

    /// Starts again with the same folders.
    pub async fn restart(&mut self) {
        let fresh = Self::spawn(self.api.clone(), self.folder.clone(), self.arguments.clone());
        let old = std::mem::replace(self, fresh);
        drop(old);
        self.wait_until_ready().await;
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- output of the bridge ---\n{log}--- engines ---\n{}", self.engine_log().join("\n"));
        } else {
            assert!(!log.contains("panicked at"), "the bridge panicked:\n{log}");
            assert!(!log.contains(TOKEN.split_once(':').expect("a token").1), "the token is in the log:\n{log}");
        }
    }
}
