//! A hub without sockets: real sessions, real rules, fake time. It does what the server does between a frame and its answers.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use super::support::World;
use super::support::ledger::Replay;
use crate::DOORS;
use crate::door::{Ask, Poll, Protocol, Replayed, Session, Step, Ticket, View};
use crate::query::{Query, QueryOutcome, QueryResult};
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::decide::is_given_up;
use folkmoot_core::delivery::WakeRules;
use folkmoot_core::event::{Audience, Event};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Message, Notification};
use folkmoot_core::record::{Filter, NEW, Record, SEEN};
use folkmoot_core::{Actor, Decision, Millis, Refusal, access, refusal};

pub struct Harness {
    pub world: World,
    seats: Vec<Seat>,
    nonces: IdSource,
    /// Wakes wait for more, and everybody hears what becomes of them; otherwise both are left out.
    with_windows: bool,
}

/// One connection and what its client has heard and not yet looked at.
struct Seat {
    name: String,
    connection: ConnectionId,
    protocol: &'static dyn Protocol,
    session: Box<dyn Session>,
    workspace: Option<WorkspaceId>,
    subscribed: BTreeSet<ChannelId>,
    heard: VecDeque<Heard>,
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Frame(Value),
    Ping,
    Closed(String),
}

/// A client that missed more than this loads anew; the server has a larger number.
pub const MAX_REPLAY: usize = 10;

impl Harness {
    pub fn new(world: World) -> Self {
        let mut harness = Self { world, seats: Vec::new(), nonces: IdSource::new(11), with_windows: false };
        let at_once = WakeRules { quiet: 0, quiet_elsewhere: 0, ..WakeRules::default() };
        harness.world.state.set_wake_rules(at_once);
        harness
    }

    pub fn with_windows(&mut self) {
        self.with_windows = true;
        self.world.state.set_wake_rules(WakeRules::default());
    }

    // What clients do.

    pub fn open(&mut self, name: &str, protocol: &'static dyn Protocol) {
        assert!(self.seat(name).is_none(), "{name} is there already");
        let connection = self.world.new_connection();
        let session = protocol.open(self.world.now);
        let seat = Seat {
            name: name.to_owned(),
            connection,
            protocol,
            session,
            workspace: None,
            subscribed: BTreeSet::new(),
            heard: VecDeque::new(),
            is_open: true,
        };
        self.seats.push(seat);
    }

    pub fn text(&mut self, name: &str, text: &str) {
        let index = self.open_seat(name);
        let steps = self.seats[index].session.on_text(text, self.world.now);
        self.perform(index, steps);
    }

    pub fn binary(&mut self, name: &str) {
        let index = self.open_seat(name);
        let steps = self.seats[index].session.on_binary(&[1], self.world.now);
        self.perform(index, steps);
    }

    pub fn pong(&mut self, name: &str) {
        let index = self.open_seat(name);
        self.seats[index].session.on_sign_of_life(self.world.now);
    }

    /// The client hangs up.
    pub fn leave(&mut self, name: &str) {
        let index = self.open_seat(name);
        self.seats[index].is_open = false;
        self.clean_up(index);
        self.seats[index].name = format!("{name}, who left");
    }

    /// What comes next for a client.
    pub fn next(&mut self, name: &str) -> Option<Heard> {
        let index = self.seat(name).unwrap_or_else(|| panic!("nobody is called {name}"));
        let heard = self.seats[index].heard.pop_front();
        if matches!(heard, Some(Heard::Closed(_))) {
            // The client is gone and may come again under its name.
            self.seats[index].name = format!("{name}, who was closed");
        }
        heard
    }

    pub fn has_heard(&self, name: &str) -> bool {
        self.seat(name).is_some_and(|index| !self.seats[index].heard.is_empty())
    }

    pub fn forget(&mut self) {
        self.seats.iter_mut().for_each(|seat| seat.heard.clear());
    }

    /// What nobody has looked at yet.
    pub fn left_over(&self) -> Vec<(String, Heard)> {
        let of_seat =
            |seat: &Seat| -> Vec<_> { seat.heard.iter().map(|heard| (seat.name.clone(), heard.clone())).collect() };
        self.seats.iter().flat_map(of_seat).collect()
    }

    /// Lets time pass; every deadline on the way is met at its time.
    pub fn later(&mut self, by: Millis) {
        let end = self.world.now + by;
        loop {
            let open = (0..self.seats.len()).filter(|index| self.seats[*index].is_open);
            let due = open.map(|index| (self.seats[index].session.deadline(), index)).min();
            let Some((at, index)) = due.filter(|(at, _)| *at <= end) else { break };
            self.world.now = self.world.now.max(at);
            let steps = self.seats[index].session.on_deadline(self.world.now);
            self.perform(index, steps);
            let seat = &self.seats[index];
            assert!(!seat.is_open || seat.session.deadline() > at, "{} would be called again at once", seat.name);
        }
        self.world.now = end;
        self.end_streams();
        self.let_time_pass();
    }

    /// What was to happen by now happens.
    fn let_time_pass(&mut self) {
        if self.world.state.next_deadline().is_some_and(|at| at <= self.world.now) {
            let decision = self.world.done(Actor::hub(Door::Rest), Command::LetTimePass);
            self.tell_all(&decision.events);
        }
    }

    /// What the hub does with live messages that nobody will finish.
    fn end_streams(&mut self) {
        let streams: Vec<_> = self.world.state.streams().cloned().collect();
        for stream in streams {
            if is_given_up(&self.world.state, &stream, self.world.now) {
                let end = Command::EndStream { sender: stream.sender, channel: stream.channel };
                let decision = self.world.done(Actor::hub(stream.door), end);
                self.tell_all(&decision.events);
            }
        }
    }

    /// Something that comes in through another door.
    #[track_caller]
    pub fn elsewhere(&mut self, member: MemberId, command: Command) {
        let decision = self.world.done(Actor::new(member, Door::Rest), command);
        self.tell_all(&decision.events);
        self.let_time_pass();
    }

    pub fn is_open(&self, name: &str) -> bool {
        self.seat(name).is_some_and(|index| self.seats[index].is_open)
    }

    fn seat(&self, name: &str) -> Option<usize> {
        self.seats.iter().position(|seat| seat.name == name)
    }

    fn open_seat(&self, name: &str) -> usize {
        let open = self.seats.iter().position(|seat| seat.name == name && seat.is_open);
        open.unwrap_or_else(|| panic!("{name} is not connected"))
    }

    // What the hub does.

    fn perform(&mut self, index: usize, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send(text) => self.hear(index, &text),
                Step::Ping => self.seats[index].heard.push_back(Heard::Ping),
                Step::Close { code, reason } => self.close(index, &format!("{code} {reason}")),
                Step::Ask(ask, ticket) => self.ask(index, ask, &ticket),
            }
        }
    }

    fn hear(&mut self, index: usize, text: &str) {
        let is_lark = self.seats[index].protocol.door() == Door::Lark;
        let frame = if is_lark { envelope(text, self.world.now) } else { object(text) };
        let left_out = !self.with_windows && frame["type"] == "delivery.update";
        if self.seats[index].is_open && !left_out {
            self.seats[index].heard.push_back(Heard::Frame(frame));
        }
    }

    fn close(&mut self, index: usize, why: &str) {
        if self.seats[index].is_open {
            self.seats[index].heard.push_back(Heard::Closed(why.to_owned()));
            self.seats[index].is_open = false;
            self.clean_up(index);
        }
    }

    fn clean_up(&mut self, index: usize) {
        let Some(actor) = self.actor(index) else { return };
        let decision = self.world.done(actor, Command::Disconnect);
        self.tell_all(&decision.events);
    }

    fn actor(&self, index: usize) -> Option<Actor> {
        let seat = &self.seats[index];
        seat.session.member().map(|member| Actor::connected(member, seat.protocol.door(), seat.connection))
    }

    fn ask(&mut self, index: usize, ask: Ask, ticket: &Ticket) {
        match &ask {
            // `token-of-alice` is alice's, and `password-of-alice` as well.
            Ask::LogIn { token, dialect, .. } => {
                let door = self.seats[index].protocol.door();
                self.seats[index].protocol = DOORS
                    .iter()
                    .copied()
                    .find(|protocol| (protocol.door(), protocol.dialect()) == (door, *dialect))
                    .expect("a dialect of the door");
                return self.log_in(index, token.strip_prefix("token-of-").unwrap_or_default(), ticket);
            }
            Ask::Prove { login, secret } => {
                let is_right = secret.strip_prefix("password-of-") == Some(login);
                return self.log_in(index, if is_right { login } else { "" }, ticket);
            }
            _ => {}
        }
        let actor = self.actor(index).expect("a session asks for members only");
        match ask {
            Ask::LogIn { .. } | Ask::Prove { .. } => {}
            Ask::Query(query) => self.query(index, actor, query, ticket),
            Ask::Do { command, on_behalf } => {
                let outcome = self.world.act(Actor { on_behalf, ..actor }, *command);
                self.publish(index, outcome, ticket);
                self.let_time_pass();
            }
            Ask::Unsubscribe { channel } => {
                self.seats[index].subscribed.remove(&channel);
                self.answer(index, ticket, Ok(&Reply::Subscribed(channel)));
            }
            Ask::Poll(poll) => {
                let actor = Actor { on_behalf: poll.on_behalf, ..actor };
                match self.inbox(actor, poll) {
                    Ok(items) => {
                        let protocol = self.seats[index].protocol;
                        let text = self.with_view(|view| protocol.inbox(ticket, &items, view));
                        self.hear(index, &text.expect("an answer"));
                    }
                    Err(refusal) => self.answer(index, ticket, Err(&refusal)),
                }
            }
            Ask::Resume { positions } => {
                for (channel, after) in positions {
                    self.resume(index, actor, channel, after, ticket);
                }
            }
            Ask::Host(what) => panic!("no door here has a host: {what:?}"),
        }
    }

    fn query(&mut self, index: usize, actor: Actor, query: Query, ticket: &Ticket) {
        let protocol = self.seats[index].protocol;
        let result = query.answer(&self.world.state, actor).map(|outcome| match outcome {
            QueryOutcome::Result(result) => result,
            QueryOutcome::History(history) => {
                let messages = self.world.ledger.all_messages();
                let there = |message: &&Message| message.channel == history.channel && !message.deleted;
                let before = |message: &&Message| history.before.is_none_or(|moment| message.created_at < moment);
                let mut page: Vec<_> = messages.filter(there).filter(before).cloned().collect();
                page.sort_by_key(|message| std::cmp::Reverse(message.seq));
                let page = page.into_iter().skip(history.offset).take(history.limit);
                QueryResult::Messages(page.collect::<Vec<_>>().into_iter().rev().collect())
            }
        });
        match result {
            Ok(result) => {
                let text = self.with_view(|view| protocol.result(ticket, actor, &result, view));
                self.hear(index, &text.expect("an answer"));
            }
            Err(refusal) => self.answer(index, ticket, Err(&refusal)),
        }
    }

    fn log_in(&mut self, index: usize, name: &str, ticket: &Ticket) {
        let protocol = self.seats[index].protocol;
        let found = self.world.state.members_called(name).first().map(|member| member.id);
        let outcome = found.ok_or(refusal::INVALID_CREDENTIALS).and_then(|member| {
            let actor = Actor::connected(member, protocol.door(), self.seats[index].connection);
            self.world.act(actor, Command::Connect).map(|decision| (member, decision))
        });
        let outcome = outcome.map(|(member, decision)| {
            let channels = self.world.state.channels_of(member).map(|room| room.channel.id);
            self.seats[index].workspace = self.world.state.member(member).map(|member| member.workspace);
            self.seats[index].subscribed = channels.take(protocol.limits().subscriptions).collect();
            self.publish(index, Ok(decision), ticket);
            member
        });
        let steps = self.seats[index].session.on_login(outcome, self.world.now);
        self.perform(index, steps);
    }

    fn publish(&mut self, index: usize, outcome: Result<Decision, Refusal>, ticket: &Ticket) {
        match outcome {
            Ok(Decision { events, reply, told_before_reply, refused }) => {
                let (before, after) = events.split_at(told_before_reply);
                self.tell_all(before);
                match self.bounded_subscription(index, &reply) {
                    _ if refused.is_some() => self.answer(index, ticket, refused.as_ref().map_or(Ok(&reply), Err)),
                    true => self.answer(index, ticket, Ok(&reply)),
                    false => self.answer(index, ticket, Err(&refusal::SUBSCRIPTION_LIMIT)),
                }
                self.tell_all(after);
            }
            Err(refusal) => self.answer(index, ticket, Err(&refusal)),
        }
    }

    fn bounded_subscription(&mut self, index: usize, reply: &Reply) -> bool {
        let Reply::Subscribed(channel) = reply else { return true };
        let Seat { subscribed, protocol, .. } = &mut self.seats[index];
        let fits = subscribed.contains(channel) || subscribed.len() < protocol.limits().subscriptions;
        if fits {
            subscribed.insert(*channel);
        }
        fits
    }

    fn answer(&mut self, index: usize, ticket: &Ticket, outcome: Result<&Reply, &Refusal>) {
        let protocol = self.seats[index].protocol;
        if let Some(text) = self.with_view(|view| protocol.reply(ticket, outcome, view)) {
            self.hear(index, &text);
        }
    }

    fn with_view<T>(&mut self, make: impl FnOnce(View<'_>) -> T) -> T {
        let nonce = self.nonces.next(self.world.now);
        make(View { state: &self.world.state, now: self.world.now, nonce })
    }

    fn tell_all(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Joined(membership) = event {
                self.of_member(membership.member, |seat| {
                    seat.subscribed.insert(membership.channel);
                });
            }
            self.tell(event);
            self.after_telling(event);
        }
    }

    fn tell(&mut self, event: &Event) {
        let audience = event.audience(&self.world.state);
        for index in 0..self.seats.len() {
            let protocol = self.seats[index].protocol;
            if !self.hears(index, protocol.audience(event, audience)) {
                continue;
            }
            if let Some(text) = self.with_view(|view| protocol.event(event, view)) {
                self.hear(index, &text);
            }
        }
    }

    fn hears(&self, index: usize, audience: Audience) -> bool {
        let seat = &self.seats[index];
        // Whoever is just logging in is somebody to the hub before its session knows.
        let is_of = |member: MemberId| self.world.state.connections_of(member).contains(&seat.connection);
        match audience {
            Audience::Channel(channel) => seat.subscribed.contains(&channel),
            Audience::Workspace(workspace) => seat.workspace == Some(workspace),
            Audience::Member(member) => is_of(member),
            Audience::Connection(connection) => seat.connection == connection,
            Audience::Nobody => false,
        }
    }

    fn after_telling(&mut self, event: &Event) {
        match event {
            Event::Left(membership) => self.of_member(membership.member, |seat| {
                seat.subscribed.remove(&membership.channel);
            }),
            Event::ConnectionReplaced(old) => {
                let index = self.seats.iter().position(|seat| seat.connection == *old);
                self.close(index.expect("a connection"), "4000 replaced by a newer connection");
            }
            Event::Saved(Record::Member(member)) if member.removed => {
                for index in 0..self.seats.len() {
                    if self.seats[index].session.member() == Some(member.id) {
                        self.close(index, "1008 removed from the workspace");
                    }
                }
            }
            _ => {}
        }
    }

    fn of_member(&mut self, member: MemberId, mut change: impl FnMut(&mut Seat)) {
        self.seats.iter_mut().filter(|seat| seat.session.member() == Some(member)).for_each(&mut change);
    }

    fn inbox(&self, actor: Actor, poll: Poll) -> Result<Vec<Notification>, Refusal> {
        let actor = actor.resolve(&self.world.state)?;
        let agent = access::agent(&self.world.state, actor)?.id;
        let states: &[&str] = if poll.unread_only { &[NEW] } else { &[NEW, SEEN] };
        let mut filter = Filter::owner(agent).states(states).limit(poll.limit);
        filter.name = poll.source_type;
        let items = self.world.ledger.list::<Notification>(&filter)?;
        Ok(items.into_iter().filter(|item| poll.since.is_none_or(|since| item.created_at > since)).collect())
    }

    fn resume(&mut self, index: usize, actor: Actor, channel: ChannelId, after: u64, ticket: &Ticket) {
        let head = access::room_inside(&self.world.state, actor, channel).map(|room| room.head.seq);
        let head = match head {
            Ok(head) => head,
            Err(refusal) => return self.answer(index, ticket, Err(&refusal)),
        };
        let now = self.world.now;
        let protocol = self.seats[index].protocol;
        let missed = self.world.ledger.replay(channel, after);
        let complete = missed.len() <= MAX_REPLAY;
        let mut frames = Vec::new();
        for (_, event) in missed.into_iter().filter(|_| complete) {
            let event = match event {
                Replay::Message(message) => Replayed::Message(message),
                Replay::Change(change, message) => Replayed::Change(change, message),
            };
            let view = View { state: &self.world.state, now, nonce: self.nonces.next(now) };
            frames.extend(protocol.replayed(&event, view));
        }
        frames.extend(self.with_view(|view| protocol.resumed(ticket, channel, head.max(after), complete, view)));
        frames.iter().for_each(|text| self.hear(index, text));
    }
}

/// A frame that is a JSON object, for doors without an envelope.
#[track_caller]
pub fn object(text: &str) -> Value {
    let frame: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert!(frame.is_object(), "{text}");
    frame
}

/// A frame as every frame of Lark's must be: `v`, a UUID, a type, the time, data.
#[track_caller]
pub fn envelope(text: &str, now: Millis) -> Value {
    let frame: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(frame["v"], 1, "{text}");
    let id = frame["id"].as_str().unwrap_or_default();
    assert!(uuid::Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 4), "no UUID v4 in {text}");
    assert!(frame["type"].as_str().is_some_and(|kind| !kind.is_empty()), "{text}");
    assert_eq!(frame["ts"], now, "{text}");
    assert!(frame["data"].is_object() || frame["type"] == "inbox.items", "{text}");
    frame
}
