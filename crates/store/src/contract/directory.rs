//! What a hub loads at its start equals what it knew when it stopped.

use folkmoot_core::ids::ApprovalId;
use folkmoot_core::model::{
    Approval, ApprovalStatus, Channel, ChannelKind, Head, Member, Membership, Message, Workspace,
};
use folkmoot_core::{Event, Record, State};
use proptest::prelude::*;

use super::fixtures::*;
use super::{NewPlace, cases};
use crate::Store;

fn load(store: &dyn Store) -> State {
    let directory = store.directory().expect("a directory");
    State::load(directory.records, directory.heads)
}

pub fn an_empty_store_has_an_empty_directory(new_place: NewPlace) {
    let place = new_place();
    let store = place.open();
    let directory = store.directory().expect("a directory");
    assert!(directory.records.is_empty() && directory.heads.is_empty());
}

pub fn open_questions_are_loaded_and_decided_ones_are_not(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let open = hub.one_of_each().into_iter().find_map(|record| match record {
        Record::Approval(approval) => Some(approval),
        _ => None,
    });
    let open = open.expect("an approval");
    let decided = Approval { id: ApprovalId(open.id.0 + 1), status: ApprovalStatus::Denied, ..open.clone() };
    let saved = [&open, &decided].map(|approval| Event::Saved(Record::Approval(approval.clone())));
    store_all(store.as_mut(), &saved);
    let loaded = load(store.as_ref());
    assert_eq!(loaded.overdue_approvals(open.expires_at).collect::<Vec<_>>(), [open.id]);
}

pub fn the_head_of_a_channel_counts_changes_and_deleted_messages(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let [first, second, silent] = [0; 3].map(|_| hub.channel(WORKSPACE, ChannelKind::Channel));
    let saved = [&first, &second, &silent].map(|channel| Event::Saved(Record::Channel(channel.clone())));
    store_all(store.as_mut(), &saved);
    let mut message = hub.message(first.id, "one");
    store_all(store.as_mut(), &[sent(&message), hub.react(&mut message, "👍"), hub.delete(&mut message)]);
    store_all(store.as_mut(), &[sent(&hub.message(second.id, "two")), sent(&hub.message(second.id, "three"))]);
    let head = |channel: &Channel| load(store.as_ref()).channel(channel.id).expect("the channel").head;
    assert_eq!(head(&first), Head { seq: 3, version: 1 });
    assert_eq!(head(&second), Head { seq: 2, version: 2 });
    assert_eq!(head(&silent), Head::default());
}

/// One step in the life of a hub; numbers pick what it concerns.
#[derive(Clone, Debug)]
enum Step {
    NewWorkspace,
    NewMember(usize),
    RemoveMember(usize),
    NewChannel(usize, bool),
    Archive(usize),
    RemoveChannel(usize),
    Join(usize, usize),
    Leave(usize),
    Say(usize, usize),
    EditLast(usize),
    RevokeToken,
    AddWebhook(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let number = any::<usize>;
    prop_oneof![
        1 => Just(Step::NewWorkspace),
        3 => number().prop_map(Step::NewMember),
        1 => number().prop_map(Step::RemoveMember),
        3 => (number(), any::<bool>()).prop_map(|(which, private)| Step::NewChannel(which, private)),
        1 => number().prop_map(Step::Archive),
        1 => number().prop_map(Step::RemoveChannel),
        4 => (number(), number()).prop_map(|(channel, member)| Step::Join(channel, member)),
        1 => number().prop_map(Step::Leave),
        6 => (number(), number()).prop_map(|(channel, member)| Step::Say(channel, member)),
        2 => number().prop_map(Step::EditLast),
        1 => Just(Step::RevokeToken),
        1 => number().prop_map(Step::AddWebhook),
    ]
}

/// Makes events out of steps, remembering what there is to pick from.
struct Life {
    hub: Hub,
    workspaces: Vec<Workspace>,
    members: Vec<Member>,
    channels: Vec<Channel>,
    memberships: Vec<Membership>,
    said: Vec<Message>,
}

fn pick<T: Clone>(from: &[T], which: usize) -> Option<T> {
    from.get(which % from.len().max(1)).cloned()
}

impl Life {
    fn new() -> Self {
        let hub = Hub::new();
        let (workspaces, members, channels) = (Vec::new(), Vec::new(), Vec::new());
        Self { hub, workspaces, members, channels, memberships: Vec::new(), said: Vec::new() }
    }

    fn step(&mut self, step: &Step) -> Option<Event> {
        let record: Record = match *step {
            Step::NewWorkspace => {
                let workspace = self.hub.workspace(&format!("w{}", self.workspaces.len()));
                self.workspaces.push(workspace.clone());
                workspace.into()
            }
            Step::NewMember(which) => {
                let workspace = pick(&self.workspaces, which)?;
                let mut member = self.hub.member(workspace.id, &format!("m{}", self.members.len()));
                member.secrets.key_hash = None;
                self.members.push(member.clone());
                member.into()
            }
            Step::RemoveMember(which) => Member { removed: true, ..pick(&self.members, which)? }.into(),
            Step::NewChannel(which, private) => {
                let workspace = pick(&self.workspaces, which)?;
                let kind = if private { ChannelKind::Private } else { ChannelKind::Channel };
                let channel = self.hub.channel(workspace.id, kind);
                self.channels.push(channel.clone());
                channel.into()
            }
            Step::Archive(which) => Channel { archived: true, ..pick(&self.channels, which)? }.into(),
            Step::RemoveChannel(which) => return self.remove_channel(which),
            Step::Join(channel, member) => {
                let (channel, member) = (pick(&self.channels, channel)?, pick(&self.members, member)?);
                if self.memberships.iter().any(|known| (known.channel, known.member) == (channel.id, member.id)) {
                    return None;
                }
                let membership = self.hub.membership(channel.id, member.id);
                self.memberships.push(membership.clone());
                membership.into()
            }
            Step::Leave(which) => {
                let membership = pick(&self.memberships, which)?;
                self.memberships.retain(|known| known.id != membership.id);
                return Some(Event::Removed(membership.into()));
            }
            Step::Say(channel, member) => return self.say(channel, member),
            Step::EditLast(which) => {
                let mut message = pick(&self.said, which)?;
                return Some(self.hub.edit(&mut message, "edited"));
            }
            Step::RevokeToken => {
                let jti = self.hub.id().to_string();
                self.hub.token(&jti).into()
            }
            Step::AddWebhook(which) => {
                let channel = pick(&self.channels, which)?;
                self.hub.webhook(channel.id).into()
            }
        };
        Some(Event::Saved(record))
    }

    fn remove_channel(&mut self, which: usize) -> Option<Event> {
        let channel = pick(&self.channels, which)?;
        self.channels.retain(|known| known.id != channel.id);
        self.memberships.retain(|known| known.channel != channel.id);
        self.said.retain(|message| message.channel != channel.id);
        Some(Event::Removed(channel.into()))
    }

    fn say(&mut self, channel: usize, member: usize) -> Option<Event> {
        let (channel, member) = (pick(&self.channels, channel)?, pick(&self.members, member)?);
        let message = Message { sender: member.id, ..self.hub.message(channel.id, "said") };
        self.said.push(message.clone());
        Some(sent(&message))
    }
}

pub fn the_directory_loads_into_the_state_that_followed_the_events(new_place: NewPlace) {
    let steps = proptest::collection::vec(step(), 0..80);
    proptest!(cases(48), |(steps in steps)| {
        let (place, mut life, mut state) = (new_place(), Life::new(), State::default());
        let mut store = place.open();
        let events: Vec<_> = steps.iter().filter_map(|step| life.step(step)).collect();
        for event in &events {
            state.apply(event);
        }
        store_all(store.as_mut(), &events);
        // Read positions that moved by speaking are stored now and then; here, now.
        let moved = state.take_moved_reads().into_iter().map(|membership| Event::Saved(membership.into()));
        store_all(store.as_mut(), &moved.collect::<Vec<_>>());
        prop_assert!(load(store.as_ref()).stored_part() == state.stored_part());
    });
}
