//! A bot between two fakes: a Snek server and an OpenAI-compatible endpoint, both on loopback.

pub mod snek;

#[expect(dead_code, reason = "the tests of the client use the rest of it")]
#[path = "../../../clients/tests/support/mod.rs"]
pub mod openai;

use std::time::Duration;

use folkmoot_bot::life::State;
use folkmoot_bot::settings::{ImageFormat, Limits, Protocol};
use folkmoot_bot::status::Snapshot;
use folkmoot_bot::{Bot, BotError, Settings};
use folkmoot_clients::Endpoint;
use openai::{End, FakeOpenAi, Reply, piece};
use serde_json::{Value, json};
use snek::{DEADLINE, FakeSnek};
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// Everything around one bot.
pub struct Stage {
    pub snek: FakeSnek,
    pub openai: FakeOpenAi,
    pub status: watch::Receiver<Snapshot>,
    pub folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<(), BotError>>,
}

/// The document's limits with short waits, so that no test takes longer than it must.
pub fn quick() -> Limits {
    Limits {
        reconnect_initial_delay_s: 0.02,
        ws_receive_retry_delay_s: 0.02,
        request_timeout_s: 10.0,
        task_check_interval_s: 0.05,
        thinking_task_interval_s: 0.05,
        shutdown_timeout_s: 2.0,
        media_hunt_head_timeout_s: 2.0,
        media_hunt_fetch_timeout_s: 5.0,
        ..Limits::default()
    }
}

/// What a test may choose before the bot starts.
pub struct Setup {
    pub snek: FakeSnek,
    pub openai: FakeOpenAi,
    pub settings: Settings,
    folder: TempDir,
}

impl Setup {
    pub async fn new() -> Self {
        let (snek, openai) = (FakeSnek::start().await, FakeOpenAi::start().await);
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            protocol: Protocol::Snek,
            url: snek.url().parse().unwrap(),
            username: "mybot".into(),
            password: "mypassword".into(),
            triggers: Vec::new(),
            system_prompt: "be brief".into(),
            image_format: ImageFormat::Openai,
            database: folder.path().join("bot.db"),
            limits: Limits { search_api_base: snek.http(""), ..quick() },
        };
        Self { snek, openai, settings, folder }
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.settings.limits);
        self
    }

    /// Starts the bot, without waiting for anything.
    pub fn start(self) -> Stage {
        let patience = Duration::from_secs_f64(self.settings.limits.request_timeout_s);
        let endpoint = Endpoint::new(&self.openai.base_url(), "sk-do-not-tell", "small", patience).unwrap();
        let bot = Bot::new(self.settings, endpoint).unwrap();
        let status = bot.status();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(bot.run(async {
            let _ = stopped.await;
        }));
        Stage { snek: self.snek, openai: self.openai, status, folder: self.folder, stop: Some(stop), running }
    }

    /// Starts the bot and waits until it listens.
    pub async fn running(self) -> Stage {
        let mut stage = self.start();
        stage.until(State::Running).await;
        stage
    }
}

impl Stage {
    pub async fn new() -> Self {
        Setup::new().await.running().await
    }

    pub async fn until(&mut self, state: State) {
        self.until_status(|snapshot| snapshot.state == state).await;
    }

    pub async fn until_status(&mut self, fits: impl FnMut(&Snapshot) -> bool) -> Snapshot {
        let waited = tokio::time::timeout(DEADLINE, self.status.wait_for(fits)).await;
        waited.expect("the status in time").expect("a bot").clone()
    }

    /// Asks the bot to stop, and returns how it ended.
    pub async fn stop(mut self) -> Result<(), BotError> {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.ended().await
    }

    /// Stops the bot and keeps its database.
    pub async fn stop_and_copy(mut self, file: &std::path::Path, copy: &std::path::Path) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.ended().await.unwrap();
        std::fs::copy(file, copy).unwrap();
    }

    /// Waits for the end of a bot that ends by itself.
    pub async fn ended(&mut self) -> Result<(), BotError> {
        tokio::time::timeout(DEADLINE, &mut self.running).await.expect("an end in time").expect("no panic")
    }

    /// The bodies of the requests to the model so far.
    pub fn asked(&self) -> Vec<Value> {
        self.openai.asked().iter().map(openai::Asked::json).collect()
    }
}

/// A streamed answer in these pieces.
pub fn streams(pieces: &[&str]) -> Reply {
    let mut events: Vec<_> = pieces.iter().map(|text| piece(json!({"content": text}), None)).collect();
    events.push(piece(json!({}), Some("stop")));
    Reply::Events(events, End::Done)
}

/// A streamed tool call.
pub fn streams_call(name: &str, arguments: &str) -> Reply {
    let call = json!({"index": 0, "id": "call_abc123", "type": "function",
                      "function": {"name": name, "arguments": arguments}});
    let events = vec![piece(json!({"tool_calls": [call]}), None), piece(json!({}), Some("tool_calls"))];
    Reply::Events(events, End::Done)
}

/// The messages with this role of a request to the model.
pub fn with_role<'a>(request: &'a Value, role: &str) -> Vec<&'a Value> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == role).collect()
}

/// What the tools answered, as the model read it.
pub fn tool_results(request: &Value) -> Vec<String> {
    with_role(request, "tool").iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}
