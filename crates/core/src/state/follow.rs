//! How the state follows what happened: from the start, event by event, and back to what is stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Attendance, Room, State, fold_name};
use crate::Event;
use crate::delivery::Talk;
use crate::event::Wake;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;

impl State {
    /// Builds the state from the stored directory; `heads` says how far each channel has come.
    pub fn load(records: impl IntoIterator<Item = Record>, heads: impl IntoIterator<Item = (ChannelId, Head)>) -> Self {
        let mut state = Self::default();
        let mut memberships = Vec::new();
        for record in records {
            match record {
                Record::Membership(membership) => memberships.push(membership),
                other => state.put(&other),
            }
        }
        for membership in memberships {
            state.put(&Record::Membership(membership));
        }
        for (channel, head) in heads {
            if let Some(room) = state.rooms.get_mut(&channel) {
                room.head = head;
            }
        }
        state
    }

    /// Goes back to what is stored, after a commit that failed; who is connected and what is being written stay as they are.
    pub fn replace_stored(&mut self, fresh: Self) {
        let presence = std::mem::take(&mut self.presence);
        let daemons = std::mem::take(&mut self.daemons);
        let carried = std::mem::take(&mut self.carried);
        let doors = std::mem::take(&mut self.doors);
        let streams = std::mem::take(&mut self.streams);
        let (wake_rules, quota_rules) = (self.wake_rules, self.quota_rules);
        let made = std::mem::take(&mut self.made);
        let deliveries = std::mem::take(&mut self.deliveries);
        *self = Self { presence, daemons, carried, doors, streams, wake_rules, quota_rules, made, ..fresh };
        self.deliveries.keep_sent(deliveries);
    }

    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::MessageSent(message) => self.follow_message(message),
            Event::MessageEdited { change, .. }
            | Event::MessageDeleted { change, .. }
            | Event::Reacted { change, .. }
            | Event::Pinned { change, .. }
            | Event::Unpinned { change, .. } => self.advance(change.channel, change.seq),
            Event::Joined(membership) => self.put_membership(membership),
            Event::Left(membership) => self.remove_membership(membership),
            Event::Saved(record) => {
                self.count_new(record);
                self.put(record);
            }
            Event::Removed(record) => self.remove(record),
            Event::PresenceChanged { member, presence, .. } => self.say_presence(*member, *presence),
            Event::Connected { member, connection, door } => {
                self.presence.entry(*member).or_default().connections.push(*connection);
                self.doors.insert(*connection, *door);
            }
            Event::Disconnected { member, connection } => self.disconnect(*member, *connection),
            Event::DaemonRegistered { connection, daemon } => self.put_daemon(*connection, daemon.clone()),
            Event::Streamed(stream) => {
                self.streams.insert((stream.sender, stream.channel), Arc::clone(stream));
            }
            Event::StreamEnded { stream, .. } => {
                self.streams.remove(&(stream.sender, stream.channel));
            }
            Event::Woken(wake) => self.note_wake(wake),
            Event::Progressed(_)
            | Event::StopAsked { .. }
            | Event::Typing { .. }
            | Event::Handed { .. }
            | Event::TaskAssigned { .. }
            | Event::CallSignal { .. }
            | Event::ConnectionReplaced(_) => {}
        }
    }

    /// Channels and members that are new count against the limits of their makers and workspaces.
    fn count_new(&mut self, record: &Record) {
        match record {
            Record::Channel(channel) if !self.rooms.contains_key(&channel.id) => {
                let maker = self.answers_for(channel.created_by);
                self.made.channels.charge(maker, self.quota_rules.channels, channel.created_at);
            }
            Record::Member(member) if !self.members.contains_key(&member.id) => {
                self.made.members.charge(member.workspace, self.quota_rules.members, member.created_at);
            }
            _ => {}
        }
    }

    fn follow_message(&mut self, message: &Message) {
        let Some(room) = self.rooms.get_mut(&message.channel) else { return };
        let by_agent = self.members.get(&message.sender).is_some_and(|member| member.is_agent());
        room.talk.follow(message, by_agent);
        room.head = Head { seq: message.seq, version: message.version };
        if let Some(membership) = room.members.get_mut(&message.sender) {
            // Whoever speaks has read what came before.
            membership.read = ReadPosition { seq: message.seq, version: message.version };
            self.moved_reads.insert((message.channel, message.sender));
        }
    }

    fn note_wake(&mut self, wake: &Wake) {
        let can_hear =
            |connection: &&ConnectionId| self.door_of(**connection).is_some_and(|door| door.facts().has_wakes);
        let connection = wake.through.or_else(|| self.connections_of(wake.agent).iter().rfind(can_hear).copied());
        if let (Some(delivery), Some(connection)) = (&wake.delivery, connection) {
            self.deliveries.note_sent(delivery.id, connection);
        }
    }

    fn advance(&mut self, channel: ChannelId, seq: u64) {
        if let Some(room) = self.rooms.get_mut(&channel) {
            room.head.seq = seq;
        }
    }

    fn put(&mut self, record: &Record) {
        match record {
            Record::Workspace(workspace) => {
                self.workspaces.insert(workspace.id, workspace.clone());
            }
            Record::Member(member) => self.put_member(member),
            Record::Channel(channel) => self.put_channel(channel),
            Record::Membership(membership) => self.put_membership(membership),
            Record::Webhook(webhook) => {
                self.webhooks.insert(webhook.id, webhook.clone());
            }
            Record::Token(token) => {
                if let TokenPurpose::Revoked(jti) = &token.purpose {
                    self.revoked.insert(jti.clone(), token.expires_at);
                }
                if let Some(signed_in) = token.signed_in() {
                    self.sessions.insert((token.made_by, signed_in.session.clone()), token.id);
                }
                self.tokens.insert(token.id, token.clone());
            }
            Record::Invite(invite) => {
                self.invites.insert(invite.id, invite.clone());
            }
            Record::TelegramLink(link) => {
                self.telegram_links.insert(link.id, link.clone());
            }
            Record::Machine(machine) => {
                self.machine_keys.insert(machine.key_hash, machine.id);
                self.machines.insert(machine.id, machine.clone());
            }
            Record::Approval(approval) => {
                let due = (approval.expires_at, approval.id);
                match approval.status {
                    ApprovalStatus::Pending => self.open_approvals.insert(due),
                    ApprovalStatus::Approved | ApprovalStatus::Denied => self.open_approvals.remove(&due),
                };
            }
            Record::Call(call) => {
                let due = (call.rings_until(), call.id);
                match call.status {
                    CallStatus::Ringing => self.ringing.insert(due),
                    CallStatus::Answered | CallStatus::Ended | CallStatus::Missed => self.ringing.remove(&due),
                };
            }
            Record::Delivery(delivery) => self.deliveries.put(delivery),
            Record::Run(run) => self.runs.put(run),
            Record::RunAction(action) => self.runs.note(action),
            Record::Hosted(hosted) => {
                self.hosted.insert(hosted.id, hosted.clone());
            }
            Record::Lease(lease) => self.pools.put_lease(lease),
            Record::Fence(fence) => self.pools.put_fence(fence),
            Record::PoolLink(link) => self.pools.put_link(link),
            // Read when it is needed.
            Record::Notification(_)
            | Record::Draft(_)
            | Record::Review(_)
            | Record::Task(_)
            | Record::File(_)
            | Record::Pin(_)
            | Record::Edit(_)
            | Record::Item(_)
            | Record::Memory(_)
            | Record::Route(_)
            | Record::Cause(_)
            | Record::Session(_) => {}
        }
    }

    fn remove(&mut self, record: &Record) {
        match record {
            Record::Workspace(workspace) => {
                self.workspaces.remove(&workspace.id);
            }
            Record::Member(member) => {
                if let Some(old) = self.members.remove(&member.id) {
                    self.forget_handles(&old);
                }
            }
            Record::Channel(channel) => self.remove_channel(channel.id),
            Record::Membership(membership) => self.remove_membership(membership),
            Record::Webhook(webhook) => {
                self.webhooks.remove(&webhook.id);
            }
            Record::Invite(invite) => {
                self.invites.remove(&invite.id);
            }
            Record::TelegramLink(link) => {
                self.telegram_links.remove(&link.id);
            }
            Record::Machine(machine) => {
                self.machine_keys.remove(&machine.key_hash);
                self.machines.remove(&machine.id);
            }
            Record::Token(token) => {
                self.tokens.remove(&token.id);
                if let TokenPurpose::Revoked(jti) = &token.purpose {
                    self.revoked.remove(jti);
                }
                if let Some(signed_in) = token.signed_in() {
                    self.sessions.remove(&(token.made_by, signed_in.session.clone()));
                }
            }
            Record::Run(run) => self.runs.remove(run.id),
            Record::Hosted(hosted) => {
                self.hosted.remove(&hosted.id);
            }
            Record::Lease(lease) => self.pools.forget(&lease.place),
            Record::PoolLink(link) => self.pools.remove_link(link.channel),
            _ => {}
        }
    }

    fn put_member(&mut self, member: &Member) {
        if let Some(old) = self.members.remove(&member.id) {
            self.forget_handles(&old);
        }
        if !member.removed {
            self.names.insert((member.workspace, fold_name(&member.name)), member.id);
            for name in called(member) {
                self.member_looks.insert(member.workspace, name, member.id);
            }
            if let Some(email) = &member.email {
                self.emails.insert(fold_name(email), member.id);
            }
            if let Some(hash) = member.secrets.key_hash {
                self.keys.insert(hash, member.id);
            }
            if member.is_able() {
                self.able.entry(member.workspace).or_default().insert(member.id);
            }
        }
        self.members.insert(member.id, Arc::new(member.clone()));
    }

    fn forget_handles(&mut self, member: &Member) {
        if let Some(able) = self.able.get_mut(&member.workspace) {
            able.remove(&member.id);
        }
        for name in called(member) {
            self.member_looks.remove(member.workspace, name, member.id);
        }
        // Somebody else may have taken the name since.
        let name = (member.workspace, fold_name(&member.name));
        if self.names.get(&name) == Some(&member.id) {
            self.names.remove(&name);
        }
        if let Some(email) = &member.email {
            self.emails.remove(&fold_name(email));
        }
        if let Some(hash) = &member.secrets.key_hash {
            self.keys.remove(hash);
        }
    }

    fn put_channel(&mut self, channel: &Channel) {
        if let Some(room) = self.rooms.get(&channel.id).filter(|room| !room.channel.kind.is_direct()) {
            self.channel_looks.remove(room.channel.workspace, &room.channel.name, channel.id);
        }
        if !channel.kind.is_direct() {
            self.channel_looks.insert(channel.workspace, &channel.name, channel.id);
        }
        match self.rooms.get_mut(&channel.id) {
            Some(room) => room.channel = channel.clone(),
            None => {
                let (head, members, talk) = (Head::default(), BTreeMap::new(), Talk::default());
                let room = Room { channel: channel.clone(), head, members, talk };
                self.rooms.insert(channel.id, room);
            }
        }
    }

    fn put_membership(&mut self, membership: &Membership) {
        let id = membership.channel;
        self.forget_direct(id);
        let Some(room) = self.rooms.get_mut(&id) else { return };
        room.members.insert(membership.member, membership.clone());
        self.note_direct(id);
        self.rooms_of.entry(membership.member).or_default().insert(id);
        self.moved_reads.remove(&(id, membership.member));
    }

    fn remove_membership(&mut self, membership: &Membership) {
        if let Some(rooms) = self.rooms_of.get_mut(&membership.member) {
            rooms.remove(&membership.channel);
            if rooms.is_empty() {
                self.rooms_of.remove(&membership.member);
            }
        }
        self.forget_direct(membership.channel);
        if let Some(room) = self.rooms.get_mut(&membership.channel) {
            room.members.remove(&membership.member);
        }
        self.note_direct(membership.channel);
        self.moved_reads.remove(&(membership.channel, membership.member));
    }

    fn remove_channel(&mut self, channel: ChannelId) {
        self.forget_direct(channel);
        let Some(room) = self.rooms.remove(&channel) else { return };
        self.channel_looks.remove(room.channel.workspace, &room.channel.name, channel);
        for member in room.members.into_keys() {
            if let Some(rooms) = self.rooms_of.get_mut(&member) {
                rooms.remove(&channel);
            }
            self.moved_reads.remove(&(channel, member));
        }
    }

    /// Makes a direct channel known by its members; [`State::forget_direct`] comes before any change of them.
    fn note_direct(&mut self, channel: ChannelId) {
        if let Some(members) = self.direct_key(channel) {
            self.directs.entry(members).or_default().insert(channel);
        }
    }

    fn forget_direct(&mut self, channel: ChannelId) {
        let Some(members) = self.direct_key(channel) else { return };
        let Some(channels) = self.directs.get_mut(&members) else { return };
        channels.remove(&channel);
        if channels.is_empty() {
            self.directs.remove(&members);
        }
    }

    fn direct_key(&self, channel: ChannelId) -> Option<Vec<MemberId>> {
        let room = self.rooms.get(&channel).filter(|room| room.channel.kind.is_direct() && !room.members.is_empty())?;
        Some(room.members.keys().copied().collect())
    }

    fn say_presence(&mut self, member: MemberId, presence: Presence) {
        let said = match presence {
            Presence::Online | Presence::Offline => None,
            other => Some(other),
        };
        match (said, self.presence.get_mut(&member)) {
            (said, Some(attendance)) => attendance.said = said,
            (Some(said), None) => {
                self.presence.insert(member, Attendance { connections: Vec::new(), said: Some(said) });
            }
            (None, None) => {}
        }
    }

    fn disconnect(&mut self, member: MemberId, connection: ConnectionId) {
        self.remove_daemon(connection);
        self.doors.remove(&connection);
        if let Some(attendance) = self.presence.get_mut(&member) {
            attendance.connections.retain(|known| *known != connection);
            // An agent that a daemon still carries is there, and what it said of itself counts.
            if attendance.connections.is_empty() && !self.carried.contains_key(&member) {
                self.presence.remove(&member);
            }
        }
    }

    fn remove_daemon(&mut self, connection: ConnectionId) {
        if let Some(daemon) = self.daemons.remove(&connection) {
            for agent in &daemon.agents {
                if self.carried.get(&agent.agent) == Some(&connection) {
                    self.carried.remove(&agent.agent);
                }
            }
        }
    }

    fn put_daemon(&mut self, connection: ConnectionId, daemon: Daemon) {
        self.remove_daemon(connection);
        for agent in &daemon.agents {
            self.carried.insert(agent.agent, connection);
        }
        self.daemons.insert(connection, daemon);
    }

    /// The stored part, for comparing two states: who is connected now is not in it.
    pub fn stored_part(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let sorted = |map: &HashMap<MemberId, Arc<Member>>| {
            map.iter().map(|(id, m)| (*id, (**m).clone())).collect::<BTreeMap<_, _>>()
        };
        let rooms: BTreeMap<_, _> =
            self.rooms.iter().map(|(id, room)| (*id, Room { talk: Talk::default(), ..room.clone() })).collect();
        let workspaces: BTreeMap<_, _> =
            self.workspaces.iter().map(|(id, workspace)| (*id, workspace.clone())).collect();
        let rooms_of: BTreeMap<_, _> = self
            .rooms_of
            .iter()
            .filter(|(_, rooms)| !rooms.is_empty())
            .map(|(id, rooms)| (*id, rooms.clone()))
            .collect();
        let directs: BTreeMap<_, _> = self.directs.iter().map(|(key, ids)| (key.clone(), ids.clone())).collect();
        let webhooks: BTreeMap<_, _> = self.webhooks.iter().map(|(id, webhook)| (*id, webhook.clone())).collect();
        let names: BTreeMap<_, _> = self.names.iter().map(|(key, id)| (key.clone(), *id)).collect();
        let emails: BTreeMap<_, _> = self.emails.iter().map(|(key, id)| (key.clone(), *id)).collect();
        let keys: BTreeMap<_, _> = self.keys.iter().map(|(hash, id)| (hash.0, *id)).collect();
        let tokens: BTreeMap<_, _> = self.tokens.iter().map(|(id, token)| (*id, token.clone())).collect();
        let revoked: BTreeMap<_, _> = self.revoked.iter().map(|(jti, expires)| (jti.clone(), *expires)).collect();
        let people = (
            sorted(&self.members),
            names,
            emails,
            keys,
            (tokens, self.sessions.clone()),
            revoked,
            self.invites.clone(),
            self.telegram_links.clone(),
            self.machines.clone(),
        );
        let runs: Vec<_> = self.runs.iter().cloned().collect();
        let waiting = (self.open_approvals.clone(), self.ringing.clone(), self.deliveries.stored_part(), runs);
        (workspaces, people, rooms, rooms_of, directs, webhooks, self.pools.clone(), waiting)
    }
}

/// Under which names somebody is shown.
fn called(member: &Member) -> impl Iterator<Item = &str> {
    std::iter::once(member.name.as_str()).chain(member.nick.as_deref())
}
