//! A thousand sentences per second by name to a hundred clients, each of which must get its own exactly once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use serde_json::json;

use super::Client;
use crate::http;
use crate::hub::{Hub, Member, Owner};
use crate::poller::Poller;
use crate::report::{Bar, Row};
use crate::scenario::Suite;

/// A little more than the bar asks for, because the last delivery comes after the last sentence.
const PER_SECOND: f64 = 1_050.0;
/// Requests under way at most; each waits for its commit.
const TALKERS: usize = 16;
/// Several, because the hub lets nobody make more than a thousand requests per second.
const SPEAKERS: usize = 4;
/// How long after the last answer a delivery may still come, and how long after the last one a double is waited for.
const LATE: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(500);

pub fn run(suite: &mut Suite, hub: &mut Hub, owner: &Owner, clients: Vec<Client>) -> Result<()> {
    let mut speakers = vec![owner.member.clone()];
    for n in 1..SPEAKERS {
        speakers.push(hub.add_human(owner, &format!("speaker{n}"))?);
    }
    let total = (PER_SECOND * suite.seconds(10.0)) as usize;
    let names: Vec<String> = clients.iter().map(|client| client.name.clone()).collect();
    let talk = Talk { hub: hub.address, speakers, names, total, start: Instant::now() };
    let heard = everybody(&talk, clients)?;
    let lost = heard.times.iter().filter(|&&times| times == 0).count();
    let more: usize = heard.times.iter().map(|&times| times.saturating_sub(1)).sum();
    let rate = (total - lost) as f64 / heard.last.duration_since(talk.start).as_secs_f64();
    suite.note(format!(
        "SmartHole crowd: {total} sentences by {SPEAKERS} people to {} clients at {PER_SECOND}/s: {lost} lost, {more} doubled, {} at the wrong client",
        talk.names.len(), heard.astray
    ));
    let wrong = lost + more + heard.astray;
    let what = "SmartHole, 100 clients, 1,000 sentences/s";
    suite.rows.push(Row::new(what, "lost or doubled", wrong as f64).bar(Bar::AtMost(0.0)));
    suite.rows.push(Row::new(what, "deliveries/s", rate).bar(Bar::AtLeast(1_000.0)));
    Ok(())
}

/// What is said: sentence `n` is due at its time and is for client `n` modulo their number.
struct Talk {
    hub: SocketAddr,
    speakers: Vec<Member>,
    names: Vec<String>,
    total: usize,
    start: Instant,
}

struct Heard {
    /// By sentence.
    times: Vec<usize>,
    /// At a client that it was not for, or never said.
    astray: usize,
    last: Instant,
}

fn everybody(talk: &Talk, mut clients: Vec<Client>) -> Result<Heard> {
    let all_said = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hearing = scope.spawn(|| hear(talk, &mut clients, &all_said));
        let talking: Vec<_> = (0..TALKERS).map(|talker| scope.spawn(move || say(talk, talker))).collect();
        let ended =
            talking.into_iter().map(|talker| talker.join().unwrap_or_else(|_| Err(anyhow!("a talker panicked"))));
        // All are waited for, and the listener always gets its sign.
        let ended: Vec<Result<()>> = ended.collect();
        all_said.store(true, Ordering::Release);
        let heard = hearing.join().unwrap_or_else(|_| Err(anyhow!("the listener panicked")))?;
        ended.into_iter().collect::<Result<()>>()?;
        Ok(heard)
    })
}

fn say(talk: &Talk, talker: usize) -> Result<()> {
    let mut rest = http::Client::new(talk.hub);
    let token = &talk.speakers[talker % talk.speakers.len()].token;
    for number in (talker..talk.total).step_by(TALKERS) {
        let due = talk.start + Duration::from_secs_f64(number as f64 / PER_SECOND);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let name = &talk.names[number % talk.names.len()];
        let answer = rest.post("/v1/route", token, &json!({ "text": format!("{name}: sentence {number}") }))?;
        if answer["outcome"] != "routed" {
            bail!("sentence {number} was not delivered: {answer}");
        }
    }
    Ok(())
}

fn hear(talk: &Talk, clients: &mut [Client], all_said: &AtomicBool) -> Result<Heard> {
    let mut poller = Poller::new()?;
    for (key, client) in clients.iter().enumerate() {
        client.socket.stream.set_nonblocking(true)?;
        poller.add(&client.socket.stream, key as u64)?;
    }
    let mut heard = Heard { times: vec![0; talk.total], astray: 0, last: Instant::now() };
    let (mut left, mut ready, mut said_at) = (talk.total, Vec::new(), None);
    loop {
        poller.wait(Some(QUIET / 10), &mut ready)?;
        for event in ready.drain(..) {
            let at = event.key as usize;
            for frame in clients[at].socket.take()? {
                let text = clients[at].acknowledge(&frame)?;
                heard.last = Instant::now();
                left -= usize::from(heard.count(&text, at, talk.names.len()));
            }
        }
        if said_at.is_none() && all_said.load(Ordering::Acquire) {
            said_at = Some(Instant::now());
        }
        let patience = if left == 0 { QUIET } else { LATE };
        if said_at.is_some_and(|said_at| said_at.max(heard.last).elapsed() > patience) {
            return Ok(heard);
        }
    }
}

impl Heard {
    /// Whether this is the first time that the sentence arrives where it should.
    fn count(&mut self, text: &str, client: usize, clients: usize) -> bool {
        let number = text.strip_prefix("sentence ").and_then(|number| number.parse::<usize>().ok());
        match number.filter(|&number| number < self.times.len() && number % clients == client) {
            Some(number) => {
                self.times[number] += 1;
                self.times[number] == 1
            }
            None => {
                self.astray += 1;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_counts_once_at_its_own_client() {
        let mut heard = Heard { times: vec![0; 3], astray: 0, last: Instant::now() };
        assert!(heard.count("sentence 2", 0, 2));
        assert!(!heard.count("sentence 2", 0, 2), "a double");
        assert!(!heard.count("sentence 1", 0, 2), "another's");
        assert!(!heard.count("sentence 3", 1, 2) && !heard.count("hello", 0, 2), "never said");
        assert_eq!((heard.times, heard.astray), (vec![0, 0, 2], 3));
    }
}
