//! What becomes of a text that was held back, once people have decided: it is posted, or the chain of agents ends.

use super::Context;
use super::messages::{self, Voice};
use super::wakes::{self, Held};
use crate::command::Send;
use crate::event::Event;
use crate::model::*;
use crate::refusal::Refusal;
use crate::{Actor, access};

pub fn decided(context: &mut Context<'_>, approval: &Approval) -> Result<Vec<Event>, Refusal> {
    let Some(held) = Held::of(approval) else { return Ok(Vec::new()) };
    match approval.status {
        ApprovalStatus::Approved => release(context, approval, held),
        ApprovalStatus::Denied | ApprovalStatus::Pending => stop(context, approval, &held),
    }
}

fn release(context: &mut Context<'_>, approval: &Approval, held: Held) -> Result<Vec<Event>, Refusal> {
    // Stored before the text is: what it wakes is counted on top of it.
    let granted = wakes::on_granted(context, approval, &held)?;
    let actor = Actor::new(approval.agent, Door::Rest);
    let room = access::room_to_speak(context.state, actor, held.channel_id)
        .map_err(|_| Refusal::conflict("the agent can no longer speak in the channel"))?;
    let mut events = Vec::new();
    let released = match held.message_id {
        Some(id) => {
            let finished = messages::finish(context, actor, room, id, held.text.clone())?;
            events.extend(held.answered(context, id));
            finished
        }
        None => {
            let voice = Voice::Released(held.origin());
            let send = Send {
                channel: held.channel_id,
                delivery: held.open_delivery(context),
                content: held.text,
                content_type: held.content_type,
                thread: held.thread_id,
                file: held.file_id,
                ..Send::default()
            };
            messages::post(context, actor, room, send, voice)?
        }
    };
    wakes::on_release(granted, released.events, &mut events);
    Ok(events)
}

fn stop(context: &mut Context<'_>, approval: &Approval, held: &Held) -> Result<Vec<Event>, Refusal> {
    let mut events = vec![wakes::on_stopped(context, approval, held)?];
    let actor = Actor::new(approval.agent, Door::Rest);
    let place = held.message_id;
    events.extend(place.into_iter().flat_map(|id| messages::rewrite_if_there(context, actor, id, "stopped")));
    events.extend(held.suppressed(context));
    Ok(events)
}
