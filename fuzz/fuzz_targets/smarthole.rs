//! Whole conversations of a SmartHole client: every line is a frame, a pong or a pause; nothing may panic, every frame is
//! JSON, a connection registers once at most, and only a registered one answers.

#![no_main]

use folkmoot_core::ids::MemberId;
use folkmoot_core::{Refusal, Reply, State};
use folkmoot_doors::door::{Ask, Events, Protocol, Session, Step, Ticket, View};
use folkmoot_doors::smarthole::{HostRequest, SmartHole};
use folkmoot_doors::smarthole::wire::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut client = Client { session: SmartHole.open(START), now: START, registered: false };
    for line in text.lines() {
        let now = client.now;
        let steps = match line.strip_prefix("T: +").and_then(|ms| ms.parse::<u16>().ok()) {
            Some(ms) => {
                client.now += i64::from(ms);
                if client.now >= client.session.deadline() { client.session.on_deadline(client.now) } else { Vec::new() }
            }
            None if line == "PONG" => {
                client.session.on_sign_of_life(now);
                Vec::new()
            }
            None => client.session.on_text(line.strip_prefix("C: ").unwrap_or(line), now),
        };
        client.take(steps);
    }
});

const START: i64 = 1_705_314_600_000;

struct Client {
    session: Box<dyn Session>,
    now: i64,
    registered: bool,
}

impl Client {
    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send(frame) => is_json(&frame),
                Step::Ask(Ask::Host(request), ticket) => self.host(*request.downcast().expect("its own request"), &ticket),
                Step::Ping | Step::Close { .. } => {}
                other => panic!("a SmartHole client cannot do this: {other:?}"),
            }
        }
    }

    fn host(&mut self, request: HostRequest, ticket: &Ticket) {
        match request {
            HostRequest::Enlist(enlistment) => {
                    assert!(!self.registered, "registered twice");
                    assert!((1..=MAX_NAME_CHARS).contains(&enlistment.name.len()));
                    assert!(enlistment.description.chars().count() <= MAX_DESCRIPTION_CHARS);
                    // As in the transcripts, another client has this name.
                    self.registered = enlistment.name != "taken";
                    let outcome = if self.registered { Ok(MemberId(5)) } else { Err(Refusal::conflict("taken")) };
                    if self.registered {
                        let state = State::default();
                        let view = View { state: &state, now: self.now, nonce: 7 };
                        is_json(&SmartHole.reply(ticket, Ok(&Reply::Done), view).expect("a registration is answered"));
                    }
                    let steps = self.session.on_login(outcome, self.now);
                    self.take(steps);
                }
            HostRequest::Answer { .. } => assert!(self.registered, "a stranger answered"),
        }
    }
}

fn is_json(frame: &str) {
    serde_json::from_str::<&RawValue>(frame).expect("a frame is JSON");
}
