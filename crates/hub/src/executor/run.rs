//! The one thread that changes anything: take what waits, decide, commit, then answer and tell.

mod maintenance;

use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_core::decide::is_given_up;
use folkmoot_core::event::Event;
use folkmoot_core::ids::IdSource;
use folkmoot_core::model::{Approval, ApprovalKind, ApprovalStatus, Stream, TokenPurpose};
use folkmoot_core::record::Record;
use folkmoot_core::refusal::{self, Refusal};
use folkmoot_core::{Actor, Command, Context, Decision, Millis, Reply, State, access, decide};
use folkmoot_store::{Store, StoreError, Transaction};
use parking_lot::{RwLock, RwLockUpgradableReadGuard};

use super::fanout::Fanout;
use super::{CommandOutcome, Job, Mailbox, Respond, Watcher, Work};
use crate::auth::Login;
use crate::clock::Clock;
use crate::connection::{Connection, frame};
use crate::doors::Doors;
use crate::metrics::Metrics;

/// Why a connection is closed whose proof no longer counts.
const SIGNED_OUT: &str = "signed out";

pub struct Executor {
    store: Box<dyn Store>,
    state: Arc<RwLock<State>>,
    mailbox: Arc<Mailbox>,
    fanout: Fanout,
    ids: IdSource,
    clock: Clock,
    metrics: Arc<Metrics>,
    pace: super::pace::Pace,
    presence_told_at: Instant,
    reads_stored_at: Instant,
    streams_looked_at: Instant,
    /// When time passed and nothing came of it.
    time_failed_at: Option<Instant>,
    /// Changes whose indexing was put off.
    put_off: usize,
    /// How long the last piece of it took, and how long the hub has slept since.
    piece_took: Duration,
    slept: Duration,
    /// Who waits for the search index to be current.
    searchers: Vec<Respond>,
    /// Who wants to know whether anything can be stored, and whether the last attempt failed.
    readiness_checks: Vec<Respond>,
    store_failed: bool,
    watchers: Vec<Watcher>,
    stopping: bool,
}

/// A job that was decided and waits for the commit.
struct Decided {
    actor: Actor,
    respond: Respond,
    attach: Option<Login>,
    outcome: Result<Decision, Refusal>,
}

impl Executor {
    pub fn new(
        store: Box<dyn Store>,
        state: Arc<RwLock<State>>,
        mailbox: Arc<Mailbox>,
        metrics: Arc<Metrics>,
        doors: Arc<Doors>,
        clock: Clock,
        seed: u64,
    ) -> Self {
        let now = Instant::now();
        Self {
            fanout: Fanout::new(doors, Arc::clone(&metrics), seed ^ 0x9E37_79B9_7F4A_7C15),
            ids: IdSource::new(seed),
            pace: super::pace::Pace::new(now),
            store,
            state,
            mailbox,
            clock,
            metrics,
            presence_told_at: now,
            reads_stored_at: now,
            streams_looked_at: now,
            time_failed_at: None,
            // There may be messages from before the start that the index has not seen.
            put_off: 1,
            piece_took: Duration::ZERO,
            slept: Duration::ZERO,
            searchers: Vec::new(),
            readiness_checks: Vec::new(),
            // Whether there is room is not known before the first attempt, and somebody may ask before anybody writes.
            store_failed: true,
            watchers: Vec::new(),
            stopping: false,
        }
    }

    /// Runs until it is told to stop.
    pub fn run(mut self) {
        let mut jobs = Vec::new();
        while !self.stopping {
            let done = Instant::now();
            if let Some(gathering) = self.pace.gathering() {
                self.mailbox.gather(gathering);
            }
            self.mailbox.take(&mut jobs, self.next_maintenance());
            self.slept += done.elapsed();
            if !jobs.is_empty() {
                self.work_off(&mut jobs);
            }
            self.maintain();
        }
        self.store_reads();
        self.mailbox.close();
    }

    fn work_off(&mut self, jobs: &mut Vec<Job>) {
        self.metrics.batch.observe(jobs.len() as f64);
        self.pace.follow(jobs, Instant::now());
        let decided = self.decide_and_commit(jobs.drain(..));
        let state = Arc::clone(&self.state);
        let state = state.read();
        let now = (self.clock)();
        for one in decided {
            self.publish(one, &state, now);
        }
        self.tell_presence_if_due(&state, now);
        self.fanout.settle();
        self.fanout.flush();
        drop(state);
        if self.stopping {
            self.fanout.close_all(1001, "the hub is stopping");
        }
    }

    // Deciding.

    fn decide_and_commit(&mut self, jobs: impl Iterator<Item = Job>) -> Vec<Decided> {
        let state = Arc::clone(&self.state);
        let now = (self.clock)();
        let mut decided = Vec::new();
        let stored = match self.store.begin() {
            Ok(mut transaction) => {
                let mut batch = Batch {
                    transaction: &mut *transaction,
                    state: &state,
                    ids: &mut self.ids,
                    now,
                    broken: None,
                    writes: false,
                };
                for job in jobs {
                    match job.work {
                        Work::CatchUp => self.searchers.push(job.respond),
                        Work::CanStore => self.readiness_checks.push(job.respond),
                        Work::Stop => {
                            self.stopping = true;
                            decided.extend(batch.end_streams(|_, _| true));
                        }
                        Work::EndStreams => {
                            decided.extend(batch.end_streams(|state, stream| is_given_up(state, stream, now)));
                        }
                        Work::LetTimePass => {
                            let one = batch.decided(job.actor, Command::LetTimePass, job.respond, None);
                            let something = one.outcome.as_ref().is_ok_and(|decision| !decision.events.is_empty());
                            self.time_failed_at = (!something).then(Instant::now);
                            decided.push(one);
                        }
                        Work::Watch(watcher) => self.watchers.push(watcher),
                        work => decided.extend(batch.decide(job.actor, work, job.respond, &mut self.fanout)),
                    }
                }
                let (broken, writes) = (batch.broken, batch.writes);
                match broken {
                    Some(error) => Err(error),
                    None if writes => {
                        self.store_failed = false;
                        commit(transaction, &self.metrics)
                    }
                    None => Ok(()),
                }
            }
            Err(error) => {
                decided.extend(jobs.map(|job| refused(job, &error)));
                Err(error)
            }
        };
        if let Err(error) = stored {
            self.undo(&mut decided, &error);
        }
        decided
    }

    /// Nothing of the batch was stored: whoever wanted to store something is refused, and the state goes back.
    fn undo(&mut self, decided: &mut [Decided], error: &StoreError) {
        self.metrics.storage_failures.inc();
        self.store_failed = true;
        self.time_failed_at = Some(Instant::now());
        tracing::error!(%error, "could not store a batch; its commands are refused");
        match self.store.directory() {
            Ok(directory) => self.state.write().replace_stored(State::load(directory.records, directory.heads)),
            Err(error) => tracing::error!(%error, "could not read the directory back"),
        }
        for one in decided {
            if one.outcome.as_ref().is_ok_and(|decision| decision.events.iter().any(Event::is_stored)) {
                self.reopen_streams(&one.outcome);
                one.outcome = Err(storage_refusal(error));
            }
        }
    }

    /// What was not stored was not said: it is still being written.
    fn reopen_streams(&self, outcome: &Result<Decision, Refusal>) {
        for event in outcome.iter().flat_map(|decision| &decision.events) {
            if let Event::StreamEnded { stream, said: true } = event {
                self.state.write().apply(&Event::Streamed(Arc::clone(stream)));
            }
        }
    }

    // Telling.

    fn publish(&mut self, one: Decided, state: &State, now: Millis) {
        let Decided { actor, respond, attach, outcome } = one;
        let decision = match outcome {
            Ok(decision) => decision,
            Err(refusal) => {
                self.metrics.refused.inc();
                return self.respond(respond, &Err(refusal), state);
            }
        };
        let attaches = attach.is_some();
        if let (Some(login), Some(connection)) = (attach, respond.connection()) {
            // Nothing may reach the newcomer before its welcome.
            self.fanout.settle();
            self.fanout.attach(Arc::clone(connection), actor.member, login.prover, state);
            connection.set_member(actor.member, login);
        }
        let Decision { events, reply, told_before_reply, refused } = decision;
        let reply = match refused {
            Some(refusal) => Err(refusal),
            None => self.bounded_subscription(actor, reply),
        };
        let (before, after) = events.split_at(told_before_reply.min(events.len()));
        self.tell_all(before, state, now);
        self.respond(respond, &reply, state);
        if attaches {
            // The welcome goes out before anything the channels say in the rest of this batch. What it logged in with may have
            // ended between its proof and now.
            self.fanout.settle();
            self.fanout.close_ended(actor.member, SIGNED_OUT, state);
        }
        self.tell_all(after, state, now);
    }

    /// A permitted subscription may still be one too many for its connection.
    fn bounded_subscription(&mut self, actor: Actor, reply: Reply) -> CommandOutcome {
        let (Reply::Subscribed(channel), Some(connection)) = (&reply, actor.connection) else { return Ok(reply) };
        self.fanout.settle();
        if self.fanout.subscribe(connection, *channel) { Ok(reply) } else { Err(refusal::SUBSCRIPTION_LIMIT) }
    }

    fn tell_all(&mut self, events: &[Event], state: &State, now: Millis) {
        for event in events {
            self.before_telling(event);
            self.fanout.tell(event, event.audience(state), state, now);
            self.after_telling(event, state);
            self.watchers.retain(|watcher| watcher.tell(event, state));
        }
    }

    fn before_telling(&mut self, event: &Event) {
        match event {
            Event::MessageSent(_) => {
                self.metrics.messages.inc();
                self.put_off += 1;
            }
            Event::MessageEdited { .. } | Event::MessageDeleted { .. } | Event::Removed(Record::Channel(_)) => {
                self.put_off += 1;
            }
            Event::Woken(_) => {
                self.metrics.wakes.inc();
            }
            Event::Saved(Record::Delivery(delivery)) => self.metrics.delivery(delivery.state),
            Event::Saved(Record::Approval(approval)) if is_new_brake(approval) => {
                self.metrics.held.inc();
            }
            Event::Joined(membership) => self.fanout.subscribe_member(membership.member, membership.channel),
            _ => {}
        }
    }

    fn after_telling(&mut self, event: &Event, state: &State) {
        match event {
            Event::Left(membership) => {
                self.fanout.unsubscribe_member(membership.member, membership.channel);
                if let Some(carrier) = state.carrier_of(membership.member) {
                    self.fanout.unsubscribe_strange(carrier, state);
                }
            }
            Event::DaemonRegistered { connection, .. } => self.fanout.unsubscribe_strange(*connection, state),
            Event::ConnectionReplaced(connection) => {
                self.fanout.close(*connection, 4000, "replaced by a newer connection");
            }
            Event::Disconnected { connection, .. } => self.fanout.detach(*connection),
            Event::Saved(Record::Member(member)) => {
                let reason = if member.removed { "removed from the workspace" } else { SIGNED_OUT };
                self.fanout.close_ended(member.id, reason, state);
                for machine in state.machines_of(member.id) {
                    self.fanout.close_ended(machine.as_member(), "may no longer carry all of its agents", state);
                }
                for connection in access::overreaching_daemons(state) {
                    self.fanout.close(connection, 1008, "may no longer carry all of its agents");
                }
            }
            Event::Removed(Record::Machine(machine)) => {
                self.fanout.close_ended(machine.as_member(), "the key of this machine was taken back", state);
            }
            Event::Saved(Record::Token(token)) if matches!(token.purpose, TokenPurpose::Revoked(_)) => {
                self.fanout.close_ended(token.made_by, SIGNED_OUT, state);
            }
            _ => {}
        }
    }

    fn respond(&mut self, respond: Respond, answer: &CommandOutcome, state: &State) {
        match respond {
            Respond::Nobody => {}
            Respond::Caller(caller) => {
                let _ = caller.send(answer.clone());
            }
            Respond::Connection { connection, ticket } => {
                connection.request_ended();
                self.answer_connection(&connection, &ticket, answer, state);
            }
            Respond::LogIn { connection, ticket, outcome } => {
                // A refusal is the session's to tell; it counts them.
                if answer.is_ok() {
                    self.answer_connection(&connection, &ticket, answer, state);
                    // What the session says next comes after the answer, not before it.
                    self.fanout.settle();
                }
                let _ = outcome.send(answer.clone());
            }
        }
    }

    fn answer_connection(
        &mut self,
        connection: &Arc<Connection>,
        ticket: &folkmoot_doors::Ticket,
        answer: &CommandOutcome,
        state: &State,
    ) {
        let view = self.fanout.view(state, (self.clock)());
        if let Some(text) = connection.protocol.reply(ticket, answer.as_ref(), view) {
            self.fanout.answer(connection, frame::text(&text));
        }
    }
}

fn is_new_brake(approval: &Approval) -> bool {
    approval.kind == ApprovalKind::LoopGuard && approval.status == ApprovalStatus::Pending
}

fn commit(transaction: Box<dyn Transaction + '_>, metrics: &Metrics) -> Result<(), StoreError> {
    let began = Instant::now();
    let committed = transaction.commit();
    metrics.commits.observe(began.elapsed().as_secs_f64());
    committed
}

fn refused(job: Job, error: &StoreError) -> Decided {
    Decided { actor: job.actor, respond: job.respond, attach: None, outcome: Err(storage_refusal(error)) }
}

fn storage_refusal(error: &StoreError) -> Refusal {
    match error {
        StoreError::Full => {
            Refusal::unavailable("the disk is full, nothing was changed; free some space and try again")
        }
        _ => Refusal::unavailable("storage is unavailable, nothing was changed"),
    }
}

/// One transaction and the state that follows it.
struct Batch<'a, 'store> {
    transaction: &'a mut (dyn Transaction + 'store),
    state: &'a RwLock<State>,
    ids: &'a mut IdSource,
    now: Millis,
    broken: Option<StoreError>,
    writes: bool,
}

impl Batch<'_, '_> {
    fn decide(&mut self, actor: Actor, work: Work, respond: Respond, fanout: &mut Fanout) -> Option<Decided> {
        let (command, attach) = match work {
            Work::Decide(command) => (*command, None),
            Work::Attach { login, .. } if login.prover != actor.member => {
                (Command::ConnectCarried { carrier: login.prover }, Some(login))
            }
            Work::Attach { login, .. } => (Command::Connect, Some(login)),
            Work::Detach(connection) => {
                // Cleaned up by connection, whatever the member's newer ones do.
                let actor = Actor { connection: Some(connection), ..actor };
                return Some(self.decided(actor, Command::Disconnect, respond, None));
            }
            Work::Unsubscribe { connection, channel } => {
                fanout.unsubscribe(connection, channel);
                let reply = Reply::Subscribed(channel);
                let outcome = Ok(Decision { events: Vec::new(), reply, told_before_reply: 0, refused: None });
                // The reply must not subscribe it again.
                let actor = Actor { connection: None, ..actor };
                return Some(Decided { actor, respond, attach: None, outcome });
            }
            Work::CatchUp | Work::CanStore | Work::EndStreams | Work::LetTimePass | Work::Stop | Work::Watch(_) => {
                return None;
            }
        };
        Some(self.decided(actor, command, respond, attach))
    }

    /// Finishes live messages for their senders.
    fn end_streams(&mut self, which: impl Fn(&State, &Stream) -> bool) -> Vec<Decided> {
        let state = self.state.read();
        let ending = state.streams().filter(|stream| which(&state, stream)).cloned().collect::<Vec<_>>();
        drop(state);
        let end = |stream: Arc<Stream>| {
            let command = Command::EndStream { sender: stream.sender, channel: stream.channel };
            self.decided(Actor::hub(stream.door), command, Respond::Nobody, None)
        };
        ending.into_iter().map(end).collect()
    }

    fn decided(&mut self, actor: Actor, command: Command, respond: Respond, attach: Option<Login>) -> Decided {
        let outcome = self.outcome(actor, command);
        Decided { actor, respond, attach, outcome }
    }

    fn outcome(&mut self, actor: Actor, command: Command) -> Result<Decision, Refusal> {
        if let Some(error) = &self.broken {
            return Err(storage_refusal(error));
        }
        let state = self.state.upgradable_read();
        let mut context = Context { state: &state, history: &*self.transaction, now: self.now, ids: self.ids };
        let decision = decide(&mut context, actor, command)?;
        if decision.events.is_empty() {
            return Ok(decision);
        }
        let mut state = RwLockUpgradableReadGuard::upgrade(state);
        for event in &decision.events {
            if event.is_stored() {
                self.writes = true;
                if let Err(error) = self.transaction.append(event) {
                    let refusal = storage_refusal(&error);
                    self.broken = Some(error);
                    return Err(refusal);
                }
            }
            state.apply(event);
        }
        Ok(decision)
    }
}

impl Respond {
    fn connection(&self) -> Option<&Arc<Connection>> {
        match self {
            Self::Connection { connection, .. } | Self::LogIn { connection, .. } => Some(connection),
            Self::Nobody | Self::Caller(_) => None,
        }
    }
}
