//! Reviews: one member asks another to look at something; only the reviewer decides.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::ReviewObject;
use folkmoot_doors::lark::objects::schemas::{self, ReviewStatus};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bounds::{GivenMember, Limit};
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer};
use super::{query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct ReviewBody {
    /// Who is asked.
    reviewer_id: String,
    #[schema(min_length = 1, max_length = 500, pattern = "line")]
    subject: String,
    #[serde(default)]
    content: String,
    channel_id: Option<String>,
}

#[utoipa::path(post, path = "/v1/workspaces/{workspace}/reviews", tag = "agent experience",
    summary = "Ask for a review.", request_body = ReviewBody, responses((status = 201, body = ReviewObject)))]
pub async fn request(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<ReviewBody>) -> Answer {
    caller.within(workspace)?;
    ask(&caller, body).await
}

#[utoipa::path(post, path = "/v1/reviews", tag = "agent experience",
    summary = "Ask for a review in the caller's workspace.", request_body = ReviewBody,
    responses((status = 404, description = "what it names does not exist, or the caller may not see it"), (status = 201, body = ReviewObject)))]
pub async fn request_here(caller: Caller, Body(body): Body<ReviewBody>) -> Answer {
    ask(&caller, body).await
}

async fn ask(caller: &Caller, body: ReviewBody) -> Answer {
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
    status: Option<ReviewStatus>,
    /// Only those that this member is asked for.
    #[serde(default)]
    #[param(inline)]
    reviewer_id: GivenMember,
    /// At most 200; 100 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<100, 200>,
}

/// The reviews the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/reviews", tag = "agent experience", params(ReviewQuery),
    responses((status = 200, body = [ReviewObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<ReviewQuery>) -> Answer {
    caller.within(workspace)?;
    let reviewer = query.reviewer_id.get().map(|member| member.0);
    let filter = Filter { owner: reviewer, ..Filter::workspace(workspace) };
    let wanted = |state: &State, member: &Member, review: &Review| {
        query.status.is_none_or(|status| review.status == status.word())
            && access::may_see_review(state, member, review)
    };
    let reviews = query::visible(&caller, filter, query.limit.get(), wanted).await?;
    reply::ok(&reviews.iter().map(ReviewObject::from).collect::<Vec<_>>())
}

/// The reviews of the caller's workspace that the caller may see, newest first.
#[utoipa::path(get, path = "/v1/reviews", tag = "agent experience", params(ReviewQuery),
    responses((status = 200, body = [ReviewObject])))]
pub async fn list_here(caller: Caller, query: Query<ReviewQuery>) -> Answer {
    let workspace = caller.workspace()?;
    list(caller, Path(workspace), query).await
}

#[utoipa::path(get, path = "/v1/reviews/{review}", tag = "agent experience", summary = "One review.",
    responses((status = 200, body = ReviewObject)))]
pub async fn get(caller: Caller, Path(id): Path<ReviewId>) -> Answer {
    let review = query::one(&caller, id, refusal::REVIEW_NOT_FOUND, access::may_see_review).await?;
    reply::ok(&ReviewObject::from(&review))
}

#[derive(Deserialize, ToSchema)]
pub struct Verdict {
    #[schema(value_type = schemas::ReviewVerdict, example = "approved")]
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
