//! The life of an agent: hello, heartbeats, reconnecting, the graceful end.

use std::time::Duration;

use folkmoot_pool::{Agent, Config, Context, Kind, OpError, Session};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::controller::{Controller, DEADLINE, Line};

/// An agent with one operation, and the way to stop it.
pub struct Running {
    pub context: Context,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

pub fn run(agent: Agent) -> Running {
    let (stop, stopped) = oneshot::channel();
    let context = agent.context();
    let task = tokio::spawn(agent.run(async move { stopped.await.unwrap_or_default() }));
    Running { context, stop: Some(stop), task }
}

impl Running {
    pub fn stop(&mut self) {
        self.stop.take().expect("not stopped yet").send(()).expect("the agent runs");
    }

    async fn ended(self) {
        tokio::time::timeout(DEADLINE, self.task).await.expect("the agent ends in time").expect("no panic");
    }
}

pub fn config(controller: &Controller) -> Config {
    let config = Config::new(controller.url(), "agent-1").guild("g1").guild("g2");
    Config { pool_id: "pool_a".into(), tag: Some("Test#1".into()), runner_id: "runner-7".into(), ..config }
}

async fn take(context: Context, request: Value) -> Result<Value, OpError> {
    let guild = request["guildId"].as_str().unwrap_or("g1");
    context.join(&Session::new(Kind::Music, guild, "v1"), Some("ann"));
    Ok(json!({ "ok": true }))
}

async fn start(controller: &Controller) -> (Running, Line) {
    let running = run(Agent::new(config(controller)).op("take", take));
    let line = controller.welcome().await;
    (running, line)
}

#[tokio::test]
async fn an_agent_opens_with_hello_and_guilds() {
    let controller = Controller::start().await;
    let _agent = run(Agent::new(config(&controller)));
    let mut line = controller.accept().await;
    let hello = json!({
        "type": "hello", "protocolVersion": "1.0.0", "agentId": "agent-1", "botUserId": null, "tag": "Test#1",
        "ready": true, "guildIds": ["g1", "g2"], "poolId": "pool_a", "runnerId": "runner-7",
    });
    assert_eq!(line.next().await, hello);
    let guilds = json!({ "type": "guilds", "guildIds": ["g1", "g2"], "agentId": "agent-1", "runnerId": "runner-7" });
    assert_eq!(line.next().await, guilds);
}

#[tokio::test]
async fn the_runner_secret_is_in_the_hello_when_there_is_one() {
    let controller = Controller::start().await;
    let _agent = run(Agent::new(Config { runner_secret: Some("s3cret".into()), ..config(&controller) }));
    assert_eq!(controller.accept().await.next().await["runnerSecret"], "s3cret");
}

#[tokio::test]
async fn guilds_and_hello_are_repeated_as_heartbeat() {
    let controller = Controller::start().await;
    let _agent = run(Agent::new(Config { heartbeat: Duration::from_millis(30), ..config(&controller) }));
    let mut line = controller.welcome().await;
    for _ in 0..3 {
        assert_eq!(line.next().await["type"], "guilds");
        assert_eq!(line.next().await["type"], "hello");
    }
}

#[tokio::test]
async fn a_change_of_guilds_is_told_at_once_and_no_change_is_not() {
    let controller = Controller::start().await;
    let (agent, mut line) = start(&controller).await;
    agent.context.set_guilds(vec!["g1".into(), "g2".into()]);
    agent.context.set_guilds(vec!["g3".into()]);
    assert_eq!(line.next().await["guildIds"], json!(["g3"]));
}

#[tokio::test]
async fn an_agent_that_is_not_ready_says_so_at_once() {
    let controller = Controller::start().await;
    let (agent, mut line) = start(&controller).await;
    agent.context.set_ready(false);
    assert_eq!(line.next().await["type"], "guilds");
    assert_eq!(line.next().await["ready"], false);
}

#[tokio::test]
async fn a_lost_connection_is_made_again_after_a_second() {
    let controller = Controller::start().await;
    let (_agent, line) = start(&controller).await;
    let lost = Instant::now();
    drop(line);
    controller.welcome().await;
    let waited = lost.elapsed();
    assert!(waited.as_millis() >= 900, "{waited:?}");
}

#[tokio::test]
async fn a_controller_that_refuses_is_asked_again_later_and_later() {
    let controller = Controller::start().await;
    let _agent = run(Agent::new(config(&controller)));
    let mut line = controller.accept().await;
    let mut waits = Vec::new();
    for _ in 0..2 {
        line.send(json!({ "type": "error", "error": "Unauthorized runner secret." })).await;
        let closed = Instant::now();
        line.close(1008, "Unauthorized").await;
        line = controller.accept().await;
        waits.push(closed.elapsed().as_millis());
    }
    assert!(waits[0] >= 900 && waits[1] >= 1900, "{waits:?}");
}

#[tokio::test]
async fn a_controller_that_falls_silent_is_left_and_looked_for_again() {
    let controller = Controller::start().await;
    let patience = Duration::from_millis(100);
    let _agent = run(Agent::new(Config { silence: patience, ..config(&controller) }));
    // It neither reads nor answers: there is no pong either.
    let _deaf = controller.accept().await;
    controller.welcome().await;
}

#[tokio::test]
async fn on_a_graceful_stop_every_session_is_released_before_the_close() {
    let controller = Controller::start().await;
    let (mut agent, mut line) = start(&controller).await;
    for guild in ["g1", "g2"] {
        line.request("take", json!({ "guildId": guild })).await;
        assert_eq!(line.told().await["event"], "add");
        assert_eq!(line.told().await["ok"], true);
    }
    agent.stop();
    for guild in ["g1", "g2"] {
        let expected = json!({
            "type": "event", "event": "released", "agentId": "agent-1", "runnerId": "runner-7", "guildId": guild,
            "voiceChannelId": "v1", "reason": "shutdown", "kind": "music",
        });
        assert_eq!(line.told().await, expected);
    }
    assert_eq!(line.closed().await, (1000, "shutdown".to_owned()));
    agent.ended().await;
}

#[tokio::test]
async fn an_agent_that_never_reached_its_controller_stops_all_the_same() {
    let unused = Controller::start().await.url();
    let mut agent = run(Agent::new(Config::new(unused, "agent-1")));
    agent.stop();
    agent.ended().await;
}

#[tokio::test]
async fn what_is_released_while_the_controller_is_away_is_told_when_it_is_back() {
    let controller = Controller::start().await;
    let (agent, mut line) = start(&controller).await;
    line.request("take", json!({})).await;
    assert_eq!(line.told().await["event"], "add");
    assert_eq!(line.told().await["ok"], true);
    drop(line);
    let noticed = async {
        while agent.context.is_connected() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, noticed).await.expect("the agent notices the loss");
    let session = Session::new(Kind::Music, "g1", "v1");
    agent.context.release(&session, "empty-channel");
    assert!(!agent.context.holds(&session));
    let mut line = controller.welcome().await;
    let told = line.told().await;
    assert_eq!((&told["event"], &told["reason"]), (&json!("released"), &json!("empty-channel")));
}
