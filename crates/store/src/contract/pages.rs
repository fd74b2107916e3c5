//! Pages of history and what a client missed, against a model in memory.

use folkmoot_core::model::Message;
use folkmoot_core::record::{Change, ChangeKind};
use folkmoot_core::{Event, RecordKind};
use proptest::prelude::*;

use super::fixtures::*;
use super::{NewPlace, cases};
use crate::{Page, Replay};

/// What happens to a channel in a random story; the number picks the message concerned.
#[derive(Clone, Debug)]
enum Happening {
    Send,
    Reply(usize),
    Edit(usize),
    Delete(usize),
    React(usize),
    PinAndUnpin(usize),
    SendElsewhere,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::Send),
        3 => any::<usize>().prop_map(Happening::Reply),
        1 => any::<usize>().prop_map(Happening::Edit),
        2 => any::<usize>().prop_map(Happening::Delete),
        1 => any::<usize>().prop_map(Happening::React),
        1 => any::<usize>().prop_map(Happening::PinAndUnpin),
        1 => Just(Happening::SendElsewhere),
    ]
}

/// The channel as it should be after a story: its messages, and its changes in order.
struct Story {
    hub: Hub,
    messages: Vec<Message>,
    changes: Vec<Change>,
    events: Vec<Event>,
}

impl Story {
    fn tell(happenings: &[Happening]) -> Self {
        let mut story = Self { hub: Hub::new(), messages: Vec::new(), changes: Vec::new(), events: Vec::new() };
        for happening in happenings {
            story.happen(happening);
        }
        story
    }

    fn happen(&mut self, happening: &Happening) {
        match *happening {
            Happening::Send => {
                let message = self.hub.message(GENERAL, "said");
                self.send(message);
            }
            Happening::SendElsewhere => {
                let message = self.hub.message(RANDOM, "said elsewhere");
                self.events.push(sent(&message));
            }
            Happening::Reply(which) => {
                let Some(root) = self.pick(which) else { return };
                let message = self.hub.reply(&self.messages[root], "replied");
                self.send(message);
                self.messages[root].reply_count += 1;
            }
            Happening::Edit(which) => self.change(which, |hub, message| hub.edit(message, "edited")),
            Happening::React(which) => self.change(which, |hub, message| hub.react(message, "👍")),
            Happening::Delete(which) => self.delete(which),
            Happening::PinAndUnpin(which) => {
                let Some(which) = self.pick(which) else { return };
                let (pin, pinned) = self.hub.pin(&self.messages[which]);
                let unpinned = self.hub.unpin(&self.messages[which], pin);
                self.log(pinned);
                self.log(unpinned);
            }
        }
    }

    /// A message that was not deleted; threads are one level deep, so a reply is no root.
    fn pick(&self, which: usize) -> Option<usize> {
        let alive: Vec<_> = (0..self.messages.len()).filter(|index| !self.messages[*index].deleted).collect();
        (!alive.is_empty()).then(|| alive[which % alive.len()])
    }

    fn send(&mut self, message: Message) {
        self.events.push(sent(&message));
        self.messages.push(message);
    }

    fn change(&mut self, which: usize, change: impl FnOnce(&mut Hub, &mut Message) -> Event) {
        let Some(which) = self.pick(which) else { return };
        let event = change(&mut self.hub, &mut self.messages[which]);
        self.log(event);
    }

    fn delete(&mut self, which: usize) {
        let Some(which) = self.pick(which) else { return };
        let event = self.hub.delete(&mut self.messages[which]);
        if let Some(root) = self.messages[which].thread
            && let Some(root) = self.messages.iter_mut().find(|message| message.id == root)
        {
            root.reply_count -= 1;
        }
        self.log(event);
    }

    fn log(&mut self, event: Event) {
        let (Event::MessageEdited { change, .. }
        | Event::MessageDeleted { change, .. }
        | Event::Reacted { change, .. }
        | Event::Pinned { change, .. }
        | Event::Unpinned { change, .. }) = &event
        else {
            return;
        };
        self.changes.push(change.clone());
        self.events.push(event);
    }

    /// What a page should hold, in the words of [`Page`] and of [`crate::Reader::messages`].
    fn page(&self, page: Page) -> Vec<Message> {
        let fits = |message: &&Message| {
            !message.deleted
                && (page.with_replies || message.thread.is_none())
                && page.before.is_none_or(|before| message.seq < before)
                && page.after.is_none_or(|after| message.seq > after)
        };
        let mut found: Vec<_> = self.messages.iter().filter(fits).cloned().collect();
        let from_the_old_end = page.after.is_some() && page.before.is_none();
        if !from_the_old_end {
            found.reverse();
        }
        let mut found: Vec<_> = found.into_iter().skip(page.offset).take(page.limit).collect();
        if from_the_old_end {
            found.reverse();
        }
        found
    }
}

fn page() -> impl Strategy<Value = Page> {
    let bound = || proptest::option::of(prop_oneof![0_u64..40, Just(u64::MAX)]);
    let limit = prop_oneof![0_usize..12, Just(usize::MAX)];
    (bound(), bound(), 0_usize..5, limit, any::<bool>()).prop_map(|(before, after, offset, limit, with_replies)| Page {
        before,
        after,
        offset,
        limit,
        with_replies,
    })
}

pub fn a_page_is_what_its_limits_say(new_place: NewPlace) {
    let story = proptest::collection::vec(happening(), 0..40);
    let pages = proptest::collection::vec(page(), 20);
    proptest!(cases(32), |(happenings in story, pages in pages)| {
        let story = Story::tell(&happenings);
        let place = new_place();
        let mut store = place.open();
        store_all(store.as_mut(), &story.events);
        let reader = store.reader().expect("a reader");
        for page in pages {
            prop_assert_eq!(reader.messages(GENERAL, page), Ok(story.page(page)), "{:?}", page);
        }
        let newest = story.page(Page { limit: 5, with_replies: true, ..Page::default() });
        prop_assert_eq!(reader.newest_messages(GENERAL, 5), Ok(newest.into_iter().rev().collect()));
    });
}

pub fn a_replay_is_dense_in_order_and_complete(new_place: NewPlace) {
    let story = proptest::collection::vec(happening(), 1..40);
    proptest!(cases(32), |(happenings in story, after in 0_u64..20, limit in 0_usize..40)| {
        let story = Story::tell(&happenings);
        let place = new_place();
        let mut store = place.open();
        store_all(store.as_mut(), &story.events);
        let reader = store.reader().expect("a reader");
        let replay = reader.replay(GENERAL, after, limit).expect("a replay");
        prop_assert_eq!(reader.last_seq(GENERAL), Ok(story.hub.head(GENERAL).seq));
        let last = story.hub.head(GENERAL).seq.min(after.saturating_add(limit as u64)).max(after);
        let seqs: Vec<_> = replay.iter().map(seq).collect();
        prop_assert_eq!(seqs, (after + 1..=last).collect::<Vec<_>>());
        for replayed in replay {
            match replayed {
                Replay::Message(message) => prop_assert!(story.messages.contains(&message)),
                Replay::Change(change, message) => {
                    prop_assert!(story.changes.contains(&change));
                    let now = story.messages.iter().find(|message| message.id == change.message);
                    prop_assert_eq!(message.as_ref(), now);
                }
            }
        }
    });
}

pub fn a_replay_beside_a_writer_has_no_gap(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let reader = store.reader().expect("a reader");
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for _ in 0..100 {
                let mut message = hub.message(GENERAL, "said");
                store_all(store.as_mut(), &[sent(&message), hub.edit(&mut message, "edited")]);
                store_all(store.as_mut(), &[hub.delete(&mut message)]);
            }
        });
        let mut is_over = false;
        while !is_over {
            is_over = writer.is_finished();
            let seqs: Vec<_> = reader.replay(GENERAL, 0, 1000).expect("a replay").iter().map(seq).collect();
            assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
            assert!(!is_over || seqs.len() == 300);
        }
    });
}

fn seq(replayed: &Replay) -> u64 {
    match replayed {
        Replay::Message(message) => message.seq,
        Replay::Change(change, _) => change.seq,
    }
}

pub fn a_replay_shows_messages_as_they_are_now(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut message = hub.message(GENERAL, "before");
    let (pin, pinned) = hub.pin(&message);
    store_all(store.as_mut(), &[sent(&message), pinned]);
    store_all(store.as_mut(), &[hub.edit(&mut message, "after"), hub.unpin(&message, pin), hub.delete(&mut message)]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.count(RecordKind::Pin, &Default::default()), Ok(0));
    let replay = reader.replay(GENERAL, 0, 9).expect("a replay");
    let changes: Vec<_> = replay.iter().map(|replayed| what(replayed, &message)).collect();
    assert!(matches!(
        changes[..],
        [
            None,
            Some(ChangeKind::Pinned { .. }),
            Some(ChangeKind::Edited),
            Some(ChangeKind::Unpinned { .. }),
            Some(ChangeKind::Deleted)
        ]
    ));
    assert!(reader.replay(GENERAL, u64::MAX, 9).expect("a replay").is_empty());
}

fn what<'a>(replayed: &'a Replay, expected: &Message) -> Option<&'a ChangeKind> {
    match replayed {
        Replay::Message(message) => {
            assert_eq!(message, expected);
            None
        }
        Replay::Change(change, message) => {
            assert_eq!(message.as_ref(), Some(expected));
            Some(&change.what)
        }
    }
}
