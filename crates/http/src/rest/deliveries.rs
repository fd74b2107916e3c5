//! Deliveries: what became of a wake, for people to see; and whom a text would wake, before it is sent.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::delivery::{Delivery, DeliveryState};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Member, Presence};
use folkmoot_core::record::Filter;
use folkmoot_core::run::{ThreadSession, worker_of};
use folkmoot_core::{Millis, State, access, decide, refusal};
use folkmoot_doors::lark::objects::{DeliveryObject, schemas};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{GivenMessage, Limit};
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer};
use super::{query, unexpected};

/// A delivery is made within the longest window after its message, whatever that is set to.
const MADE_WITHIN: Millis = 10 * 60 * 1000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Only those that speak of this message.
    #[serde(default)]
    #[param(inline)]
    message_id: GivenMessage,
    /// `queued`, `leased`, `admitted`, `answered`, `passed`, `failed`, `expired`, `cancelled` or `suppressed`.
    #[param(value_type = Option<schemas::DeliveryState>)]
    state: Option<DeliveryState>,
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
}

/// The wakes of a channel and what came of them, newest first.
#[utoipa::path(get, path = "/v1/channels/{channel}/deliveries", tag = "deliveries", params(DeliveryQuery),
    responses((status = 200, body = [DeliveryObject<'static>])))]
pub async fn list(caller: Caller, Path(channel): Path<ChannelId>, Query(query): Query<DeliveryQuery>) -> Answer {
    caller.query(|state, actor| access::room_to_read(state, actor, channel).map(drop))?;
    let message = query.message_id.get();
    let wanted = |_: &State, _: &Member, delivery: &Delivery| {
        query.state.is_none_or(|state| delivery.state == state)
            && message.is_none_or(|message| delivery.messages.contains(&message))
    };
    let filter = Filter::scope(channel.0).before(message.map(made_before));
    let found = query::visible(&caller, filter, query.limit.get(), wanted).await?;
    caller.query(|state, _| {
        let objects: Vec<_> = found.iter().map(|delivery| DeliveryObject::new(delivery, state)).collect();
        Ok(reply::ok(&objects))
    })?
}

/// Ids begin with the time they were made, so what a message led to need not be looked for in all that came later.
fn made_before(message: MessageId) -> u128 {
    message.0.saturating_add((MADE_WITHIN.unsigned_abs() as u128) << 80)
}

#[utoipa::path(get, path = "/v1/deliveries/{delivery}", tag = "deliveries", summary = "One delivery.",
    responses((status = 200, body = DeliveryObject<'static>)))]
pub async fn get(caller: Caller, Path(id): Path<DeliveryId>) -> Answer {
    let may_see = |state: &State, member: &Member, delivery: &Delivery| {
        access::may_see_within(state, member, delivery.workspace, delivery.channel)
    };
    let delivery = query::one(&caller, id, refusal::DELIVERY_NOT_FOUND, may_see).await?;
    show(&caller, &delivery)
}

/// Take a wake back (whoever sent the message, and admins).
#[utoipa::path(post, path = "/v1/deliveries/{delivery}/cancel", tag = "deliveries",
    responses((status = 409, description = "the wake is over"), (status = 200, body = DeliveryObject<'static>)))]
pub async fn cancel(caller: Caller, Path(delivery): Path<DeliveryId>) -> Answer {
    change(&caller, Command::CancelDelivery { delivery }).await
}

#[derive(Deserialize, ToSchema)]
#[schema(as = PassBody)]
pub struct Why {
    #[schema(max_length = 500, pattern = "plain")]
    why: Option<String>,
}

/// Say nothing to it (the agent it is for).
#[utoipa::path(post, path = "/v1/deliveries/{delivery}/pass", tag = "deliveries", request_body = Why,
    responses((status = 409, description = "the wake is over"), (status = 200, body = DeliveryObject<'static>)))]
pub async fn pass(caller: Caller, Path(delivery): Path<DeliveryId>, Body(body): Body<Why>) -> Answer {
    change(&caller, Command::PassDelivery { delivery, why: body.why }).await
}

#[derive(Deserialize, ToSchema)]
#[schema(as = FailBody)]
pub struct Failure {
    /// What the sender is told.
    #[schema(min_length = 1, max_length = 500, pattern = "line")]
    why: String,
}

/// Say that it could not be done (the agent it is for); the sender is told why.
#[utoipa::path(post, path = "/v1/deliveries/{delivery}/fail", tag = "deliveries", request_body = Failure,
    responses((status = 409, description = "the wake is over"), (status = 200, body = DeliveryObject<'static>)))]
pub async fn fail(caller: Caller, Path(delivery): Path<DeliveryId>, Body(body): Body<Failure>) -> Answer {
    change(&caller, Command::FailDelivery { delivery, why: body.why }).await
}

#[derive(Deserialize, ToSchema)]
pub struct Join {
    run_id: String,
}

/// Take it into a run that is under way (the agent it is for).
#[utoipa::path(post, path = "/v1/deliveries/{delivery}/join", tag = "deliveries", request_body = Join,
    responses((status = 409, description = "the wake is over, or has a run already"), (status = 200, body = DeliveryObject<'static>)))]
pub async fn join(caller: Caller, Path(delivery): Path<DeliveryId>, Body(body): Body<Join>) -> Answer {
    change(&caller, Command::JoinDelivery { delivery, run: RunId::parse(&body.run_id) }).await
}

async fn change(caller: &Caller, command: Command) -> Answer {
    let Reply::Delivery(delivery) = caller.execute(command).await? else { return Err(unexpected()) };
    show(caller, &delivery)
}

fn show(caller: &Caller, delivery: &Delivery) -> Answer {
    caller.query(|state, _| Ok(reply::ok(&DeliveryObject::new(delivery, state))))?
}

#[derive(Deserialize, ToSchema)]
pub struct PreviewBody {
    #[serde(default)]
    content: String,
    thread_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Preview<'a> {
    wakes: Vec<Woken<'a>>,
}

#[derive(Serialize, ToSchema)]
struct Woken<'a> {
    #[schema(value_type = String)]
    agent_id: MemberId,
    name: &'a str,
    /// `mention`, `dm` or `thread_reply`.
    #[schema(value_type = schemas::WakeReason)]
    reason: &'static str,
    /// Whether it would be woken now; otherwise when it is back.
    reachable: bool,
    #[schema(value_type = schemas::Presence)]
    presence: Presence,
}

/// Whom a text would wake, were the caller to send it now.
#[utoipa::path(post, path = "/v1/channels/{channel}/wake-preview", tag = "deliveries", request_body = PreviewBody,
    responses((status = 200, body = Preview<'static>)))]
pub async fn preview(caller: Caller, Path(channel): Path<ChannelId>, Body(body): Body<PreviewBody>) -> Answer {
    let thread = given(body.thread_id, MessageId::parse);
    let root = match thread {
        Some(id) => {
            let parent = query::message_even_if_deleted(&caller, id).await?;
            Some(match parent.thread {
                Some(root) => query::message_even_if_deleted(&caller, root).await?,
                None => parent,
            })
        }
        None => None,
    };
    let sessions = match &root {
        Some(root) => {
            let filter = Filter::scope(root.id.0);
            caller.read(move |reader| reader.list::<ThreadSession>(&filter)).await?
        }
        None => Vec::new(),
    };
    caller.query(|state, actor| {
        let worker = worker_of(&sessions);
        let wanted = decide::whom_it_wakes(state, actor, channel, body.content, root.as_ref(), worker)?;
        let wakes = wanted.iter().map(|(agent, reason)| Woken {
            agent_id: agent.id,
            name: &agent.name,
            reason: reason.as_str(),
            reachable: state.is_reachable(agent.id),
            presence: state.presence_of(agent.id),
        });
        Ok(reply::ok(&Preview { wakes: wakes.collect() }))
    })?
}
