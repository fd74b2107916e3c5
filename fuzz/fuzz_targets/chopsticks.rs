//! Whole conversations of a pool agent: every line is a frame or a pause; nothing may panic, and nothing follows a close.

#![no_main]

use std::sync::Arc;

use folkmoot_doors::chopsticks::session::{ChopsticksSession, Pulse, Terms};
use folkmoot_doors::door::{Session, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut now = 1_716_849_600_000;
    let pulse = Arc::new(Pulse::new(now));
    let terms = Terms { runner_secret: text.starts_with('#').then(|| "secret".to_owned()), ..Terms::default() };
    let mut session = ChopsticksSession::new(Arc::new(terms), Arc::clone(&pulse), now);
    let mut closed = false;
    for line in text.lines() {
        let steps = match line.strip_prefix("T: +").and_then(|seconds| seconds.trim_end_matches('s').parse::<u16>().ok()) {
            Some(seconds) => {
                now += i64::from(seconds) * 1000;
                if now >= session.deadline() { session.on_deadline(now) } else { Vec::new() }
            }
            None => session.on_text(line.strip_prefix("A: ").unwrap_or(line), now),
        };
        let is_frame = |step: &Step| matches!(step, Step::Send(_) | Step::Ask(..));
        assert!(!closed || !steps.iter().any(is_frame), "something was said after the close");
        closed |= steps.iter().any(|step| matches!(step, Step::Close { .. }));
    }
});
