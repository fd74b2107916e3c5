//! Live messages: texts that replace each other while somebody writes, and the one message that comes of them.
//!
//! A stream is told to everybody in the channel and stored nowhere. It becomes a message, under an id that was chosen when it
//! began, by the sender's final text; or by the hub with the last text, when the sender has given it up. Only the
//! final text mentions and wakes. When its place is taken away (the sender leaves, the channel closes) it never was.

use std::sync::Arc;

use super::messages::{self, check_content};
use super::{Context, Decision, Outcome, wakes};
use crate::command::{Reply, Send, Stage};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal;
use crate::state::State;
use crate::{Actor, Millis, access};

/// A stream that had no new text for this long is given up.
pub const GIVEN_UP_AFTER_MS: Millis = 60_000;
/// The same when its sender is not even connected any more: long enough to come back and finish it.
const LOST_AFTER_MS: Millis = 5_000;
const MAX_STREAMS_PER_MEMBER: usize = 64;
const MAX_STREAMS: usize = 10_000;

/// The next text of the live message of this sender in the channel; the first one begins it.
pub fn grow(context: &mut Context<'_>, actor: Actor, send: Send) -> Outcome {
    access::room_to_speak(context.state, actor, send.channel)?;
    check_content(&send.content, false)?;
    let before = context.state.stream(actor.member, send.channel).cloned();
    let taken = wakes::on_writing(context, actor.member, send.channel).filter(|_| before.is_none());
    let stream = match before {
        Some(stream) => Stream {
            content: send.content,
            content_type: send.content_type,
            updated_at: context.now,
            texts: stream.texts.saturating_add(1),
            ..(*stream).clone()
        },
        None => begin(context, actor, send)?,
    };
    let stream = Arc::new(stream);
    let events = std::iter::once(Event::Streamed(Arc::clone(&stream))).chain(taken).collect();
    Ok(Decision::new(Reply::Streamed(stream), events))
}

fn begin(context: &mut Context<'_>, actor: Actor, send: Send) -> Result<Stream, refusal::Refusal> {
    let own = context.state.streams_of(actor.member).count();
    if own >= MAX_STREAMS_PER_MEMBER || context.state.streams().len() >= MAX_STREAMS {
        return Err(refusal::TOO_MANY_STREAMS);
    }
    Ok(Stream {
        message: MessageId(context.new_id()),
        draft: MessageId(context.new_id()),
        channel: send.channel,
        sender: actor.member,
        content: send.content,
        content_type: send.content_type,
        door: actor.door,
        started_at: context.now,
        updated_at: context.now,
        texts: 1,
    })
}

/// Whether nobody will finish this stream any more.
pub fn is_given_up(state: &State, stream: &Stream, now: Millis) -> bool {
    let is_there = state.presence_of(stream.sender) != Presence::Offline;
    now - stream.updated_at >= if is_there { GIVEN_UP_AFTER_MS } else { LOST_AFTER_MS }
}

/// Makes a stream final for its sender, with the text it had last.
pub fn end(context: &mut Context<'_>, actor: Actor, sender: MemberId, channel: ChannelId) -> Outcome {
    access::hub(actor)?;
    let Some(stream) = context.state.stream(sender, channel).cloned() else {
        return Ok(Decision::nothing(Reply::Done));
    };
    let last = Send {
        channel,
        content: stream.content.clone(),
        content_type: stream.content_type,
        stage: Stage::Final,
        ..Send::default()
    };
    let finished = messages::send(context, Actor::new(sender, stream.door), last);
    // What may not be said any more never was.
    Ok(finished.unwrap_or_else(|_| Decision::new(Reply::Done, vec![Event::StreamEnded { stream, said: false }])))
}

/// Ends the streams of those who leave a channel, and of everybody in one that takes no more messages.
pub fn end_with_their_place(state: &State, mut decision: Decision) -> Decision {
    if state.streams().len() == 0 {
        return decision;
    }
    let mut ended = Vec::new();
    for event in &decision.events {
        match event {
            Event::Left(membership) => ended.extend(state.stream(membership.member, membership.channel)),
            Event::Saved(Record::Channel(channel)) if channel.archived => {
                ended.extend(state.streams().filter(|stream| stream.channel == channel.id));
            }
            _ => {}
        }
    }
    if !ended.is_empty() {
        decision.told_before_reply += ended.len();
        let ended = ended.into_iter().map(|stream| Event::StreamEnded { stream: Arc::clone(stream), said: false });
        decision.events.splice(0..0, ended.collect::<Vec<_>>());
    }
    decision
}
