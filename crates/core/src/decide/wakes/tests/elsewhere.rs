//! Agents that know nothing of threads: they answer every wake in the channel, in any order, and lose their connections.

use proptest::prelude::*;

use super::support::runs::new_run;
use super::support::world::{deliveries, message_of, reply, say, wakes};
use super::{Room, now, only, quiet, room, woken};
use crate::command::{Command, Reply};
use crate::decide::Decision;
use crate::delivery::{Delivery, DeliveryState, Elsewhere};
use crate::ids::*;
use crate::model::*;

impl Room {
    /// A message of the agent in the channel, below which people can ask for more.
    fn beginning(&mut self) -> Message {
        (*self.world.say(self.codebot, self.general, "here I am")).clone()
    }

    /// Somebody replies in a thread of the agent, which is woken.
    fn asked_in(&mut self, thread: &Message) -> Delivery {
        let opened = only(&self.world.done(self.alice, reply(thread, "and this?")));
        quiet(&mut self.world);
        now(&self.world, opened.id)
    }

    /// Threads of the agent in which it was woken, once each.
    fn asked_in_threads<const N: usize>(&mut self) -> [Delivery; N] {
        let threads: Vec<_> = (0..N).map(|_| self.beginning()).collect();
        std::array::from_fn(|at| self.asked_in(&threads[at]))
    }

    /// What lark-agent does with everything it has to say: a draft, without a thread.
    fn drafts(&mut self, text: &str) -> MessageId {
        let create = Command::CreateDraft { channel: self.general, thread: None, content: text.to_owned() };
        let Reply::Draft(draft) = self.world.done(self.codebot, create).reply else { panic!("no draft") };
        message_of(&self.world.done(self.codebot, Command::SendDraft { draft: draft.id, force: true })).id
    }

    /// The agent's process ends and begins again.
    fn restart(&mut self) -> Decision {
        let connection = self.world.state.connections_of(self.codebot)[0];
        self.world.disconnect(self.codebot, connection);
        self.world.connect(self.codebot);
        self.world.done(self.codebot, Command::Hello { role_card: RoleCard::default(), runtime: None })
    }

    fn state(&self, delivery: &Delivery) -> DeliveryState {
        now(&self.world, delivery.id).state
    }
}

fn sent_again(decision: &Decision) -> Vec<DeliveryId> {
    wakes(decision).iter().filter_map(|wake| wake.delivery.as_ref().map(|delivery| delivery.id)).collect()
}

#[test]
fn a_message_without_a_thread_settles_the_wake_of_a_thread_when_no_other_is_open_there() {
    let mut room = room();
    let [delivery] = room.asked_in_threads();
    let answer = room.drafts("in the channel, as always");
    let over = now(&room.world, delivery.id);
    assert_eq!((over.state, over.reply), (DeliveryState::Answered, Some(answer)));
    let said = room.world.stored(answer);
    assert_eq!((said.root, said.depth), (Some(delivery.root), delivery.depth + 1));
    for _ in 0..3 {
        assert!(wakes(&room.restart()).is_empty(), "what was answered is not sent again");
    }
}

#[test]
fn a_message_in_another_thread_settles_nothing() {
    let mut room = room();
    let [delivery] = room.asked_in_threads();
    let other = room.world.say(room.alice, room.general, "something else");
    room.world.reply(room.codebot, &other, "not about that");
    assert_eq!(room.state(&delivery), DeliveryState::Leased);
    assert_eq!(sent_again(&room.restart()), [delivery.id]);
}

#[test]
fn what_is_open_in_the_channel_itself_is_answered_before_a_thread() {
    let mut room = room();
    let [in_thread] = room.asked_in_threads();
    let mention = woken(&mut room);
    let answer = room.drafts("to the mention");
    assert_eq!(now(&room.world, mention.id).reply, Some(answer));
    assert_eq!(room.state(&in_thread), DeliveryState::Leased, "one answer is not taken for another");
    assert_eq!(sent_again(&room.restart()), [in_thread.id]);
    let answer = room.drafts("to the thread");
    assert_eq!(now(&room.world, in_thread.id).reply, Some(answer));
    assert!(wakes(&room.restart()).is_empty());
}

#[test]
fn of_several_threads_none_is_settled_until_as_many_answers_have_come() {
    let mut room = room();
    let asked: [Delivery; 3] = room.asked_in_threads();
    for round in 0..2 {
        room.drafts("to one of them");
        assert!(asked.iter().all(|one| room.state(one) == DeliveryState::Leased), "round {round}");
        assert!(wakes(&room.restart()).is_empty(), "any of them may have been answered");
    }
    room.drafts("to the last one");
    for one in &asked {
        let over = now(&room.world, one.id);
        assert_eq!((over.state, over.reply), (DeliveryState::Answered, None), "nobody knows which answer was whose");
    }
}

#[test]
fn a_thread_that_is_answered_in_its_place_leaves_what_was_said_in_the_channel_to_the_others() {
    let mut room = room();
    let [first, second] = room.asked_in_threads();
    let answer = room.drafts("to one of them");
    let root = room.world.stored(first.thread.unwrap());
    let in_place = room.world.reply(room.codebot, &root, "here");
    assert_eq!(now(&room.world, first.id).reply, Some(in_place.id));
    assert_eq!(now(&room.world, second.id).reply, Some(answer));
}

#[test]
fn a_wake_that_comes_after_an_answer_was_not_answered_by_it() {
    let mut room = room();
    let later = room.beginning();
    let [first, second] = room.asked_in_threads();
    room.drafts("to one of them");
    let third = room.asked_in(&later);
    assert_eq!(third.elsewhere, None);
    assert_eq!(sent_again(&room.restart()), [third.id]);
    room.drafts("to another");
    assert!([&first, &second, &third].iter().all(|one| room.state(one) == DeliveryState::Leased));
    room.drafts("to the last one");
    assert!([&first, &second, &third].iter().all(|one| room.state(one) == DeliveryState::Answered));
}

#[test]
fn what_an_agent_was_not_told_yet_it_does_not_answer_elsewhere() {
    let mut room = room();
    let thread = room.beginning();
    let collecting = only(&room.world.done(room.alice, reply(&thread, "and this?")));
    room.drafts("by the way");
    assert!(now(&room.world, collecting.id).is_collecting());
    assert_eq!(sent_again(&quiet(&mut room.world)), [collecting.id]);
}

#[test]
fn an_agent_with_a_run_answers_no_thread_by_talking_in_the_channel() {
    let mut room = room();
    let [working, waiting] = room.asked_in_threads();
    room.world.store(new_run(RunId(7), room.world.workspace, room.general, room.codebot));
    room.world.done(room.codebot, Command::JoinDelivery { delivery: working.id, run: RunId(7) });
    let said = room.world.done(room.codebot, say(room.general, "still at it"));
    assert!(deliveries(&said).is_empty(), "{said:?}");
    assert_eq!(sent_again(&room.restart()), [working.id, waiting.id]);
    assert_eq!(room.state(&waiting), DeliveryState::Leased);
}

#[test]
fn what_may_have_been_answered_does_not_end_as_if_nobody_had_said_anything() {
    let mut room = room();
    let [first, second] = room.asked_in_threads();
    let answer = room.drafts("to one of them");
    assert_eq!(now(&room.world, first.id).elsewhere, Some(Elsewhere::Counted(answer)));
    assert_eq!(now(&room.world, second.id).elsewhere, Some(Elsewhere::Maybe));
    room.world.time_passes(8 * 24 * 60 * 60 * 1000);
    assert_eq!((room.state(&first), room.state(&second)), (DeliveryState::Answered, DeliveryState::Expired));
}

#[test]
fn a_restart_of_the_hub_forgets_nothing_of_it() {
    let mut room = room();
    let asked: [Delivery; 2] = room.asked_in_threads();
    room.drafts("to one of them");
    room.world.state = room.world.ledger.load();
    room.world.connect(room.codebot);
    assert!(wakes(&room.restart()).is_empty());
    room.drafts("to the other");
    assert!(asked.iter().all(|one| room.state(one) == DeliveryState::Answered));
}

/// What happens around an agent that says everything in the channel.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Mention,
    /// A reply in one of its threads.
    Asked(usize),
    /// It answers one of those it was told of, whichever.
    Answers,
    Restart,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        Just(Happens::Mention),
        (0..3usize).prop_map(Happens::Asked),
        Just(Happens::Answers),
        Just(Happens::Answers),
        Just(Happens::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However wakes, answers and restarts come one after the other: once there are as many answers as wakes, none is open
    /// and none is sent again, and no wake ends before as many answers were said as wakes have ended.
    #[test]
    fn an_agent_that_answers_every_wake_in_the_channel_has_none_left(story in prop::collection::vec(happens(), 0..24)) {
        let mut room = room();
        let threads: Vec<_> = (0..3).map(|_| room.beginning()).collect();
        let (mut opened, mut answered): (Vec<DeliveryId>, usize) = (Vec::new(), 0);
        for step in story {
            match step {
                Happens::Mention => opened.push(woken(&mut room).id),
                Happens::Asked(thread) => opened.push(room.asked_in(&threads[thread]).id),
                Happens::Answers if answered < opened.len() => {
                    room.drafts("an answer");
                    answered += 1;
                }
                Happens::Answers => {}
                Happens::Restart => {
                    let open = opened.iter().filter(|id| now(&room.world, **id).is_open()).count();
                    let again = wakes(&room.restart()).len();
                    prop_assert!(again <= open && again <= opened.len() - answered, "{again} of {open} are sent again");
                }
            }
            let over = opened.iter().filter(|id| !now(&room.world, **id).is_open()).count();
            prop_assert!(over <= answered, "{over} wakes have ended after {answered} answers");
        }
        for _ in answered..opened.len() {
            room.drafts("an answer");
        }
        prop_assert!(opened.iter().all(|id| now(&room.world, *id).state == DeliveryState::Answered));
        prop_assert!(wakes(&room.restart()).is_empty());
    }
}
