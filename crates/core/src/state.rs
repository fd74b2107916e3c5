//! What the hub keeps in memory: who is there, which channels exist, who is in them, how far they have come.
//!
//! The state is a projection: loading it fresh from a store and applying events to an older copy give the same
//! result (a property test holds that). Messages are not in it; a million of them cost the state nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::delivery::{self, Talk, WakeRules};
use crate::event::Wake;
use crate::hosting::Hosted;
use crate::ids::*;
use crate::model::*;
use crate::pools;
use crate::record::Record;
use crate::run::OpenRuns;
use crate::{Event, Millis};

#[derive(Debug, Clone, Default)]
pub struct State {
    workspaces: HashMap<WorkspaceId, Workspace>,
    members: HashMap<MemberId, Arc<Member>>,
    names: HashMap<(WorkspaceId, String), MemberId>,
    emails: HashMap<String, MemberId>,
    keys: HashMap<KeyHash, MemberId>,
    /// The agents of each workspace that say what they can do.
    able: HashMap<WorkspaceId, BTreeSet<MemberId>>,
    rooms: HashMap<ChannelId, Room>,
    rooms_of: HashMap<MemberId, BTreeSet<ChannelId>>,
    /// The direct channels of exactly these members. There can be several: people leave group channels.
    directs: HashMap<Vec<MemberId>, BTreeSet<ChannelId>>,
    webhooks: HashMap<WebhookId, Webhook>,
    tokens: HashMap<TokenId, Token>,
    invites: BTreeMap<InviteId, Invite>,
    telegram_links: BTreeMap<TelegramLinkId, TelegramLink>,
    revoked: HashMap<String, Millis>,
    pools: pools::Table,
    hosted: BTreeMap<HostedId, Hosted>,
    /// Open questions by when they expire.
    open_approvals: BTreeSet<(Millis, ApprovalId)>,
    /// Calls that nobody has answered, by when they stop ringing.
    ringing: BTreeSet<(Millis, CallId)>,
    deliveries: delivery::Table,
    /// Settings, not something that happened.
    wake_rules: WakeRules,
    runs: OpenRuns,
    presence: HashMap<MemberId, Attendance>,
    daemons: HashMap<ConnectionId, Daemon>,
    carried: HashMap<MemberId, ConnectionId>,
    /// Which door each connection came in through.
    doors: HashMap<ConnectionId, Door>,
    /// Live messages: not stored, so a restart forgets them.
    streams: BTreeMap<(MemberId, ChannelId), Arc<Stream>>,
    /// Read positions that moved because their member spoke; stored now and then, see [`State::take_moved_reads`].
    moved_reads: HashSet<(ChannelId, MemberId)>,
}

/// A channel with its people and how far it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    pub channel: Channel,
    pub head: Head,
    pub members: BTreeMap<MemberId, Membership>,
    pub talk: Talk,
}

/// The connections of one member and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attendance {
    pub connections: Vec<ConnectionId>,
    pub said: Option<Presence>,
}

/// A local process that carries agents over its own connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    pub id: String,
    pub member: MemberId,
    pub started_at: Millis,
    pub agents: Vec<crate::command::DaemonAgent>,
}

/// Names do not differ by case.
pub fn fold_name(name: &str) -> String {
    name.trim().to_lowercase()
}

// What the rules and the readers ask.
impl State {
    pub fn is_empty(&self) -> bool {
        self.workspaces.is_empty()
    }

    pub fn workspaces(&self) -> impl Iterator<Item = &Workspace> {
        self.workspaces.values()
    }

    pub fn workspace(&self, id: WorkspaceId) -> Option<&Workspace> {
        self.workspaces.get(&id)
    }

    pub fn slug_taken(&self, slug: &str) -> bool {
        self.workspaces.values().any(|workspace| workspace.slug == slug)
    }

    /// A member who was not removed.
    pub fn member(&self, id: MemberId) -> Option<&Arc<Member>> {
        self.members.get(&id).filter(|member| !member.removed)
    }

    pub fn is_agent(&self, id: MemberId) -> bool {
        self.members.get(&id).is_some_and(|member| member.is_agent())
    }

    /// The name on what somebody said, also after they left.
    pub fn name_of(&self, id: MemberId) -> &str {
        self.members.get(&id).map_or("", |member| member.display_name())
    }

    pub fn members_of(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Arc<Member>> {
        self.members.values().filter(move |member| member.workspace == workspace && !member.removed)
    }

    pub fn member_named(&self, workspace: WorkspaceId, name: &str) -> Option<&Arc<Member>> {
        self.names.get(&(workspace, fold_name(name))).and_then(|id| self.member(*id))
    }

    /// Everybody of that name in any workspace; `name@slug` picks one.
    pub fn members_called(&self, login: &str) -> Vec<&Arc<Member>> {
        let exact = |name: &str, slug: Option<&str>| -> Vec<&Arc<Member>> {
            let fits = |workspace: &&Workspace| slug.is_none_or(|slug| workspace.slug == slug);
            let found =
                self.workspaces.values().filter(fits).filter_map(|workspace| self.member_named(workspace.id, name));
            found.collect()
        };
        let whole = exact(login, None);
        match login.rsplit_once('@') {
            Some((name, slug)) if whole.is_empty() => exact(name, Some(slug)),
            _ => whole,
        }
    }

    pub fn member_by_email(&self, email: &str) -> Option<&Arc<Member>> {
        self.emails.get(&fold_name(email)).and_then(|id| self.member(*id))
    }

    pub fn member_by_key(&self, hash: &KeyHash) -> Option<&Arc<Member>> {
        self.keys.get(hash).and_then(|id| self.member(*id))
    }

    /// The agents that say what they can do, oldest first, connected or not.
    pub fn able_agents(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Arc<Member>> {
        self.able.get(&workspace).into_iter().flatten().filter_map(|id| self.member(*id))
    }

    pub fn is_revoked(&self, jti: &str) -> bool {
        self.revoked.contains_key(jti)
    }

    pub fn channel(&self, id: ChannelId) -> Option<&Room> {
        self.rooms.get(&id)
    }

    pub fn channels_in(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Room> {
        self.rooms.values().filter(move |room| room.channel.workspace == workspace)
    }

    pub fn channels_of(&self, member: MemberId) -> impl Iterator<Item = &Room> {
        self.rooms_of.get(&member).into_iter().flatten().filter_map(|id| self.rooms.get(id))
    }

    pub fn membership(&self, channel: ChannelId, member: MemberId) -> Option<&Membership> {
        self.rooms.get(&channel).and_then(|room| room.members.get(&member))
    }

    /// The direct channel of exactly these members (sorted): for two their own one, never what is left of a group.
    pub fn direct_between(&self, members: &[MemberId]) -> Option<&Room> {
        let kind = if members.len() == 2 { ChannelKind::Dm } else { ChannelKind::GroupDm };
        let rooms = self.directs.get(members).into_iter().flatten().filter_map(|id| self.rooms.get(id));
        rooms.into_iter().find(|room| room.channel.kind == kind)
    }

    pub fn webhook(&self, id: WebhookId) -> Option<&Webhook> {
        self.webhooks.get(&id)
    }

    pub fn webhooks_in(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Webhook> {
        self.webhooks.values().filter(move |webhook| webhook.workspace == workspace)
    }

    /// An invitation that still counts: it ends with its time, and with the member who gave it.
    pub fn provision_token(&self, workspace: WorkspaceId, hash: &KeyHash, now: Millis) -> Option<&Token> {
        self.tokens.values().find(|token| {
            token.workspace == workspace
                && token.expires_at > now
                && self.member(token.made_by).is_some()
                && matches!(&token.purpose, TokenPurpose::Provision(known) if known == hash)
        })
    }

    pub fn invite(&self, id: InviteId) -> Option<&Invite> {
        self.invites.get(&id)
    }

    pub fn invites_in(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Invite> {
        self.invites.values().filter(move |invite| invite.workspace == workspace)
    }

    pub fn invite_by_code(&self, hash: &KeyHash) -> Option<&Invite> {
        self.invites.values().find(|invite| invite.code_hash == *hash)
    }

    /// Telegram accounts that speak for members, and the codes that wait for one.
    pub fn telegram_links(&self) -> impl Iterator<Item = &TelegramLink> {
        self.telegram_links.values()
    }

    pub fn telegram_links_of(&self, member: MemberId) -> impl Iterator<Item = &TelegramLink> {
        self.telegram_links().filter(move |link| link.member == member)
    }

    /// Who holds which pool session, and which channels command a pool.
    pub fn pools(&self) -> &pools::Table {
        &self.pools
    }

    /// Agents at work.
    pub fn runs(&self) -> &OpenRuns {
        &self.runs
    }

    pub fn expired_tokens(&self, now: Millis) -> Vec<Token> {
        self.tokens.values().filter(|token| token.expires_at <= now).cloned().collect()
    }

    pub fn presence_of(&self, member: MemberId) -> Presence {
        let attendance = self.presence.get(&member);
        let connected = attendance.is_some_and(|attendance| !attendance.connections.is_empty());
        if !connected && !self.carried.contains_key(&member) {
            return Presence::Offline;
        }
        attendance.and_then(|attendance| attendance.said).unwrap_or(Presence::Online)
    }

    pub fn connections_of(&self, member: MemberId) -> &[ConnectionId] {
        self.presence.get(&member).map_or(&[], |attendance| &attendance.connections)
    }

    pub fn door_of(&self, connection: ConnectionId) -> Option<Door> {
        self.doors.get(&connection).copied()
    }

    /// The live message of a sender in a channel.
    pub fn stream(&self, sender: MemberId, channel: ChannelId) -> Option<&Arc<Stream>> {
        self.streams.get(&(sender, channel))
    }

    pub fn streams(&self) -> impl ExactSizeIterator<Item = &Arc<Stream>> {
        self.streams.values()
    }

    pub fn streams_of(&self, sender: MemberId) -> impl Iterator<Item = &Arc<Stream>> {
        let all = (sender, ChannelId(0))..=(sender, ChannelId(u128::MAX));
        self.streams.range(all).map(|(_, stream)| stream)
    }

    /// The daemon connection that carries this agent.
    pub fn carrier_of(&self, agent: MemberId) -> Option<ConnectionId> {
        self.carried.get(&agent).copied()
    }

    pub fn daemon(&self, connection: ConnectionId) -> Option<&Daemon> {
        self.daemons.get(&connection)
    }

    pub fn daemons(&self) -> impl Iterator<Item = (ConnectionId, &Daemon)> {
        self.daemons.iter().map(|(connection, daemon)| (*connection, daemon))
    }

    /// The agents that the hub hosts itself, oldest first.
    pub fn hosted(&self) -> impl Iterator<Item = &Hosted> {
        self.hosted.values()
    }

    /// When something is to happen by itself; see [`Command::LetTimePass`](crate::Command::LetTimePass).
    pub fn next_deadline(&self) -> Option<Millis> {
        let approval = self.open_approvals.first().map(|(at, _)| *at);
        let call = self.ringing.first().map(|(at, _)| *at);
        [approval, call, self.deliveries.next_deadline()].into_iter().flatten().min()
    }

    /// The questions that wait for a decision, by when they expire.
    pub fn open_approvals(&self) -> impl Iterator<Item = ApprovalId> {
        self.open_approvals.iter().map(|(_, id)| *id)
    }

    pub fn overdue_approvals(&self, now: Millis) -> impl Iterator<Item = ApprovalId> {
        self.open_approvals.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The calls that rang long enough.
    pub fn unanswered_calls(&self, now: Millis) -> impl Iterator<Item = CallId> {
        self.ringing.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The wakes that are not over.
    pub fn deliveries(&self) -> &delivery::Table {
        &self.deliveries
    }

    pub fn wake_rules(&self) -> &WakeRules {
        &self.wake_rules
    }

    pub fn set_wake_rules(&mut self, rules: WakeRules) {
        self.wake_rules = rules;
    }

    /// Whether a wake would reach this agent now.
    pub fn is_reachable(&self, agent: MemberId) -> bool {
        self.carried.contains_key(&agent) || !self.connections_of(agent).is_empty()
    }

    pub fn unread(&self, channel: ChannelId, member: MemberId) -> u64 {
        let Some(room) = self.rooms.get(&channel) else { return 0 };
        room.members.get(&member).map_or(0, |membership| room.head.version.saturating_sub(membership.read.version))
    }

    /// Read positions to store: speaking moves one's own, and a store need not hear of each at once.
    pub fn take_moved_reads(&mut self) -> Vec<Membership> {
        let moved = std::mem::take(&mut self.moved_reads);
        let mut memberships: Vec<_> =
            moved.into_iter().filter_map(|(channel, member)| self.membership(channel, member).cloned()).collect();
        memberships.sort_by_key(|membership| membership.id);
        memberships
    }

    pub fn has_moved_reads(&self) -> bool {
        !self.moved_reads.is_empty()
    }
}

// How it follows what happened.
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
        let wake_rules = self.wake_rules;
        let deliveries = std::mem::take(&mut self.deliveries);
        *self = Self { presence, daemons, carried, doors, streams, wake_rules, ..fresh };
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
            Event::Saved(record) => self.put(record),
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
        // Only Lark has a word for it.
        let on_lark = |connection: &&ConnectionId| self.door_of(**connection) == Some(Door::Lark);
        let connection = wake.through.or_else(|| self.connections_of(wake.agent).iter().rfind(on_lark).copied());
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
                self.tokens.insert(token.id, token.clone());
            }
            Record::Invite(invite) => {
                self.invites.insert(invite.id, invite.clone());
            }
            Record::TelegramLink(link) => {
                self.telegram_links.insert(link.id, link.clone());
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
            other => self.pools.put(other),
        }
    }

    fn remove(&mut self, record: &Record) {
        match record {
            Record::Workspace(workspace) => {
                self.workspaces.remove(&workspace.id);
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
            Record::Token(token) => {
                self.tokens.remove(&token.id);
                if let TokenPurpose::Revoked(jti) = &token.purpose {
                    self.revoked.remove(jti);
                }
            }
            Record::Run(run) => self.runs.remove(run.id),
            Record::Hosted(hosted) => {
                self.hosted.remove(&hosted.id);
            }
            other => self.pools.remove(other),
        }
    }

    fn put_member(&mut self, member: &Member) {
        if let Some(old) = self.members.remove(&member.id) {
            self.forget_handles(&old);
        }
        if !member.removed {
            self.names.insert((member.workspace, fold_name(&member.name)), member.id);
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
        self.names.remove(&(member.workspace, fold_name(&member.name)));
        if let Some(email) = &member.email {
            self.emails.remove(&fold_name(email));
        }
        if let Some(hash) = &member.secrets.key_hash {
            self.keys.remove(hash);
        }
    }

    fn put_channel(&mut self, channel: &Channel) {
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
            tokens,
            revoked,
            self.invites.clone(),
            self.telegram_links.clone(),
        );
        let runs: Vec<_> = self.runs.iter().cloned().collect();
        let waiting = (self.open_approvals.clone(), self.ringing.clone(), self.deliveries.stored_part(), runs);
        (workspaces, people, rooms, rooms_of, directs, webhooks, self.pools.clone(), waiting)
    }
}
