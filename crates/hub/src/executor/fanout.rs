//! Who hears what: the subscriptions of every connection, and the frames of one batch on their way to them.
//!
//! The frames of a channel are gathered over a batch and queued to each subscriber as one piece of shared bytes, so that
//! a busy channel costs one write per reader and batch. What is meant for single connections follows after.
//! [`Fanout::settle`] keeps that order right wherever a subscription is about to change.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use folkmoot_core::event::Audience;
use folkmoot_core::ids::*;
use folkmoot_core::model::Presence;
use folkmoot_core::{Event, Millis, State, access};
use folkmoot_doors::View;
use prometheus_client::metrics::gauge::Gauge;
use slab::Slab;

use crate::connection::{Chunk, Class, Connection, Queued, frame};
use crate::doors::Doors;
use crate::metrics::Metrics;

type Slot = usize;

/// From this size on a room's frames are written straight to its sockets, in one pass: what a single reader saves by getting
/// its answer in the same write is lost among so many.
const LARGE_ROOM: usize = 64;

pub struct Fanout {
    registered: Arc<Doors>,
    slots: Slab<Attached>,
    by_connection: HashMap<ConnectionId, Slot>,
    by_member: HashMap<MemberId, Vec<Slot>>,
    /// By who logged in for another member.
    by_prover: HashMap<MemberId, Vec<Slot>>,
    doors: Vec<DoorFanout>,
    /// Frames for single connections and small circles, told after the channels' frames of the same batch.
    personal: Vec<(Vec<Slot>, Chunk)>,
    dirty: Vec<Slot>,
    presence: PresenceTold,
    nonces: IdSource,
    metrics: Arc<Metrics>,
}

/// The subscriptions of one door: a frame is made once per door.
struct DoorFanout {
    rooms: HashMap<ChannelId, Vec<Slot>>,
    workspaces: HashMap<WorkspaceId, Vec<Slot>>,
    segments: Vec<Segment>,
    gauge: Gauge,
}

/// The frames of one channel in this batch.
struct Segment {
    channel: ChannelId,
    /// The position of the first stored event in it.
    first_seq: Option<u64>,
    /// Nothing in it is worth keeping for a slow reader.
    passing: bool,
    frames: u32,
    bytes: BytesMut,
}

struct Attached {
    connection: Arc<Connection>,
    door: usize,
    member: MemberId,
    prover: Option<MemberId>,
    workspace: WorkspaceId,
    channels: Vec<ChannelId>,
    is_dirty: bool,
}

/// Presence as it was last told, and what changed since: many changes at once are told together.
#[derive(Default)]
struct PresenceTold {
    told: HashMap<MemberId, Presence>,
    changed: HashMap<MemberId, WorkspaceId>,
}

impl Fanout {
    pub fn new(registered: Arc<Doors>, metrics: Arc<Metrics>, seed: u64) -> Self {
        let door = |protocol: &&dyn folkmoot_doors::Protocol| DoorFanout {
            rooms: HashMap::new(),
            workspaces: HashMap::new(),
            segments: Vec::new(),
            gauge: metrics.door(protocol.door()),
        };
        Self {
            slots: Slab::new(),
            by_connection: HashMap::new(),
            by_member: HashMap::new(),
            by_prover: HashMap::new(),
            doors: registered.protocols().iter().map(door).collect(),
            registered,
            personal: Vec::new(),
            dirty: Vec::new(),
            presence: PresenceTold::default(),
            nonces: IdSource::new(seed),
            metrics,
        }
    }

    pub fn view<'a>(&mut self, state: &'a State, now: Millis) -> View<'a> {
        View { state, now, nonce: self.nonces.next(now) }
    }

    // Connections come and go.

    /// `prover` logged in; as a rule that is the member.
    pub fn attach(&mut self, connection: Arc<Connection>, member: MemberId, prover: MemberId, state: &State) {
        let Ok(workspace) = access::carrier(state, member).map(|member| member.workspace) else { return };
        let spoken = (connection.protocol.door(), connection.spoken().dialect());
        let door =
            self.registered.protocols().iter().position(|door| (door.door(), door.dialect()) == spoken).unwrap_or(0);
        let limit = connection.protocol.limits().subscriptions;
        let channels: Vec<_> = state.channels_of(member).map(|room| room.channel.id).take(limit).collect();
        let (id, prover) = (connection.id, Some(prover).filter(|prover| *prover != member));
        let attached = Attached { connection, door, member, prover, workspace, channels: Vec::new(), is_dirty: false };
        let slot = self.slots.insert(attached);
        self.by_connection.insert(id, slot);
        self.by_member.entry(member).or_default().push(slot);
        if let Some(prover) = prover {
            self.by_prover.entry(prover).or_default().push(slot);
        }
        // What everybody is told is not for a machine, which is nobody: it hears what concerns the agents it carries.
        if state.member(member).is_some() {
            self.doors[door].workspaces.entry(workspace).or_default().push(slot);
        }
        self.doors[door].gauge.inc();
        for channel in channels {
            self.subscribe_slot(slot, channel);
        }
    }

    pub fn detach(&mut self, connection: ConnectionId) {
        let Some(slot) = self.by_connection.remove(&connection) else { return };
        self.settle();
        self.flush();
        let attached = self.slots.remove(slot);
        for channel in &attached.channels {
            leave(&mut self.doors[attached.door].rooms, channel, slot);
        }
        leave(&mut self.doors[attached.door].workspaces, &attached.workspace, slot);
        leave(&mut self.by_member, &attached.member, slot);
        if let Some(prover) = attached.prover {
            leave(&mut self.by_prover, &prover, slot);
        }
        self.doors[attached.door].gauge.dec();
    }

    /// Subscribes one connection; false at its limit.
    pub fn subscribe(&mut self, connection: ConnectionId, channel: ChannelId) -> bool {
        match self.by_connection.get(&connection) {
            Some(&slot) => self.subscribe_slot(slot, channel),
            None => true,
        }
    }

    fn subscribe_slot(&mut self, slot: Slot, channel: ChannelId) -> bool {
        let attached = &mut self.slots[slot];
        if attached.channels.contains(&channel) {
            return true;
        }
        if attached.channels.len() >= attached.connection.protocol.limits().subscriptions {
            return false;
        }
        attached.channels.push(channel);
        self.doors[attached.door].rooms.entry(channel).or_default().push(slot);
        true
    }

    pub fn unsubscribe(&mut self, connection: ConnectionId, channel: ChannelId) {
        self.settle();
        if let Some(&slot) = self.by_connection.get(&connection) {
            self.unsubscribe_slot(slot, channel);
        }
    }

    fn unsubscribe_slot(&mut self, slot: Slot, channel: ChannelId) {
        let attached = &mut self.slots[slot];
        attached.channels.retain(|known| *known != channel);
        leave(&mut self.doors[attached.door].rooms, &channel, slot);
    }

    /// All connections of a member come into a channel, or leave it.
    pub fn subscribe_member(&mut self, member: MemberId, channel: ChannelId) {
        self.settle();
        for slot in self.slots_of(member) {
            self.subscribe_slot(slot, channel);
        }
    }

    pub fn unsubscribe_member(&mut self, member: MemberId, channel: ChannelId) {
        self.settle();
        for slot in self.slots_of(member) {
            self.unsubscribe_slot(slot, channel);
        }
    }

    fn slots_of(&self, member: MemberId) -> Vec<Slot> {
        self.by_member.get(&member).cloned().unwrap_or_default()
    }

    pub fn close(&mut self, connection: ConnectionId, code: u16, reason: &str) {
        self.settle();
        if let Some(&slot) = self.by_connection.get(&connection) {
            self.slots[slot].connection.close(code, reason);
        }
    }

    /// Closes those connections of a member, and those it made for others, that could not log in again the same way.
    pub fn close_ended(&mut self, member: MemberId, reason: &str, state: &State) {
        self.settle();
        let of_others = self.by_prover.get(&member).cloned().unwrap_or_default();
        for slot in self.slots_of(member).into_iter().chain(of_others) {
            let connection = &self.slots[slot].connection;
            if connection.login_has_ended(state) {
                connection.close(1008, reason);
            }
        }
    }

    /// Ends the subscriptions of a daemon's connection to channels in which neither its own member nor an agent it carries is.
    pub fn unsubscribe_strange(&mut self, connection: ConnectionId, state: &State) {
        let Some(&slot) = self.by_connection.get(&connection) else { return };
        self.settle();
        let attached = &self.slots[slot];
        let carried = state.daemon(connection).into_iter().flat_map(|daemon| daemon.agents.iter());
        let here: Vec<_> = carried.map(|agent| agent.agent).chain([attached.member]).collect();
        let is_in = |channel: ChannelId| here.iter().any(|member| state.membership(channel, *member).is_some());
        let strange: Vec<_> = attached.channels.iter().copied().filter(|channel| !is_in(*channel)).collect();
        for channel in strange {
            self.unsubscribe_slot(slot, channel);
        }
    }

    pub fn close_all(&mut self, code: u16, reason: &str) {
        self.settle();
        self.flush();
        for (_, attached) in &self.slots {
            attached.connection.close(code, reason);
        }
    }

    // Frames of a batch.

    /// Makes the frame of an event once per door that has somebody to hear it.
    pub fn tell(&mut self, event: &Event, audience: Audience, state: &State, now: Millis) {
        if let Event::PresenceChanged { member, workspace, .. } = event {
            self.presence.changed.insert(*member, *workspace);
            return;
        }
        if let (Audience::Channel(channel), Some(carrier)) = (audience, event.carrier(state))
            && !self.is_subscribed(carrier, channel)
        {
            self.tell_by_doors(event, Audience::Connection(carrier), state, now);
        }
        self.tell_by_doors(event, audience, state, now);
    }

    fn is_subscribed(&self, connection: ConnectionId, channel: ChannelId) -> bool {
        self.by_connection.get(&connection).is_some_and(|slot| self.slots[*slot].channels.contains(&channel))
    }

    fn tell_by_doors(&mut self, event: &Event, audience: Audience, state: &State, now: Millis) {
        for (door, protocol) in Arc::clone(&self.registered).protocols().iter().enumerate() {
            let audience = protocol.audience(event, audience);
            if !self.has_listeners(door, audience) {
                continue;
            }
            let view = self.view(state, now);
            if let Some(text) = protocol.event(event, view) {
                self.gather(door, audience, event, &text);
            }
        }
    }

    fn has_listeners(&self, door: usize, audience: Audience) -> bool {
        match audience {
            Audience::Channel(channel) => self.doors[door].rooms.contains_key(&channel),
            Audience::Workspace(workspace) => self.doors[door].workspaces.contains_key(&workspace),
            // A frame that nobody of this dialect would get need not be made.
            Audience::Member(member) => {
                self.by_member.get(&member).is_some_and(|slots| slots.iter().any(|slot| self.slots[*slot].door == door))
            }
            Audience::Connection(connection) => {
                self.by_connection.get(&connection).is_some_and(|slot| self.slots[*slot].door == door)
            }
            Audience::Nobody => false,
        }
    }

    fn gather(&mut self, door: usize, audience: Audience, event: &Event, text: &str) {
        match (audience, position(event)) {
            (Audience::Channel(channel), seq @ Some(_)) => self.doors[door].segment(channel, seq, false, text),
            // What is being written stands in one line with what was said, or it would come after its own end.
            (Audience::Channel(channel), None) if is_of_a_stream(event) => {
                self.doors[door].segment(channel, None, event.is_passing(), text);
            }
            _ => {
                let class = if event.is_passing() { Class::Passing } else { Class::Personal };
                let slots = self.listeners(door, audience);
                self.personal.push((slots, Chunk { bytes: frame::text(text), frames: 1, class }));
            }
        }
    }

    fn listeners(&self, door: usize, audience: Audience) -> Vec<Slot> {
        let of_door = |slot: &Slot| self.slots[*slot].door == door;
        let found = match audience {
            Audience::Channel(channel) => self.doors[door].rooms.get(&channel).cloned(),
            Audience::Workspace(workspace) => self.doors[door].workspaces.get(&workspace).cloned(),
            Audience::Member(member) => {
                self.by_member.get(&member).map(|slots| slots.iter().copied().filter(of_door).collect())
            }
            Audience::Connection(connection) => {
                self.by_connection.get(&connection).copied().filter(of_door).map(|slot| vec![slot])
            }
            Audience::Nobody => None,
        };
        found.unwrap_or_default()
    }

    /// An answer for one connection, attached or not.
    pub fn answer(&mut self, connection: &Arc<Connection>, bytes: Bytes) {
        match self.by_connection.get(&connection.id) {
            Some(&slot) => self.personal.push((vec![slot], Chunk::answer(bytes))),
            None => {
                connection.send(Chunk::answer(bytes));
            }
        }
    }

    /// Queues everything gathered so far: first the channels' frames, then what is for single connections.
    pub fn settle(&mut self) {
        for door in 0..self.doors.len() {
            for segment in std::mem::take(&mut self.doors[door].segments) {
                let class = segment.class();
                let chunk = Chunk { bytes: segment.bytes.freeze(), frames: segment.frames, class };
                let Some(room) = self.doors[door].rooms.get(&segment.channel) else { continue };
                if room.len() >= LARGE_ROOM {
                    for &slot in room {
                        note(self.slots[slot].connection.write_through(&chunk), &self.metrics);
                    }
                    continue;
                }
                for &slot in room {
                    queue(&mut self.slots[slot], slot, chunk.clone(), &mut self.dirty, &self.metrics);
                }
            }
        }
        for (slots, chunk) in std::mem::take(&mut self.personal) {
            for slot in slots {
                if let Some(attached) = self.slots.get_mut(slot) {
                    queue(attached, slot, chunk.clone(), &mut self.dirty, &self.metrics);
                }
            }
        }
    }

    /// Writes what was queued, one write per connection.
    pub fn flush(&mut self) {
        for slot in std::mem::take(&mut self.dirty) {
            if let Some(attached) = self.slots.get_mut(slot) {
                attached.is_dirty = false;
                attached.connection.flush();
            }
        }
    }

    pub fn has_presence_to_tell(&self) -> bool {
        !self.presence.changed.is_empty()
    }

    /// Tells every change of presence since the last time, each workspace's in one piece; what changed back is not told.
    pub fn tell_presence(&mut self, state: &State, now: Millis) {
        let mut per_workspace: HashMap<WorkspaceId, Vec<Event>> = HashMap::new();
        for (member, workspace) in std::mem::take(&mut self.presence.changed) {
            let presence = state.presence_of(member);
            let before = self.presence.told.get(&member).copied().unwrap_or(Presence::Offline);
            if presence == before {
                continue;
            }
            match presence {
                Presence::Offline => self.presence.told.remove(&member),
                other => self.presence.told.insert(member, other),
            };
            per_workspace.entry(workspace).or_default().push(Event::PresenceChanged { member, workspace, presence });
        }
        for (workspace, changes) in per_workspace {
            self.tell_together(workspace, &changes, state, now);
        }
    }

    fn tell_together(&mut self, workspace: WorkspaceId, events: &[Event], state: &State, now: Millis) {
        for (door, protocol) in Arc::clone(&self.registered).protocols().iter().enumerate() {
            let slots = self.listeners(door, Audience::Workspace(workspace));
            if slots.is_empty() {
                continue;
            }
            let mut bytes = BytesMut::new();
            for event in events {
                let view = self.view(state, now);
                if let Some(text) = protocol.event(event, view) {
                    frame::put_text(&mut bytes, &text);
                }
            }
            let chunk = Chunk { bytes: bytes.freeze(), frames: events.len() as u32, class: Class::Passing };
            self.personal.push((slots, chunk));
        }
    }
}

impl DoorFanout {
    fn segment(&mut self, channel: ChannelId, seq: Option<u64>, passing: bool, text: &str) {
        let at = self.segments.iter().rposition(|segment| segment.channel == channel);
        let segment = match at {
            Some(at) => &mut self.segments[at],
            None => {
                let bytes = BytesMut::with_capacity(text.len() + 10);
                self.segments.push(Segment { channel, first_seq: None, passing: true, frames: 0, bytes });
                let last = self.segments.len() - 1;
                &mut self.segments[last]
            }
        };
        segment.frames += 1;
        segment.first_seq = segment.first_seq.or(seq);
        segment.passing &= passing;
        frame::put_text(&mut segment.bytes, text);
    }
}

impl Segment {
    fn class(&self) -> Class {
        match self.first_seq {
            Some(first_seq) => Class::Channel { channel: self.channel, first_seq },
            None if self.passing => Class::Passing,
            None => Class::Personal,
        }
    }
}

fn is_of_a_stream(event: &Event) -> bool {
    matches!(event, Event::Streamed(_) | Event::StreamEnded { .. } | Event::Progressed(_))
}

/// The position of an event in its channel.
fn position(event: &Event) -> Option<u64> {
    match event {
        Event::MessageSent(message) => Some(message.seq),
        Event::MessageEdited { change, .. }
        | Event::MessageDeleted { change, .. }
        | Event::Reacted { change, .. }
        | Event::Pinned { change, .. }
        | Event::Unpinned { change, .. } => Some(change.seq),
        _ => None,
    }
}

fn queue(attached: &mut Attached, slot: Slot, chunk: Chunk, dirty: &mut Vec<Slot>, metrics: &Metrics) {
    let queued = attached.connection.queue(chunk);
    note(queued, metrics);
    if queued == Queued::Overflow && !attached.connection.protocol.can_catch_up() {
        attached.connection.close(1008, "reads too slowly");
    }
    if !attached.is_dirty {
        attached.is_dirty = true;
        dirty.push(slot);
    }
}

fn note(queued: Queued, metrics: &Metrics) {
    if queued == Queued::Overflow {
        metrics.overflows.inc();
    }
}

fn leave<K: std::hash::Hash + Eq>(map: &mut HashMap<K, Vec<Slot>>, key: &K, slot: Slot) {
    if let Some(slots) = map.get_mut(key) {
        if let Some(at) = slots.iter().position(|known| *known == slot) {
            slots.swap_remove(at);
        }
        if slots.is_empty() {
            map.remove(key);
        }
    }
}
