//! Many prompts in many chats with random failures and crashes, in fake time: every prompt gets exactly one final message.
//!
//! Scheduler and journal are the real ones, the server is the fake one; only clock and wire are missing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{self, ApiError, ChatId, MessageId, Sent};
use crate::fake_api::{Fault, World};
use crate::ids::OutgoingId;
use crate::journal::{Content, Draft, Journal, Orders, OutgoingKind};
use crate::outbox::calls;
use crate::outbox::scheduler::{Action, Call, CallAnswer, Report, Scheduler};
use crate::text;

const CHATS: [i64; 6] = [11, 12, 13, 14, -1_000_000_000_021, -1_000_000_000_022];
const PROMPTS: usize = 60;

/// A little chance that is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % sides
    }
}

struct Soak {
    world: World,
    folder: tempfile::TempDir,
    journal: Journal,
    orders: Orders,
    scheduler: Scheduler,
    dice: Dice,
    now: Duration,
    crashes: bool,
    /// Calls under way: when they end, and how.
    under_way: Vec<(Duration, Call, Result<CallAnswer, ApiError>)>,
}

impl Soak {
    async fn start(seed: u64, crashes: bool) -> Self {
        let mut world = World::new();
        for chat in CHATS {
            if chat > 0 {
                world.add_private(chat)
            } else {
                world.add_group(chat)
            };
        }
        world.faults.at_random(seed, 5, 10);
        let folder = tempfile::tempdir().expect("a folder");
        let (journal, orders) = Journal::open(folder.path()).expect("a journal");
        let scheduler = Scheduler::new(Duration::from_secs(1));
        let (dice, now, under_way) = (Dice(seed | 1), Duration::ZERO, Vec::new());
        Self { world, folder, journal, orders, scheduler, dice, now, crashes, under_way }
    }

    /// What is under way happens or not, but nobody hears of it; only the journal remains.
    async fn crash(&mut self) {
        self.under_way.clear();
        let (journal, orders) = Journal::open(self.folder.path()).expect("a journal");
        (self.journal, self.orders) = (journal, orders);
        let found = self.journal.transact(|rows| Ok((rows.due_outgoing()?, rows.highest_messages()?))).await;
        let (left, highest) = found.expect("what is left");
        self.scheduler = Scheduler::new(Duration::from_secs(1));
        highest.into_iter().for_each(|(chat, message)| self.scheduler.seen(chat, message));
        for outgoing in left {
            let reports = self.scheduler.take_up(outgoing, self.now);
            self.store(reports).await;
        }
    }

    async fn store(&mut self, reports: Vec<Report>) {
        self.journal.transact(move |rows| calls::store(rows, &reports)).await.expect("stored");
    }

    async fn take_orders(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            let reports = self.scheduler.order(order, self.now);
            self.store(reports).await;
        }
    }

    /// Lets everything happen up to a moment.
    async fn run_until(&mut self, until: Duration) {
        loop {
            self.take_orders().await;
            while let Some(call) = self.scheduler.next(self.now) {
                let answer = self.perform(&call).await;
                let ends = self.now + Duration::from_millis(5 + self.dice.roll(200));
                self.under_way.push((ends, call, answer));
            }
            let ends = self.under_way.iter().map(|(ends, ..)| *ends).min();
            let next = [ends, self.scheduler.wake(self.now)].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            while let Some(at) = self.under_way.iter().position(|(ends, ..)| *ends <= self.now) {
                let (_, call, answer) = self.under_way.swap_remove(at);
                let reports = self.scheduler.done(&call, answer, self.now, 0.5);
                self.store(reports).await;
                self.take_orders().await;
            }
        }
        self.now = self.now.max(until);
    }

    async fn perform(&mut self, call: &Call) -> Result<CallAnswer, ApiError> {
        let content = call.stage.dress(&call.content).into_owned();
        match call.action {
            Action::Send { reply_to, silent, floor, .. } => {
                let outgoing = call.outgoing;
                self.journal.transact(move |rows| rows.mark_doubtful(outgoing, Some(floor))).await.expect("noted");
                let mut body =
                    json!({ "chat_id": call.chat, "text": content.rendered.text, "disable_notification": silent });
                body["reply_to_message_id"] = json!(reply_to);
                let sent = self.call::<Sent>("sendMessage", &body)?;
                // Now and then the message arrives, but its receipt does not.
                match self.dice.roll(20) {
                    0 => Err(ApiError::Unreachable { cause: "lost".into(), perhaps_done: true }),
                    _ => Ok(CallAnswer::Sent(sent.message_id)),
                }
            }
            Action::Find(message) => {
                let chat = call.chat;
                let known = self.journal.transact(move |rows| rows.outgoing_at(chat, message)).await.expect("read");
                if known.is_some() {
                    return Ok(CallAnswer::NotThere);
                }
                self.edit(call.chat, message, &content).map(|_| CallAnswer::Done)
            }
            Action::Edit(message) => self.edit(call.chat, message, &content).map(|_| CallAnswer::Done),
            Action::Delete(message) => {
                let body = json!({ "chat_id": call.chat, "message_id": message });
                self.call::<Value>("deleteMessage", &body).map(|_| CallAnswer::Done)
            }
        }
    }

    fn edit(&mut self, chat: ChatId, message: MessageId, content: &Content) -> Result<Value, ApiError> {
        self.call("editMessageText", &json!({ "chat_id": chat, "message_id": message, "text": content.rendered.text }))
    }

    fn call<T: serde::de::DeserializeOwned>(&mut self, method: &str, body: &Value) -> Result<T, ApiError> {
        let reply = match self.world.fault(method, body, self.now) {
            Some(Fault::Status(status)) => return api::answer(status, b"<html>"),
            Some(Fault::Reply(reply)) => reply,
            _ => self.world.call(method, body, self.now),
        };
        api::answer(reply.status, reply.body.to_string().as_bytes())
    }

    /// A prompt as the bridge treats it: a sign, some progress, and a final message that replaces it or its last words.
    async fn prompt(&mut self, number: usize) {
        let chat = CHATS[self.dice.roll(CHATS.len() as u64) as usize];
        let asked = self.world.say(chat, 1, json!({ "text": format!("prompt {number}") }));
        let says = |text: String| Content::new(text::plain(&text));
        let draft = Draft {
            reply_to: Some(MessageId(asked)),
            silent: true,
            ..Draft::new(ChatId(chat), OutgoingKind::Sign, says(format!("starting {number}")))
        };
        let sign = self.journal.transact(move |rows| rows.post(&draft)).await.expect("posted");
        for step in 0..self.dice.roll(4) {
            self.pause().await;
            self.journal.show(sign, says(format!("working {number}: {step}")));
        }
        self.pause().await;
        self.finish(number, chat, asked, sign).await;
    }

    async fn finish(&mut self, number: usize, chat: i64, asked: i64, sign: OutgoingId) {
        let content = Content::new(text::plain(&format!("final {number}")));
        let replace = self.dice.roll(3) > 0;
        let work = move |rows: &mut crate::journal::Rows<'_>| match replace {
            true => {
                let draft = Draft::new(ChatId(chat), OutgoingKind::Answer, content);
                rows.post(&Draft { reply_to: Some(MessageId(asked)), replaces: Some(sign), ..draft }).map(drop)
            }
            false => rows.revise(sign, &content),
        };
        self.journal.transact(work).await.expect("finished");
    }

    async fn pause(&mut self) {
        let until = self.now + Duration::from_millis(self.dice.roll(900));
        self.run_until(until).await;
        if self.crashes && self.dice.roll(25) == 0 {
            self.crash().await;
        }
    }
}

/// Plays all prompts and checks that the chats show nothing but one final message for each.
async fn play(seed: u64, crashes: bool) -> Soak {
    let mut soak = Soak::start(seed, crashes).await;
    for number in 0..PROMPTS {
        soak.prompt(number).await;
    }
    soak.run_until(soak.now + Duration::from_secs(3600)).await;
    assert!(soak.scheduler.is_idle(), "seed {seed}: something is still pending");
    let mut shown = BTreeMap::<String, usize>::new();
    for message in CHATS.iter().flat_map(|chat| soak.world.shown(*chat)) {
        *shown.entry(message.text).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> = (0..PROMPTS).map(|number| (format!("final {number}"), 1)).collect();
    assert_eq!(shown, expected, "seed {seed}");
    soak
}

#[tokio::test]
async fn every_prompt_gets_exactly_one_final_message_through_failures_and_crashes() {
    for seed in [1, 20_261_115, 987_654_321] {
        play(seed, true).await;
    }
}

#[tokio::test]
async fn without_crashes_no_limit_is_ever_exceeded() {
    let soak = play(4711, false).await;
    assert_eq!(soak.world.pace.violations, 0, "nobody calls into a chat that was told to wait");
    assert_eq!(soak.world.pace.exceeded, 0, "nobody calls more often than Telegram allows");
}
