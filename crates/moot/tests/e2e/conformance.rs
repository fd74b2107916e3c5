//! The conformance suites: the hub, its clients and its agents pass them all, and whoever breaks a rule does not.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use folkmoot_conformance::{
    Case, Errand, Outcome, Pace, Report, chopsticks, chopsticks_agent, lark, run, smarthole, smarthole_client, snek,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::hub::{BINARY, clean_command};
use crate::support::member::PASSWORD;
use crate::support::proxy::{Bend, Bends, By, HONEST, Proxy};
use crate::support::{Hub, Member, chopsticks as pools, moot, smarthole as router, start, text};

/// Nobody measures here how fast anything is.
const HIGH: Duration = Duration::from_secs(300);
/// For cases that are to fail because something never comes; everything before it must have come by then.
const LOW: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

fn all() -> Pace {
    Pace { time_limit: HIGH, slow: true, only: None }
}

async fn play<S: Send + Sync + 'static>(cases: Vec<Case<S>>, stage: S, pace: &Pace, in_turn: bool) -> Report {
    run("suite", cases, Arc::new(stage), pace, in_turn, |_| {}).await
}

/// Every case was run, and none failed.
#[track_caller]
fn all_passed(report: &Report) {
    assert!(report.failed().is_empty(), "{:#?}", report.failed());
    assert!(report.not_run().is_empty(), "{:#?}", report.not_run());
    assert!(report.passed() >= 10, "{report:?}");
}

async fn lark_stage(alice: &Member) -> lark::Stage {
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let channel = alice.add_channel("general", &[&bob, &codebot]).await;
    lark::Stage {
        url: String::new(),
        key: alice.token.clone(),
        other_key: Some(bob.token.clone()),
        agent_key: Some(codebot.token.clone()),
        channel: Some(channel),
        direct: Some(alice.direct(&[&codebot]).await),
        outside: Some(bob.add_private("elsewhere", &[]).await),
        quiet: QUIET,
    }
}

async fn snek_stage(alice: &Member) -> snek::Stage {
    let bob = alice.add_human("bob").await;
    alice.add_channel("general", &[&bob]).await;
    let direct = alice.direct(&[&bob]).await;
    let login = |name: &str| snek::Login { name: name.to_owned(), password: PASSWORD.to_owned() };
    snek::Stage {
        url: String::new(),
        user: login("alice"),
        other: Some(login("bob")),
        channel: None,
        direct: Some(direct),
        quiet: QUIET,
    }
}

/// Says a sentence to the router over REST.
fn say(alice: &Member) -> Errand {
    let rest = alice.rest.clone();
    Arc::new(move |words| {
        let rest = rest.clone();
        Box::pin(async move {
            let route = rest.post("/v1/route", json!({ "text": words[0] })).await.ok();
            if route["outcome"] == "routed" { Ok(route.to_string()) } else { Err(route.to_string()) }
        })
    })
}

/// Asks an agent of the pools over REST.
fn ask(alice: &Member) -> Errand {
    let alice = alice.clone();
    Arc::new(move |words| {
        let alice = alice.clone();
        Box::pin(async move {
            pools::known(&alice, &words[0]).await;
            let path = format!("/v1/pools/agents/{}/requests", words[0]);
            let answer = alice.rest.post(&path, json!({ "op": words[1], "data": {} })).await.ok();
            if answer["ok"] == true { Ok(answer.to_string()) } else { Err(text(&answer, "error").to_owned()) }
        })
    })
}

fn smarthole_stage(alice: &Member, url: String) -> smarthole::Stage {
    smarthole::Stage { url, say: Some(say(alice)), quiet: QUIET }
}

fn chopsticks_stage(alice: &Member, url: String) -> chopsticks::Stage {
    chopsticks::Stage { url, secret: None, ask: Some(ask(alice)), quiet: QUIET }
}

#[tokio::test]
async fn the_hub_passes_the_lark_suite() {
    let (hub, alice) = start().await;
    let stage = lark::Stage { url: format!("ws://{}/ws", hub.address), ..lark_stage(&alice).await };
    all_passed(&play(lark::cases(), stage, &all(), false).await);
}

#[tokio::test]
async fn the_hub_passes_the_snek_suite() {
    let (hub, alice) = start().await;
    let stage = snek::Stage { url: format!("ws://{}/rpc.ws", hub.address), ..snek_stage(&alice).await };
    all_passed(&play(snek::cases(), stage, &all(), false).await);
}

#[tokio::test]
async fn the_hub_passes_the_smarthole_suite() {
    let (hub, alice) = start().await;
    let stage = smarthole_stage(&alice, format!("ws://{}", router::address(&hub).await));
    all_passed(&play(smarthole::cases(), stage, &all(), false).await);
}

#[tokio::test]
async fn the_hub_passes_the_chopsticks_suite() {
    let (hub, alice) = start().await;
    let stage = chopsticks_stage(&alice, format!("ws://{}/agents", hub.address));
    all_passed(&play(chopsticks::cases(), stage, &all(), false).await);
}

/// A client of ours that connects to somebody, until it is dropped.
struct Running {
    child: Child,
    _home: TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn client(arguments: &[&str]) -> Running {
    let home = TempDir::new().expect("a folder");
    let mut command = clean_command(BINARY, home.path());
    command.args(arguments).current_dir(home.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running { child: child.expect("the binary starts"), _home: home }
}

fn echo(url: &str) -> Running {
    client(&["client", "echo", "--url", url])
}

fn jukebox(url: &str) -> Running {
    client(&["pool", "agent", "--music", ".", "--id", "suite", "--server", url])
}

#[tokio::test]
async fn our_smarthole_client_passes_its_suite() {
    let stage = smarthole_client::Stage::bind(0).await.expect("a port");
    let _client = echo(&stage.url().expect("an address"));
    all_passed(&play(smarthole_client::cases(), stage, &all(), true).await);
}

#[tokio::test]
async fn our_pool_agent_passes_its_suite() {
    let stage = chopsticks_agent::Stage::bind(0).await.expect("a port");
    let _agent = jukebox(&stage.url().expect("an address"));
    all_passed(&play(chopsticks_agent::cases(), stage, &all(), true).await);
}

/// A way to be wrong: the case that finds it, what the finding says, and how frames are bent.
type Wrong = (&'static str, &'static str, Bends);

const fn frames(frame: Bend) -> Bends {
    Bends { frame, close: |code| code }
}

/// The frame of this side and kind with one thing changed in it.
fn change(by: By, mut frame: Value, side: By, kind: &str, how: impl Fn(&mut Value)) -> Vec<(By, Value)> {
    if by == side && (kind == "*" || frame["type"] == kind || frame["event"] == kind) {
        how(&mut frame);
    }
    vec![(by, frame)]
}

/// No frame of this side and kind.
fn swallow(by: By, frame: Value, side: By, kind: &str) -> Vec<(By, Value)> {
    if by == side && frame["type"] == kind { Vec::new() } else { vec![(by, frame)] }
}

fn remove(value: &mut Value, key: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(key);
    }
}

/// Behind an honest proxy the case passes, and behind each of these it fails for its reason.
async fn is_found<S: Send + Sync + 'static>(
    wrong: &[Wrong],
    target: &str,
    cases: fn() -> Vec<Case<S>>,
    stage: impl Fn(String) -> S,
) {
    for (case, finding, bends) in wrong {
        let only = Some((*case).to_owned());
        for (bends, time_limit) in [(HONEST, HIGH), (*bends, LOW)] {
            let is_honest = time_limit == HIGH;
            let proxy = Proxy::before(target.to_owned(), bends).await;
            let pace = Pace { time_limit, slow: false, only: only.clone() };
            let report = play(cases(), stage(format!("ws://{}", proxy.address)), &pace, false).await;
            let [row] = report.rows.as_slice() else { panic!("{case} is one case: {report:?}") };
            match &row.outcome {
                Outcome::Passed => assert!(is_honest, "{case} does not find: {finding}"),
                Outcome::Failed(found) => assert!(!is_honest && found.contains(finding), "{case}: {found}"),
                Outcome::NotRun(why) => panic!("{case} was not run: {why}"),
            }
        }
    }
}

const WRONG_LARK: &[Wrong] = &[
    ("1.1", "`v` is not 1", frames(|by, frame| change(by, frame, By::Server, "*", |frame| frame["v"] = json!(2)))),
    (
        "1.5",
        "the request's id is not in",
        frames(|by, frame| change(by, frame, By::Server, "channel.join", |frame| remove(frame, "reply_to"))),
    ),
    (
        "3.3",
        "the error is another",
        frames(|by, frame| change(by, frame, By::Server, "auth.fail", |frame| frame["data"]["error"] = json!("no"))),
    ),
    (
        "4.1",
        "`channel.join` as answer to `channel.join`",
        frames(|by, frame| swallow(by, frame, By::Server, "channel.join")),
    ),
    (
        "5.1",
        "`status` is not `awake`",
        frames(|by, frame| {
            change(by, frame, By::Server, "agent.welcome", |frame| frame["data"]["status"] = json!("asleep"))
        }),
    ),
    (
        "7.6",
        "messages are in the wake",
        frames(|by, frame| {
            change(by, frame, By::Server, "agent.wake", |frame| {
                let recent = frame["data"]["context"]["recent_messages"].as_array_mut().expect("messages");
                recent.drain(..recent.len().min(5));
            })
        }),
    ),
    (
        "9.2",
        "`sender_id`",
        frames(|by, frame| {
            change(by, frame, By::Server, "message.new", |frame| remove(&mut frame["data"], "sender_id"))
        }),
    ),
    ("11.1", "`message.delete` of that message", frames(|by, frame| swallow(by, frame, By::Server, "message.delete"))),
    (
        "13.1",
        "the member's name is not in",
        frames(|by, frame| change(by, frame, By::Server, "typing.start", |frame| remove(&mut frame["data"], "name"))),
    ),
    (
        "15.1",
        "`is_read`",
        frames(|by, frame| {
            change(by, frame, By::Server, "notification.new", |frame| frame["data"]["is_read"] = json!(true))
        }),
    ),
    ("16.1", "20 s: `call.ring`", frames(|by, frame| swallow(by, frame, By::Server, "call.ring"))),
    (
        "18.3",
        "the error is",
        frames(|by, frame| change(by, frame, By::Server, "error", |frame| frame["data"]["error"] = json!("too long"))),
    ),
];

#[tokio::test]
async fn the_lark_suite_finds_servers_that_break_a_rule() {
    let (hub, alice) = start().await;
    let stage = lark_stage(&alice).await;
    let target = format!("ws://{}", hub.address);
    is_found(WRONG_LARK, &target, lark::cases, |url| lark::Stage { url: format!("{url}/ws"), ..stage.clone() }).await;
}

const WRONG_SNEK: &[Wrong] = &[
    (
        "3.1",
        "the answer to `login`",
        frames(|by, frame| change(by, frame, By::Server, "*", |frame| remove(frame, "callId"))),
    ),
    (
        "3.2",
        "there is no `data`",
        frames(|by, frame| {
            change(by, frame, By::Server, "*", |frame| {
                if frame["data"].is_array() {
                    remove(frame, "data");
                }
            })
        }),
    ),
    (
        "4.4",
        "`nick` is not a string",
        frames(|by, frame| change(by, frame, By::Server, "*", |frame| remove(&mut frame["data"], "nick"))),
    ),
    (
        "5.2",
        "has other characters",
        frames(|by, frame| {
            change(by, frame, By::Server, "*", |frame| {
                if let Some(channels) = frame["data"].as_array_mut() {
                    channels[0]["uid"] = json!("a channel");
                }
            })
        }),
    ),
    (
        "7.1",
        "`user_nick` is not a string",
        frames(|by, frame| change(by, frame, By::Server, "message", |frame| remove(frame, "user_nick"))),
    ),
    (
        "7.2",
        "an event with a `callId`",
        frames(|by, frame| change(by, frame, By::Server, "message", |frame| frame["callId"] = json!("a1b2"))),
    ),
    (
        "10.1",
        "`is_final` is not false",
        frames(|by, frame| change(by, frame, By::Server, "message", |frame| frame["is_final"] = json!(true))),
    ),
    (
        "10.2",
        "the final texts are",
        frames(|by, frame| {
            let is_final = by == By::Server && frame["is_final"] == true && frame["event"] == "message";
            if is_final { vec![(by, frame.clone()), (by, frame)] } else { vec![(by, frame)] }
        }),
    ),
];

#[tokio::test]
async fn the_snek_suite_finds_servers_that_break_a_rule() {
    let (hub, alice) = start().await;
    let stage = snek_stage(&alice).await;
    let target = format!("ws://{}", hub.address);
    is_found(WRONG_SNEK, &target, snek::cases, |url| snek::Stage { url: format!("{url}/rpc.ws"), ..stage.clone() })
        .await;
}

const WRONG_SMARTHOLE: &[Wrong] = &[
    (
        "2.1",
        "no `type` or no `payload`",
        frames(|by, frame| change(by, frame, By::Server, "*", |frame| remove(frame, "payload"))),
    ),
    (
        "3.3",
        "it was not refused",
        frames(|by, frame| {
            change(by, frame, By::Server, "registration_response", |frame| frame["payload"]["success"] = json!(true))
        }),
    ),
    (
        "4.1",
        "`clientId` is not a string",
        frames(|by, frame| {
            change(by, frame, By::Server, "registration_response", |frame| remove(&mut frame["payload"], "clientId"))
        }),
    ),
    (
        "4.3",
        "the code is not",
        frames(|by, frame| {
            change(by, frame, By::Server, "registration_response", |frame| {
                if frame["payload"]["success"] == false {
                    frame["payload"]["code"] = json!("VALIDATION_ERROR");
                }
            })
        }),
    ),
    (
        "5.1",
        "`timestamp` is not ISO 8601",
        frames(|by, frame| {
            change(by, frame, By::Server, "message", |frame| {
                frame["payload"]["timestamp"] = json!("yesterday at half past ten");
            })
        }),
    ),
    (
        "8.1",
        "the text is not",
        frames(|by, frame| {
            change(by, frame, By::Server, "message", |frame| {
                frame["payload"]["text"] = json!(format!("notebook: {}", text(&frame["payload"], "text")));
            })
        }),
    ),
    (
        "8.2",
        "`directRouted`",
        frames(|by, frame| {
            change(by, frame, By::Server, "message", |frame| {
                frame["payload"]["metadata"]["directRouted"] = json!(false);
            })
        }),
    ),
];

#[tokio::test]
async fn the_smarthole_suite_finds_servers_that_break_a_rule() {
    let (hub, alice) = start().await;
    let target = format!("ws://{}", router::address(&hub).await);
    is_found(WRONG_SMARTHOLE, &target, smarthole::cases, |url| smarthole_stage(&alice, url)).await;
}

const WRONG_CHOPSTICKS: &[Wrong] = &[
    ("2.1", "it was not closed with 1008", Bends { close: |_| 1000, ..HONEST }),
    ("2.2", "before an `error`", frames(|by, frame| swallow(by, frame, By::Server, "error"))),
    (
        "3.1",
        "an answer came",
        frames(|by, frame| match frame["type"] == "guilds" {
            true => vec![(by, frame), (By::Server, json!({ "type": "ok" }))],
            false => vec![(by, frame)],
        }),
    ),
    ("5.1", "who asked to get the answer", frames(|by, frame| swallow(by, frame, By::Client, "resp"))),
    (
        "6.1",
        "`agentId` is another",
        frames(|by, frame| change(by, frame, By::Server, "req", |frame| remove(frame, "agentId"))),
    ),
    (
        "7.1",
        "the error says nothing",
        frames(|by, frame| change(by, frame, By::Server, "error", |frame| frame["error"] = json!(""))),
    ),
];

#[tokio::test]
async fn the_chopsticks_suite_finds_controllers_that_break_a_rule() {
    let (hub, alice) = start().await;
    let target = format!("ws://{}", hub.address);
    is_found(WRONG_CHOPSTICKS, &target, chopsticks::cases, |url| chopsticks_stage(&alice, format!("{url}/agents")))
        .await;
}

const WRONG_CLIENT: &[Wrong] = &[
    (
        "3.1",
        "the first frame is",
        frames(|by, frame| change(by, frame, By::Client, "registration", |frame| frame["type"] = json!("hello"))),
    ),
    (
        "3.2",
        "does not begin with a letter",
        frames(|by, frame| {
            change(by, frame, By::Client, "registration", |frame| frame["payload"]["name"] = json!("9lives"))
        }),
    ),
    (
        "3.3",
        "the description has 0 characters",
        frames(|by, frame| {
            change(by, frame, By::Client, "registration", |frame| frame["payload"]["description"] = json!(""))
        }),
    ),
    (
        "6.1",
        "a `response` to the routed message",
        frames(|by, frame| {
            change(by, frame, By::Client, "response", |frame| frame["payload"]["messageId"] = json!("another"))
        }),
    ),
    (
        "6.2",
        "`payload` is no object",
        frames(|by, frame| {
            change(by, frame, By::Client, "response", |frame| frame["payload"]["payload"] = json!("done"))
        }),
    ),
];

const WRONG_AGENT: &[Wrong] = &[
    (
        "1.1",
        "`protocolVersion`",
        frames(|by, frame| change(by, frame, By::Client, "hello", |frame| frame["protocolVersion"] = json!("0.9.0"))),
    ),
    (
        "2.2",
        "`ready` is no boolean",
        frames(|by, frame| change(by, frame, By::Client, "hello", |frame| frame["ready"] = json!("yes"))),
    ),
    ("5.1", "a `resp` to the request", frames(|by, frame| swallow(by, frame, By::Client, "resp"))),
    (
        "5.2",
        "it was done",
        frames(|by, frame| change(by, frame, By::Client, "resp", |frame| frame["ok"] = json!(true))),
    ),
    (
        "5.3",
        "an error without words",
        frames(|by, frame| {
            change(by, frame, By::Client, "resp", |frame| {
                frame["ok"] = json!(false);
                remove(frame, "error");
            })
        }),
    ),
];

/// One case of a suite that plays the server, with a client of ours behind a proxy that bends what it says.
async fn client_outcome<S: Send + Sync + 'static>(
    case: &str,
    bends: Bends,
    time_limit: Duration,
    cases: Vec<Case<S>>,
    (stage, url): (S, String),
    start: fn(&str) -> Running,
) -> Outcome {
    let proxy = Proxy::before(url, bends).await;
    let _client = start(&format!("ws://{}", proxy.address));
    let pace = Pace { time_limit, slow: false, only: Some(case.to_owned()) };
    let mut report = play(cases, stage, &pace, true).await;
    report.rows.pop().expect("one case").outcome
}

#[track_caller]
fn check(case: &str, finding: &str, is_honest: bool, outcome: Outcome) {
    match outcome {
        Outcome::Passed => assert!(is_honest, "{case} does not find: {finding}"),
        Outcome::Failed(found) => assert!(!is_honest && found.contains(finding), "{case}: {found}"),
        Outcome::NotRun(why) => panic!("{case} was not run: {why}"),
    }
}

#[tokio::test]
async fn the_suite_for_smarthole_clients_finds_clients_that_break_a_rule() {
    for (case, finding, bends) in WRONG_CLIENT {
        for (bends, limit) in [(HONEST, HIGH), (*bends, LOW)] {
            let stage = smarthole_client::Stage::bind(0).await.expect("a port");
            let url = stage.url().expect("an address");
            let cases = smarthole_client::cases();
            let outcome = client_outcome(case, bends, limit, cases, (stage, url), echo).await;
            check(case, finding, limit == HIGH, outcome);
        }
    }
}

#[tokio::test]
async fn the_suite_for_pool_agents_finds_agents_that_break_a_rule() {
    for (case, finding, bends) in WRONG_AGENT {
        for (bends, limit) in [(HONEST, HIGH), (*bends, LOW)] {
            let stage = chopsticks_agent::Stage::bind(0).await.expect("a port");
            let url = stage.url().expect("an address");
            let cases = chopsticks_agent::cases();
            let outcome = client_outcome(case, bends, limit, cases, (stage, url), jukebox).await;
            check(case, finding, limit == HIGH, outcome);
        }
    }
}

#[tokio::test]
async fn the_command_prints_a_table_writes_junit_and_ends_with_1_when_a_case_fails() {
    let (hub, alice) = start().await;
    let home = TempDir::new().expect("a folder");
    let junit = home.path().join("report.xml");
    let junit = junit.to_str().expect("a path");
    let hub_url = format!("ws://{}", hub.address);
    let arguments = |address: &str| {
        ["conformance", "chopsticks", address, "--only", "2.1", "--time-limit", "60", "--junit", junit]
            .map(str::to_owned)
    };
    let run = async |address: &str| {
        let arguments = arguments(address);
        moot(home.path(), &arguments.each_ref().map(String::as_str), &[]).await
    };
    let done = run(&hub_url).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(
        done.stdout.contains("passed   2.1") && done.stdout.contains("1 passed, 0 failed, 0 not run"),
        "{}",
        done.stdout
    );
    let bends = Bends { close: |_| 1000, ..HONEST };
    let proxy = Proxy::before(hub_url, bends).await;
    let done = run(&format!("ws://{}", proxy.address)).await;
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("FAILED   2.1"), "{}", done.stdout);
    let xml = std::fs::read_to_string(junit).expect("the report");
    assert!(xml.contains("failures=\"1\"") && xml.contains("not closed with 1008"), "{xml}");
    let hub_address = hub_address(&hub);
    let say = format!("{BINARY} say --server http://{hub_address} --token {}", alice.token);
    let address = format!("ws://{}", router::address(&hub).await);
    let arguments = ["conformance", "smarthole", &address, "--only", "8.1", "--time-limit", "60", "--say", &say];
    let done = moot(home.path(), &arguments, &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let done = moot(home.path(), &["conformance", "smarthole", &address, "--only", "99"], &[]).await;
    assert_eq!(done.code, Some(2), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("hint: `moot conformance list smarthole` lists them"), "{}", done.stderr);
}

fn hub_address(hub: &Hub) -> String {
    hub.address.to_string()
}
