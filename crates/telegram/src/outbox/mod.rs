//! Delivering messages: each chat at its own pace, in an order that keeps answers first, until they have arrived.
//!
//! [`pace`] says how fast, [`item`] what one message needs, [`scheduler`] what is called next and what an answer means;
//! none of them knows a clock or a socket. The task here asks, calls, stores what came of it, and only then goes on.
//!
//! Telegram has no way to send a message at most once. Before each attempt the journal notes that it is made, and which
//! message numbers were known; when the answer is lost (the connection broke, or the hub was killed), the outbox looks for
//! the message under the next numbers by editing it to what it says anyway, and sends it again only if it is not found.

mod calls;
mod item;
mod pace;
mod scheduler;
#[cfg(test)]
mod tests;

use std::time::Duration;

use folkmoot_database::DatabaseError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use self::scheduler::{Call, CallAnswer, Report, Scheduler};
use crate::api::{ApiError, Bot, ChatId, MessageId};
use crate::ids::OutgoingId;
use crate::journal::{Journal, JournalError, Order, Orders, OutgoingState};

/// The pause before the journal is tried again when it cannot be written.
const JOURNAL_PAUSE: Duration = Duration::from_secs(1);

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the chat.
    Arrived { outgoing: OutgoingId, chat: ChatId, message: MessageId },
    /// Telegram will not take it, ever.
    Failed { outgoing: OutgoingId, chat: ChatId, reason: String },
    /// The group has another id now.
    Moved { from: ChatId, to: ChatId },
}

/// What the bridge is told; in the order in which it was stored.
pub type Outcomes = mpsc::UnboundedReceiver<Outcome>;

/// The task that delivers; it ends when this is dropped, and what is not delivered stays stored.
#[derive(Debug)]
pub struct Outbox {
    task: JoinHandle<()>,
    /// Who is to be told when nothing is pending any more.
    idle: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl Outbox {
    /// Takes up what was left and begins to deliver. `edit_interval` is the least time between two edits of a message.
    pub async fn start(
        bot: Bot,
        journal: Journal,
        orders: Orders,
        edit_interval: Duration,
    ) -> Result<(Self, Outcomes), JournalError> {
        let (left, highest) = journal.transact(|rows| Ok((rows.due_outgoing()?, rows.highest_messages()?))).await?;
        let mut scheduler = Scheduler::new(edit_interval);
        highest.into_iter().for_each(|(chat, message)| scheduler.seen(chat, message));
        let (outcomes, receiver) = mpsc::unbounded_channel();
        let (idle, waiting) = mpsc::unbounded_channel();
        let mut driver = Driver {
            bot,
            journal,
            scheduler,
            began: Instant::now(),
            calls: JoinSet::new(),
            outcomes,
            idle: Vec::new(),
        };
        driver.take_up(left).await;
        let task = tokio::spawn(driver.run(orders, waiting));
        Ok((Self { task, idle }, receiver))
    }

    /// Waits until nothing is pending any more, at most that long; for a clean stop, so people are not made to wait for the pace
    /// of their chats any more. `false` when something is left, which stays stored.
    pub async fn drain(&self, within: Duration) -> bool {
        let (sender, receiver) = oneshot::channel();
        let _ = self.idle.send(sender);
        matches!(tokio::time::timeout(within, receiver).await, Ok(Ok(())))
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Driver {
    bot: Bot,
    journal: Journal,
    scheduler: Scheduler,
    began: Instant,
    calls: JoinSet<(Call, Result<CallAnswer, ApiError>)>,
    outcomes: mpsc::UnboundedSender<Outcome>,
    idle: Vec<oneshot::Sender<()>>,
}

impl Driver {
    async fn run(mut self, mut orders: Orders, mut waiting: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
        loop {
            let now = self.now();
            self.start_calls(now);
            self.tell_idle(&orders);
            let wake = self.scheduler.wake(now).map(|moment| self.began + moment);
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.order(order).await,
                    None => return,
                },
                Some(finished) = self.calls.join_next(), if !self.calls.is_empty() => self.finished(finished).await,
                Some(waiting) = waiting.recv() => self.tell_when_idle(waiting),
                () = sleep_until(wake) => {}
            }
        }
    }

    fn now(&self) -> pace::Moment {
        self.began.elapsed()
    }

    async fn take_up(&mut self, left: Vec<crate::journal::Outgoing>) {
        for outgoing in left {
            let reports = self.scheduler.take_up(outgoing, self.now());
            self.store(reports).await;
        }
    }

    fn start_calls(&mut self, now: pace::Moment) {
        while let Some(call) = self.scheduler.next(now) {
            let (bot, journal) = (self.bot.clone(), self.journal.clone());
            self.calls.spawn(async move {
                let answer = calls::perform(&bot, &journal, &call).await;
                (call, answer)
            });
        }
    }

    fn tell_idle(&mut self, orders: &Orders) {
        if !self.idle.is_empty() && orders.is_empty() && self.scheduler.is_idle() {
            for waiting in self.idle.drain(..) {
                let _ = waiting.send(());
            }
        }
    }

    fn tell_when_idle(&mut self, waiting: oneshot::Sender<()>) {
        self.scheduler.hurry();
        self.idle.push(waiting);
    }

    async fn order(&mut self, order: Order) {
        if let Some(order) = self.current(order).await {
            let reports = self.scheduler.order(order, self.now());
            self.store(reports).await;
        }
    }

    /// What an order means by now. It tells how things were at its commit; a message may have arrived since, or its order
    /// may have been taken up from the journal at the start. Everything this task knows is stored before it goes on, so
    /// the journal has the last word.
    async fn current(&self, order: Order) -> Option<Order> {
        let id = match &order {
            Order::Show { .. } => return Some(order),
            Order::Post(outgoing) | Order::Revise(outgoing) | Order::Remove(outgoing) => outgoing.id,
        };
        let Ok(stored) = self.journal.transact(move |rows| rows.outgoing(id)).await else { return Some(order) };
        let outgoing = stored?;
        match outgoing.state {
            OutgoingState::Waiting if !self.scheduler.knows(id) => Some(Order::Post(outgoing)),
            OutgoingState::Waiting | OutgoingState::Changed => Some(Order::Revise(outgoing)),
            OutgoingState::Leaving => Some(Order::Remove(outgoing)),
            OutgoingState::Settled | OutgoingState::Gone | OutgoingState::Failed => None,
        }
    }

    async fn finished(&mut self, finished: Result<(Call, Result<CallAnswer, ApiError>), tokio::task::JoinError>) {
        let Ok((call, answer)) = finished else { return };
        if let Err(error) = &answer {
            tracing::debug!(chat = call.chat.0, outgoing = call.outgoing.0, %error, "a call to Telegram failed");
        }
        let reports = self.scheduler.done(&call, answer, self.now(), rand::random());
        self.store(reports).await;
    }

    /// Stores what happened, however long that takes, and then tells the bridge.
    async fn store(&mut self, reports: Vec<Report>) {
        if reports.is_empty() {
            return;
        }
        loop {
            let stored = reports.clone();
            match self.journal.transact(move |rows| calls::store(rows, &stored)).await {
                Ok(()) => break,
                Err(JournalError::Database(DatabaseError::Closed)) => return,
                Err(error) => {
                    tracing::error!(%error, "what Telegram answered could not be stored; trying again");
                    tokio::time::sleep(JOURNAL_PAUSE).await;
                }
            }
        }
        for outcome in reports.into_iter().filter_map(outcome_of) {
            let _ = self.outcomes.send(outcome);
        }
    }
}

fn outcome_of(report: Report) -> Option<Outcome> {
    match report {
        Report::Arrived { outgoing, chat, message, .. } => Some(Outcome::Arrived { outgoing, chat, message }),
        Report::Failed { outgoing, chat, reason } => Some(Outcome::Failed { outgoing, chat, reason }),
        Report::Moved { from, to } => Some(Outcome::Moved { from, to }),
        Report::ArrivedUnnumbered { .. }
        | Report::Edited { .. }
        | Report::NotThere(_)
        | Report::Vanished(_)
        | Report::Gone(_) => None,
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
