//! Plays the document's pictures of a connection's life, as written in `transcripts/`.
//!
//! ```text
//! # A comment.
//! A: {"type": …}          the agent sends this frame
//! C: {"type": …}          the controller sends this frame; also PING, CLOSE 1008 reason
//! H: hello a1             what the hub learns: hello, guilds, released, added, answer
//! R: play {"query": …}    the hub asks the agent; the request's id is known as "$id" from then on
//! T: +15s                 time passes
//! ```
//! Everything that happens is written down, in order; silence is written by writing nothing.

use std::collections::VecDeque;

use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::super::mapping;
use super::{Heard, Line};

fn play(text: &str) {
    let mut line = Line::new();
    let mut waiting: VecDeque<Heard> = VecDeque::new();
    let id = Uuid::from_u128(0xa1b2_c3d4_e5f6_4890_abcd_ef12_3456_7890);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    for (number, written) in lines {
        let (who, what) = written.split_once(": ").unwrap_or_else(|| panic!("line {}: {written}", number + 1));
        let what = what.replace("$id", &id.to_string());
        let expects = matches!(who, "C" | "H");
        assert!(expects || waiting.is_empty(), "line {}: nobody expected {waiting:?}", number + 1);
        match who {
            "A" => waiting.extend(line.says_text(&what)),
            "T" => {
                let seconds: i64 = what.trim_matches(['+', 's']).parse().expect("seconds");
                waiting.extend(line.wait(seconds * 1000));
            }
            "R" => {
                let (op, data) = what.split_once(' ').expect("op and data");
                let data = RawValue::from_string(data.to_owned()).expect("JSON");
                let frame = mapping::request(id, op, &data, "agent1468195142467981395");
                line.pulse.asked();
                waiting.push_back(Heard::Frame(serde_json::from_str(&frame).expect("JSON")));
            }
            "C" | "H" => {
                let heard = waiting.pop_front().map(shown);
                let expected = if what.starts_with('{') { normal(&what) } else { what };
                assert_eq!(heard, Some(expected), "line {}", number + 1);
            }
            other => panic!("line {}: who is {other}?", number + 1),
        }
    }
    assert!(waiting.is_empty(), "nobody expected {waiting:?}");
}

fn normal(json: &str) -> String {
    serde_json::from_str::<Value>(json).expect("JSON").to_string()
}

fn shown(heard: Heard) -> String {
    match heard {
        Heard::Frame(frame) => frame.to_string(),
        Heard::Close(code, reason) => format!("CLOSE {code} {reason}"),
        Heard::Ping => "PING".to_owned(),
        Heard::Hello(hello) => format!("hello {} of {} in {}", hello.agent, hello.pool, hello.guilds.join(",")),
        Heard::Guilds(guilds) => format!("guilds {}", guilds.join(",")),
        Heard::Event(event) => event,
        Heard::Answer(_, Ok(data)) => format!("answer {data}"),
        Heard::Answer(_, Err(error)) => format!("error {error}"),
    }
}

#[test]
fn life_cycle_1_initial_connection() {
    play(include_str!("../transcripts/1-initial-connection.txt"));
}

#[test]
fn life_cycle_2_version_mismatch() {
    play(include_str!("../transcripts/2-version-mismatch.txt"));
}

#[test]
fn life_cycle_3_heartbeat() {
    play(include_str!("../transcripts/3-heartbeat.txt"));
}

#[test]
fn life_cycle_4_rpc_flow() {
    play(include_str!("../transcripts/4-rpc-flow.txt"));
}

#[test]
fn life_cycle_5_graceful_disconnect() {
    play(include_str!("../transcripts/5-graceful-disconnect.txt"));
}
