//! The life of an agent: hello, sleep, thinking.

use super::support::World;
use super::support::world::presences;
use crate::command::{Command, Reply};
use crate::event::Event;
use crate::model::*;
use crate::record::Record;
use crate::refusal;

fn hello(prompt: &str, model: Option<&str>) -> Command {
    let runtime = model.map(|model| Runtime { model: Some(model.to_owned()), ..Runtime::default() });
    let role_card = RoleCard { system_prompt: prompt.to_owned(), capabilities: vec!["code_review".to_owned()] };
    Command::Hello { role_card, runtime }
}

#[test]
fn hello_stores_the_role_card_and_the_latest_one_counts() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    world.connect(codebot);
    world.done(codebot, hello("You review.", Some("large")));
    let decision = world.done(codebot, hello("You test.", None));
    assert!(matches!(decision.reply, Reply::Welcome { agent } if agent == codebot));
    assert_eq!(decision.told_before_reply, 0, "the welcome comes first");
    let member = world.state.member(codebot).unwrap();
    assert_eq!(member.role_card.as_ref().map(|card| card.system_prompt.as_str()), Some("You test."));
    assert_eq!(member.runtime, None, "what the latest hello leaves out is gone");
    assert!(world.done(codebot, hello("You test.", None)).events.is_empty(), "nothing new, nothing to store");
}

#[test]
fn hello_ends_sleep() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    world.connect(codebot);
    world.done(codebot, Command::Sleep);
    let decision = world.done(codebot, hello("You test.", None));
    assert_eq!(presences(&decision), [(codebot, Presence::Online)]);
    assert!(decision.events.iter().any(|event| matches!(event, Event::Saved(Record::Member(_)))));
}

#[test]
fn hello_sleep_and_thinking_are_for_agents() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let channel = world.channel("general", &[alice, codebot]);
    for command in [hello("I am human", None), Command::Sleep, Command::Thinking { channel }] {
        assert_eq!(world.refused(alice, command.clone()), refusal::NOT_AUTHORIZED);
        world.connect(codebot);
        world.done(codebot, command);
    }
}

#[test]
fn sleep_is_told_once() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    world.connect(codebot);
    assert_eq!(presences(&world.done(codebot, Command::Sleep)), [(codebot, Presence::Sleeping)]);
    assert!(world.done(codebot, Command::Sleep).events.is_empty());
}

#[test]
fn thinking_and_typing_show_in_channels_one_is_in() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let inside = world.channel("inside", &[alice, codebot]);
    let outside = world.channel("outside", &[alice]);
    let decision = world.done(codebot, Command::Thinking { channel: inside });
    assert!(matches!(decision.events[..], [Event::Typing { channel, on: true, .. }] if channel == inside));
    assert!(decision.events[0].is_passing() && !decision.events[0].is_stored());
    let decision = world.done(codebot, Command::Typing { channel: inside, on: false, color: None });
    assert!(matches!(decision.events[..], [Event::Typing { on: false, .. }]));
    for command in [Command::Thinking { channel: outside }, Command::Typing { channel: outside, on: true, color: None }]
    {
        assert_eq!(world.refused(codebot, command), refusal::NOT_CHANNEL_MEMBER);
    }
}
