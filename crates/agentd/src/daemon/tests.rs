//! Events in an order that a hub and an engine seldom bring about, handled one by one.

use std::sync::Arc;

use folkmoot_clients::lark::Heard;
use folkmoot_engines::engines;
use folkmoot_engines::event::Ask;
use folkmoot_runs::locks::Locks;
use folkmoot_runs::run::Runner;
use folkmoot_wire::lark::{ApprovalResult, RunEnd};
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::{Daemon, DaemonEvent, Hosted, Live, RunPlace, Ticket};
use crate::error::DaemonError;
use crate::settings::{AgentSpec, DaemonSettings, EngineAgent, Kind, Policy};
use crate::wake::Wake;
use crate::wake::tests::wake;

const TICKET: Ticket = Ticket(0);

/// A daemon with one run, without its hub: each request to that fails at once and comes back as an event.
struct Alone {
    daemon: Daemon,
    events: mpsc::UnboundedReceiver<DaemonEvent>,
    _folder: TempDir,
}

impl Alone {
    async fn with_a_run() -> Self {
        let folder = TempDir::new().unwrap();
        let settings = DaemonSettings {
            server: Url::parse("ws://127.0.0.1:1/ws").unwrap(),
            key: Arc::new(|| "key".to_owned()),
            data_dir: folder.path().to_owned(),
            socket: None,
            machine: "here".to_owned(),
            agents: Vec::new(),
        };
        let runner = Runner::new(Default::default(), Locks::default(), engines::codecs());
        let (events_in, events) = mpsc::unbounded_channel();
        let mut daemon = Daemon::open(settings, runner, events_in, mpsc::channel(1).0).await.unwrap();
        let mut live = Live::new(agent(folder.path()), wake("@claude fix it"), "claude".to_owned(), None);
        live.run = Some(RunPlace { id: "run_1".into(), channel: "ch_1".into(), thread: Some("msg_2".into()) });
        live.submitted = true;
        daemon.live.insert(TICKET, live);
        daemon.next = 1;
        Self { daemon, events, _folder: folder }
    }

    /// More words for the thread of the run.
    fn add(&mut self) -> Wake {
        let more = Wake { delivery: "dlv_2".to_owned(), ..wake("@claude and the tests") };
        let agent = self.daemon.live[&TICKET].agent.clone();
        self.daemon.want(agent, more.clone());
        more
    }

    /// What the hub is owed, by kind and delivery.
    async fn unanswered(&self) -> Vec<(String, Option<String>)> {
        self.daemon
            .journal
            .unanswered()
            .await
            .unwrap()
            .into_iter()
            .map(|outgoing| (outgoing.kind, outgoing.delivery))
            .collect()
    }

    /// The hub is asked for an approval; the question that it was.
    async fn asks_the_hub(&mut self) -> String {
        loop {
            if let DaemonEvent::Asked { ask, .. } = self.events.recv().await.unwrap() {
                return ask;
            }
        }
    }

    async fn hub_says(&mut self, ask: &str, answer: Value) {
        let answer = Ok(serde_json::from_value(answer).expect("an answer"));
        self.daemon.handle(DaemonEvent::Asked { ticket: TICKET, ask: ask.to_owned(), answer }).await;
    }

    fn is_asking(&mut self) -> bool {
        std::iter::from_fn(|| self.events.try_recv().ok()).any(|event| matches!(event, DaemonEvent::Asked { .. }))
    }
}

fn agent(folder: &std::path::Path) -> Hosted {
    let spec = EngineAgent {
        engine: "claude".to_owned(),
        model: None,
        folder: folder.to_owned(),
        project: None,
        system_prompt: String::new(),
        capabilities: Vec::new(),
        policy: Policy::Ask,
        deny: Vec::new(),
        worktrees: None,
    };
    Hosted { id: "mem_9".to_owned(), name: "claude".to_owned(), spec: Arc::new(spec) }
}

fn result(data: &Value) -> ApprovalResult {
    ApprovalResult::deserialize(data).expect("a result")
}

fn permission() -> Ask {
    let detail = json!({"command": "make"}).as_object().unwrap().clone();
    Ask { id: "ask_1".into(), title: "make".into(), detail, ..Ask::default() }
}

#[tokio::test]
async fn words_that_an_engine_takes_with_its_answer_are_not_asked_again() {
    let mut alone = Alone::with_a_run().await;
    let more = alone.add();
    alone.daemon.over(TICKET, RunEnd::Completed, None).await;
    assert!(alone.daemon.live.contains_key(&TICKET), "over before it is known whether the words were taken");
    alone.daemon.handle(DaemonEvent::Steered(TICKET, Box::new(more), true)).await;
    assert!(alone.daemon.live.is_empty(), "the words have a run of their own as well");
    let ends = [("wake.join".to_owned(), None), ("run.complete".to_owned(), Some("dlv_1".to_owned()))];
    assert_eq!(alone.unanswered().await, ends);
    assert!(alone.daemon.finished.contains("dlv_2"));
}

#[tokio::test]
async fn words_that_come_too_late_for_an_engine_get_a_run_of_their_own() {
    let mut alone = Alone::with_a_run().await;
    let more = alone.add();
    alone.daemon.over(TICKET, RunEnd::Completed, None).await;
    alone.daemon.handle(DaemonEvent::Steered(TICKET, Box::new(more), false)).await;
    let deliveries: Vec<_> = alone.daemon.live.values().map(|live| live.wake.delivery.as_str()).collect();
    assert_eq!(deliveries, ["dlv_2"]);
    assert_eq!(alone.unanswered().await, [("run.complete".to_owned(), Some("dlv_1".to_owned()))]);
}

#[tokio::test]
async fn a_decision_that_is_told_twice_is_taken_up_once() {
    let mut alone = Alone::with_a_run().await;
    alone.daemon.asked(TICKET, permission()).await;
    let ask = alone.asks_the_hub().await;
    alone.hub_says(&ask, json!({"id": "apr_1", "status": "pending"})).await;
    for status in ["approved", "used"] {
        alone.daemon.approval_decided(&result(&json!({"id": "apr_1", "status": status})));
    }
    let ask = alone.asks_the_hub().await;
    assert!(!alone.is_asking(), "a question behind the decision would be a new one");
    alone.hub_says(&ask, json!({"id": "apr_1", "status": "approved"})).await;
    assert!(alone.daemon.live[&TICKET].asks.is_empty());
    assert!(!alone.is_asking());
}

#[tokio::test]
async fn a_decision_that_is_told_before_the_receipt_of_its_question_is_asked_for() {
    let mut alone = Alone::with_a_run().await;
    alone.daemon.asked(TICKET, permission()).await;
    let ask = alone.asks_the_hub().await;
    alone.daemon.approval_decided(&result(&json!({"id": "apr_1", "status": "denied"})));
    alone.hub_says(&ask, json!({"id": "apr_1", "status": "pending"})).await;
    let ask = alone.asks_the_hub().await;
    alone.hub_says(&ask, json!({"id": "apr_1", "status": "denied", "review_note": "no"})).await;
    assert!(alone.daemon.live[&TICKET].asks.is_empty());
}

#[tokio::test]
async fn an_agent_that_is_hosted_while_others_are_being_registered_is_registered_after_them() {
    let mut alone = Alone::with_a_run().await;
    let spec = |name: &str| {
        let engine = (*agent(std::path::Path::new("/")).spec).clone();
        AgentSpec { name: name.to_owned(), id: Some(format!("mem_{name}")), kind: Kind::Engine(engine) }
    };
    let first = vec![spec("other")];
    alone.daemon.wanted = first.clone();
    alone.daemon.registering = true;
    alone.daemon.handle(DaemonEvent::Agents(vec![spec("other"), spec("claude")])).await;
    let login = alone.daemon.login;
    alone.daemon.handle(DaemonEvent::Registered { login, agents: Ok(first) }).await;
    let wanted: Vec<_> = alone.daemon.wanted.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(wanted, ["other", "claude"]);
}

#[tokio::test]
async fn a_daemon_whose_key_was_given_up_ends_with_the_reason() {
    let mut alone = Alone::with_a_run().await;
    let (tell, mut heard) = mpsc::channel(4);
    let identity = json!({"member_id": "mem_1", "workspace_id": "ws_1", "name": "laptop", "type": "human"});
    tell.send(Heard::LoggedIn(serde_json::from_value(identity).unwrap())).await.unwrap();
    for refused in [Heard::Refused, Heard::GivenUp] {
        tell.send(refused("invalid credentials".to_owned())).await.unwrap();
    }
    let ended = alone.daemon.serve(&mut alone.events, &mut heard, std::future::pending()).await;
    assert!(matches!(&ended, Err(DaemonError::Refused(why)) if why == "invalid credentials"), "{ended:?}");
    assert!(heard.is_empty(), "one refusal of somebody it knew is no reason to end");
}
