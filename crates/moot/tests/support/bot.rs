//! `moot bot` as a process, with a fake OpenAI-compatible endpoint beside it.

use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

#[expect(dead_code, reason = "the tests of the client use the rest of it")]
#[path = "../../../clients/tests/support/mod.rs"]
pub mod openai;

use openai::{End, FakeOpenAi, Reply, piece};

use super::hub::{BINARY, clean_command, collect, free_address, wait_for_end};
use super::{Hub, Member, eventually};

pub struct Bot {
    child: Child,
    log: Arc<Mutex<String>>,
    pub openai: FakeOpenAi,
    status: String,
    _folder: TempDir,
}

impl Bot {
    /// Starts the bot as this agent and waits until it listens.
    pub async fn start(hub: &Hub, agent: &Member, protocol: &str) -> Self {
        Self::start_with(hub, agent, protocol, &[]).await
    }

    /// The same with more settings.
    pub async fn start_with(hub: &Hub, agent: &Member, protocol: &str, more: &[(&str, &str)]) -> Self {
        let bot = Self::spawn_with(hub, &agent.name, &agent.token, protocol, more).await;
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let ready = format!("http://{}/readyz", bot.status);
        eventually("a bot that listens", async || {
            client.get(&ready).send().await.ok().filter(|answer| answer.status().is_success())
        })
        .await;
        bot
    }

    /// Starts the bot with these credentials and waits for nothing.
    pub async fn spawn(hub: &Hub, name: &str, password: &str, protocol: &str) -> Self {
        Self::spawn_with(hub, name, password, protocol, &[]).await
    }

    async fn spawn_with(hub: &Hub, name: &str, password: &str, protocol: &str, more: &[(&str, &str)]) -> Self {
        let openai = FakeOpenAi::start().await;
        let folder = TempDir::new().expect("a temporary folder");
        let status = free_address().to_string();
        let path = if protocol == "lark" { "ws" } else { "rpc.ws" };
        let mut child = clean_command(BINARY, folder.path())
            .arg("bot")
            .env("MOOT_BOT__PROTOCOL", protocol)
            .env("MOOT_BOT__URL", format!("ws://{}/{path}", hub.address))
            .env("MOOT_BOT__USERNAME", name)
            .env("MOOT_BOT__PASSWORD", password)
            .env("MOOT_BOT__STATUS_LISTEN", &status)
            .env("MOOT_LLM__BASE_URL", openai.base_url())
            .env("MOOT_LLM__API_KEY", "sk-do-not-tell")
            .envs(more.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), log.clone());
        collect(child.stderr.take().expect("piped"), log.clone());
        Self { child, log, openai, status, _folder: folder }
    }

    pub fn will_say(&self, text: &str) {
        let events = vec![piece(json!({"content": text}), None), piece(json!({}), Some("stop"))];
        self.openai.will(Reply::Events(events, End::Done));
    }

    /// The model asks for this tool.
    pub fn will_call(&self, tool: &str, arguments: &Value) {
        let call = json!({"index": 0, "id": "call_1", "type": "function",
            "function": {"name": tool, "arguments": arguments.to_string()}});
        let events = vec![piece(json!({"tool_calls": [call]}), None), piece(json!({}), Some("tool_calls"))];
        self.openai.will(Reply::Events(events, End::Done));
    }

    pub fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    pub async fn status(&self) -> Value {
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let answer = client.get(format!("http://{}/status", self.status)).send().await.expect("the status page");
        answer.json().await.expect("JSON")
    }

    pub async fn stop(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the bot is running");
        self.end().await
    }

    pub async fn end(&mut self) -> ExitStatus {
        wait_for_end(&mut self.child, super::DEADLINE).await.expect("the bot ends")
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        // Already ended is the other possibility, and fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- output of the bot ---\n{}", self.log());
        }
    }
}
