//! Reads that several areas share: what the store holds, less what the caller may not see.

use std::sync::Arc;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::*;
use folkmoot_core::record::{Filter, Stored};
use folkmoot_core::{Record, Refusal, State, access, refusal};

use super::error::ApiError;
use super::extract::Caller;

/// How many records are read at a time, and how often, before a list ends without being full.
const PAGE: usize = 200;
const MAX_PAGES: usize = 50;

/// Stored things the caller may see, newest first, at most `limit`.
pub async fn visible<T: Stored + Send + 'static>(
    caller: &Caller,
    filter: Filter,
    limit: usize,
    may_see: impl Fn(&State, &Member, &T) -> bool,
) -> Result<Vec<T>, ApiError> {
    let mut filter = filter.limit(PAGE);
    let mut found = Vec::new();
    for _ in 0..MAX_PAGES {
        let asked = filter.clone();
        let page = caller.read(move |reader| reader.records(T::KIND, &asked)).await?;
        let is_last = page.len() < PAGE;
        filter.before = page.last().map(Record::id);
        caller.query(|state, actor| {
            let member = access::member(state, actor)?;
            let seen = page.into_iter().filter_map(T::from_record).filter(|thing| may_see(state, member, thing));
            found.extend(seen);
            Ok(())
        })?;
        if is_last || found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// One stored thing, or the refusal when it is not there or not for this caller.
pub async fn one<T: Stored + Send + 'static>(
    caller: &Caller,
    id: T::Id,
    missing: Refusal,
    may_see: impl Fn(&State, &Member, &T) -> bool,
) -> Result<T, ApiError>
where
    T::Id: Send + 'static,
{
    let found = caller.read(move |reader| reader.get::<T>(id)).await?;
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        found.filter(|thing| may_see(state, member, thing)).ok_or(missing)
    })
}

/// A message that is there and that the caller may read.
pub async fn message(caller: &Caller, id: MessageId) -> Result<Message, ApiError> {
    let message = message_even_if_deleted(caller, id).await?;
    if message.deleted { Err(refusal::MESSAGE_NOT_FOUND.into()) } else { Ok(message) }
}

/// The same, also when it was deleted: a thread outlives its first message.
pub async fn message_even_if_deleted(caller: &Caller, id: MessageId) -> Result<Message, ApiError> {
    let found = caller.read(move |reader| reader.message(id)).await?;
    caller.query(|state, actor| {
        access::member(state, actor)?;
        let visible = |message: &Message| access::may_see_message(state, actor, message);
        found.filter(visible).ok_or(refusal::MESSAGE_NOT_FOUND)
    })
}

/// An agent of the caller's workspace: its id, or `me`.
pub fn agent(caller: &Caller, named: &str) -> Result<Arc<Member>, ApiError> {
    let id = caller.named(named);
    caller.query(|state, actor| {
        let agent = access::colleague(state, actor, id).map_err(|_| refusal::AGENT_NOT_FOUND)?;
        if agent.is_agent() { Ok(Arc::clone(agent)) } else { Err(refusal::AGENT_NOT_FOUND) }
    })
}

/// The agent that calls, named by its id or as `me`; refuses everybody else: its inbox, memory and drafts are nobody else's.
pub fn own_agent(caller: &Caller, named: &str) -> Result<MemberId, ApiError> {
    let id = caller.named(named);
    caller.query(|state, actor| {
        access::own(state, actor, id)?;
        access::agent(state, actor).map(|agent| agent.id)
    })
}
