//! A thousand agents of a pool, connected and heart-beating as real ones do, and nothing else.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use super::Suite;
use crate::frame::TEXT;
use crate::hub::Hub;
use crate::process::{CpuSample, resident_bytes};
use crate::report::{Bar, Row};
use crate::socket::Socket;

const AGENTS: usize = 1000;
/// Real agents send `guilds` and `hello` this often.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How often each socket is looked at for pings of the hub, which come every 15 s.
const LOOK: Duration = Duration::from_millis(500);

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("agents")?;
    let limits = [("MOOT_CHOPSTICKS__MAX_CONNECTIONS", "2000"), ("MOOT_CHOPSTICKS__MAX_CONNECTIONS_PER_IP", "2000")];
    let mut hub = Hub::start_with(&suite.moot, &folder, &limits)?;
    let owner = hub.register_owner()?;
    // One agent warms the hub up; it stays, so that the thousand are counted alone.
    let mut warm = Agent::connect(hub.address, AGENTS)?;
    wait_for(&mut hub, &owner.member.token, 1)?;
    let before = resident_bytes(hub.pid())?;
    let mut agents = (0..AGENTS).map(|number| Agent::connect(hub.address, number)).collect::<Result<Vec<_>>>()?;
    wait_for(&mut hub, &owner.member.token, AGENTS + 1)?;
    let after = resident_bytes(hub.pid())?;
    let each = after.saturating_sub(before) as f64 / 1000.0 / AGENTS as f64;
    let seconds = suite.seconds(60.0);
    let start = CpuSample::of(hub.pid())?;
    let began = Instant::now();
    beat(&mut agents, &mut warm, Duration::from_secs_f64(seconds))?;
    let cpu = CpuSample::of(hub.pid())?.seconds_since(&start) / began.elapsed().as_secs_f64() * 100.0;
    wait_for(&mut hub, &owner.member.token, AGENTS + 1)?;
    suite.rows.push(Row::new("1,000 pool agents", "kB each", each).bar(Bar::AtMost(20.0)));
    suite.rows.push(Row::new("1,000 pool agents heart-beating", "% of a core", cpu).bar(Bar::AtMost(2.0)));
    Ok(())
}

/// Lets every agent send its heartbeat once per interval, evenly spread, and answer pings.
fn beat(agents: &mut [Agent], warm: &mut Agent, lasting: Duration) -> Result<()> {
    let pause = HEARTBEAT / AGENTS as u32;
    let began = Instant::now();
    let mut looked = began;
    let mut next = 0;
    while began.elapsed() < lasting {
        let due = (began.elapsed().as_nanos() / pause.as_nanos()) as usize;
        while next < due {
            agents[next % AGENTS].heartbeat()?;
            next += 1;
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            agents.iter_mut().chain([&mut *warm]).try_for_each(Agent::answer_pings)?;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn wait_for(hub: &mut Hub, token: &str, count: usize) -> Result<()> {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        let agents = hub.rest.get("/v1/pools/agents", token)?;
        let known = agents.as_array().map_or(0, Vec::len);
        if known == count {
            return Ok(());
        }
        if Instant::now() > give_up {
            bail!("the hub knows {known} agents, not {count}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct Agent {
    socket: Socket,
    hello: String,
}

impl Agent {
    fn connect(address: SocketAddr, number: usize) -> Result<Self> {
        let mut socket = Socket::connect(address, "/agents")?;
        socket.stream.set_nonblocking(true)?;
        let hello = json!({
            "type": "hello", "protocolVersion": "1.0.0", "agentId": format!("agent{number}"), "botUserId": number.to_string(),
            "tag": format!("Bot {number}"), "ready": true, "guildIds": ["1445809891242414226", "987654321098765432"],
            "poolId": "bench",
        });
        let hello = hello.to_string();
        socket.send(TEXT, hello.as_bytes())?;
        Ok(Self { socket, hello })
    }

    fn heartbeat(&mut self) -> Result<()> {
        self.socket.send(TEXT, br#"{"type":"guilds","guildIds":["1445809891242414226","987654321098765432"]}"#)?;
        self.socket.send(TEXT, self.hello.as_bytes())
    }

    fn answer_pings(&mut self) -> Result<()> {
        self.socket.take()?;
        Ok(())
    }
}
