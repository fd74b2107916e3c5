//! What a pool's controller costs: giving out places, and requests beside a bare WebSocket request/response loop.
//!
//! `cargo bench -p folkmoot-moot --bench pools` prints a row for each and fails when a bar is broken: a place among 1,000
//! agents within 50 µs; 10,000 requests/s with a p99 below 10 ms; at least 40 % of the rate of the bare loop.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folkmoot_core::command::{Register, Registration, Reply};
use folkmoot_core::model::Door;
use folkmoot_core::pools::Roster;
use folkmoot_core::{Actor, Command};
use folkmoot_doors::DOORS;
use folkmoot_hub::clock::wall_clock;
use folkmoot_hub::start::Running;
use folkmoot_hub::{Doors, Hub, HubSettings};
use folkmoot_services::Pools;
use folkmoot_services::settings::Chopsticks;
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

/// Agents, and requests that are under way at a time: one for each.
const AGENTS: usize = 64;
const PACED_PER_SECOND: f64 = 10_000.0;
const REQUEST: &str = r#"{"guildId":"1445809891242414226","voiceChannelId":"1445809891242414229"}"#;

fn main() -> ExitCode {
    // `cargo test --benches` only asks whether it starts.
    let full = std::env::args().any(|argument| argument == "--bench");
    let lasting = if full { Duration::from_secs(5) } else { Duration::from_millis(200) };
    let place = allocation(if full { 20_000 } else { 200 });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (bare, hub, paced) = runtime.block_on(async {
        let bare = bare(lasting).await;
        let (hub, paced) = hub(lasting).await;
        (bare, hub, paced)
    });
    println!("a place among 1,000 agents, the worst   {place:>10.2?}   bar 50 µs");
    println!("bare request/response loop              {:>10.0} /s   p99 {:.2?}", bare.rate, bare.p99);
    println!("requests through the controller         {:>10.0} /s   p99 {:.2?}", hub.rate, hub.p99);
    println!("  of the bare loop                      {:>10.0} %    bar 40 %", hub.rate / bare.rate * 100.0);
    println!("paced at 10,000 requests/s              {:>10.0} /s   p99 {:.2?}   bar 10 ms", paced.rate, paced.p99);
    let good = place < Duration::from_micros(50)
        && hub.rate >= 0.4 * bare.rate
        && paced.rate >= 0.98 * PACED_PER_SECOND
        && paced.p99 < Duration::from_millis(10);
    if good || !full { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The worst case: everybody is looked at, because all but one are busy and nobody is at its best.
fn allocation(times: u32) -> Duration {
    let mut roster = Roster::default();
    for number in 0..1000 {
        let agent = format!("agent{number:04}");
        roster.put(&agent, true, ["guild".to_owned()]);
        roster.get_mut(&agent).expect("an agent").health.round_trip(300);
    }
    let busy: HashSet<String> = (0..999).map(|number| format!("agent{number:04}")).collect();
    let began = Instant::now();
    for _ in 0..times {
        assert!(roster.pick("guild", 0, |agent| busy.contains(agent)).is_ok());
    }
    began.elapsed() / times
}

struct Measured {
    rate: f64,
    p99: Duration,
}

impl Measured {
    fn of(mut took: Vec<Duration>, within: Duration) -> Self {
        took.sort_unstable();
        let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
        Self { rate: took.len() as f64 / within.as_secs_f64(), p99 }
    }
}

/// Sends a request to each agent again as soon as it has answered; nothing is looked at.
async fn bare(lasting: Duration) -> Measured {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    start_agents(listener.local_addr().expect("an address"));
    let frame = format!(
        r#"{{"type":"req","id":"a1b2c3d4-e5f6-4890-abcd-ef1234567890","op":"status","data":{REQUEST},"agentId":"agent00"}}"#
    );
    let mut lines = Vec::new();
    for _ in 0..AGENTS {
        let (stream, _) = listener.accept().await.expect("an agent");
        stream.set_nodelay(true).expect("a socket");
        let mut line = tokio_tungstenite::accept_async(stream).await.expect("the upgrade");
        line.next().await.expect("a hello").expect("a hello");
        lines.push(line);
    }
    let began = Instant::now();
    let loops = lines.into_iter().map(|mut line| {
        let frame = frame.clone();
        tokio::spawn(async move {
            let mut took = Vec::new();
            while began.elapsed() < lasting {
                let asked = Instant::now();
                line.send(Message::text(frame.clone())).await.expect("an open line");
                line.next().await.expect("an answer").expect("an answer");
                took.push(asked.elapsed());
            }
            took
        })
    });
    let mut all = Vec::new();
    for one in loops.collect::<Vec<_>>() {
        all.extend(one.await.expect("a loop"));
    }
    Measured::of(all, began.elapsed())
}

async fn hub(lasting: Duration) -> (Measured, Measured) {
    let folder = tempfile::tempdir().expect("a folder");
    let (hub, pools, address) = start_hub(folder.path()).await;
    let register = Register {
        policy: Registration::First,
        standing: folkmoot_core::command::Standing::Proven,
        email: "a@example.org".to_owned(),
        name: "a".to_owned(),
        workspace_name: None,
        password_hash: String::new(),
    };
    let registered = hub.execute(Actor::nobody(Door::Rest), Command::Register(register)).await;
    let Ok(Reply::Registered { member, .. }) = registered else { panic!("no account: {registered:?}") };
    start_agents(address);
    while pools.agents().len() < AGENTS {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let actor = Actor::new(member.id, Door::Rest);
    let flat_out = ask_all(&pools, actor, lasting, None).await;
    let each = Duration::from_secs_f64(AGENTS as f64 / PACED_PER_SECOND);
    let paced = ask_all(&pools, actor, lasting, Some(each)).await;
    (flat_out, paced)
}

/// Asks every agent again as soon as it has answered, or at its pace.
async fn ask_all(pools: &Pools, actor: Actor, lasting: Duration, pace: Option<Duration>) -> Measured {
    let began = Instant::now();
    let all = Arc::new(Mutex::new(Vec::new()));
    let loops = (0..AGENTS).map(|number| {
        let (pools, all) = (pools.clone(), Arc::clone(&all));
        let data = RawValue::from_string(REQUEST.to_owned()).expect("JSON");
        tokio::spawn(async move {
            let agent = format!("agent{number:02}");
            let mut took = Vec::new();
            let mut next =
                tokio::time::Instant::now() + pace.unwrap_or_default().mul_f64(number as f64 / AGENTS as f64);
            while began.elapsed() < lasting {
                if let Some(pace) = pace {
                    tokio::time::sleep_until(next).await;
                    next += pace;
                }
                let asked = Instant::now();
                let answer = pools.ask_as(actor, &agent, "status", &data).await;
                assert!(matches!(answer, Ok(Ok(_))), "{answer:?}");
                took.push(asked.elapsed());
            }
            all.lock().extend(took);
        })
    });
    for one in loops.collect::<Vec<_>>() {
        one.await.expect("a loop");
    }
    let took = std::mem::take(&mut *all.lock());
    Measured::of(took, began.elapsed())
}

async fn start_hub(folder: &std::path::Path) -> (Hub, Pools, SocketAddr) {
    let settings = HubSettings { data_dir: folder.to_owned(), ..HubSettings::default() };
    let store = folkmoot_store::open(folder).expect("a store");
    let doors = Doors::new(DOORS.iter().copied());
    let running = Running::start(settings, store, doors, Arc::new(wall_clock)).expect("a hub");
    let hub = running.hub.clone();
    let pools = Pools::new(&hub, &Chopsticks { max_connections_per_ip: 1000, ..Chopsticks::default() });
    hub.doors().set_host(Door::Chopsticks, pools.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = folkmoot_http::router(&hub, vec![pools.surface()]);
    // The hub runs until the process ends.
    tokio::spawn(running.serve(listener, router, Vec::new(), std::future::pending()));
    (hub, pools, address)
}

/// Agents that answer at once, on a thread of their own: raw sockets that look for the id and nothing else.
fn start_agents(address: SocketAddr) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let agents = (0..AGENTS).map(|_| {
                let number = NEXT.fetch_add(1, Ordering::Relaxed) % AGENTS;
                tokio::spawn(agent(address, number))
            });
            for agent in agents.collect::<Vec<_>>() {
                let _ = agent.await;
            }
        });
    });
}

async fn agent(address: SocketAddr, number: usize) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let request = format!(
        "GET /agents HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("an open line");
    let mut buffer = vec![0; 4096];
    let mut filled = 0;
    while !buffer[..filled].ends_with(b"\r\n\r\n") {
        filled += stream.read(&mut buffer[filled..]).await.expect("an answer");
    }
    let hello = format!(
        r#"{{"type":"hello","protocolVersion":"1.0.0","agentId":"agent{number:02}","ready":true,"guildIds":["g"],"poolId":"p"}}"#
    );
    stream.write_all(&masked(hello.as_bytes())).await.expect("an open line");
    loop {
        let read = match stream.read(&mut buffer).await {
            Ok(read @ 1..) => read,
            _ => return,
        };
        let Some(at) = find(&buffer[..read], br#""id":""#) else { continue };
        let id = &buffer[at..at + 36];
        let answer =
            [br#"{"type":"resp","id":""#, id, br#"","ok":true,"data":{"playing":false,"queueLength":0}}"#].concat();
        if stream.write_all(&masked(&answer)).await.is_err() {
            return;
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what).map(|at| at + what.len())
}

/// A frame of a client; a key of zeros leaves the text as it is.
fn masked(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u8::try_from(text.len()) {
        Ok(length @ ..126) => frame.push(0x80 | length),
        _ => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(text.len() as u16).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text);
    frame
}
