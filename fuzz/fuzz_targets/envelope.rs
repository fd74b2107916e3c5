//! Any bytes as a text frame: reading it must not panic on either side, and a refusal must make a frame of JSON.

#![no_main]

use folkmoot_doors::lark::mapping;
use folkmoot_wire::lark::{AgentWake, Frame, Message, WokenBy};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Some(frame) = Frame::parse(&text) {
        let _ = (frame.refused(), frame.read::<Message>(), frame.read::<AgentWake<'_, WokenBy>>());
    }
    if let Err((refusal, ticket)) = mapping::request(&text) {
        for frame in [mapping::error(&ticket, &refusal, 0), mapping::auth_fail(&ticket, &refusal.text, 0)] {
            serde_json::from_str::<&RawValue>(&frame).expect("a frame is JSON");
        }
    }
});
