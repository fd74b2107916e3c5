//! A small world to act in: state, history and a clock that stands still until it is moved.

use std::sync::Arc;

use super::domain::command::*;
use super::domain::decide::{Context, Decision, Outcome};
use super::domain::delivery::{Cause, Delivery};
use super::domain::event::{Event, Wake};
use super::domain::ids::*;
use super::domain::lookup::LookupExt;
use super::domain::model::*;
use super::domain::record::Record;
use super::domain::{Actor, Millis, Refusal, State, decide};
use super::ledger::Ledger;

/// The time of the document's first example.
pub const START: Millis = 1_716_849_600_000;

#[derive(Clone)]
pub struct World {
    pub state: State,
    pub ledger: Ledger,
    pub ids: IdSource,
    pub now: Millis,
    /// The workspace "Acme" and its owner, alice.
    pub workspace: WorkspaceId,
    pub alice: MemberId,
    last_connection: u64,
}

/// Whoever can act: a member, on its newest connection if it has one, or an actor as it is.
pub trait Acts {
    fn actor(self, state: &State) -> Actor;
}

impl Acts for Actor {
    fn actor(self, _: &State) -> Actor {
        self
    }
}

impl Acts for MemberId {
    fn actor(self, state: &State) -> Actor {
        let connection = state.connections_of(self).last().copied();
        Actor { connection, ..Actor::new(self, Door::Lark) }
    }
}

impl World {
    /// A hub that nobody has registered with.
    pub fn empty() -> Self {
        Self {
            state: State::default(),
            ledger: Ledger::default(),
            ids: IdSource::new(7),
            now: START,
            workspace: WorkspaceId::NONE,
            alice: MemberId::NONE,
            last_connection: 0,
        }
    }

    /// A workspace with its owner alice and nobody else.
    pub fn new() -> Self {
        let mut world = Self::empty();
        (world.workspace, world.alice) = world.register("alice");
        world
    }

    pub fn decide(&mut self, who: impl Acts, command: Command) -> Outcome {
        let actor = who.actor(&self.state);
        let mut context = Context { state: &self.state, history: &self.ledger, now: self.now, ids: &mut self.ids };
        decide(&mut context, actor, command)
    }

    /// Decides, stores, applies: what the hub does.
    pub fn act(&mut self, who: impl Acts, command: Command) -> Outcome {
        let decision = self.decide(who, command)?;
        self.follow(&decision);
        Ok(decision)
    }

    pub fn follow(&mut self, decision: &Decision) {
        for event in &decision.events {
            self.ledger.append(event);
            self.state.apply(event);
        }
    }

    #[track_caller]
    pub fn done(&mut self, who: impl Acts, command: Command) -> Decision {
        let shown = format!("{command:?}");
        self.act(who, command).unwrap_or_else(|refusal| panic!("{shown} was refused: {refusal}"))
    }

    #[track_caller]
    pub fn refused(&mut self, who: impl Acts, command: Command) -> Refusal {
        let shown = format!("{command:?}");
        match self.decide(who, command) {
            Ok(decision) => panic!("{shown} was not refused: {decision:?}"),
            Err(refusal) => refusal,
        }
    }

    /// A refusal after which something has happened all the same.
    #[track_caller]
    pub fn refused_with(&mut self, who: impl Acts, command: Command) -> (Refusal, Decision) {
        let shown = format!("{command:?}");
        match self.act(who, command) {
            Ok(decision) if decision.refused.is_some() => (decision.refused.clone().unwrap(), decision),
            other => panic!("{shown} was not refused with something that happened: {other:?}"),
        }
    }

    /// Keeps a thing as if it had been decided.
    pub fn store(&mut self, record: impl Into<Record>) {
        let event = Event::Saved(record.into());
        self.ledger.append(&event);
        self.state.apply(&event);
    }

    pub fn later(&mut self, by: Millis) {
        self.now += by;
    }

    /// Time passes, and what was to happen by then happens.
    #[track_caller]
    pub fn time_passes(&mut self, by: Millis) -> Decision {
        self.later(by);
        self.done(Actor::hub(Door::Rest), Command::LetTimePass)
    }

    /// What this member says, once its window has ended: what was said and the wakes together.
    #[track_caller]
    pub fn woken_by(&mut self, who: impl Acts, command: Command) -> Decision {
        let mut decision = self.done(who, command);
        decision.events.extend(self.time_passes(1_000).events);
        decision
    }

    /// A delivery as it is stored now.
    #[track_caller]
    pub fn delivery(&self, id: DeliveryId) -> Delivery {
        self.ledger.get::<Delivery>(id).expect("a ledger").expect("a stored delivery")
    }

    #[track_caller]
    pub fn task(&self, id: TaskId) -> Task {
        self.ledger.get::<Task>(id).expect("a ledger").expect("a stored task")
    }

    #[track_caller]
    pub fn cause(&self, id: MessageId) -> Cause {
        self.ledger.get::<Cause>(id).expect("a ledger").expect("a stored cause")
    }

    // People, agents, connections.

    /// A new workspace with its owner.
    #[track_caller]
    pub fn register(&mut self, name: &str) -> (WorkspaceId, MemberId) {
        let register = Register {
            policy: Registration::Open,
            standing: Standing::Proven,
            email: format!("{name}@example.org"),
            name: name.to_owned(),
            workspace_name: None,
            password_hash: "hash".to_owned(),
        };
        let decision = self.done(Actor::nobody(Door::Rest), Command::Register(register));
        let Reply::Registered { member, workspace } = decision.reply else { panic!("{:?}", decision.reply) };
        (workspace.id, member.id)
    }

    pub fn human(&mut self, name: &str) -> MemberId {
        self.add(self.alice, MemberKind::Human, name, None)
    }

    pub fn agent(&mut self, name: &str) -> MemberId {
        self.add(self.alice, MemberKind::Agent, name, None)
    }

    pub fn admin(&mut self, name: &str) -> MemberId {
        self.add(self.alice, MemberKind::Human, name, Some(Role::Admin))
    }

    #[track_caller]
    pub fn add(&mut self, by: MemberId, kind: MemberKind, name: &str, role: Option<Role>) -> MemberId {
        let workspace = self.state.member(by).expect("somebody").workspace;
        let add = AddMember { role, ..new_member(workspace, kind, name) };
        let decision = self.done(by, Command::AddMember(add));
        let Reply::Member(member) = decision.reply else { panic!("{:?}", decision.reply) };
        member.id
    }

    pub fn new_connection(&mut self) -> ConnectionId {
        self.last_connection += 1;
        ConnectionId(self.last_connection)
    }

    #[track_caller]
    pub fn connect(&mut self, member: MemberId) -> ConnectionId {
        let connection = self.new_connection();
        self.done(Actor::connected(member, Door::Lark, connection), Command::Connect);
        connection
    }

    #[track_caller]
    pub fn disconnect(&mut self, member: MemberId, connection: ConnectionId) -> Decision {
        self.done(Actor::connected(member, Door::Lark, connection), Command::Disconnect)
    }

    pub fn presence(&self, member: MemberId) -> Presence {
        self.state.presence_of(member)
    }

    /// A daemon of this member that carries these agents, on a connection of its own.
    #[track_caller]
    pub fn daemon(&mut self, carrier: MemberId, agents: &[MemberId]) -> ConnectionId {
        let connection = self.connect(carrier);
        self.done(Actor::connected(carrier, Door::Lark, connection), register_daemon(agents));
        connection
    }

    // Channels and what is said in them.

    /// An open channel made by the first of these members.
    pub fn channel(&mut self, name: &str, members: &[MemberId]) -> ChannelId {
        self.room(name, ChannelKind::Channel, members)
    }

    pub fn private(&mut self, name: &str, members: &[MemberId]) -> ChannelId {
        self.room(name, ChannelKind::Private, members)
    }

    #[track_caller]
    fn room(&mut self, name: &str, kind: ChannelKind, members: &[MemberId]) -> ChannelId {
        let (creator, others) = members.split_first().expect("a creator");
        let workspace = self.state.member(*creator).expect("somebody").workspace;
        let create =
            Command::CreateChannel { workspace: Some(workspace), name: name.to_owned(), kind, topic: String::new() };
        let decision = self.done(*creator, create);
        let channel = channel_of(&decision);
        for member in others {
            self.done(*creator, Command::AddToChannel { channel, member: *member });
        }
        channel
    }

    #[track_caller]
    pub fn direct(&mut self, members: &[MemberId]) -> ChannelId {
        let workspace = self.state.member(members[0]).expect("somebody").workspace;
        let decision = self.done(members[0], Command::OpenDirect { workspace, members: members.to_vec() });
        channel_of(&decision)
    }

    #[track_caller]
    pub fn say(&mut self, who: impl Acts, channel: ChannelId, text: &str) -> Arc<Message> {
        message_of(&self.done(who, say(channel, text)))
    }

    #[track_caller]
    pub fn reply(&mut self, who: impl Acts, parent: &Message, text: &str) -> Arc<Message> {
        message_of(&self.done(who, reply(parent, text)))
    }

    /// A message as it is stored now.
    #[track_caller]
    pub fn stored(&self, id: MessageId) -> Message {
        self.ledger.all_messages().find(|message| message.id == id).expect("a stored message").clone()
    }

    pub fn file(&mut self, by: MemberId, channel: Option<ChannelId>) -> FileId {
        let workspace = self.state.member(by).expect("somebody").workspace;
        let id = FileId(self.ids.next(self.now));
        self.done(by, Command::AddFile(new_file(id, workspace, channel)));
        id
    }
}

pub fn new_member(workspace: WorkspaceId, kind: MemberKind, name: &str) -> AddMember {
    AddMember {
        workspace,
        kind,
        role: None,
        name: name.to_owned(),
        nick: None,
        email: None,
        password_hash: None,
        key_hash: None,
        role_card: None,
        runtime: None,
    }
}

pub fn new_file(id: FileId, workspace: WorkspaceId, channel: Option<ChannelId>) -> File {
    File {
        id,
        workspace,
        channel,
        restricted: false,
        posts: Vec::new(),
        also_in: Vec::new(),
        uploaded_by: MemberId::NONE,
        filename: "notes.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        size: 5,
        created_at: 0,
    }
}

pub fn say(channel: ChannelId, text: &str) -> Command {
    Command::Send(Send { channel, content: text.to_owned(), ..Send::default() })
}

pub fn reply(parent: &Message, text: &str) -> Command {
    let send = Send { channel: parent.channel, thread: Some(parent.id), content: text.to_owned(), ..Send::default() };
    Command::Send(send)
}

pub fn register_daemon(agents: &[MemberId]) -> Command {
    let agent = |id: &MemberId| DaemonAgent { name: String::new(), agent: *id };
    Command::RegisterDaemon { agents: agents.iter().map(agent).collect() }
}

/// A key as a door would have hashed it.
pub fn key(number: u8) -> KeyHash {
    KeyHash([number; 32])
}

#[track_caller]
pub fn message_of(decision: &Decision) -> Arc<Message> {
    match &decision.reply {
        Reply::Sent { message, .. } | Reply::Message(message) | Reply::DraftSent { message, .. } => Arc::clone(message),
        other => panic!("no message in {other:?}"),
    }
}

#[track_caller]
pub fn channel_of(decision: &Decision) -> ChannelId {
    match &decision.reply {
        Reply::Channel { channel, .. } => channel.id,
        other => panic!("no channel in {other:?}"),
    }
}

pub fn wakes(decision: &Decision) -> Vec<&Wake> {
    let mut wakes = Vec::new();
    for event in &decision.events {
        if let Event::Woken(wake) = event {
            wakes.push(&**wake);
        }
    }
    wakes
}

pub fn notifications(decision: &Decision) -> Vec<&Notification> {
    let mut notifications = Vec::new();
    for event in &decision.events {
        if let Event::Saved(Record::Notification(notification)) = event {
            notifications.push(notification);
        }
    }
    notifications
}

pub fn deliveries(decision: &Decision) -> Vec<&Delivery> {
    let mut deliveries = Vec::new();
    for event in &decision.events {
        if let Event::Saved(Record::Delivery(delivery)) = event {
            deliveries.push(delivery);
        }
    }
    deliveries
}

pub fn approvals(decision: &Decision) -> Vec<&Approval> {
    let mut approvals = Vec::new();
    for event in &decision.events {
        if let Event::Saved(Record::Approval(approval)) = event {
            approvals.push(approval);
        }
    }
    approvals
}

/// The changes of presence that a decision tells, in order.
pub fn presences(decision: &Decision) -> Vec<(MemberId, Presence)> {
    let change = |event: &Event| match event {
        Event::PresenceChanged { member, presence, .. } => Some((*member, *presence)),
        _ => None,
    };
    decision.events.iter().filter_map(change).collect()
}
