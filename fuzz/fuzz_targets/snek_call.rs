//! Any bytes as a Snek call: reading it must not panic, and every answer must be JSON that gives the call's id back.

#![no_main]

use folkmoot_doors::Ticket;
use folkmoot_doors::snek::mapping::{self, Request};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match mapping::request(&text) {
        Err((refusal, ticket)) => check(&ticket, &mapping::failure(&ticket, &refusal)),
        Ok((Request::Ping(args), ticket)) => check(&ticket, &mapping::pong(&ticket, args)),
        Ok((Request::Echo(args), ticket)) => check(&ticket, &mapping::echo(&ticket, args)),
        Ok(_) => {}
    }
});

fn check(ticket: &Ticket, frame: &str) {
    serde_json::from_str::<&RawValue>(frame).expect("a frame is JSON");
    let id = ticket.id.as_deref().unwrap_or("null");
    assert!(frame.starts_with(&format!("{{\"callId\":{id},")), "{frame}");
}
