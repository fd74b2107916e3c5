//! Waiting for whatever concerns a member. A call that waits holds a place in a table and nothing else; one watcher of the hub
//! wakes those whom something came for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::event::Event;
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::*;
use folkmoot_core::record::{CLOSED, Filter, NEW, SEEN};
use folkmoot_core::{Millis, Record};
use folkmoot_hub::Sighting;
use folkmoot_hub::readings;
use folkmoot_hub::request::Caller;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::Notify;

use super::call::{Failure, Told};
use super::{Mcp, text};

const DEFAULT_SECONDS: u64 = 45;
pub const MAX_SECONDS: u64 = 240;
/// One member's calls that wait at the same time.
const MAX_WAITING: usize = 64;
const MAX_ITEMS: usize = 50;
/// A decision that was not taken up in this time no longer counts.
const DECISION_LIFE: Millis = 24 * 60 * 60 * 1000;

/// Who waits.
#[derive(Default)]
pub struct Waiting(Mutex<HashMap<MemberId, Bell>>);

struct Bell {
    rung: Arc<Notify>,
    calls: usize,
}

/// A place among those who wait; it is given back also when the client hangs up.
struct Place<'a> {
    waiting: &'a Waiting,
    member: MemberId,
    rung: Arc<Notify>,
}

impl Waiting {
    fn enter(&self, member: MemberId) -> Result<Place<'_>, Failure> {
        let mut all = self.0.lock();
        let bell = all.entry(member).or_insert_with(|| Bell { rung: Arc::default(), calls: 0 });
        if bell.calls >= MAX_WAITING {
            return Err(Failure::new(format!("you wait {MAX_WAITING} times already")));
        }
        bell.calls += 1;
        Ok(Place { waiting: self, member, rung: Arc::clone(&bell.rung) })
    }

    fn ring(&self, member: MemberId) {
        if let Some(bell) = self.0.lock().get(&member) {
            bell.rung.notify_waiters();
        }
    }

    fn ring_all(&self) {
        self.0.lock().values().for_each(|bell| bell.rung.notify_waiters());
    }

    fn is_waiting(&self, member: MemberId) -> bool {
        self.0.lock().contains_key(&member)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.waiting.0.lock();
        if let Some(bell) = all.get_mut(&self.member) {
            bell.calls -= 1;
            if bell.calls == 0 {
                all.remove(&self.member);
            }
        }
    }
}

/// Whom an event is for, if somebody could wait for it.
fn wanted(event: &Event) -> Option<MemberId> {
    match event {
        Event::Saved(Record::Notification(notification)) if notification.acked_at.is_none() => {
            Some(notification.member)
        }
        Event::Saved(Record::Approval(approval)) if approval.status != ApprovalStatus::Pending => Some(approval.agent),
        // It may have another key now, or be removed.
        Event::Saved(Record::Member(member)) => Some(member.id),
        _ => None,
    }
}

pub async fn follow(mcp: Mcp) {
    let of_interest = mcp.clone();
    let interest =
        move |event: &Event, _: &_| wanted(event).is_some_and(|member| of_interest.waiting.is_waiting(member));
    let mut watch = mcp.hub.watch(Box::new(interest));
    while let Some(sighting) = watch.next().await {
        match sighting {
            Sighting::Event(event) => wanted(&event).into_iter().for_each(|member| mcp.waiting.ring(member)),
            Sighting::Missed => mcp.waiting.ring_all(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    seconds: Option<u64>,
    cursor: Option<String>,
}

pub async fn wait(mcp: &Mcp, caller: &Caller, wait: Wait) -> Told {
    let seconds = wait.seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
    let until = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let cursor = wait.cursor.as_deref().map(Cursor::read).transpose()?;
    let place = mcp.waiting.enter(caller.id())?;
    let mut stop = mcp.hub.stop();
    loop {
        // Before the look, so that what comes between it and the wait is not missed.
        let rung = place.rung.notified();
        tokio::pin!(rung);
        rung.as_mut().enable();
        let items = items(caller, cursor).await?;
        // Whose key was taken back while it waited hears nothing of what came since.
        caller.still_proven()?;
        if !items.is_empty() {
            return told(caller, cursor, &items).await;
        }
        tokio::select! {
            () = rung => {}
            () = tokio::time::sleep_until(until) => return Ok(nothing(cursor)),
            _ = stop.wait_for(|stopping| *stopping) => return Err(Failure::new("the hub is stopping; call again")),
        }
    }
}

/// How far a caller has been told: the last notification, and the last decision with its moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    notification: NotificationId,
    decided_at: Millis,
    approval: ApprovalId,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, Failure> {
        let wrong = || Failure::new("this is no cursor of `wait`; leave it out");
        let mut parts = text.trim().split('/');
        let (Some(notification), Some(decided_at), Some(approval), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let decided_at = decided_at.parse().map_err(|_| wrong())?;
        Ok(Self {
            notification: NotificationId::parse(notification),
            decided_at,
            approval: ApprovalId::parse(approval),
        })
    }

    fn write(self) -> String {
        format!("{}/{}/{}", self.notification, self.decided_at, self.approval)
    }

    fn is_before(self, item: &Item) -> bool {
        match item {
            Item::Notification(notification) => notification.id > self.notification,
            Item::Decision(approval) => {
                approval.reviewed_at.unwrap_or(0) >= self.decided_at && approval.id != self.approval
            }
        }
    }

    fn after(mut self, items: &[Item]) -> Self {
        for item in items {
            match item {
                Item::Notification(notification) => self.notification = self.notification.max(notification.id),
                Item::Decision(approval) => {
                    (self.decided_at, self.approval) = (approval.reviewed_at.unwrap_or(0), approval.id);
                }
            }
        }
        self
    }
}

/// Something that waits for a member until it is acknowledged.
pub enum Item {
    Notification(Notification),
    Decision(Approval),
}

impl Item {
    fn at(&self) -> Millis {
        match self {
            Self::Notification(notification) => notification.created_at,
            Self::Decision(approval) => approval.reviewed_at.unwrap_or(approval.created_at),
        }
    }
}

/// What the caller has not dealt with, oldest first: an agent what it has not acknowledged, a person what is unread.
pub async fn items(caller: &Caller, after: Option<Cursor>) -> Result<Vec<Item>, Failure> {
    let (member, now) = (caller.id(), caller.hub.now());
    let is_agent = caller.hub.with_state(|state| state.is_agent(member));
    let states: &'static [&'static str] = if is_agent { &[NEW, SEEN] } else { &[NEW] };
    let notifications = readings::notifications(&caller.hub, Filter::owner(member).states(states), MAX_ITEMS).await?;
    let mut items: Vec<Item> = notifications.into_iter().map(Item::Notification).collect();
    if is_agent {
        let filter = Filter::owner(member).states(&[CLOSED]).limit(MAX_ITEMS);
        let decided = caller.read(move |reader| reader.list::<Approval>(&filter)).await?;
        let open = |approval: &Approval| {
            approval.used_at.is_none() && approval.reviewed_at.is_some_and(|at| at > now - DECISION_LIFE)
        };
        items.extend(decided.into_iter().filter(open).map(Item::Decision));
    }
    items.retain(|item| after.is_none_or(|cursor| cursor.is_before(item)));
    items.sort_by_key(Item::at);
    Ok(items)
}

fn nothing(cursor: Option<Cursor>) -> String {
    let again = cursor.map_or(String::new(), |cursor| format!(" Cursor: {}", cursor.write()));
    format!("Nothing happened. Call `wait` again.{again}\n")
}

async fn told(caller: &Caller, before: Option<Cursor>, items: &[Item]) -> Told {
    let mut pieces = Vec::with_capacity(items.len());
    for item in items {
        pieces.push(shown(caller, item).await?);
    }
    let (text, left) = text::joined(pieces);
    let cursor = before.unwrap_or_default().after(&items[..items.len() - left]);
    Ok(format!("{}\n{text}Cursor: {}\n", text::QUOTED, cursor.write()))
}

async fn shown(caller: &Caller, item: &Item) -> Told {
    match item {
        Item::Decision(approval) => Ok(decision(caller, approval)),
        Item::Notification(notification) => {
            let about = notification.message;
            let found = match about {
                Some(id) => caller.read(move |reader| reader.message(id)).await?,
                None => None,
            };
            Ok(notice(caller, notification, found.filter(|message| !message.deleted).as_ref()))
        }
    }
}

fn decision(caller: &Caller, approval: &Approval) -> String {
    let outcome = if approval.status == ApprovalStatus::Approved { "allowed" } else { "denied" };
    let by = approval.reviewer.map(|reviewer| caller.hub.with_state(|state| text::line(state.name_of(reviewer), 80)));
    let by = by.map_or(String::new(), |by| format!(" by {by}"));
    let note = approval.note.as_deref().map(text::quoted).unwrap_or_default();
    format!("{} {outcome}{by}: your question\n{}{note}", approval.id, text::quoted(&approval.action))
}

fn notice(caller: &Caller, notification: &Notification, message: Option<&Message>) -> String {
    caller.hub.with_state(|state| {
        let mut line = format!("{} {}", notification.id, text::line(&notification.kind, 40));
        if let Some(room) = notification.channel.and_then(|channel| state.channel(channel)) {
            line.push_str(&format!(" in {} {}", text::channel(state, room, notification.member), room.channel.id));
        }
        line.push('\n');
        match message {
            Some(message) => line + &text::message(state, message),
            None => line + &text::quoted(&notification.title) + &text::quoted(&notification.body),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        let cursor = Cursor { notification: NotificationId(7 << 80), decided_at: 1234, approval: ApprovalId(3) };
        assert_eq!(Cursor::read(&cursor.write()).unwrap(), cursor);
        for wrong in ["", "x", "a/b/c", "1/2", "notif_1/2/3/4"] {
            assert!(Cursor::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_waits_is_woken_and_a_place_is_given_back() {
        let waiting = Waiting::default();
        let (one, other) = (MemberId(1), MemberId(2));
        let place = waiting.enter(one).ok().unwrap();
        assert!(waiting.is_waiting(one) && !waiting.is_waiting(other));
        let again = waiting.enter(one).ok().unwrap();
        drop(place);
        assert!(waiting.is_waiting(one));
        drop(again);
        assert!(!waiting.is_waiting(one));
    }

    #[test]
    fn a_member_waits_a_bounded_number_of_times() {
        let waiting = Waiting::default();
        let places: Vec<_> = (0..MAX_WAITING).map(|_| waiting.enter(MemberId(1)).ok().unwrap()).collect();
        assert!(waiting.enter(MemberId(1)).is_err());
        assert!(waiting.enter(MemberId(2)).is_ok());
        drop(places);
        assert!(waiting.enter(MemberId(1)).is_ok());
    }
}
