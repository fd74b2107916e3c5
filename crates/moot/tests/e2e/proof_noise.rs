//! Noise on the wire: frames made by chance from the words of the protocol never harm the hub.

use serde_json::{Value, json};

use crate::support::{Lark, Member, REQUESTS, start, text};

/// A small generator of its own, so that a failing seed can be run again anywhere.
pub struct Chance(u64);

impl Chance {
    pub fn seeded(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const KEYS: &[&str] = &[
    "channel_id",
    "content",
    "message_id",
    "parent_id",
    "thread_id",
    "metadata",
    "content_type",
    "type",
    "status",
    "callee_id",
    "sdp",
    "call_id",
    "target_id",
    "candidate",
    "action",
    "payload",
    "agents",
    "name",
    "role_card",
    "runtime",
    "item_id",
    "limit",
    "since",
    "draft_id",
    "force_version",
    "reviewer_id",
    "subject",
    "review_id",
    "tags",
    "after_seq",
    "workspace",
    "positions",
    "token",
];

fn value(chance: &mut Chance, known: &[String], depth: usize) -> Value {
    match chance.below(if depth == 0 { 9 } else { 11 }) {
        0 => Value::Null,
        1 => json!(chance.below(2) == 0),
        2 => json!(chance.below(1000)),
        3 => json!(-1),
        4 => json!(1e300),
        5 => json!(i64::MAX),
        6 => json!(""),
        7 => json!("\u{0000} ' \" \\ 🦀 %s"),
        8 => json!(chance.pick(known)),
        9 => json!([value(chance, known, depth - 1), value(chance, known, depth - 1)]),
        _ => data(chance, known, depth - 1),
    }
}

fn data(chance: &mut Chance, known: &[String], depth: usize) -> Value {
    let mut object = serde_json::Map::new();
    for _ in 0..chance.below(7) {
        let key = *chance.pick(KEYS);
        object.insert(key.to_owned(), value(chance, known, depth));
    }
    Value::Object(object)
}

/// Sends noise, reading what comes back now and then so that the hub never has to drop anything.
async fn make_noise(lark: &mut Lark, chance: &mut Chance, known: &[String], frames: usize) {
    let kinds = [&REQUESTS[..], &["no.such.type"]].concat();
    for round in 0..frames {
        let kind = *chance.pick(&kinds);
        let mut frame = json!({ "type": kind, "data": data(chance, known, 2) }).to_string();
        if chance.below(10) == 0 {
            let mut cut = chance.below(frame.len());
            while !frame.is_char_boundary(cut) {
                cut -= 1;
            }
            frame.truncate(cut);
        }
        lark.send_text(frame).await;
        if round % 50 == 49 {
            let join = json!({ "channel_id": known[0] });
            lark.asks("channel.join", join, "channel.join").await;
            lark.forget();
        }
    }
}

async fn noise_from(member: &Member, known: &[String], seed: u64) {
    let mut chance = Chance::seeded(seed);
    let mut lark = member.lark().await;
    make_noise(&mut lark, &mut chance, known, 600).await;
}

#[tokio::test]
async fn frames_made_by_chance_harm_nothing() {
    for seed in [1, 2, 3] {
        let (hub, alice) = start().await;
        let codebot = alice.add_agent("codebot").await;
        let noisebot = alice.add_agent("noisebot").await;
        let general = alice.add_channel("general", &[&codebot, &noisebot]).await;
        let secret = alice.add_private("secret", &[]).await;
        alice.post(&secret, "untouched").await;
        let message = alice.post(&general, "a message").await;
        let message = text(&message, "id").to_owned();
        let known = [general.clone(), secret.clone(), alice.id.clone(), codebot.id.clone(), message];
        tokio::join!(noise_from(&codebot, &known, seed), noise_from(&noisebot, &known, seed + 100));
        // The agents made the noise; what they are not in is as it was, and the hub works.
        assert_eq!(alice.texts(&secret).await, ["untouched"], "seed {seed}");
        let mut lark = alice.lark().await;
        lark.say(&general, "still here").await;
        assert!(!hub.log().contains("panicked"), "seed {seed}");
    }
}

#[tokio::test]
async fn bodies_made_by_chance_harm_nothing() {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "a message").await;
    let known = vec![general.clone(), alice.id.clone(), text(&message, "id").to_owned()];
    let mut chance = Chance::seeded(7);
    let places = ["channels", "members", "tasks", "dm", "approvals", "webhooks", "reviews", "agents"];
    for _ in 0..150 {
        let place = *chance.pick(&places);
        let path = alice.path(place);
        let body = data(&mut chance, &known, 2);
        let answer = alice.rest.post(&path, body).await;
        assert!(answer.status < 500, "{answer:?}");
        let path = format!("/v1/channels/{}/messages", chance.pick(&known));
        let body = data(&mut chance, &known, 2);
        let answer = alice.rest.post(&path, body).await;
        assert!(answer.status < 500, "{answer:?}");
    }
    alice.post(&general, "still here").await;
    assert!(!hub.log().contains("panicked"));
}
