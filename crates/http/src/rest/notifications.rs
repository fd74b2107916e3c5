//! The caller's notifications.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::record::{Filter, NEW};
use folkmoot_doors::lark::objects::NotificationObject;
use folkmoot_hub::readings;
use serde::Deserialize;
use utoipa::IntoParams;

use super::bounds::{GivenNotification, Limit};
use super::extract::{Caller, Path, Query};
use super::reply::{self, Answer, Count};
use super::unexpected;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NotificationQuery {
    /// Only those that were not read.
    unread: Option<bool>,
    /// The same, as the inbox calls it.
    unread_only: Option<bool>,
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
    /// Only those older than this one.
    #[serde(default)]
    #[param(inline)]
    before: GivenNotification,
}

/// The newest notifications, newest first.
#[utoipa::path(get, path = "/v1/notifications", tag = "notifications", params(NotificationQuery),
    responses((status = 200, body = [NotificationObject<'static>])))]
pub async fn list(caller: Caller, Query(query): Query<NotificationQuery>) -> Answer {
    let states: &[&str] = if query.unread.or(query.unread_only) == Some(true) { &[NEW] } else { &[] };
    let before = query.before.get().map(|notification| notification.0);
    let filter = Filter::owner(caller.id()).states(states).before(before);
    let found = readings::notifications(&caller.hub, filter, query.limit.get()).await?;
    reply::ok(&found.iter().map(NotificationObject::from).collect::<Vec<_>>())
}

#[utoipa::path(get, path = "/v1/notifications/unread-count", tag = "notifications",
    summary = "How many notifications were not read.", responses((status = 200, body = Count)))]
pub async fn unread_count(caller: Caller) -> Answer {
    let filter = Filter::owner(caller.id()).states(&[NEW]);
    let count = readings::count_notifications(&caller.hub, filter).await?;
    reply::ok(&Count { count })
}

#[utoipa::path(patch, path = "/v1/notifications/{notification}/read", tag = "notifications",
    summary = "Mark a notification as read.", responses((status = 200, body = NotificationObject<'static>)))]
pub async fn mark_read(caller: Caller, Path(notification): Path<NotificationId>) -> Answer {
    let command = Command::MarkNotificationRead { notification };
    let Reply::Notification(notification) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::ok(&NotificationObject::from(&notification))
}

#[utoipa::path(post, path = "/v1/notifications/mark-all-read", tag = "notifications",
    summary = "Mark all notifications as read.", responses((status = 200, body = Count)))]
pub async fn mark_all_read(caller: Caller) -> Answer {
    let Reply::Count(count) = caller.execute(Command::MarkAllNotificationsRead).await? else {
        return Err(unexpected());
    };
    reply::ok(&Count { count })
}
