//! Texts that are held back: kept as a question to the people of the channel, and what follows from their word.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::loop_guard::{Limit, QUESTION_LIFE, Step, counted_for, limit_of};
use super::origin::Origin;
use super::steps::{answered, of_run, suppressed, told};
use crate::command::Reply;
use crate::decide::{Context, Decision};
use crate::delivery::{Cause, Delivery, HELD};
use crate::event::Event;
use crate::hash::fnv64;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Filter, Record};
use crate::refusal::{Code, Refusal};
use crate::state::Room;

/// The text that waits, as people are shown it and as it is posted when they let it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    pub root_id: MessageId,
    pub limit: Limit,
    pub channel_id: ChannelId,
    pub thread_id: Option<MessageId>,
    pub text: String,
    pub depth: u32,
    #[serde(default)]
    pub content_type: ContentType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<FileId>,
    /// The wake it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<DeliveryId>,
    /// The message whose text it becomes, where it is not a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

impl Held {
    pub fn of(approval: &Approval) -> Option<Self> {
        serde_json::from_str(&approval.payload).ok()
    }

    pub fn origin(&self) -> Origin {
        Origin { root: Some(self.root_id), depth: self.depth, ..Origin::default() }
    }

    /// The wake it answers, while that is open.
    pub fn open_delivery(&self, context: &Context<'_>) -> Option<DeliveryId> {
        self.delivery_id.filter(|id| context.state.deliveries().get(*id).is_some())
    }

    /// The wakes it answers, now that it stands in this message.
    pub fn answered(&self, context: &Context<'_>, reply: MessageId) -> Vec<Event> {
        self.answers(context).iter().map(|delivery| answered(context, delivery, reply)).collect()
    }

    /// The wakes it would have answered, now that it will never be said.
    pub fn suppressed(&self, context: &Context<'_>) -> Vec<Event> {
        let stopped =
            |delivery: &Arc<Delivery>| Delivery { updated_at: context.now, ..suppressed((**delivery).clone()) };
        self.answers(context).iter().map(|delivery| told(stopped(delivery))).collect()
    }

    /// One open wake, or all that its run took.
    fn answers(&self, context: &Context<'_>) -> Vec<Arc<Delivery>> {
        let Some(delivery) = self.delivery_id.and_then(|id| context.state.deliveries().get(id)) else {
            return Vec::new();
        };
        match delivery.run {
            Some(run) => of_run(context, delivery.agent, run),
            None => vec![Arc::clone(delivery)],
        }
    }
}

/// Keeps an agent's text back where agents have gone on among themselves for too long, and asks the people of the channel; the
/// author is told that it is held. None where the text may be posted. `root` is the message at the top of its thread, `becomes`
/// the message whose text it would be, where it is not a new one.
pub fn hold_back(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
    answers: Option<&Delivery>,
    becomes: Option<MessageId>,
) -> Result<Option<Decision>, Refusal> {
    match limit_of(context, room, message, root)? {
        Some(limit) => hold(context, room, message, limit, answers, becomes).map(Some),
        None => Ok(None),
    }
}

fn hold(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    limit: Limit,
    answers: Option<&Delivery>,
    becomes: Option<MessageId>,
) -> Result<Decision, Refusal> {
    let refused = Some(Refusal::with_text(Code::Held, format!("held: {}; people decide", limit.in_words())));
    let hash = fingerprint(message, limit);
    let filter = Filter::owner(message.sender).named(&*hash).limit(1);
    let known = context.history.first::<Approval>(&filter)?;
    if known.is_some_and(|known| known.status == ApprovalStatus::Pending) {
        return Ok(Decision { refused, ..Decision::nothing(Reply::Done) });
    }
    let held = Held {
        root_id: message.root_id(),
        limit,
        channel_id: message.channel,
        thread_id: message.thread,
        text: message.content.clone(),
        depth: message.depth,
        content_type: message.content_type,
        file_id: message.file,
        delivery_id: answers.map(|delivery| delivery.id),
        message_id: becomes,
    };
    let approval = question(context, room, message.sender, &held, hash)?;
    let mut events = vec![Event::Saved(approval.into())];
    events.extend(answers.map(|delivery| {
        let why = Some(HELD.to_owned());
        told(Delivery { why, updated_at: context.now, ..delivery.clone() })
    }));
    Ok(Decision { refused, ..Decision::new(Reply::Done, events) })
}

fn question(
    context: &mut Context<'_>,
    room: &Room,
    agent: MemberId,
    held: &Held,
    hash: String,
) -> Result<Approval, Refusal> {
    let began = context.history.message(held.root_id)?;
    let person = |id: &MemberId| !context.state.is_agent(*id);
    Ok(Approval {
        id: ApprovalId(context.new_id()),
        workspace: room.channel.workspace,
        channel: Some(room.channel.id),
        agent,
        action: "continue".to_owned(),
        // Our own types have string keys and no failing serializers, so this cannot fail.
        payload: serde_json::to_string(held).unwrap_or_default(),
        status: ApprovalStatus::Pending,
        reviewer: None,
        note: None,
        created_at: context.now,
        reviewed_at: None,
        kind: ApprovalKind::LoopGuard,
        hash: Some(hash),
        run: None,
        asker: began.map(|message| message.sender).filter(person),
        scope: ApprovalScope::Once,
        expires_at: context.now + QUESTION_LIFE,
        used_at: None,
    })
}

/// The same text of the same chain, sent again, is one question; so is all that one agent does of its own accord.
fn fingerprint(message: &Message, limit: Limit) -> String {
    if limit == Limit::Alone {
        return format!("brake-alone-{}", message.sender);
    }
    format!("brake-{}-{:016x}", message.root_id(), fnv64(&[message.content.as_bytes()]))
}

/// Where the held text came from, with what people grant on top of its limits if they say to continue.
pub fn on_granted(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Cause, Refusal> {
    let cause = cause_of_held(context, approval, held)?;
    let more = if approval.scope == ApprovalScope::Run { context.state.wake_rules().grant } else { 0 };
    Ok(Cause { granted: cause.granted.saturating_add(more), updated_at: context.now, ..cause })
}

/// A held text was posted: what its own wakes counted comes on top of what was granted.
pub fn on_release(mut granted: Cause, released: Vec<Event>, events: &mut Vec<Event>) {
    for event in released {
        match event {
            Event::Saved(Record::Cause(counted)) if counted.id == granted.id => {
                granted = Cause { granted: granted.granted, ..counted };
            }
            other => events.push(other),
        }
    }
    events.push(Event::Saved(granted.into()));
}

/// People stopped the chain: no agent wakes an agent in it any more.
pub fn on_stopped(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Event, Refusal> {
    let cause = cause_of_held(context, approval, held)?;
    let created_at = if held.limit == Limit::Alone { context.now } else { cause.created_at };
    Ok(Event::Saved(Cause { closed: true, created_at, updated_at: context.now, ..cause }.into()))
}

fn cause_of_held(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Cause, Refusal> {
    let step = Step {
        from: approval.agent,
        root: held.root_id,
        depth: 0,
        workspace: approval.workspace,
        channel: Some(held.channel_id),
    };
    counted_for(context, held.limit, &step)
}
