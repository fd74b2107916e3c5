//! Whatever happens and whatever is answered makes one frame of JSON, in the document's form.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::object;
use super::support::World;
use super::support::commands::{Dice, ROLLS};
use super::support::pool::Pool;
use crate::door::{Events, Protocol, Ticket, View};
use crate::snek::{Snek, objects};
use crate::testing::cases;
use folkmoot_core::event::{Audience, Event};
use folkmoot_core::ids::*;
use folkmoot_core::model::Color;
use folkmoot_core::{Command, State};

fn view(state: &State) -> View<'_> {
    View { state, now: 0, nonce: 1 }
}

fn world() -> World {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, bot) = (world.human("bob"), world.agent("bot"));
    let room = world.channel("room", &[alice, bob, bot]);
    world.private("back", &[bob, bot]);
    world.direct(&[alice, bot]);
    world.connect(bot);
    world.say(bot, room, "first");
    world
}

/// Lets the first who may do what the dice say; gives the events and the answer in both dialects.
fn step(world: &mut World, rolls: [u16; ROLLS]) -> (Vec<(Event, Vec<String>)>, Option<String>) {
    let mut dice = Dice::new(rolls);
    let pool = Pool::of(world, "m");
    let command = pool.command(&mut dice);
    if matches!(command, Command::DeleteWorkspace { .. } | Command::DeleteChannel { .. }) {
        return (Vec::new(), None);
    }
    let ticket = Ticket { id: Some("\"t\"".to_owned()), request: "send_message" };
    for member in &pool.members {
        let mut actor = pool.actor(world, *member, &mut dice);
        if matches!(command, Command::Connect) {
            actor.connection = Some(world.new_connection());
        }
        let Ok(decision) = world.act(actor, command.clone()) else { continue };
        let told = |event: &Event| {
            let doors = [&Snek::DOCUMENT, &Snek::V2];
            (event.clone(), doors.iter().filter_map(|door| door.event(event, view(&world.state))).collect())
        };
        let events = decision.events.iter().map(told).collect();
        let answer = Snek::DOCUMENT.reply(&ticket, Ok(&decision.reply), view(&world.state));
        return (events, answer);
    }
    (Vec::new(), None)
}

fn check_event(event: &Event, frame: &Value) -> Result<(), TestCaseError> {
    prop_assert!(frame.get("callId").is_none(), "an event looks like an answer: {}", frame);
    match frame["event"].as_str() {
        Some("message") => {
            for key in ["message", "username", "user_nick", "channel_uid", "uid", "user_uid", "color", "created_at"] {
                prop_assert!(frame[key].is_string(), "{} in {}", key, frame);
            }
            prop_assert!(frame["is_final"].is_boolean() && frame.get("data").is_none(), "{}", frame);
        }
        Some("new_message" | "update_message_text") => {
            prop_assert!(frame["channel_uid"].is_string() && frame["data"]["uid"].is_string(), "{}", frame);
        }
        Some("join" | "leave") => {
            let keys: Vec<_> = frame["data"].as_object().unwrap().keys().collect();
            prop_assert_eq!(keys, ["channel_uid"]);
        }
        Some("set_typing" | "message_deleted") => prop_assert!(frame["data"]["channel_uid"].is_string(), "{}", frame),
        other => prop_assert!(false, "{:?} of {:?}", other, event),
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_event_and_every_reply_is_one_frame_of_the_documents_form(
        steps in proptest::collection::vec(any::<[u16; ROLLS]>(), 1..20),
    ) {
        let mut world = world();
        for rolls in steps {
            world.later(1);
            let (events, answer) = step(&mut world, rolls);
            for (event, frames) in events {
                for frame in frames {
                    check_event(&event, &object(&frame))?;
                }
            }
            if let Some(answer) = answer {
                let answer = object(&answer);
                prop_assert_eq!((&answer["callId"], &answer["success"]), (&json!("t"), &json!(true)));
                prop_assert!(answer.get("data").is_some());
            }
        }
    }

    #[test]
    fn everybody_has_a_bright_colour_of_the_documents_pattern(id: u128) {
        let color = objects::color(id);
        prop_assert!(Color::parse(&color).is_some(), "{}", color);
        prop_assert_eq!(&color, &objects::color(id));
        let parts: Vec<f64> =
            [1, 3, 5].iter().map(|at| f64::from(u8::from_str_radix(&color[*at..at + 2], 16).unwrap()) / 255.0).collect();
        let (high, low) = (parts.iter().copied().fold(0.0, f64::max), parts.iter().copied().fold(1.0, f64::min));
        let lightness = f64::midpoint(high, low);
        let saturation = (high - low) / (1.0 - (2.0 * lightness - 1.0).abs());
        prop_assert!((0.5..=0.7).contains(&lightness) && (0.7..=1.0).contains(&saturation), "{}", color);
    }
}

#[test]
fn join_and_leave_are_for_the_one_concerned_and_all_else_is_for_whom_the_hub_says() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let room = world.channel("room", &[alice]);
    let joined = world.done(alice, Command::AddToChannel { channel: room, member: bob });
    let left = world.done(alice, Command::RemoveFromChannel { channel: room, member: bob });
    for decision in [joined, left] {
        let event = &decision.events[0];
        assert_eq!(Snek::DOCUMENT.audience(event, event.audience(&world.state)), Audience::Member(bob));
    }
    let typing = world.done(alice, Command::Typing { channel: room, on: true, color: None });
    let audience = Audience::Channel(room);
    assert_eq!(Snek::V2.audience(&typing.events[0], audience), audience);
}

#[test]
fn a_reader_that_lags_is_told_which_channels_to_read_again() {
    let text = Snek::DOCUMENT.lagged(3, &[(ChannelId(7), 41)], 0).unwrap();
    let expected = json!({ "event": "lagged", "data": { "dropped": 3, "channel_uids": [ChannelId(7)] } });
    assert_eq!(object(&text), expected);
}

#[test]
fn there_are_two_dialects_at_one_address() {
    assert_eq!((Snek::DOCUMENT.path(), Snek::DOCUMENT.dialect()), ("/rpc.ws", ""));
    assert_eq!((Snek::V2.path(), Snek::V2.dialect()), ("/rpc.ws", "v2"));
    assert_eq!((Snek::DOCUMENT.own_path(), Snek::V2.own_path()), (None, Some("/v2/rpc.ws")));
}
