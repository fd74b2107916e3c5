//! Held drafts and the room version they were written against.

use super::Room;
use super::support::world::message_of;
use crate::command::{Command, DraftCheck, Reply};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal;

const TEN_MINUTES: i64 = 10 * 60 * 1000;

fn room() -> Room {
    let mut room = super::room();
    room.world.say(room.alice, room.general, "shall we deploy?");
    room
}

fn create(channel: ChannelId, content: &str) -> Command {
    Command::CreateDraft { channel, thread: None, content: content.to_owned() }
}

fn send(draft: DraftId) -> Command {
    Command::SendDraft { draft, force: false }
}

impl Room {
    #[track_caller]
    fn draft(&mut self) -> DraftId {
        let decision = self.world.done(self.codebot, create(self.general, "yes"));
        let Reply::Draft(draft) = decision.reply else { panic!("{:?}", decision.reply) };
        draft.id
    }

    fn talk(&mut self, messages: usize) {
        for number in 1..=messages {
            self.world.say(self.alice, self.general, &format!("m{number}"));
        }
    }

    #[track_caller]
    fn check(&mut self, draft: DraftId) -> DraftCheck {
        let decision = self.world.done(self.codebot, Command::ValidateDraft { draft });
        assert!(decision.events.is_empty(), "looking changes nothing");
        let Reply::DraftCheck(check) = decision.reply else { panic!("{:?}", decision.reply) };
        check
    }
}

#[test]
fn a_draft_knows_the_room_version_it_was_written_against() {
    let mut room = room();
    let draft = room.draft();
    let check = room.check(draft);
    assert!(check.valid);
    assert_eq!((check.draft_version, check.current_version), (1, 1));
}

#[test]
fn a_draft_says_something_in_a_channel_the_agent_may_speak_in() {
    let Room { mut world, alice, codebot, general } = room();
    let outside = world.channel("outside", &[alice]);
    assert_eq!(world.refused(codebot, create(general, " ")), refusal::CONTENT_REQUIRED);
    assert_eq!(world.refused(codebot, create(general, &"x".repeat(10_001))), refusal::CONTENT_TOO_LONG);
    assert_eq!(world.refused(codebot, create(outside, "yes")), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(alice, create(general, "yes")), refusal::NOT_AUTHORIZED);
    world.done(codebot, create(general, &"é".repeat(10_000)));
}

#[test]
fn a_draft_is_valid_up_to_five_messages_later_and_then_stale() {
    let mut room = room();
    let draft = room.draft();
    room.talk(5);
    let check = room.check(draft);
    assert!(check.valid && check.recent.is_empty());
    room.talk(1);
    let check = room.check(draft);
    assert!(!check.valid);
    assert_eq!((check.draft_version, check.current_version), (1, 7));
    let recent: Vec<_> = check.recent.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(recent, ["m2", "m3", "m4", "m5", "m1"], "the newest five, oldest first");
}

#[test]
fn edits_and_reactions_make_no_draft_stale() {
    let mut room = room();
    let draft = room.draft();
    let message = room.world.say(room.alice, room.general, "hm");
    for number in 0..10 {
        let content = format!("hm {number}");
        room.world.done(room.alice, Command::EditMessage { message: message.id, content });
    }
    assert!(room.check(draft).valid);
}

#[test]
fn sending_a_draft_is_sending_its_message_once() {
    let mut room = room();
    let draft = room.draft();
    let decision = room.world.done(room.codebot, send(draft));
    let message = message_of(&decision);
    assert_eq!((message.sender, message.content.as_str(), message.version), (room.codebot, "yes", 2));
    assert!(matches!(decision.events[0], Event::MessageSent(_)));
    assert_eq!(decision.told_before_reply, 1);
    let is_sent =
        |event: &Event| matches!(event, Event::Saved(Record::Draft(draft)) if draft.status == DraftStatus::Sent);
    assert!(decision.events.iter().any(is_sent));
    assert_eq!(room.world.refused(room.codebot, send(draft)), refusal::DRAFT_NOT_HELD);
}

#[test]
fn a_stale_draft_is_sent_only_by_force() {
    let mut room = room();
    let draft = room.draft();
    room.talk(6);
    assert_eq!(room.world.refused(room.codebot, send(draft)), refusal::DRAFT_STALE);
    room.world.done(room.codebot, Command::SendDraft { draft, force: true });
}

#[test]
fn a_draft_expires_after_ten_minutes() {
    let mut room = room();
    let draft = room.draft();
    room.world.later(TEN_MINUTES - 1);
    assert!(room.check(draft).valid);
    room.world.later(1);
    assert!(!room.check(draft).valid);
    for command in [send(draft), Command::SendDraft { draft, force: true }, Command::CancelDraft { draft }] {
        assert_eq!(room.world.refused(room.codebot, command), refusal::DRAFT_NOT_HELD);
    }
}

#[test]
fn a_cancelled_draft_is_not_sent() {
    let mut room = room();
    let draft = room.draft();
    room.world.done(room.codebot, Command::CancelDraft { draft });
    assert_eq!(room.world.refused(room.codebot, send(draft)), refusal::DRAFT_NOT_HELD);
    assert!(!room.check(draft).valid);
}

#[test]
fn a_draft_is_its_agents_own() {
    let mut room = room();
    let draft = room.draft();
    let other = room.world.agent("other");
    let (_, stranger) = room.world.register("stranger");
    let spy = room.world.add(stranger, MemberKind::Agent, "spy", None);
    let commands = || [send(draft), Command::ValidateDraft { draft }, Command::CancelDraft { draft }];
    for command in commands() {
        assert_eq!(room.world.refused(other, command.clone()), refusal::NOT_YOUR_DRAFT);
        assert_eq!(room.world.refused(spy, command.clone()), refusal::DRAFT_NOT_FOUND);
        assert_eq!(room.world.refused(room.alice, command), refusal::NOT_AUTHORIZED);
    }
    assert_eq!(room.world.refused(room.codebot, send(DraftId::NONE)), refusal::DRAFT_NOT_FOUND);
}

#[test]
fn who_left_the_channel_neither_sends_nor_looks() {
    let mut room = room();
    let draft = room.draft();
    room.world.done(room.alice, Command::RemoveFromChannel { channel: room.general, member: room.codebot });
    for command in [send(draft), Command::ValidateDraft { draft }] {
        assert_eq!(room.world.refused(room.codebot, command), refusal::NOT_CHANNEL_MEMBER);
    }
}

#[test]
fn a_draft_may_be_a_reply_in_a_thread() {
    let Room { mut world, alice, codebot, general } = room();
    let root = world.say(alice, general, "details?");
    let create = Command::CreateDraft { channel: general, thread: Some(root.id), content: "here".to_owned() };
    let Reply::Draft(draft) = world.done(codebot, create).reply else { panic!() };
    assert_eq!(message_of(&world.done(codebot, send(draft.id))).thread, Some(root.id));
}
