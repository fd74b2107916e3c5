//! Whatever happens and whatever is answered makes one frame: a JSON envelope with v, id, type, ts and data.

use proptest::prelude::*;
use serde_json::Value;

use super::harness::envelope;
use super::support::World;
use super::support::commands::{Dice, ROLLS, raw};
use super::support::ledger::Replay;
use super::support::pool::Pool;
use super::support::world::START;
use crate::door::{Events, Replayed, Ticket, View};
use crate::lark::{Lark, PlainLark, wire};
use crate::testing::cases;
use folkmoot_core::event::{CallSignal, Event};
use folkmoot_core::ids::*;
use folkmoot_core::{Command, Refusal, State};

fn view(state: &State, now: i64) -> View<'_> {
    View { state, now, nonce: 0x1234_5678_9abc_def0 }
}

fn world() -> World {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, bot) = (world.human("bob"), world.agent("bot"));
    let room = world.channel("room", &[alice, bob, bot]);
    world.private("back", &[bob, bot]);
    let dm = world.direct(&[alice, bot]);
    world.connect(bob);
    world.connect(bot);
    world.daemon(alice, &[bot]);
    world.say(bot, room, "first");
    world.say(bot, dm, "first");
    world
}

const REQUESTS: &[&str] =
    &["channel.join", "auth.login", "message.send", "approval.request", "call.offer", "inbox.ack", "review.request"];

/// Lets the first who may do what the dice say; what came of it.
fn happened(world: &mut World, rolls: [u16; ROLLS]) -> Vec<Event> {
    let mut dice = Dice::new(rolls);
    let pool = Pool::of(world, "m");
    let command = pool.command(&mut dice);
    if matches!(command, Command::DeleteWorkspace { .. } | Command::DeleteChannel { .. }) {
        return Vec::new();
    }
    for member in &pool.members {
        let mut actor = pool.actor(world, *member, &mut dice);
        if matches!(command, Command::Connect) {
            actor.connection = Some(world.new_connection());
        }
        if let Ok(decision) = world.act(actor, command.clone()) {
            return decision.events;
        }
    }
    Vec::new()
}

/// Lets the first who may do what the dice say, and maps everything that comes of it.
fn step(world: &mut World, rolls: [u16; ROLLS]) -> Vec<String> {
    let mut dice = Dice::new(rolls);
    let pool = Pool::of(world, "m");
    let command = pool.command(&mut dice);
    let ticket = Ticket { id: Some("\"t\"".to_owned()), request: dice.pick(REQUESTS) };
    if matches!(command, Command::DeleteWorkspace { .. } | Command::DeleteChannel { .. }) {
        return Vec::new();
    }
    let mut frames = Vec::new();
    for member in &pool.members {
        let mut actor = pool.actor(world, *member, &mut dice);
        if matches!(command, Command::Connect) {
            actor.connection = Some(world.new_connection());
        }
        let outcome = world.act(actor, command.clone());
        let view = view(&world.state, world.now);
        match &outcome {
            Ok(decision) => {
                frames.extend(decision.events.iter().filter_map(|event| Lark.event(event, view)));
                frames.extend(Lark.reply(&ticket, Ok(&decision.reply), view));
                break;
            }
            Err(refusal) => frames.extend(Lark.reply(&ticket, Err(refusal), view)),
        }
    }
    frames
}

/// What a client of ours would write if it wrote the message of a plain frame itself.
fn as_read(data: &Value) -> Value {
    let message: wire::Message = serde_json::from_value(data.clone()).expect("a message");
    serde_json::to_value(message).expect("JSON")
}

/// Whether a client of ours can read what it needs of a frame.
fn is_understood(text: &str) -> bool {
    let Some(frame) = wire::Frame::parse(text) else { return false };
    match frame.kind.as_str() {
        "message.new" | "message.edit" => frame.read::<wire::Message>().is_some(),
        "agent.wake" => frame.read::<wire::AgentWake<'_, wire::WokenBy>>().is_some(),
        "run.started" | "run.updated" | "run.completed" => frame.read::<wire::RunCompleted<wire::Run>>().is_some(),
        "run.stop" => frame.read::<wire::StopAsked>().is_some(),
        "approval.result" => frame.read::<wire::ApprovalResult>().is_some(),
        "sync.done" | "sync.reload" => frame.read::<wire::SyncDone>().is_some(),
        _ => true,
    }
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn a_plain_message_is_the_double_one_said_once_and_our_clients_read_all_of_it(
        draws in proptest::collection::vec(any::<[u16; ROLLS]>(), 1..60),
    ) {
        let mut world = world();
        for rolls in draws {
            for event in happened(&mut world, rolls) {
                let view = view(&world.state, world.now);
                let frames = (Lark.event(&event, view), PlainLark.event(&event, view));
                let (Some(double), Some(plain)) = frames else { continue };
                prop_assert!(is_understood(&plain), "{}", plain);
                let (double, plain) = (envelope(&double, world.now), envelope(&plain, world.now));
                if !["message.new", "message.edit"].contains(&plain["type"].as_str().unwrap_or_default()) {
                    prop_assert_eq!(double, plain);
                    continue;
                }
                prop_assert_eq!(as_read(&plain["data"]), plain["data"].clone());
                let mut once = plain["data"].clone();
                let fields = once.as_object_mut().unwrap();
                fields.remove("progress");
                if let Some(seq) = fields.remove("message_seq") {
                    fields.insert("seq".to_owned(), seq);
                }
                prop_assert_eq!(&once, &double["data"]["message"]);
            }
        }
    }

    #[test]
    fn every_event_and_every_reply_is_one_valid_envelope(draws in proptest::collection::vec(any::<[u16; ROLLS]>(), 1..60)) {
        let mut world = world();
        for rolls in draws {
            for text in step(&mut world, rolls) {
                let frame = envelope(&text, world.now);
                prop_assert!(!text.contains("hash"), "a secret in {}", text);
                prop_assert!(frame.get("reply_to").is_none_or(|id| id == "t"), "{}", text);
            }
        }
        let view = view(&world.state, world.now);
        for room in world.state.channels_in(world.workspace) {
            let channel = room.channel.id;
            let mut seqs = Vec::new();
            for (seq, event) in world.ledger.replay(channel, 0) {
                let event = match event {
                    Replay::Message(message) => Replayed::Message(message),
                    Replay::Change(change, message) => Replayed::Change(change, message),
                };
                let text = Lark.replayed(&event, view);
                let frame = envelope(&text.expect("every position makes a frame"), world.now);
                prop_assert_eq!(&frame["data"]["seq"], seq);
                seqs.push(seq);
            }
            prop_assert_eq!(&seqs, &(1..=room.head.seq).collect::<Vec<_>>(), "each position once");
        }
    }

    #[test]
    fn every_refusal_is_one_valid_envelope(text in ".{0,60}", id in "[^\"\\\\\\p{C}]{0,20}") {
        let state = State::default();
        let refusal = Refusal::bad_request(text.clone());
        let ticket = Ticket { id: Some(format!("\"{id}\"")), request: "message.send" };
        let frame = envelope(&Lark.reply(&ticket, Err(&refusal), view(&state, START)).unwrap(), START);
        prop_assert_eq!(&frame["data"]["error"], &Value::from(text));
        prop_assert_eq!(&frame["reply_to"], &Value::from(id));
        let login = Ticket { request: "auth.login", ..ticket };
        let frame = envelope(&Lark.reply(&login, Err(&refusal), view(&state, START)).unwrap(), START);
        prop_assert_eq!(&frame["type"], "auth.fail");
    }

    #[test]
    fn a_lag_is_one_valid_envelope(dropped: u64, positions in proptest::collection::vec(any::<(u128, u64)>(), 0..10)) {
        let positions: Vec<_> = positions.into_iter().map(|(channel, seq)| (ChannelId(channel), seq)).collect();
        let frame = envelope(&Lark.lagged(dropped, &positions, START).unwrap(), START);
        prop_assert_eq!(&frame["type"], "sync.lagged");
        prop_assert_eq!(&frame["data"]["dropped"], dropped);
        prop_assert_eq!(frame["data"]["channels"].as_array().map(Vec::len), Some(positions.len()));
    }
}

#[test]
fn a_candidate_is_handed_on_as_it_was_written() {
    let state = State::default();
    for written in ["\"candidate:1\"", "{\"b\": 1.50, \"a\":[ ]}", "null", "1e999", "\"\\ud800\""] {
        let candidate = raw(written).unwrap();
        let signal = CallSignal::Ice { call: CallId(1), from: MemberId(2), candidate };
        let text = Lark.event(&Event::CallSignal { to: MemberId(3), only: None, signal }, view(&state, START)).unwrap();
        assert!(text.contains(&format!("\"candidate\":{written}")), "{text}");
    }
}

#[test]
fn what_only_the_hub_needs_to_know_makes_no_frame() {
    let state = State::default();
    let (member, connection) = (MemberId(1), ConnectionId(1));
    for event in [
        Event::Connected { member, connection, door: folkmoot_core::model::Door::Lark },
        Event::Disconnected { member, connection },
        Event::ConnectionReplaced(connection),
    ] {
        assert!(Lark.event(&event, view(&state, START)).is_none(), "{event:?}");
    }
}
