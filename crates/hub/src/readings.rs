//! What connections read without changing anything: the inbox, and what they missed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::BytesMut;
use folkmoot_core::ids::{ChannelId, IdSource};
use folkmoot_core::lookup::{Found, LookupExt};
use folkmoot_core::model::{Message, Notification};
use folkmoot_core::record::{Filter, NEW, SEEN};
use folkmoot_core::{Actor, Millis, RecordKind, Refusal, State, access};
use folkmoot_doors::query::{History, Query, QueryOutcome, QueryResult};
use folkmoot_doors::{Poll, Replayed, Ticket, View};
use folkmoot_store::{Page, Reader, Replay};

use crate::connection::frame;
use crate::connection::{Chunk, Connection};
use crate::hub::Hub;

/// A client that missed more than this loads the channel anew.
const MAX_REPLAY: u64 = 1000;
/// What was missed is told in pages of this many events: the next one is read when the reader has taken the last.
const REPLAY_PAGE: u64 = 32;
/// How many notifications are read at a time, at least, and how often, before a list ends without being full.
const NOTIFICATION_PAGE: usize = 50;
const MAX_NOTIFICATION_PAGES: usize = 50;
const MAX_COUNTED: usize = 1000;

/// Answers `inbox.poll`: what the agent has not yet taken up, newest first.
pub async fn poll(hub: &Hub, connection: &Arc<Connection>, actor: Actor, poll: Poll, ticket: &Ticket) {
    match inbox(hub, actor, poll).await {
        Ok(items) => {
            let text = hub.with_state(|state| connection.protocol.inbox(ticket, &items, view(hub, state)));
            send(connection, text);
        }
        Err(refusal) => refuse(hub, connection, ticket, &refusal),
    }
}

pub async fn inbox(hub: &Hub, actor: Actor, poll: Poll) -> Result<Vec<Notification>, Refusal> {
    let agent = hub.with_state(|state| {
        let actor = actor.resolve(state)?;
        access::agent(state, actor).map(|agent| agent.id)
    })?;
    let mut filter = Filter::owner(agent).states(if poll.unread_only { &[NEW] } else { &[NEW, SEEN] });
    filter.name = poll.source_type;
    let items = notifications(hub, filter, poll.limit).await?;
    Ok(items.into_iter().filter(|item| poll.since.is_none_or(|since| item.created_at > since)).collect())
}

/// Stored notifications as they are now, newest first: with what their messages say now, and without those of channels
/// that their member may no longer read.
pub async fn notifications(hub: &Hub, filter: Filter, limit: usize) -> Result<Vec<Notification>, Refusal> {
    let page_length = limit.max(NOTIFICATION_PAGE);
    let mut filter = filter.limit(page_length);
    let mut found = Vec::new();
    for _ in 0..MAX_NOTIFICATION_PAGES {
        let asked = filter.clone();
        let page = hub.read(move |reader| with_messages(reader, &asked)).await?;
        let is_last = page.len() < page_length;
        filter.before = page.last().map(|(notification, _)| notification.id.0);
        hub.with_state(|state| {
            let now =
                |(stored, message): (_, Option<Message>)| access::notification_now(state, stored, message.as_ref());
            found.extend(page.into_iter().filter_map(now));
        });
        if is_last || found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Those that match, each with the message that it is about.
fn with_messages(reader: &dyn Reader, filter: &Filter) -> Found<Vec<(Notification, Option<Message>)>> {
    let stored = reader.list::<Notification>(filter)?;
    let with_message = |notification: Notification| {
        let message = notification.message.map(|message| reader.message(message)).transpose()?.flatten();
        Ok((notification, message))
    };
    stored.into_iter().map(with_message).collect()
}

/// How many match and would be shown; of very many only the newest are looked at.
pub async fn count_notifications(hub: &Hub, filter: Filter) -> Result<u64, Refusal> {
    let (count, newest) = hub
        .read(move |reader| {
            let count = reader.count(RecordKind::Notification, &filter)?;
            Ok((count, reader.list::<Notification>(&filter.limit(MAX_COUNTED))?))
        })
        .await?;
    let hidden = |state: &State| newest.iter().filter(|stored| !access::may_see_notification(state, stored)).count();
    Ok(count.saturating_sub(hub.with_state(hidden) as u64))
}

/// Answers a call that only looks: from memory at once, from the store when it has been read. Others do not wait for it.
pub fn query(hub: &Hub, connection: &Arc<Connection>, actor: Actor, query: Query, ticket: Ticket) {
    match hub.with_state(|state| query.answer(state, actor)) {
        Ok(QueryOutcome::Result(result)) => answer_query(hub, connection, actor, &result, &ticket),
        Ok(QueryOutcome::History(history)) => {
            let (hub, connection) = (hub.clone(), Arc::clone(connection));
            connection.read_began();
            tokio::spawn(async move {
                match hub.read(move |reader| page(reader, history)).await {
                    Ok(messages) => answer_query(&hub, &connection, actor, &QueryResult::Messages(messages), &ticket),
                    Err(refusal) => refuse(&hub, &connection, &ticket, &refusal),
                }
                connection.flush();
                connection.read_ended();
            });
        }
        Err(refusal) => refuse(hub, connection, &ticket, &refusal),
    }
}

/// Queued only: answers to what was read together go out together.
fn answer_query(hub: &Hub, connection: &Arc<Connection>, actor: Actor, result: &QueryResult, ticket: &Ticket) {
    let text = hub.with_state(|state| connection.protocol.result(ticket, actor, result, view(hub, state)));
    if let Some(text) = text {
        connection.queue(Chunk::answer(frame::text(&text)));
    }
}

/// The newest messages before a moment, oldest first.
fn page(reader: &dyn Reader, history: History) -> Found<Vec<Message>> {
    let History { channel, before, offset, limit } = history;
    let before = match before {
        Some(moment) => Some(position_at(reader, channel, moment)?),
        None => None,
    };
    let page = Page { before, after: None, offset, limit, with_replies: true };
    let mut messages = reader.messages(channel, page)?;
    messages.reverse();
    Ok(messages)
}

/// The first position of a channel at or after a moment: messages of a channel are in the order of their times.
fn position_at(reader: &dyn Reader, channel: ChannelId, moment: Millis) -> Found<u64> {
    let newest = |before: Option<u64>| -> Found<Option<Message>> {
        let page = Page { before, limit: 1, with_replies: true, ..Page::default() };
        Ok(reader.messages(channel, page)?.pop())
    };
    let (mut low, mut high) = (0, newest(None)?.map_or(0, |message| message.seq + 1));
    while low < high {
        let middle = low + (high - low) / 2;
        match newest(Some(middle + 1))? {
            Some(message) if message.created_at >= moment => high = message.seq,
            _ => low = middle + 1,
        }
    }
    Ok(low)
}

/// The answer to `sync.resume`: every stored event after each position, then where the channel stands. It is told page by
/// page, at the pace at which the reader takes it.
pub struct CatchUp {
    actor: Actor,
    ticket: Ticket,
    /// The channels that are left, each with the position that the reader has.
    left: VecDeque<(ChannelId, u64)>,
    /// Where the first of them stood when its first page was read: what is said since then is told as it happens.
    until: Option<u64>,
}

/// A part of what somebody missed in a channel.
struct Missed {
    events: Vec<Replay>,
    /// Where the channel stood.
    until: u64,
    /// Otherwise the channel is to be loaded anew.
    is_complete: bool,
}

impl CatchUp {
    /// A channel that is named twice is told once, from the older of its positions.
    pub fn new(actor: Actor, mut positions: Vec<(ChannelId, u64)>, ticket: Ticket) -> Self {
        let mut oldest: HashMap<ChannelId, u64> = HashMap::with_capacity(positions.len());
        for (channel, after) in &positions {
            let known = oldest.entry(*channel).or_insert(*after);
            *known = (*known).min(*after);
        }
        positions.retain_mut(|(channel, after)| oldest.remove(channel).map(|known| *after = known).is_some());
        Self { actor, ticket, left: positions.into(), until: None }
    }

    /// Tells one page, or how a channel's catch-up ends; false when there was nothing left to tell.
    pub async fn tell_a_page(&mut self, hub: &Hub, connection: &Arc<Connection>) -> bool {
        let Some(&(channel, after)) = self.left.front() else { return false };
        match missed(hub, self.actor, channel, after, self.until).await {
            Ok(missed) => {
                let told = missed.events.last().map_or(after, |event| seq_of(&as_replayed(event)));
                let is_last = !missed.is_complete || missed.events.is_empty() || told >= missed.until;
                replay(hub, connection, &self.ticket, channel, &missed, is_last);
                self.go_on((!is_last).then_some((told, missed.until)));
            }
            Err(refusal) => {
                refuse(hub, connection, &self.ticket, &refusal);
                self.go_on(None);
            }
        }
        !self.left.is_empty()
    }

    /// With the same channel from a position on, or with the next one.
    fn go_on(&mut self, rest: Option<(u64, u64)>) {
        self.until = rest.map(|(_, until)| until);
        match (rest, self.left.front_mut()) {
            (Some((told, _)), Some(first)) => first.1 = told,
            _ => drop(self.left.pop_front()),
        }
    }
}

/// What was stored in a channel after a position, up to a page of it. Only the store is asked: the state in memory runs ahead
/// of the commit, and what was never told must not count as told.
async fn missed(
    hub: &Hub,
    actor: Actor,
    channel: ChannelId,
    after: u64,
    until: Option<u64>,
) -> Result<Missed, Refusal> {
    hub.with_state(|state| {
        let actor = actor.resolve(state)?;
        access::room_inside(state, actor, channel).map(drop)
    })?;
    let look = move |reader: &dyn Reader| {
        let until = match until {
            Some(until) => until,
            None => reader.last_seq(channel)?,
        };
        // Positions have no gaps: one beyond the last was given out before a backup was restored.
        let is_complete = after <= until && until - after <= MAX_REPLAY;
        let count = if is_complete { (until - after).min(REPLAY_PAGE) } else { 0 };
        let events = if count > 0 { reader.replay(channel, after, count as usize)? } else { Vec::new() };
        Ok(Missed { events, until, is_complete })
    };
    hub.read(look).await
}

fn replay(
    hub: &Hub,
    connection: &Arc<Connection>,
    ticket: &Ticket,
    channel: ChannelId,
    missed: &Missed,
    is_last: bool,
) {
    let mut bytes = BytesMut::new();
    // Frames are only made here, so the state is locked for as long as that takes.
    hub.with_state(|state| {
        for event in &missed.events {
            if let Some(text) = connection.spoken().replayed(&as_replayed(event), view(hub, state)) {
                frame::put_text(&mut bytes, &text);
            }
        }
        let end = || connection.protocol.resumed(ticket, channel, missed.until, missed.is_complete, view(hub, state));
        if let Some(text) = is_last.then(end).flatten() {
            frame::put_text(&mut bytes, &text);
        }
    });
    connection.send(Chunk::answer(bytes.freeze()));
}

fn as_replayed(event: &Replay) -> Replayed<'_> {
    match event {
        Replay::Message(message) => Replayed::Message(message),
        Replay::Change(change, message) => Replayed::Change(change, message.as_ref()),
    }
}

fn seq_of(event: &Replayed<'_>) -> u64 {
    match event {
        Replayed::Message(message) => message.seq,
        Replayed::Change(change, _) => change.seq,
    }
}

fn view<'a>(hub: &Hub, state: &'a State) -> View<'a> {
    let now = hub.now();
    View { state, now, nonce: IdSource::new(rand::random()).next(now) }
}

pub fn refuse(hub: &Hub, connection: &Arc<Connection>, ticket: &Ticket, refusal: &Refusal) {
    let text = hub.with_state(|state| connection.protocol.reply(ticket, Err(refusal), view(hub, state)));
    send(connection, text);
}

fn send(connection: &Arc<Connection>, text: Option<String>) {
    if let Some(text) = text {
        connection.send(Chunk::answer(frame::text(&text)));
    }
}
