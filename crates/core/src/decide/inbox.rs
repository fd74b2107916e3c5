//! Notifications of people and the inbox of agents: the same records, read and acknowledged.

use super::{Context, Decision, Outcome};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Filter, NEW, SEEN};
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

pub fn mark_read(context: &mut Context<'_>, actor: Actor, id: NotificationId) -> Outcome {
    let notification = Notification { is_read: true, ..own(context, actor, id)? };
    Ok(Decision::saved(Reply::Notification(notification.clone()), notification))
}

pub fn mark_all_read(context: &mut Context<'_>, actor: Actor) -> Outcome {
    let member = access::member(context.state, actor)?.id;
    let unread = context.history.list::<Notification>(&Filter::owner(member).states(&[NEW]).limit(usize::MAX))?;
    save_all(unread, |notification| Notification { is_read: true, ..notification })
}

pub fn ack(context: &mut Context<'_>, actor: Actor, id: NotificationId) -> Outcome {
    access::agent(context.state, actor)?;
    let notification = own(context, actor, id)?;
    let acked_at = notification.acked_at.or(Some(context.now));
    let notification = Notification { is_read: true, acked_at, ..notification };
    Ok(Decision::saved(Reply::Notification(notification.clone()), notification))
}

pub fn ack_all(context: &mut Context<'_>, actor: Actor) -> Outcome {
    let agent = access::agent(context.state, actor)?.id;
    let open = context.history.list::<Notification>(&Filter::owner(agent).states(&[NEW, SEEN]).limit(usize::MAX))?;
    let now = context.now;
    save_all(open, |notification| Notification { is_read: true, acked_at: Some(now), ..notification })
}

fn save_all(notifications: Vec<Notification>, change: impl Fn(Notification) -> Notification) -> Outcome {
    let events: Vec<_> =
        notifications.into_iter().map(|notification| Event::Saved(change(notification).into())).collect();
    Ok(Decision::new(Reply::Count(events.len() as u64), events))
}

fn own(context: &Context<'_>, actor: Actor, id: NotificationId) -> Result<Notification, Refusal> {
    let member = access::member(context.state, actor)?.id;
    let mine = |notification: &Notification| notification.member == member;
    let found = context.history.get::<Notification>(id)?.filter(mine).ok_or(refusal::NOTIFICATION_NOT_FOUND)?;
    let message = found.message.map(|message| context.history.message(message)).transpose()?.flatten();
    let now = access::notification_now(context.state, found.clone(), message.as_ref());
    Ok(now.unwrap_or(Notification { body: String::new(), ..found }))
}
