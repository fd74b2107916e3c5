//! Whose thread it is: which agent worked in it, and what that one continues it with.

use super::Context;
use crate::delivery::Delivery;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::record::Filter;
use crate::refusal::Refusal;
use crate::run::{ThreadSession, worker_of};

pub fn session(context: &Context<'_>, agent: MemberId, thread: MessageId) -> Result<Option<ThreadSession>, Refusal> {
    Ok(context.history.first(&Filter::owner(agent).named(thread.to_string()).limit(1))?)
}

/// The agent that worked in a thread last: whoever replies there speaks to it.
pub fn worker_in(context: &Context<'_>, thread: MessageId) -> Result<Option<MemberId>, Refusal> {
    Ok(worker_of(&context.history.list::<ThreadSession>(&Filter::scope(thread.0))?))
}

/// What a wake hands out of the thread it is about; a run that is under way has its thread already.
pub fn session_of_wake(context: &Context<'_>, delivery: &Delivery) -> Result<Option<ThreadSession>, Refusal> {
    let below = delivery.messages.first().copied().filter(|_| delivery.run.is_some());
    match delivery.thread.or(below) {
        Some(thread) => Ok(session(context, delivery.agent, thread)?.filter(|session| session.engine.is_some())),
        None => Ok(None),
    }
}
