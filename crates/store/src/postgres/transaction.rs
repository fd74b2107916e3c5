//! One transaction of the writer: what is looked up and appended in it, and its commit.

use std::cell::{Cell, RefCell};
use std::pin::Pin;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, Lookup, Unavailable, Want};
use folkmoot_core::model::Message;
use folkmoot_core::record::Filter;
use folkmoot_core::{Event, Record, RecordKind};
use futures_util::future::try_join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::foresight::Wanted;
use super::link::{ANSWER_TIMEOUT, Failure, Session};
use super::overlay::{Known, Overlay};
use super::read::{self, Rows};
use super::rows::{Id, integer};
use super::write::{STATEMENTS, Step, steps};
use super::{Postgres, foresight, log, records};
use crate::{LogRow, StoreError, Transaction};

const LOG: &str = "INSERT INTO batches (realm, n, epoch, at, body) VALUES ($1, $2, $3, clock_timestamp(), $4)";
const FENCE: &str = "SELECT moot_fence($1, $2, $3, $4)";

pub struct Writing<'a> {
    store: &'a mut Postgres,
    overlay: RefCell<Overlay>,
    /// The server has a transaction open for us.
    is_open: Cell<bool>,
    /// An event could not be stored: committing the rest would store half of what was asked for.
    is_broken: Cell<bool>,
}

impl<'a> Writing<'a> {
    pub fn new(store: &'a mut Postgres) -> Self {
        let overlay = RefCell::new(Overlay::default());
        Self { store, overlay, is_open: Cell::new(false), is_broken: Cell::new(false) }
    }

    /// Tells the server what is pending, so that it can answer with it.
    fn tell(&self) -> Found<()> {
        if self.overlay.borrow().pending.is_empty() {
            return Ok(());
        }
        let overlay = self.overlay.borrow();
        let steps = steps(&overlay);
        let sent = self.ask(async |session| send(session, !self.is_open.get(), &steps, None).await);
        drop(steps);
        drop(overlay);
        self.is_open.set(true);
        if let Err(error) = sent {
            self.is_broken.set(true);
            return Err(Unavailable(error.to_string()));
        }
        self.overlay.borrow_mut().told();
        Ok(())
    }

    /// In the session in which the transaction began, or not at all.
    fn ask<T>(&self, question: impl AsyncFnOnce(&Session) -> Result<T, Error>) -> Result<T, StoreError> {
        let link = &self.store.link;
        let answer = link.ask_here(ANSWER_TIMEOUT, question);
        // Nothing of it is left at the server, or nobody knows what is.
        self.is_broken.set(self.is_broken.get() || answer.is_err());
        answer.map_err(|failure| link.explain(failure))
    }

    fn know<T>(&self, known: Known<T>, ask: impl FnOnce() -> Found<T>) -> Found<T> {
        match known {
            Known::Yes(known) => return Ok(known),
            Known::TellAndAsk => self.tell()?,
            Known::Ask => {}
        }
        ask()
    }

    fn tell_if(&self, is_needed: bool) -> Found<()> {
        if is_needed { self.tell() } else { Ok(()) }
    }

    fn commit_batch(&mut self, row: Option<LogRow<'_>>) -> Result<u64, StoreError> {
        let Some(lead) = self.store.lead_now() else { return Err(StoreError::Fenced) };
        if self.is_broken.get() {
            return Err(StoreError::Other("an event could not be stored, so nothing of its transaction was".into()));
        }
        let overlay = self.overlay.take();
        if overlay.pending.is_empty() && !self.is_open.get() && row.is_none() {
            return Ok(lead.batch);
        }
        let steps = steps(&overlay);
        let end = End { epoch: lead.epoch, n: lead.batch + 1, row };
        let begins = !self.is_open.get();
        let sent = async |session: &Session| send(session, begins, &steps, Some(&end)).await;
        match self.store.link.ask_here(ANSWER_TIMEOUT, sent) {
            Ok(()) => {
                self.is_open.set(false);
                self.store.set_lead(super::Lead { batch: end.n, ..lead });
                Ok(end.n)
            }
            Err(Failure::Lost(cause)) => {
                self.is_open.set(false);
                self.look_up(end.n, cause)
            }
            Err(failure) => {
                self.is_open.set(true);
                Err(self.store.link.explain(failure))
            }
        }
    }

    /// Nobody knows whether the commit reached the disk, except the disk.
    fn look_up(&mut self, n: u64, cause: String) -> Result<u64, StoreError> {
        match self.store.look_up(n)? {
            true => Ok(n),
            false => Err(self.store.link.explain(Failure::Lost(cause))),
        }
    }
}

/// What ends a transaction: the log, the fence, the commit.
struct End<'a> {
    epoch: u64,
    n: u64,
    row: Option<LogRow<'a>>,
}

type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// Prepares all that a transaction can need, so that the first does not wait for it.
pub async fn prepare(session: &Session) -> Result<(), Error> {
    let all = STATEMENTS.into_iter().chain([LOG, FENCE, read::MESSAGE, read::BY_KEY]).chain(foresight::STATEMENTS);
    try_join_all(all.map(|sql| session.prepared(sql))).await.map(drop)
}

/// Sends everything in one flush. When one statement cannot even be sent, those behind it are not, the commit among them.
async fn send(session: &Session, begins: bool, steps: &[Step<'_>], end: Option<&End<'_>>) -> Result<(), Error> {
    // None may wait for its preparation below: it would be overtaken by the commit, and stored outside of the transaction.
    for sql in steps.iter().map(|step| step.sql).chain([LOG, FENCE]) {
        session.prepared(sql).await?;
    }
    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(steps.len() + 4);
    if begins {
        sent.push(Box::pin(session.client().batch_execute("BEGIN")));
    }
    for step in steps {
        sent.push(Box::pin(async { session.execute(step.sql, &step.parameters()).await.map(drop) }));
    }
    if let Some(end) = end {
        if let Some(row) = end.row {
            sent.push(Box::pin(end.log(session, row)));
        }
        sent.push(Box::pin(end.fence(session)));
        sent.push(Box::pin(session.client().batch_execute("COMMIT")));
    }
    try_join_all(sent).await.map(drop)
}

impl End<'_> {
    async fn log(&self, session: &Session, row: LogRow<'_>) -> Result<(), Error> {
        session.execute(LOG, &[&log::REALM, &integer(self.n), &integer(self.epoch), &row.body]).await.map(drop)
    }

    async fn fence(&self, session: &Session) -> Result<(), Error> {
        let (id, at) = self.row.map_or((0, 0), |row| (row.last_id, row.last_at));
        session.query(FENCE, &[&integer(self.epoch), &integer(self.n), &Id(id), &at]).await.map(drop)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_open.get() {
            return;
        }
        // A session in which nobody knows what is open is of no use.
        let undo = async |session: &Session| session.client().batch_execute("ROLLBACK").await;
        if self.store.link.ask_here(ANSWER_TIMEOUT, undo).is_err() {
            self.store.link.hang_up();
        }
    }
}

impl Rows for Writing<'_> {
    fn rows(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Found<Vec<Row>> {
        self.ask(async |session| session.query(sql, parameters).await).map_err(|error| Unavailable(error.to_string()))
    }
}

impl Lookup for Writing<'_> {
    fn message(&self, id: MessageId) -> Found<Option<Message>> {
        let known = self.overlay.borrow().message(id);
        self.know(known, || {
            let message = read::message(self, id)?;
            self.overlay.borrow_mut().know_message(id, message.clone());
            Ok(message)
        })
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> Found<Option<Message>> {
        let known = self.overlay.borrow().message_by_key(sender, key);
        self.know(known, || {
            let message = read::message_by_key(self, sender, key)?;
            self.overlay.borrow_mut().know_key(sender, key, message.clone());
            Ok(message)
        })
    }

    fn newest_messages(&self, channel: ChannelId, limit: usize) -> Found<Vec<Message>> {
        self.messages_up_to(channel, u64::MAX, limit)
    }

    fn messages_up_to(&self, channel: ChannelId, seq: u64, limit: usize) -> Found<Vec<Message>> {
        let is_pending = self.overlay.borrow().is_channel_pending(channel);
        self.tell_if(is_pending)?;
        read::newest_messages(self, channel, seq, limit)
    }

    fn newest_replies(&self, root: MessageId, limit: usize) -> Found<Vec<Message>> {
        let is_pending = self.overlay.borrow().pending.has_messages();
        self.tell_if(is_pending)?;
        read::newest_replies(self, root, u64::MAX, limit)
    }

    fn version_at(&self, channel: ChannelId, seq: u64) -> Found<u64> {
        let is_pending = self.overlay.borrow().is_channel_pending(channel);
        self.tell_if(is_pending)?;
        read::version_at(self, channel, seq)
    }

    fn record(&self, kind: RecordKind, id: u128) -> Found<Option<Record>> {
        let known = self.overlay.borrow().record(kind, id);
        self.know(known, || {
            let record = records::get(self, kind, id)?;
            self.overlay.borrow_mut().know_record(kind, id, record.clone());
            Ok(record)
        })
    }

    fn records(&self, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>> {
        let known = self.overlay.borrow().records(kind, filter);
        self.know(known, || records::list(self, kind, filter))
    }

    fn stored_bytes(&self, filter: &Filter) -> Found<u64> {
        let is_pending = !self.overlay.borrow().pending.records.is_empty();
        self.tell_if(is_pending)?;
        records::stored_bytes(self, filter)
    }
}

impl Transaction for Writing<'_> {
    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let overlay = self.overlay.get_mut();
        let mut is_new = true;
        event.each_write(|write| is_new &= overlay.append(&write));
        if is_new {
            return Ok(());
        }
        self.is_broken.set(true);
        Err(StoreError::Other("the message is stored already".to_owned()))
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.commit_batch(None).map(drop)
    }

    fn commit_logged(mut self: Box<Self>, log: LogRow<'_>) -> Result<u64, StoreError> {
        self.commit_batch(Some(log))
    }

    fn foresee(&mut self, wants: &[Want]) -> Result<(), StoreError> {
        let wanted = Wanted::new(wants, self.overlay.get_mut());
        if wanted.is_empty() {
            return Ok(());
        }
        let fetched = self.ask(async |session| wanted.fetch(session).await)?;
        Ok(wanted.take_in(&fetched, self.overlay.get_mut())?)
    }
}
