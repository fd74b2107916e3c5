//! Held replies of an agent: made against a room version, checked, then sent or dropped.

use axum::http::StatusCode;
use folkmoot_core::command::{Command, DraftCheck, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::{Draft, DraftStatus};
use folkmoot_core::record::Filter;
use folkmoot_core::{Millis, State, access, refusal};
use folkmoot_doors::lark::objects::{DraftObject, MessageObject, schemas};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::Limit;
use super::error::ApiError;
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer};
use super::{objects, query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct DraftBody {
    channel_id: String,
    #[schema(min_length = 1, max_length = 10000, pattern = "text")]
    content: String,
    thread_id: Option<String>,
}

/// Hold a reply. It remembers the room version it was written against and expires after ten minutes.
#[utoipa::path(post, path = "/v1/agents/{agent}/drafts", tag = "agent experience", request_body = DraftBody,
    responses((status = 201, body = DraftObject)))]
pub async fn create(caller: Caller, Path(agent): Path<String>, Body(body): Body<DraftBody>) -> Answer {
    query::own_agent(&caller, &agent)?;
    let command = Command::CreateDraft {
        channel: ChannelId::parse(&body.channel_id),
        thread: given(body.thread_id, MessageId::parse),
        content: body.content,
    };
    let Reply::Draft(draft) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&DraftObject::from(&draft))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DraftQuery {
    /// `held`, `sent`, `expired` or `cancelled`.
    #[param(value_type = Option<schemas::DraftStatus>)]
    status: Option<DraftStatus>,
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
}

/// The agent's own drafts, newest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/drafts", tag = "agent experience", params(DraftQuery),
    responses((status = 200, body = [DraftObject])))]
pub async fn list(caller: Caller, Path(agent): Path<String>, Query(query): Query<DraftQuery>) -> Answer {
    let agent = query::own_agent(&caller, &agent)?;
    let now = caller.hub.now();
    let wanted = |_: &State, _: &_, draft: &Draft| query.status.is_none_or(|status| status_at(draft, now) == status);
    let drafts = query::visible(&caller, Filter::owner(agent), query.limit.get(), wanted).await?;
    let shown = |draft: &Draft| DraftObject { status: status_at(draft, now), ..DraftObject::from(draft) };
    reply::ok(&drafts.iter().map(shown).collect::<Vec<_>>())
}

/// A draft expires by time alone; nothing is written when it does.
fn status_at(draft: &Draft, now: Millis) -> DraftStatus {
    match draft.status {
        DraftStatus::Held if now >= draft.expires_at => DraftStatus::Expired,
        status => status,
    }
}

/// Whether a draft still fits the conversation.
#[derive(Serialize, ToSchema)]
#[schema(as = DraftCheck)]
pub struct CheckObject<'a> {
    #[schema(value_type = String)]
    draft_id: DraftId,
    valid: bool,
    draft_version: u64,
    current_version: u64,
    version_delta: u64,
    /// What was said meanwhile, when the draft is stale: the newest five, oldest first.
    recent_messages: Vec<MessageObject<'a>>,
}

fn checked(caller: &Caller, check: &DraftCheck) -> Answer {
    let names = objects::names_of(&caller.hub, &check.recent);
    let nobody = State::default();
    let recent = check.recent.iter().zip(&names).map(|(message, name)| objects::named(message, name, &nobody));
    reply::ok(&CheckObject {
        draft_id: check.draft,
        valid: check.valid,
        draft_version: check.draft_version,
        current_version: check.current_version,
        version_delta: check.current_version.saturating_sub(check.draft_version),
        recent_messages: recent.collect(),
    })
}

/// Ask whether a draft still fits the conversation.
#[utoipa::path(get, path = "/v1/drafts/{draft}/validate", tag = "agent experience",
    responses((status = 200, body = CheckObject<'static>)))]
pub async fn validate(caller: Caller, Path(draft): Path<DraftId>) -> Answer {
    check_agent(&caller)?;
    match caller.execute(Command::ValidateDraft { draft }).await? {
        Reply::DraftCheck(check) => checked(&caller, &check),
        _ => Err(unexpected()),
    }
}

/// The same question, for clients that post it.
#[utoipa::path(post, path = "/v1/drafts/{draft}/validate", tag = "agent experience",
    responses((status = 200, body = CheckObject<'static>)))]
pub async fn validate_by_post(caller: Caller, draft: Path<DraftId>) -> Answer {
    validate(caller, draft).await
}

/// People have no drafts, so for them there are none.
fn check_agent(caller: &Caller) -> Result<(), ApiError> {
    caller.query(|state, actor| access::agent(state, actor).map(drop).map_err(|_| refusal::DRAFT_NOT_FOUND))
}

#[derive(Deserialize, ToSchema)]
pub struct SendDraftBody {
    /// Send it although the conversation has moved on.
    #[serde(default, alias = "force")]
    #[schema(value_type = Value, example = true)]
    force_version: Option<serde_json::Value>,
}

impl SendDraftBody {
    /// `true`, or the room version it is sent against after all.
    fn is_forced(&self) -> bool {
        match &self.force_version {
            Some(serde_json::Value::Bool(forced)) => *forced,
            Some(serde_json::Value::Number(version)) => version.as_u64().is_some_and(|version| version > 0),
            _ => false,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct DraftSent<'a> {
    #[schema(value_type = String)]
    draft_id: DraftId,
    #[schema(value_type = String)]
    message_id: MessageId,
    #[schema(example = "sent")]
    status: &'static str,
    message: MessageObject<'a>,
}

/// Send a draft. When more than five messages came since it was written, that takes `force_version`; else 409.
#[utoipa::path(post, path = "/v1/drafts/{draft}/send", tag = "agent experience", request_body = SendDraftBody,
    responses((status = 409, description = "the draft is stale, or its text waits for people (`held`)"), (status = 201, body = DraftSent<'static>)))]
pub async fn send(caller: Caller, Path(draft): Path<DraftId>, Body(body): Body<SendDraftBody>) -> Answer {
    check_agent(&caller)?;
    let command = Command::SendDraft { draft, force: body.is_forced() };
    let Reply::DraftSent { draft, message } = caller.execute(command).await? else { return Err(unexpected()) };
    caller.query(|state, _| {
        let sent = DraftSent {
            draft_id: draft,
            message_id: message.id,
            status: "sent",
            message: MessageObject::new(&message, state),
        };
        Ok(Ok(reply::json(StatusCode::CREATED, &sent)))
    })?
}

/// Drop a draft.
#[utoipa::path(delete, path = "/v1/drafts/{draft}", tag = "agent experience",
    responses((status = 200, body = DraftObject)))]
pub async fn cancel(caller: Caller, Path(draft): Path<DraftId>) -> Answer {
    check_agent(&caller)?;
    let Reply::Draft(draft) = caller.execute(Command::CancelDraft { draft }).await? else { return Err(unexpected()) };
    reply::ok(&DraftObject::from(&draft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_draft_is_forced_by_true_or_by_a_version() {
        let forced = |body: &str| serde_json::from_str::<SendDraftBody>(body).unwrap().is_forced();
        for body in [r#"{"force_version":true}"#, r#"{"force":true}"#, r#"{"force_version":7}"#] {
            assert!(forced(body), "{body}");
        }
        for body in ["{}", r#"{"force_version":false}"#, r#"{"force_version":null}"#, r#"{"force_version":0}"#] {
            assert!(!forced(body), "{body}");
        }
    }
}
