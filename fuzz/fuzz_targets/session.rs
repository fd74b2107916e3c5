//! Any conversation with the doors: nothing that clients send may panic, and every frame must be what its door promises.
//!
//! The input is read like a transcript of the door's tests, but leniently: `C alice: …` sends a frame, `T: +30s` lets time pass,
//! `LOGIN alice` logs in on Lark, `LOGIN alice snek` on Snek, other lines are nothing. So the transcripts are the seeds. A `$name` that nobody knows is
//! the id of the newest thing that fits the field it stands in.

#![no_main]

use std::collections::BTreeMap;

use folkmoot_core as domain;
use folkmoot_doors::door::Protocol;
use folkmoot_doors::lark::Lark;
use folkmoot_doors::snek::Snek;
use folkmoot_doors::{DOORS, door, query};
use harness::{Harness, Heard};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use support::World;
// Of what is included below, and of the tests that it was written for.
use uuid as _;

// The hub without sockets that the door's own tests use, though not all of it. It checks every frame.
#[allow(dead_code)]
#[path = "../../crates/doors/tests/support/harness.rs"]
mod harness;
#[path = "../../crates/core/tests/support/mod.rs"]
mod support;

const CLIENTS: &[&str] = &["alice", "bob", "carol", "codebot", "reviewbot", "mallory", "spy"];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut conversation = Conversation::new();
    for line in joined(&text).iter().take(60) {
        conversation.play(line);
    }
});

/// Lines, each with those that continue it.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.push_str(line.trim_start()),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

struct Conversation {
    harness: Harness,
    names: BTreeMap<String, String>,
    /// The newest id of each kind that somebody heard of.
    newest: BTreeMap<String, String>,
}

impl Conversation {
    fn new() -> Self {
        let mut world = World::new();
        let alice = world.alice;
        let (bob, carol) = (world.human("bob"), world.human("carol"));
        let (codebot, reviewbot) = (world.agent("codebot"), world.agent("reviewbot"));
        let general = world.channel("general", &[alice, bob, codebot, reviewbot]);
        let back = world.private("back", &[alice, bob]);
        let dm = world.direct(&[alice, codebot]);
        let (_, mallory) = world.register("mallory");
        let spy = world.add(mallory, domain::model::MemberKind::Agent, "spy", None);
        let members = CLIENTS.iter().zip([alice, bob, carol, codebot, reviewbot, mallory, spy]);
        let mut names: BTreeMap<_, _> = members.map(|(name, id)| ((*name).to_owned(), id.to_string())).collect();
        for (name, id) in [("general", general), ("back", back), ("dm", dm)] {
            names.insert(name.to_owned(), id.to_string());
        }
        Self { harness: Harness::new(world), names, newest: BTreeMap::new() }
    }

    fn play(&mut self, line: &str) {
        let (head, rest) = line.split_once(": ").unwrap_or((line, ""));
        let mut words = head.split_whitespace();
        match (words.next(), words.next()) {
            (Some("LOGIN"), Some(name)) => {
                let through: &'static dyn Protocol =
                    if words.next() == Some("snek") { &Snek::DOCUMENT } else { &Lark };
                if let Some(name) = self.come(name, through) {
                    self.log_in(name);
                }
            }
            (Some("C"), Some(name)) => {
                if let Some(name) = self.come(name, &Lark) {
                    self.send(name, rest);
                }
            }
            (Some("T"), _) => self.later(rest),
            _ => {}
        }
        self.listen();
    }

    /// Every known client can be there at any time.
    fn come(&mut self, name: &str, through: &'static dyn Protocol) -> Option<&'static str> {
        let name = CLIENTS.iter().find(|known| **known == name)?;
        if !self.harness.is_open(name) {
            self.harness.open(name, through);
        }
        Some(name)
    }

    fn log_in(&mut self, name: &str) {
        // Each door takes its own and refuses the other.
        self.harness.text(name, &format!("{{\"type\":\"auth.login\",\"data\":{{\"token\":\"token-of-{name}\"}}}}"));
        if self.harness.is_open(name) {
            self.harness.text(name, &format!("{{\"method\":\"login\",\"args\":[\"{name}\",\"password-of-{name}\"]}}"));
        }
    }

    fn send(&mut self, name: &str, what: &str) {
        match what {
            "BINARY" => self.harness.binary(name),
            "PONG" => self.harness.pong(name),
            "CLOSE" => self.harness.leave(name),
            text => self.harness.text(name, &self.with_names(text)),
        }
    }

    fn later(&mut self, text: &str) {
        let seconds = text.trim_start_matches('+').trim_end_matches('s').parse().unwrap_or(1_i64);
        self.harness.later(seconds.clamp(0, 1000) * 1000);
    }

    fn with_names(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            let value = self.names.get(name).or_else(|| self.newest.get(kind_before(&whole)));
            whole.push_str(value.map_or(name, String::as_str));
            whole.push_str(rest);
        }
        whole
    }

    fn listen(&mut self) {
        for name in CLIENTS {
            while self.harness.has_heard(name) {
                if let Some(Heard::Frame(frame)) = self.harness.next(name) {
                    remember(&frame, &mut self.newest);
                }
            }
        }
    }
}

/// The kind of id that belongs into the field a text ends with.
fn kind_before(text: &str) -> &'static str {
    let field = text.rsplit('"').find(|part| part.ends_with("_id") || *part == "id").unwrap_or_default();
    match field {
        "draft_id" => "draft",
        "call_id" => "call",
        "approval_id" => "appr",
        "review_id" => "rev",
        "pin_id" => "pin",
        "item_id" => "notif",
        "file_id" => "file",
        _ => "msg",
    }
}

fn remember(value: &Value, newest: &mut BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some((kind, _)) = text.split_once('_').filter(|(_, digits)| digits.len() == 26) {
                newest.insert(kind.to_owned(), text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| remember(item, newest)),
        Value::Object(fields) => fields.values().for_each(|field| remember(field, newest)),
        _ => {}
    }
}
