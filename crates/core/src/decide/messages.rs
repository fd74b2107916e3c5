//! Messages: sending, editing, deleting, reacting, pinning.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::wakes::{self, Origin};
use super::{Context, Decision, Outcome, files, quotas, short_text};
use crate::command::{Reply, Send, Stage};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Change, ChangeKind, Filter, Record};
use crate::refusal::{self, Refusal};
use crate::repeat;
use crate::state::{Room, State};
use crate::{Actor, access};

pub const MAX_CONTENT_CHARS: usize = 10_000;
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Common readers take 128 levels; what is told adds a few of its own.
const MAX_NESTING: usize = 100;

pub fn send(context: &mut Context<'_>, actor: Actor, send: Send) -> Outcome {
    let room = access::room_to_speak(context.state, actor, send.channel)?;
    post(context, actor, room, send, Voice::Guarded)
}

/// How far a message reaches.
pub(super) enum Voice {
    /// It mentions nobody, wakes nobody and answers nothing.
    Silent,
    /// It mentions and wakes, and is held where agents have gone on for too long.
    Guarded,
    /// People have let it pass; where it comes from was found out when it was held.
    Released(Origin),
}

/// Puts a permitted message into the room.
pub(super) fn post(context: &mut Context<'_>, actor: Actor, room: &Room, send: Send, voice: Voice) -> Outcome {
    let key = send.key.as_deref().map(|key| repeat::key(key, send.channel, send.thread, send.file, &send.content));
    if let Some(key) = &key
        && let Some(known) = context.history.message_by_key(actor.member, key)?
    {
        return Ok(Decision::nothing(Reply::Sent { message: Arc::new(known), repeated: true }));
    }
    if let Err(refusal) = check_content(&send.content, send.file.is_some()) {
        let root = thread_root(context, send.channel, send.thread)?;
        return refused(context, actor, room, (send.delivery, root.as_deref()), refusal);
    }
    let is_quiet = send.is_quiet;
    let metadata = check_metadata(send.metadata)?;
    let root = thread_root(context, send.channel, send.thread)?;
    let attached = files::attached(context, actor, send.file)?;
    let linked = files::linked(context, actor, &send.content)?;
    let mut origin = match send.is_more {
        true => Origin::of_more(context, actor, room, root.as_deref()),
        false => Origin::of_message(context, actor, room, send.delivery, root.as_deref())?,
    };
    if let Voice::Released(before) = &voice {
        (origin.root, origin.depth) = (before.root, before.depth);
    }
    let live = context.state.stream(actor.member, send.channel).filter(|_| send.stage == Stage::Final).cloned();
    let message = Arc::new(Message {
        id: live.as_ref().map_or_else(|| MessageId(context.new_id()), |live| live.message),
        channel: send.channel,
        seq: room.head.seq + 1,
        version: room.head.version + 1,
        sender: actor.member,
        thread: root.as_ref().map(|root| root.id),
        content: send.content,
        content_type: send.content_type,
        kind: message_kind(send.kind)?,
        file: send.file,
        metadata,
        door: actor.door,
        created_at: context.now,
        updated_at: context.now,
        edited_at: None,
        edit_count: 0,
        reply_count: 0,
        reactions: Vec::new(),
        deleted: false,
        key,
        root: origin.root,
        depth: origin.depth,
    });
    if matches!(voice, Voice::Guarded)
        && let Some(mut held) =
            wakes::hold_back(context, room, &message, root.as_deref(), origin.answers.as_deref(), None)?
    {
        held.events.extend(live.map(|stream| Event::StreamEnded { stream, said: false }));
        return Ok(held);
    }
    let mut events: Vec<_> = live.map(|stream| Event::StreamEnded { stream, said: true }).into_iter().collect();
    events.push(Event::MessageSent(Arc::clone(&message)));
    let told_before_reply = events.len();
    events.extend(guest_spoke(context.state, actor.member));
    events.extend(files::posted(attached, linked, &message));
    if !matches!(voice, Voice::Silent) {
        wakes::on_message(context, room, (&message, is_quiet), root.as_deref(), &origin, &mut events)?;
    }
    Ok(Decision::new(Reply::Sent { message, repeated: false }, events).reply_after(told_before_reply))
}

/// A text that is too long is lost with its refusal, and with it the answer that it was to be.
pub(super) fn refused(
    context: &mut Context<'_>,
    actor: Actor,
    room: &Room,
    place: (Option<DeliveryId>, Option<&Message>),
    refusal: Refusal,
) -> Outcome {
    match refusal {
        refusal if refusal == refusal::CONTENT_TOO_LONG => wakes::on_refused(context, actor, room, place, refusal),
        other => Err(other),
    }
}

/// Notes that a guest said something: its name stays on that.
fn guest_spoke(state: &State, member: MemberId) -> Option<Event> {
    let member = state.member(member)?;
    let visit = member.visit.filter(|visit| !visit.spoke)?;
    Some(Event::Saved(Member { visit: Some(Visit { spoke: true, ..visit }), ..(**member).clone() }.into()))
}

pub(super) fn check_content(content: &str, has_file: bool) -> Result<(), Refusal> {
    if content.trim().is_empty() && !has_file {
        return Err(refusal::CONTENT_REQUIRED);
    }
    // Bytes are never fewer than characters, so short texts need no counting.
    if content.len() > MAX_CONTENT_CHARS && content.chars().count() > MAX_CONTENT_CHARS {
        return Err(refusal::CONTENT_TOO_LONG);
    }
    Ok(())
}

type Metadata = Option<Box<RawValue>>;

fn check_metadata(metadata: Metadata) -> Result<Metadata, Refusal> {
    let Some(raw) = metadata else { return Ok(None) };
    let text = raw.get().trim();
    if text.len() > MAX_METADATA_BYTES {
        return Err(Refusal::bad_request("metadata is too large (max 16384 bytes)"));
    }
    match text {
        "null" | "{}" => Ok(None),
        object if object.starts_with('{') && is_readable(&raw) => Ok(Some(raw)),
        _ => Err(Refusal::bad_request("metadata must be an object")),
    }
}

/// Whether those it is handed on to can read it: JSON by the letter may still be a number beyond all bounds, half a
/// character, or brackets without end.
pub(super) fn is_readable(raw: &RawValue) -> bool {
    serde_json::from_str::<Value>(raw.get()).is_ok_and(|value| depth(&value) <= MAX_NESTING)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn message_kind(kind: Option<String>) -> Result<String, Refusal> {
    match kind {
        Some(kind) if !kind.trim().is_empty() => short_text(&kind, "type", 32),
        _ => Ok("user".to_owned()),
    }
}

/// The message at the top of the thread a reply goes to: replies to replies stay in one thread.
pub(super) fn thread_root(
    context: &Context<'_>,
    channel: ChannelId,
    parent: Option<MessageId>,
) -> Result<Option<Arc<Message>>, Refusal> {
    let Some(parent) = parent else { return Ok(None) };
    let in_channel = |message: &Message| message.channel == channel;
    let parent = context.history.message(parent)?.filter(in_channel).ok_or(refusal::MESSAGE_NOT_FOUND)?;
    let root = match parent.thread {
        Some(root) => context.history.message(root)?.filter(in_channel).ok_or(refusal::MESSAGE_NOT_FOUND)?,
        None => parent,
    };
    if root.deleted && root.reply_count == 0 {
        return Err(refusal::MESSAGE_NOT_FOUND);
    }
    Ok(Some(Arc::new(root)))
}

pub fn edit(context: &mut Context<'_>, actor: Actor, id: MessageId, content: String) -> Outcome {
    let old = own_message(context, actor, id)?;
    check_content(&content, old.file.is_some())?;
    let edit = Edit {
        id: EditId(context.new_id()),
        message: id,
        channel: old.channel,
        previous: old.content.clone(),
        edited_at: context.now,
    };
    let change = next_change(context, actor, &old, ChangeKind::Edited)?;
    let message = Arc::new(Message {
        content,
        edited_at: Some(context.now),
        updated_at: context.now,
        edit_count: old.edit_count + 1,
        ..old
    });
    let mut events = vec![Event::MessageEdited { message: Arc::clone(&message), change, edit: Some(edit) }];
    if !context.state.deliveries().is_empty() {
        let room = access::room_to_speak(context.state, actor, message.channel)?;
        let root = thread_root(context, message.channel, message.thread)?;
        wakes::on_edit(context, room, &message, root.as_deref(), &mut events)?;
    }
    Ok(Decision::new(Reply::Message(message), events).reply_after(1))
}

/// A message that was there before it was finished gets its last text, and calls whom that text calls.
pub(super) fn finish(context: &mut Context<'_>, actor: Actor, room: &Room, id: MessageId, content: String) -> Outcome {
    let message = own_message(context, actor, id)?;
    let mut decision = rewrite(context, actor, message, content)?;
    let Reply::Message(message) = &decision.reply else { return Ok(decision) };
    let message = Arc::clone(message);
    let root = thread_root(context, message.channel, message.thread)?;
    wakes::on_message(context, room, (&message, false), root.as_deref(), &Origin::default(), &mut decision.events)?;
    Ok(decision)
}

/// Another text in place of one that nobody needs to read again; nothing of it is kept.
fn rewrite(context: &Context<'_>, actor: Actor, old: Message, content: String) -> Outcome {
    let change = next_change(context, actor, &old, ChangeKind::Edited)?;
    let message = Arc::new(Message { content, updated_at: context.now, ..old });
    let event = Event::MessageEdited { message: Arc::clone(&message), change, edit: None };
    Ok(Decision::new(Reply::Message(message), vec![event]))
}

/// The same, where the message may be gone or its author no longer there: then nothing changes.
pub(super) fn rewrite_if_there(context: &Context<'_>, actor: Actor, id: MessageId, content: &str) -> Vec<Event> {
    let rewritten = own_message(context, actor, id).and_then(|old| rewrite(context, actor, old, content.to_owned()));
    rewritten.map_or_else(|_| Vec::new(), |decision| decision.events)
}

pub fn delete(context: &mut Context<'_>, actor: Actor, id: MessageId) -> Outcome {
    let old = own_message(context, actor, id)?;
    let change = next_change(context, actor, &old, ChangeKind::Deleted)?;
    let edits = context.history.list::<Edit>(&Filter::scope(id.0).limit(usize::MAX))?;
    let said = edits.iter().map(|edit| edit.previous.as_str()).chain([old.content.as_str()]);
    let files = files::unposted(context, &old, said)?;
    let message = Arc::new(Message {
        content: String::new(),
        file: None,
        metadata: None,
        reactions: Vec::new(),
        deleted: true,
        updated_at: context.now,
        ..old
    });
    let mut events = vec![Event::MessageDeleted { message: Arc::clone(&message), change }];
    // What it said before is gone with it, and so is what it showed.
    events.extend(files);
    events.extend(edits.into_iter().map(|edit| Event::Removed(Record::Edit(edit))));
    if let Some(room) = context.state.channel(message.channel) {
        wakes::on_delete(context, room, &message, &mut events)?;
    }
    Ok(Decision::new(Reply::Deleted(message), events))
}

pub fn react(context: &mut Context<'_>, actor: Actor, id: MessageId, emoji: String, on: bool) -> Outcome {
    let emoji = short_text(&emoji, "emoji", 32)?;
    let old = message_inside(context, actor, id)?;
    let mut reactions = old.reactions.clone();
    if !toggle(&mut reactions, &emoji, actor.member, on) {
        return Ok(Decision::nothing(Reply::Message(Arc::new(old))));
    }
    if on {
        quotas::one_more_reaction(context, &old)?;
    }
    let what = if on { ChangeKind::Reacted { emoji } } else { ChangeKind::Unreacted { emoji } };
    let change = next_change(context, actor, &old, what)?;
    let message = Arc::new(Message { reactions, ..old });
    Ok(Decision::new(Reply::Message(Arc::clone(&message)), vec![Event::Reacted { message, change }]))
}

/// Adds or takes back one member's reaction; false when nothing changes.
fn toggle(reactions: &mut Vec<Reaction>, emoji: &str, member: MemberId, on: bool) -> bool {
    let found = reactions.iter().position(|reaction| reaction.emoji == emoji);
    match (found, on) {
        (Some(at), true) if reactions[at].members.contains(&member) => return false,
        (Some(at), true) => reactions[at].members.push(member),
        (None, true) => reactions.push(Reaction { emoji: emoji.to_owned(), members: vec![member] }),
        (Some(at), false) => {
            let before = reactions[at].members.len();
            reactions[at].members.retain(|known| *known != member);
            if reactions[at].members.len() == before {
                return false;
            }
        }
        (None, false) => return false,
    }
    reactions.retain(|reaction| !reaction.members.is_empty());
    true
}

pub fn pin(context: &mut Context<'_>, actor: Actor, channel: Option<ChannelId>, id: MessageId) -> Outcome {
    let message = message_inside(context, actor, id)?;
    if channel.is_some_and(|channel| channel != message.channel) {
        return Err(refusal::MESSAGE_NOT_FOUND);
    }
    let filter = Filter::scope(message.channel.0).named(id.to_string()).limit(1);
    if let Some(pin) = context.history.first::<Pin>(&filter)? {
        return Ok(Decision::nothing(Reply::Pin(pin)));
    }
    let pin = Pin {
        id: PinId(context.new_id()),
        channel: message.channel,
        message: id,
        pinned_by: actor.member,
        created_at: context.now,
    };
    let change = next_change(context, actor, &message, ChangeKind::Pinned { pin: pin.id })?;
    Ok(Decision::new(Reply::Pin(pin.clone()), vec![Event::Pinned { pin, change }]))
}

pub fn unpin(context: &mut Context<'_>, actor: Actor, id: PinId) -> Outcome {
    let pin = context.history.get::<Pin>(id)?.ok_or(refusal::PIN_NOT_FOUND)?;
    let message = message_inside(context, actor, pin.message).map_err(|_| refusal::PIN_NOT_FOUND)?;
    let change = next_change(context, actor, &message, ChangeKind::Unpinned { pin: id })?;
    Ok(Decision::new(Reply::Pin(pin.clone()), vec![Event::Unpinned { pin, change }]))
}

/// A message that is there and in a channel the actor may read; for others it does not exist.
pub(super) fn visible_message(context: &Context<'_>, actor: Actor, id: MessageId) -> Result<Message, Refusal> {
    access::member(context.state, actor)?;
    let there = |message: &Message| !message.deleted && access::may_see_message(context.state, actor, message);
    context.history.message(id)?.filter(there).ok_or(refusal::MESSAGE_NOT_FOUND)
}

/// A visible message in a channel the actor is in and that takes changes.
fn message_inside(context: &Context<'_>, actor: Actor, id: MessageId) -> Result<Message, Refusal> {
    let message = visible_message(context, actor, id)?;
    access::room_to_speak(context.state, actor, message.channel)?;
    Ok(message)
}

fn own_message(context: &Context<'_>, actor: Actor, id: MessageId) -> Result<Message, Refusal> {
    let message = visible_message(context, actor, id)?;
    if message.sender != actor.member {
        return Err(refusal::NOT_MESSAGE_AUTHOR);
    }
    access::room_to_speak(context.state, actor, message.channel)?;
    Ok(message)
}

pub(super) fn next_change(
    context: &Context<'_>,
    actor: Actor,
    message: &Message,
    what: ChangeKind,
) -> Result<Change, Refusal> {
    let room = context.state.channel(message.channel).ok_or(refusal::CHANNEL_NOT_FOUND)?;
    Ok(Change::new(message.channel, room.head.seq + 1, message.id, actor.member, context.now, what))
}
