//! What the hub keeps in memory: who is there, which channels exist, who is in them, how far they have come.
//!
//! The state is a projection: loading it fresh from a store and applying events to an older copy give the same
//! result (a property test holds that). Messages are not in it; a million of them cost the state nothing.

mod follow;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::Millis;
use crate::delivery::{self, Talk, WakeRules};
use crate::hosting::Hosted;
use crate::ids::*;
use crate::model::*;
use crate::names::Looks;
use crate::pools;
use crate::quota::{Made, QuotaRules};
use crate::run::OpenRuns;

#[derive(Debug, Clone, Default)]
pub struct State {
    workspaces: HashMap<WorkspaceId, Workspace>,
    members: HashMap<MemberId, Arc<Member>>,
    names: HashMap<(WorkspaceId, String), MemberId>,
    emails: HashMap<String, MemberId>,
    /// The same names by how they look, and those of channels.
    member_looks: Looks<MemberId>,
    channel_looks: Looks<ChannelId>,
    keys: HashMap<KeyHash, MemberId>,
    /// The agents of each workspace that say what they can do.
    able: HashMap<WorkspaceId, BTreeSet<MemberId>>,
    rooms: HashMap<ChannelId, Room>,
    rooms_of: HashMap<MemberId, BTreeSet<ChannelId>>,
    /// The direct channels of exactly these members. There can be several: people leave group channels.
    directs: HashMap<Vec<MemberId>, BTreeSet<ChannelId>>,
    webhooks: HashMap<WebhookId, Webhook>,
    tokens: HashMap<TokenId, Token>,
    /// The sessions of each member, by the name that their tokens carry.
    sessions: BTreeMap<(MemberId, String), TokenId>,
    invites: BTreeMap<InviteId, Invite>,
    telegram_links: BTreeMap<TelegramLinkId, TelegramLink>,
    machines: BTreeMap<MachineId, Machine>,
    machine_keys: HashMap<KeyHash, MachineId>,
    revoked: HashMap<String, Millis>,
    pools: pools::Leases,
    hosted: BTreeMap<HostedId, Hosted>,
    /// Open questions by when they expire.
    open_approvals: BTreeSet<(Millis, ApprovalId)>,
    /// Calls that nobody has answered, by when they stop ringing.
    ringing: BTreeSet<(Millis, CallId)>,
    deliveries: delivery::OpenDeliveries,
    /// Settings, not something that happened.
    wake_rules: WakeRules,
    runs: OpenRuns,
    quota_rules: QuotaRules,
    made: Made,
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

/// Agents make agents; nobody follows them for ever.
const MAX_MAKERS: usize = 32;

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

    /// Whether an agent stands anywhere in the line of those who brought this member in, also one that has left since.
    pub fn is_made_by_agent(&self, member: &Member) -> bool {
        let maker = |member: &Member| member.created_by.and_then(|by| self.members.get(&by)).map(Arc::as_ref);
        std::iter::successors(maker(member), |member| maker(member)).any(Member::is_agent)
    }

    /// The name on what somebody said, also after they left; of a machine, what its owner calls it.
    pub fn name_of(&self, id: MemberId) -> &str {
        let machine = || self.machine_behind(id).map_or("", |machine| &machine.name);
        self.members.get(&id).map_or_else(machine, |member| member.display_name())
    }

    pub fn members_of(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Arc<Member>> {
        self.members.values().filter(move |member| member.workspace == workspace && !member.removed)
    }

    pub fn member_named(&self, workspace: WorkspaceId, name: &str) -> Option<&Arc<Member>> {
        self.names.get(&(workspace, fold_name(name))).and_then(|id| self.member(*id))
    }

    /// Everybody whose name looks like this one.
    pub fn members_alike(&self, workspace: WorkspaceId, name: &str) -> impl Iterator<Item = &Arc<Member>> {
        self.member_looks.alike(workspace, name).filter_map(|id| self.member(id))
    }

    /// The channels, apart from direct ones, whose name looks like this one.
    pub fn channels_alike(&self, workspace: WorkspaceId, name: &str) -> impl Iterator<Item = &Room> {
        self.channel_looks.alike(workspace, name).filter_map(|id| self.channel(id))
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

    /// A token for agents that add themselves; whether it still counts is not said here.
    pub fn provision_token(&self, workspace: WorkspaceId, hash: &KeyHash) -> Option<&Token> {
        let fits = |token: &&Token| matches!(&token.purpose, TokenPurpose::Provision(known) if known == hash);
        self.tokens.values().filter(fits).find(|token| token.workspace == workspace)
    }

    pub fn provision_tokens_of(&self, member: MemberId) -> impl Iterator<Item = &Token> {
        let fits = move |token: &&Token| token.made_by == member && matches!(token.purpose, TokenPurpose::Provision(_));
        self.tokens.values().filter(fits)
    }

    pub fn token(&self, id: TokenId) -> Option<&Token> {
        self.tokens.get(&id)
    }

    /// A session of a member by its name.
    pub fn session(&self, member: MemberId, name: &str) -> Option<(&Token, &SignedIn)> {
        let token = self.tokens.get(self.sessions.get(&(member, name.to_owned()))?)?;
        Some((token, token.signed_in()?))
    }

    pub fn sessions_of(&self, member: MemberId) -> impl Iterator<Item = (&Token, &SignedIn)> {
        let own = self.sessions.range((member, String::new())..).take_while(move |((of, _), _)| *of == member);
        own.filter_map(|(_, id)| self.tokens.get(id)).filter_map(|token| Some((token, token.signed_in()?)))
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

    pub fn machine(&self, id: MachineId) -> Option<&Machine> {
        self.machines.get(&id)
    }

    /// The machine that a connection which is no member's belongs to.
    pub fn machine_behind(&self, actor: MemberId) -> Option<&Machine> {
        self.machine(MachineId(actor.0))
    }

    pub fn machine_by_key(&self, hash: &KeyHash) -> Option<&Machine> {
        self.machine_keys.get(hash).and_then(|id| self.machine(*id))
    }

    /// Oldest first.
    pub fn machines_in(&self, workspace: WorkspaceId) -> impl Iterator<Item = &Machine> {
        self.machines.values().filter(move |machine| machine.workspace == workspace)
    }

    pub fn machines_of(&self, owner: MemberId) -> impl Iterator<Item = &Machine> {
        self.machines.values().filter(move |machine| machine.owner == owner)
    }

    /// Who holds which pool session, and which channels command a pool.
    pub fn pools(&self) -> &pools::Leases {
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

    /// The calls that nobody has answered yet.
    pub fn ringing_calls(&self) -> impl Iterator<Item = CallId> {
        self.ringing.iter().map(|(_, id)| *id)
    }

    /// The calls that rang long enough.
    pub fn unanswered_calls(&self, now: Millis) -> impl Iterator<Item = CallId> {
        self.ringing.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The wakes that are not over.
    pub fn deliveries(&self) -> &delivery::OpenDeliveries {
        &self.deliveries
    }

    pub fn wake_rules(&self) -> &WakeRules {
        &self.wake_rules
    }

    pub fn set_wake_rules(&mut self, rules: WakeRules) {
        self.wake_rules = rules;
    }

    pub fn quota_rules(&self) -> &QuotaRules {
        &self.quota_rules
    }

    pub fn set_quota_rules(&mut self, rules: QuotaRules) {
        self.quota_rules = rules;
    }

    /// What was made lately.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// The person for whose account a member works: an agent's is whoever made it, over however many agents.
    pub fn answers_for(&self, member: MemberId) -> MemberId {
        let maker = |id: MemberId| self.members.get(&id).filter(|member| member.is_agent())?.created_by;
        let chain = std::iter::successors(Some(member), |id| maker(*id));
        chain.take(MAX_MAKERS).last().unwrap_or(member)
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
