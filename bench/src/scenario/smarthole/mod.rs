//! The SmartHole door with a hundred clients: a sentence by name beside a bare WebSocket round trip, the embedded ranking,
//! and a thousand sentences per second.

mod crowd;

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use folkmoot_core::rank::{Profile, rank, verdict};
use serde_json::{Value, json};

use super::Suite;
use crate::bare;
use crate::frame::TEXT;
use crate::hub::{Hub, free_port};
use crate::report::{Bar, Row};
use crate::socket::Socket;
use crate::stats::median;

/// As many as the door takes.
const CLIENTS: usize = 100;
/// The realistic ones and what people say to them, as the ranking is tested with; the others are made up.
const REALISTIC: &str = include_str!("../../../../crates/core/tests/routing/clients.tsv");
const SENTENCES: &str = include_str!("../../../../crates/core/tests/routing/open.tsv");
const SENTENCE: &str = "the milk in the fridge will not last until the weekend, buy some";
/// The systems take turns this often, and each then says this many sentences.
const TURNS: usize = 20;
const PER_TURN: usize = 25;
/// After each sentence, so that nothing of it is still under way when the next is timed.
const PAUSE: Duration = Duration::from_millis(5);

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("smarthole")?;
    let door = SocketAddr::from(([127, 0, 0, 1], free_port()?));
    let mut hub = Hub::start_with(&suite.moot, &folder, &[("MOOT_SMARTHOLE__LISTEN", &door.to_string())])?;
    let owner = hub.register_owner()?;
    let cards = cards();
    let mut clients = cards.iter().map(|card| Client::register(door, card)).collect::<Result<Vec<_>>>()?;
    let answer_ms = by_name(suite, &mut hub, &owner.member.token, &mut clients[0])?;
    by_words(suite, &mut hub, &owner.member.token, &mut clients, answer_ms)?;
    ranking(suite, &cards);
    crowd::run(suite, &mut hub, &owner, clients)
}

/// What a client says of itself.
struct Card {
    name: String,
    description: String,
    capabilities: Vec<String>,
}

fn cards() -> Vec<Card> {
    let realistic = REALISTIC.lines().filter_map(|line| {
        let mut parts = line.split('\t').map(str::to_owned);
        let (name, description) = (parts.next()?, parts.next()?);
        let capabilities = parts.next()?.split(',').map(str::to_owned).collect();
        Some(Card { name, description, capabilities })
    });
    let made_up = (0..).map(|n| Card {
        name: format!("gauge{n}"),
        description: format!("I watch valve {n} of boiler {}: pressure, leaks, gaskets and repairs.", n % 7),
        capabilities: vec![format!("valve{n}"), "pressure".to_owned()],
    });
    realistic.chain(made_up).take(CLIENTS).collect()
}

/// A registered client.
struct Client {
    name: String,
    socket: Socket,
}

impl Client {
    fn register(door: SocketAddr, card: &Card) -> Result<Self> {
        let mut socket = Socket::connect(door, "/")?;
        let Card { name, description, capabilities } = card;
        let payload = json!({ "name": name, "description": description, "capabilities": capabilities });
        socket.send(TEXT, json!({ "type": "registration", "payload": payload }).to_string().as_bytes())?;
        let answer: Value = serde_json::from_slice(&socket.wait()?)?;
        if answer["payload"]["success"] != true {
            bail!("the client `{name}` was not registered: {answer}");
        }
        Ok(Self { name: name.clone(), socket })
    }

    /// Takes the sentence of a frame; gives its text.
    fn acknowledge(&mut self, frame: &[u8]) -> Result<String> {
        let frame: Value = serde_json::from_slice(frame)?;
        let (id, text) = (&frame["payload"]["id"], frame["payload"]["text"].as_str());
        let text = text.with_context(|| format!("`{}` got a frame that is no sentence: {frame}", self.name))?;
        let response = json!({ "type": "response", "payload": { "messageId": id, "type": "ack", "payload": {} } });
        self.socket.send(TEXT, response.to_string().as_bytes())?;
        Ok(text.to_owned())
    }
}

/// From the request to the client's frame, beside a bare round trip. Gives the time from the request to its answer.
fn by_name(suite: &mut Suite, hub: &mut Hub, token: &str, client: &mut Client) -> Result<f64> {
    let bytes = say_by_name(hub, token, client)?.bytes;
    let (_server, port) = bare::start(bytes, false, None)?;
    let mut echo = Socket::connect(SocketAddr::from(([127, 0, 0, 1], port)), "/")?;
    bare_round_trip(&mut echo, b"0")?;
    let (mut frames, mut answers, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..suite.seconds(TURNS as f64) as usize {
        for _ in 0..PER_TURN {
            let said = say_by_name(hub, token, client)?;
            frames.push(said.frame_ms);
            answers.push(said.answer_ms);
        }
        for _ in 0..PER_TURN {
            trips.push(bare_round_trip(&mut echo, SENTENCE.as_bytes())?);
        }
    }
    let what = "SmartHole by name, request to the client's frame";
    suite.rows.push(Row::new(what, "ms", median(&frames)).against(median(&trips)).bar(Bar::MoreByAtMost(1.0)));
    Ok(median(&answers))
}

struct Said {
    frame_ms: f64,
    answer_ms: f64,
    bytes: usize,
}

fn say_by_name(hub: &mut Hub, token: &str, client: &mut Client) -> Result<Said> {
    let body = json!({ "text": format!("{}: {SENTENCE}", client.name) }).to_string();
    let start = Instant::now();
    hub.rest.begin("POST", "/v1/route", token, &body)?;
    let frame = client.socket.wait()?;
    let frame_ms = ms_since(start);
    let answer = hub.rest.answer()?;
    let answer_ms = ms_since(start);
    if answer.status != 200 || client.acknowledge(&frame)? != SENTENCE {
        bail!("a sentence by name was not delivered as it was said");
    }
    std::thread::sleep(PAUSE);
    Ok(Said { frame_ms, answer_ms, bytes: frame.len() })
}

fn bare_round_trip(echo: &mut Socket, payload: &[u8]) -> Result<f64> {
    let start = Instant::now();
    echo.send(TEXT, payload)?;
    echo.wait()?;
    let ms = ms_since(start);
    std::thread::sleep(PAUSE);
    Ok(ms)
}

/// Sentences that name nobody, chosen for by the ranking, up to the answer that says who got them.
fn by_words(suite: &mut Suite, hub: &mut Hub, token: &str, clients: &mut [Client], by_name_ms: f64) -> Result<()> {
    let mut times = Vec::new();
    for sentence in sentences() {
        let start = Instant::now();
        let answer = hub.rest.post("/v1/route", token, &json!({ "text": sentence }))?;
        let ms = ms_since(start);
        // Where nobody stands out the speaker is asked, and there is no delivery to time.
        let Some(taker) = answer["deliveries"][0]["client"].as_str() else { continue };
        let taker = clients.iter_mut().find(|client| client.name == taker).context("an unknown client was chosen")?;
        let frame = taker.socket.wait()?;
        if taker.acknowledge(&frame)? != sentence {
            bail!("a sentence was not delivered as it was said");
        }
        times.push(ms);
        std::thread::sleep(PAUSE);
    }
    suite.note(format!(
        "SmartHole by the words: {} of {} sentences found one of {CLIENTS} clients; for the others the hub asked",
        times.len(),
        sentences().count()
    ));
    let what = "SmartHole by the words, request to answer, against by name";
    suite.rows.push(Row::new(what, "ms", median(&times)).against(by_name_ms));
    Ok(())
}

/// The ranking alone, in this process.
fn ranking(suite: &mut Suite, cards: &[Card]) {
    let profile = |card: &Card| Profile::new(&card.name, &card.description, &card.capabilities);
    let profiles: Vec<Profile> = cards.iter().map(profile).collect();
    let clients: Vec<&Profile> = profiles.iter().collect();
    let mut times = Vec::new();
    // The first round warms up.
    for round in 0..=suite.repetitions() {
        for sentence in sentences() {
            let start = Instant::now();
            black_box(verdict(rank(black_box(sentence), &clients), clients.len(), false));
            if round > 0 {
                times.push(ms_since(start));
            }
        }
    }
    let what = "SmartHole ranking of a sentence over 100 clients";
    suite.rows.push(Row::new(what, "ms", median(&times)).bar(Bar::AtMost(1.0)));
}

fn sentences() -> impl Iterator<Item = &'static str> {
    SENTENCES.lines().filter_map(|line| line.split_once('\t')).map(|(_, sentence)| sentence)
}

fn ms_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
