//! What the hub still weighs after much happened: log-ins, connections that came and went, a large upload.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{Suite, Target, storm};
use crate::http::Client;
use crate::hub::{Hub, Member, Owner};
use crate::process::resident_bytes;
use crate::report::{Bar, Row};

const LOGINS: usize = 1_000;
const LOGINS_AT_ONCE: usize = 8;
const CONNECTIONS: usize = 4_000;
const UPLOAD_BYTES: usize = 30_000_000;
const WITHIN: Duration = Duration::from_secs(60);
const BAR_MB: f64 = 35.0;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("burst")?;
    let (hub, owner, people, open) = storm::hub_with_people(suite, &folder, CONNECTIONS)?;
    let logins = if suite.quick { LOGINS / 10 } else { LOGINS };
    let before = megabytes(&hub)?;
    log_in_often(hub.address, logins)?;
    let after_logins = megabytes(&hub)?;
    let mut target = Target::hub(&hub)?;
    target.load.open(open)?;
    let connected = megabytes(&hub)?;
    target.load.close()?;
    drop(target);
    upload(&hub, &owner, &people[0])?;
    let after_upload = megabytes(&hub)?;
    let (least, seconds) = least_within(&hub, WITHIN)?;
    suite.note(format!(
        "burst: {before:.1} MB before, {after_logins:.1} after {logins} log-ins, {connected:.1} with {CONNECTIONS} connections, {after_upload:.1} after the upload, {least:.1} after {seconds:.0} s"
    ));
    let what =
        format!("memory {} s at most after {logins} log-ins, 4,000 connections, a 30 MB upload", WITHIN.as_secs());
    suite.rows.push(Row::new(what, "MB", least).bar(Bar::AtMost(BAR_MB)));
    Ok(())
}

pub fn megabytes(hub: &Hub) -> Result<f64> {
    Ok(resident_bytes(hub.pid())? as f64 / 1e6)
}

fn log_in_often(address: SocketAddr, logins: usize) -> Result<()> {
    std::thread::scope(|scope| {
        let log_in = move || -> Result<()> {
            let mut rest = Client::new(address);
            for _ in 0..logins / LOGINS_AT_ONCE {
                rest.post("/v1/auth/login", "", &Hub::login_of("person0"))?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..LOGINS_AT_ONCE).map(|_| scope.spawn(log_in)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that logs in"))
    })
}

fn upload(hub: &Hub, owner: &Owner, member: &Member) -> Result<()> {
    // The client speaks text; what matters is how much of it.
    let file = "x".repeat(UPLOAD_BYTES);
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.txt\"\r\n\r\n{file}\r\n--b--\r\n"
    );
    let kind = "multipart/form-data; boundary=b";
    // A connection of its own: the hub has ended the one that was quiet meanwhile.
    let mut rest = Client::new(hub.address);
    rest.begin_as("POST", &owner.path("files"), &member.token, kind, &body)?;
    let answer = rest.answer()?;
    ensure!(answer.status == 201, "the upload was answered with {}", answer.status);
    Ok(())
}

/// The least memory that was seen until the time is up or the bar is met, and when that was.
fn least_within(hub: &Hub, within: Duration) -> Result<(f64, f64)> {
    let began = Instant::now();
    let mut least = (megabytes(hub)?, 0.0);
    while began.elapsed() < within && least.0 > BAR_MB {
        std::thread::sleep(Duration::from_millis(500));
        let now = megabytes(hub)?;
        if now < least.0 {
            least = (now, began.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}
