//! Reviews: one member asks another to look at something; only the reviewer decides.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::ReviewObject;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, Caller, Path, Query, bounded, given};
use super::reply::{self, Answer};
use super::{query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct ReviewBody {
    /// Who is asked.
    reviewer_id: String,
    subject: String,
    #[serde(default)]
    content: String,
    channel_id: Option<String>,
}

#[utoipa::path(post, path = "/v1/workspaces/{workspace}/reviews", tag = "agent experience",
    summary = "Ask for a review.", request_body = ReviewBody, responses((status = 201, body = ReviewObject)))]
pub async fn request(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<ReviewBody>) -> Answer {
    caller.within(workspace)?;
    let command = Command::RequestReview {
        reviewer: MemberId::parse(&body.reviewer_id),
        subject: body.subject,
        content: body.content,
        channel: given(body.channel_id, ChannelId::parse),
    };
    let Reply::Review(review) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&ReviewObject::from(&review))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReviewQuery {
    /// `pending`, or the reviewer's word.
    status: Option<String>,
    reviewer_id: Option<String>,
    /// At most 200; 100 when left out.
    limit: Option<usize>,
}

/// The reviews the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/reviews", tag = "agent experience", params(ReviewQuery),
    responses((status = 200, body = [ReviewObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<ReviewQuery>) -> Answer {
    caller.within(workspace)?;
    let reviewer = given(query.reviewer_id, MemberId::parse).map(|member| member.0);
    let filter = Filter { owner: reviewer, ..Filter::workspace(workspace) };
    let wanted = |state: &State, member: &Member, review: &Review| {
        query.status.as_ref().is_none_or(|status| review.status == *status)
            && access::may_see_review(state, member, review)
    };
    let reviews = query::visible(&caller, filter, bounded(query.limit, 100, 200), wanted).await?;
    reply::ok(&reviews.iter().map(ReviewObject::from).collect::<Vec<_>>())
}

#[utoipa::path(get, path = "/v1/reviews/{review}", tag = "agent experience", summary = "One review.",
    responses((status = 200, body = ReviewObject)))]
pub async fn get(caller: Caller, Path(id): Path<ReviewId>) -> Answer {
    let review = query::one(&caller, id, refusal::REVIEW_NOT_FOUND, access::may_see_review).await?;
    reply::ok(&ReviewObject::from(&review))
}

#[derive(Deserialize, ToSchema)]
pub struct Verdict {
    /// `approved`, `changes_requested`, `rejected`, `denied` or `commented`.
    #[schema(example = "approved")]
    status: String,
    comment: Option<String>,
}

/// Decide a review (its reviewer only, once).
#[utoipa::path(patch, path = "/v1/reviews/{review}", tag = "agent experience", request_body = Verdict,
    responses((status = 200, body = ReviewObject)))]
pub async fn decide(caller: Caller, Path(review): Path<ReviewId>, Body(body): Body<Verdict>) -> Answer {
    let command = Command::DecideReview { review, status: body.status, comment: body.comment };
    let Reply::Review(review) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::ok(&ReviewObject::from(&review))
}
