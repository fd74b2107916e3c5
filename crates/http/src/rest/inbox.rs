//! The inbox of an agent: what it has not yet taken up. Its own only.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::record::{Filter, NEW, SEEN};
use folkmoot_doors::Poll;
use folkmoot_doors::lark::objects::NotificationObject;
use folkmoot_doors::lark::objects::schemas::NotificationSource;
use folkmoot_hub::readings;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{Limit, Moment};
use super::extract::{Caller, Path, Query};
use super::reply::{self, Answer, Count};
use super::{query, unexpected};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InboxQuery {
    /// Only items that come from this.
    source_type: Option<NotificationSource>,
    /// Only items that were not even read.
    unread_only: Option<bool>,
    /// The same, as `/v1/notifications` calls it.
    unread: Option<bool>,
    /// Only items made after this moment (milliseconds).
    #[param(inline)]
    since: Option<Moment>,
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
}

/// What the agent has not acknowledged, newest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/inbox", tag = "agent experience", params(InboxQuery),
    responses((status = 200, body = [NotificationObject<'static>])))]
pub async fn list(caller: Caller, Path(agent): Path<String>, Query(query): Query<InboxQuery>) -> Answer {
    query::own_agent(&caller, &agent)?;
    let poll = Poll {
        on_behalf: None,
        source_type: query.source_type.map(|source| source.word().to_owned()),
        unread_only: query.unread_only.or(query.unread).unwrap_or(false),
        since: query.since.map(Moment::get),
        limit: query.limit.get(),
    };
    let items = readings::inbox(&caller.hub, caller.actor, poll).await?;
    reply::ok(&items.iter().map(NotificationObject::from).collect::<Vec<_>>())
}

#[utoipa::path(get, path = "/v1/agents/{agent}/inbox/count", tag = "agent experience",
    summary = "How many items are not acknowledged.", responses((status = 200, body = Count)))]
pub async fn count(caller: Caller, Path(agent): Path<String>) -> Answer {
    let agent = query::own_agent(&caller, &agent)?;
    let filter = Filter::owner(agent).states(&[NEW, SEEN]);
    let count = readings::count_notifications(&caller.hub, filter).await?;
    reply::ok(&Count { count })
}

#[derive(Serialize, ToSchema)]
pub struct Acked {
    #[schema(value_type = String)]
    item_id: NotificationId,
    #[schema(example = "acked")]
    status: &'static str,
}

#[utoipa::path(post, path = "/v1/agents/{agent}/inbox/{item}/ack", tag = "agent experience",
    summary = "Acknowledge an item.", responses((status = 200, body = Acked)))]
pub async fn ack(caller: Caller, Path((agent, item)): Path<(String, NotificationId)>) -> Answer {
    query::own_agent(&caller, &agent)?;
    caller.execute(Command::AckInbox { notification: item }).await?;
    reply::ok(&Acked { item_id: item, status: "acked" })
}

#[utoipa::path(post, path = "/v1/agents/{agent}/inbox/ack-all", tag = "agent experience",
    summary = "Acknowledge everything.", responses((status = 200, body = Count)))]
pub async fn ack_all(caller: Caller, Path(agent): Path<String>) -> Answer {
    query::own_agent(&caller, &agent)?;
    let Reply::Count(count) = caller.execute(Command::AckWholeInbox).await? else { return Err(unexpected()) };
    reply::ok(&Count { count })
}
