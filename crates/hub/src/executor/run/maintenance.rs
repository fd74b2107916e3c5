//! What the writer does between batches: tell who came and went, store what was put off, let time pass.

use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_core::event::Event;
use folkmoot_core::model::Door;
use folkmoot_core::record::Record;
use folkmoot_core::{Actor, Millis, Reply, State};

use super::{Executor, storage_refusal};
use crate::executor::{Job, Respond, Work};

/// Changes of presence are told together at this pace; the first one after a quiet time is told at once.
const PRESENCE_PAUSE: Duration = Duration::from_millis(100);
/// Read positions that moved by speaking are stored at this pace: a crash can cost a few unread marks, nothing said.
const READS_PAUSE: Duration = Duration::from_secs(10);
/// Live messages are looked through at this pace for those that their senders have given up.
const STREAMS_PAUSE: Duration = Duration::from_secs(1);
/// After this long without a job, put-off work of the store is done.
const IDLE_AFTER: Duration = Duration::from_millis(300);
/// What is to happen at its time happens then; when it could not be stored it is tried again at this pace.
const TIME_PAUSE: Duration = Duration::from_secs(1);
const CATCH_UP_ROWS: usize = 500;
/// When it is never quiet, put-off work is done all the same once this much has gathered: in smaller pieces, and only after
/// the hub has slept this many times as long as the last piece took. Where all are waiting for it, nobody waits for that too.
const CATCH_UP_AT: usize = 200_000;
const CATCH_UP_ROWS_BETWEEN: usize = 100;
const SLEEP_PER_PIECE: u32 = 16;

impl Executor {
    pub(super) fn next_maintenance(&self) -> Option<Instant> {
        if !self.searchers.is_empty() {
            return Some(Instant::now());
        }
        let presence = self.fanout.has_presence_to_tell().then(|| self.presence_told_at + PRESENCE_PAUSE);
        let reads = self.state.read().has_moved_reads().then(|| self.reads_stored_at + READS_PAUSE);
        let streams = self.has_streams().then(|| self.streams_looked_at + STREAMS_PAUSE);
        let due = self.state.read().next_deadline().map(|at| {
            let in_ms = at.saturating_sub((self.clock)()).max(0);
            let due = Instant::now() + Duration::from_millis(in_ms.unsigned_abs());
            self.time_failed_at.map_or(due, |failed| due.max(failed + TIME_PAUSE))
        });
        let catch_up = (self.put_off > 0).then(|| Instant::now() + IDLE_AFTER);
        [presence, reads, streams, due, catch_up].into_iter().flatten().min()
    }

    pub(super) fn maintain(&mut self) {
        let state = Arc::clone(&self.state);
        if self.fanout.has_presence_to_tell() {
            let state = state.read();
            self.tell_presence_if_due(&state, (self.clock)());
            self.fanout.settle();
            self.fanout.flush();
        }
        if self.reads_stored_at.elapsed() >= READS_PAUSE && state.read().has_moved_reads() {
            self.store_reads();
        }
        if self.streams_looked_at.elapsed() >= STREAMS_PAUSE && self.has_streams() {
            self.streams_looked_at = Instant::now();
            let actor = Actor::hub(Door::Rest);
            self.mailbox.put(Job { actor, work: Work::EndStreams, respond: Respond::Nobody });
        }
        let due = state.read().next_deadline().is_some_and(|at| at <= (self.clock)());
        if due && self.time_failed_at.is_none_or(|failed| failed.elapsed() >= TIME_PAUSE) {
            let work = Work::LetTimePass;
            self.mailbox.put(Job { actor: Actor::hub(Door::Rest), work, respond: Respond::Nobody });
        }
        if let Some(rows) = self.rows_to_catch_up() {
            self.catch_up_a_little(rows);
        }
        if !self.readiness_checks.is_empty() {
            self.answer_readiness_checks();
        }
    }

    /// After a failure only another attempt tells whether there is room again.
    fn answer_readiness_checks(&mut self) {
        let attempt = if self.store_failed { self.store.try_writing() } else { Ok(()) };
        self.store_failed = attempt.is_err();
        let answer = attempt.map(|()| Reply::Done).map_err(|error| storage_refusal(&error));
        let state = Arc::clone(&self.state);
        for check in std::mem::take(&mut self.readiness_checks) {
            self.respond(check, &answer, &state.read());
        }
    }

    fn has_streams(&self) -> bool {
        self.state.read().streams().len() > 0
    }

    /// How much of what was put off is done now.
    fn rows_to_catch_up(&self) -> Option<usize> {
        if !self.searchers.is_empty() {
            return Some(CATCH_UP_ROWS);
        }
        if self.put_off == 0 || !self.mailbox.is_empty() {
            return None;
        }
        let idle = self.pace.is_quiet(Instant::now(), IDLE_AFTER);
        let much = self.put_off >= CATCH_UP_AT && self.slept >= self.piece_took * SLEEP_PER_PIECE;
        idle.then_some(CATCH_UP_ROWS).or(much.then_some(CATCH_UP_ROWS_BETWEEN))
    }

    pub(super) fn tell_presence_if_due(&mut self, state: &State, now: Millis) {
        if self.fanout.has_presence_to_tell() && self.presence_told_at.elapsed() >= PRESENCE_PAUSE {
            self.presence_told_at = Instant::now();
            self.fanout.tell_presence(state, now);
        }
    }

    /// A piece at a time, so that nobody who speaks waits for somebody who searches.
    fn catch_up_a_little(&mut self, rows: usize) {
        let began = Instant::now();
        let caught_up = self.store.catch_up(rows);
        (self.piece_took, self.slept) = (began.elapsed(), Duration::ZERO);
        let answer = match caught_up {
            Ok(true) => {
                self.put_off = self.put_off.saturating_sub(rows).max(1);
                return;
            }
            Ok(false) => Ok(Reply::Done),
            Err(error) => {
                tracing::warn!(%error, "the search index is behind");
                self.store_failed = true;
                Err(storage_refusal(&error))
            }
        };
        self.put_off = 0;
        let state = Arc::clone(&self.state);
        for searcher in std::mem::take(&mut self.searchers) {
            self.respond(searcher, &answer, &state.read());
        }
    }

    pub(super) fn store_reads(&mut self) {
        self.reads_stored_at = Instant::now();
        let moved = self.state.write().take_moved_reads();
        if moved.is_empty() {
            return;
        }
        let stored = self.store.begin().and_then(|mut transaction| {
            for membership in moved {
                transaction.append(&Event::Saved(Record::Membership(membership)))?;
            }
            transaction.commit()
        });
        if let Err(error) = stored {
            tracing::warn!(%error, "read positions were not stored");
            self.store_failed = true;
        }
    }
}
