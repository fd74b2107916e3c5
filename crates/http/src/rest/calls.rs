//! The record of calls between two members. Their signalling runs over the socket.

use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Call, Member};
use folkmoot_core::record::Filter;
use folkmoot_core::{State, refusal};
use folkmoot_doors::lark::objects::CallObject;
use serde::Deserialize;
use utoipa::IntoParams;

use super::bounds::Limit;
use super::extract::{Caller, Path, Query};
use super::query;
use super::reply::{self, Answer};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallQuery {
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
}

/// The calls the caller made or got, newest first.
#[utoipa::path(get, path = "/v1/calls", tag = "calls", params(CallQuery),
    responses((status = 200, body = [CallObject])))]
pub async fn list(caller: Caller, Query(query): Query<CallQuery>) -> Answer {
    let limit = query.limit.get();
    let made = Filter::scope(caller.id().0).limit(limit);
    let got = Filter::owner(caller.id()).limit(limit);
    let calls = caller.read(move |reader| {
        let mut calls = reader.list::<Call>(&made)?;
        calls.extend(reader.list::<Call>(&got)?);
        Ok(calls)
    });
    let mut calls = calls.await?;
    calls.sort_by_key(|call| std::cmp::Reverse(call.id));
    calls.truncate(limit);
    reply::ok(&calls.iter().map(CallObject::from).collect::<Vec<_>>())
}

/// One call (its two participants only).
#[utoipa::path(get, path = "/v1/calls/{call}", tag = "calls", responses((status = 200, body = CallObject)))]
pub async fn get(caller: Caller, Path(id): Path<CallId>) -> Answer {
    let takes_part = |_: &State, member: &Member, call: &Call| call.other_side(member.id).is_some();
    let call = query::one(&caller, id, refusal::CALL_NOT_FOUND, takes_part).await?;
    reply::ok(&CallObject::from(&call))
}
