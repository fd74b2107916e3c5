//! A thousand wrong log-ins per second: what honest people notice of it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::burst::megabytes;
use super::{Suite, storm};
use crate::http::Client;
use crate::hub::Hub;
use crate::report::{Bar, Row};
use crate::stats::percentile;

const GUESSES_PER_SECOND: u64 = 1_000;
const GUESSERS: u64 = 20;
const SECONDS: f64 = 60.0;
const BETWEEN_SENDS: Duration = Duration::from_millis(20);
const BETWEEN_LOGINS: Duration = Duration::from_millis(500);

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("siege")?;
    let (hub, _, people, open) = storm::hub_with_people(suite, &folder, 1)?;
    let seconds = suite.seconds(SECONDS);
    let path = format!("/v1/channels/{}/messages", open.rooms[0]);
    // Messages are sent by somebody else than whoever logs in.
    let token = &people[1].token;
    let first = Client::new(hub.address).post("/v1/auth/login", "", &Hub::login_of("person0"))?;
    let device = first["device"].as_str().context("a log-in gives no device")?;
    let before = megabytes(&hub)?;
    // As long as the siege, half of it on either side: at so many messages the hundredth part is the disk's.
    let mut quiet = sends(hub.address, &path, token, seconds / 2.0)?;
    let (guessed, enough, address) = (AtomicU64::new(0), AtomicBool::new(false), hub.address);
    let (logins, busy, most) = std::thread::scope(|scope| -> Result<_> {
        for guesser in 0..GUESSERS {
            let (guessed, enough) = (&guessed, &enough);
            scope.spawn(move || guess(address, guesser, guessed, enough));
        }
        let honest = scope.spawn(|| log_ins(address, device, seconds));
        let busy = sends(hub.address, &path, token, seconds);
        let most = megabytes(&hub);
        let logins = honest.join().expect("an honest thread");
        enough.store(true, Ordering::Relaxed);
        Ok((logins?, busy?, most?))
    })?;
    quiet.extend(sends(hub.address, &path, token, seconds / 2.0)?);
    quiet.sort_unstable();
    let per_second = guessed.load(Ordering::Relaxed) as f64 / seconds;
    suite.note(format!("siege: {per_second:.0} wrong log-ins/s by {GUESSERS} connections from one address; memory {before:.1} MB before, {most:.1} MB during"));
    let ms = |nanos: &[u64], percent| percentile(nanos, percent) as f64 / 1e6;
    let rows = [
        Row::new("honest log-in among 1,000 wrong ones/s", "ms, p95", ms(&logins, 95.0)).bar(Bar::AtMost(1000.0)),
        Row::new("sends among 1,000 wrong log-ins/s, against quiet", "ms, p99", ms(&busy, 99.0))
            .against(ms(&quiet, 99.0))
            .bar(Bar::RatioAtMost(2.0)),
        Row::new("memory among 1,000 wrong log-ins/s, more than before", "MB", most - before).bar(Bar::AtMost(64.0)),
    ];
    suite.rows.extend(rows);
    Ok(())
}

/// Tries wrong passwords at its share of the pace, for as long as it is not told to stop; refusals count as well.
fn guess(address: SocketAddr, guesser: u64, guessed: &AtomicU64, enough: &AtomicBool) {
    // Twenty of these share a core with the one who measures, and must not be what is measured.
    let _ = rustix::process::setpriority_process(None, 10);
    let mut rest = Client::new(address);
    let pause = Duration::from_micros(1_000_000 * GUESSERS / GUESSES_PER_SECOND);
    let began = Instant::now();
    for round in 1_u32.. {
        if enough.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("person{}@bench.test", guesser % 5);
        let body = json!({ "email": name, "password": format!("wrong {guesser} {round}") }).to_string();
        if rest.request("POST", "/v1/auth/login", "", &body).is_ok() {
            guessed.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep((pause * round).saturating_sub(began.elapsed()));
    }
}

/// How long each message took until it was answered, sorted, in nanoseconds.
fn sends(address: SocketAddr, path: &str, token: &str, seconds: f64) -> Result<Vec<u64>> {
    timed(Client::new(address), path, token, &json!({ "content": "hello" }), seconds, BETWEEN_SENDS)
}

/// Of a device that has logged in before, which says so as the page and `moot login` do.
fn log_ins(address: SocketAddr, device: &str, seconds: f64) -> Result<Vec<u64>> {
    let rest = Client::new(address).header(&format!("X-Moot-Device: {device}"));
    timed(rest, "/v1/auth/login", "", &Hub::login_of("person0"), seconds, BETWEEN_LOGINS)
}

/// What waits because it is refused for now counts with its waiting.
fn timed(
    mut rest: Client,
    path: &str,
    token: &str,
    body: &serde_json::Value,
    seconds: f64,
    pause: Duration,
) -> Result<Vec<u64>> {
    let (began, mut nanos) = (Instant::now(), Vec::new());
    while began.elapsed().as_secs_f64() < seconds {
        let asked = Instant::now();
        rest.post(path, token, body)?;
        nanos.push(asked.elapsed().as_nanos() as u64);
        std::thread::sleep(pause);
    }
    nanos.sort_unstable();
    Ok(nanos)
}
