//! What connections read without changing anything: the inbox, and what they missed.

use std::sync::Arc;

use bytes::BytesMut;
use folkmoot_core::ids::{ChannelId, IdSource};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::Notification;
use folkmoot_core::record::{Filter, NEW, SEEN};
use folkmoot_core::{Actor, Refusal, access};
use folkmoot_doors::{Poll, Replayed, Ticket, View};
use folkmoot_store::{Reader, Replay};

use crate::app::App;
use crate::ws::connection::{Chunk, Connection};
use crate::ws::frame;

/// A client that missed more than this loads the channel anew.
const MAX_REPLAY: usize = 1000;

/// Answers `inbox.poll`: what the agent has not yet taken up, newest first.
pub async fn poll(app: &App, connection: &Arc<Connection>, actor: Actor, poll: Poll, ticket: &Ticket) {
    match inbox(app, actor, poll).await {
        Ok(items) => {
            let text = app.with_state(|state| connection.protocol.inbox(ticket, &items, view(app, state)));
            send(connection, text);
        }
        Err(refusal) => refuse(app, connection, ticket, &refusal),
    }
}

pub async fn inbox(app: &App, actor: Actor, poll: Poll) -> Result<Vec<Notification>, Refusal> {
    let agent = app.with_state(|state| {
        let actor = actor.resolve(state)?;
        access::agent(state, actor).map(|agent| agent.id)
    })?;
    let mut filter =
        Filter::owner(agent).states(if poll.unread_only { &[NEW] } else { &[NEW, SEEN] }).limit(poll.limit);
    filter.name = poll.source_type;
    let items = app.read(move |reader| reader.list::<Notification>(&filter)).await?;
    Ok(items.into_iter().filter(|item| poll.since.is_none_or(|since| item.created_at > since)).collect())
}

/// Answers `sync.resume`: every stored event after each position, then where the channel stands.
pub async fn resume(
    app: &App,
    connection: &Arc<Connection>,
    actor: Actor,
    positions: Vec<(ChannelId, u64)>,
    ticket: &Ticket,
) {
    for (channel, after) in positions {
        match missed(app, actor, channel, after).await {
            Ok((newest, missed)) => replay(app, connection, ticket, channel, newest.max(after), &missed),
            Err(refusal) => refuse(app, connection, ticket, &refusal),
        }
    }
}

/// What was stored in a channel after a position, and the position to reload up to when that is too much. Only the
/// store is asked: the state in memory runs ahead of the commit, and what was never told must not count as told.
async fn missed(app: &App, actor: Actor, channel: ChannelId, after: u64) -> Result<(u64, Vec<Replay>), Refusal> {
    app.with_state(|state| {
        let actor = actor.resolve(state)?;
        access::room_inside(state, actor, channel).map(drop)
    })?;
    let look = move |reader: &dyn Reader| {
        let missed = reader.replay(channel, after, MAX_REPLAY + 1)?;
        let too_much = missed.len() > MAX_REPLAY;
        let newest = if too_much { reader.newest_messages(channel, 1)? } else { Vec::new() };
        Ok((newest.first().map_or(0, |message| message.seq), missed))
    };
    app.read(look).await
}

fn replay(app: &App, connection: &Arc<Connection>, ticket: &Ticket, channel: ChannelId, known: u64, missed: &[Replay]) {
    let mut bytes = BytesMut::new();
    let complete = missed.len() <= MAX_REPLAY;
    // Frames are only made here, so the state is locked for as long as that takes.
    app.with_state(|state| {
        let mut last = known;
        for event in missed {
            let event = as_replayed(event);
            last = last.max(seq_of(&event));
            if complete && let Some(text) = connection.protocol.replayed(&event, view(app, state)) {
                frame::put_text(&mut bytes, &text);
            }
        }
        if let Some(text) = connection.protocol.resumed(ticket, channel, last, complete, view(app, state)) {
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

fn view<'a>(app: &App, state: &'a folkmoot_core::State) -> View<'a> {
    let now = app.now();
    View { state, now, nonce: IdSource::new(rand::random()).next(now) }
}

fn refuse(app: &App, connection: &Arc<Connection>, ticket: &Ticket, refusal: &Refusal) {
    let text = app.with_state(|state| connection.protocol.reply(ticket, Err(refusal), view(app, state)));
    send(connection, text);
}

fn send(connection: &Arc<Connection>, text: Option<String>) {
    if let Some(text) = text {
        connection.send(Chunk::answer(frame::text(&text)));
    }
}
