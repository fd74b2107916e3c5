//! Runs: agents at work in channels, what they did step by step, what they changed, and stopping them.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::Member;
use folkmoot_core::record::{CLOSED, Filter, OPEN};
use folkmoot_core::run::*;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::{ActionObject, RunObject};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{GivenRun, Limit, Skip};
use super::error::ApiError;
use super::extract::{Caller, Carrier, Path, Query};
use super::reply::{self, Answer};
use super::{files, query, unexpected};

/// A run with what it did.
#[derive(Serialize, ToSchema)]
pub struct RunWithActions<'a> {
    #[serde(flatten)]
    run: RunObject<'a>,
    /// In the order of their newest events.
    actions: Vec<ActionObject<'a>>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ActionQuery {
    /// Only actions with an event after this `seq`: what happened since the caller last looked.
    #[param(inline)]
    after: Option<Skip>,
    /// At most 1000; 200 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<200, 1000>,
}

/// One run with its actions.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(ActionQuery),
    responses((status = 200, body = RunWithActions<'static>)))]
pub async fn get(caller: Caller, Path(id): Path<RunId>, Query(query): Query<ActionQuery>) -> Answer {
    let run = query::one(&caller, id, refusal::RUN_NOT_FOUND, access::may_see_run).await?;
    let filter = Filter::scope(id.0).limit(usize::MAX);
    let mut actions = caller.read(move |reader| reader.list::<RunAction>(&filter)).await?;
    let count = actions.len();
    actions.retain(|action| query.after.is_none_or(|after| action.seq > after.number()));
    actions.sort_unstable_by_key(|action| action.seq);
    actions.truncate(query.limit.get());
    let tally = Tally { count: u32::try_from(count).unwrap_or(u32::MAX), ..Tally::default() };
    let name = name_of(&caller, &run);
    let run = RunObject::named(&run, &name, Some(tally));
    reply::ok(&RunWithActions { run, actions: actions.iter().map(ActionObject::from).collect() })
}

fn name_of(caller: &Caller, run: &Run) -> String {
    caller.hub.with_state(|state| state.name_of(run.agent).to_owned())
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Only runs in this state; `open` for all that have not ended.
    state: Option<RunFilter>,
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
    /// Only runs that began before this one.
    #[serde(default)]
    #[param(inline)]
    before: GivenRun,
}

/// The runs of a channel, newest first.
#[utoipa::path(get, path = "/v1/channels/{channel}/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = [RunObject<'static>])))]
pub async fn of_channel(caller: Caller, Path(channel): Path<ChannelId>, Query(query): Query<RunQuery>) -> Answer {
    caller.query(|state, actor| access::room_to_read(state, actor, channel).map(drop))?;
    list(&caller, Filter::scope(channel.0), query).await
}

/// The runs of a workspace that the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = [RunObject<'static>])))]
pub async fn of_workspace(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<RunQuery>) -> Answer {
    caller.within(workspace)?;
    list(&caller, Filter::workspace(workspace), query).await
}

async fn list(caller: &Caller, filter: Filter, query: RunQuery) -> Answer {
    let (states, open_only) = query.state.map_or((None, false), RunFilter::wanted);
    let filter = filter.states(if open_only {
        &[OPEN]
    } else if states.is_some() {
        &[CLOSED]
    } else {
        &[]
    });
    let filter = filter.before(query.before.get().map(|run| run.0));
    let wanted = |state: &State, member: &Member, run: &Run| {
        states.is_none_or(|wanted| run.state == wanted) && access::may_see_run(state, member, run)
    };
    let runs: Vec<Run> = query::visible(caller, filter, query.limit.get(), wanted).await?;
    let counts = counts_of(caller, &runs).await?;
    let names: Vec<_> = runs.iter().map(|run| name_of(caller, run)).collect();
    let objects = runs
        .iter()
        .zip(&names)
        .zip(counts)
        .map(|((run, name), count)| RunObject::named(run, name, Some(Tally { count, ..Tally::default() })));
    reply::ok(&objects.collect::<Vec<_>>())
}

/// A state of runs that can be asked for.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunFilter {
    Open,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl RunFilter {
    /// Which state that is, and whether only open runs can be in it.
    fn wanted(self) -> (Option<RunState>, bool) {
        match self {
            Self::Open => (None, true),
            Self::Running => (Some(RunState::Running), true),
            Self::Waiting => (Some(RunState::Waiting), true),
            Self::Completed => (Some(RunState::Completed), false),
            Self::Failed => (Some(RunState::Failed), false),
            Self::Cancelled => (Some(RunState::Cancelled), false),
        }
    }
}

/// How many actions each has had: what has ended says so itself, what is open is counted.
async fn counts_of(caller: &Caller, runs: &[Run]) -> Result<Vec<u32>, ApiError> {
    let asked: Vec<_> = runs.iter().map(|run| (run.id, run.is_open(), run.action_count)).collect();
    let count = move |reader: &dyn folkmoot_store::Reader| {
        let one = |(id, is_open, stored): (RunId, bool, u32)| match is_open {
            true => {
                let counted = reader.count(folkmoot_core::RecordKind::RunAction, &Filter::scope(id.0))?;
                Ok(u32::try_from(counted).unwrap_or(u32::MAX))
            }
            false => Ok(stored),
        };
        asked.into_iter().map(one).collect()
    };
    caller.read(count).await
}

/// Stop a run (whoever asked, the agent's owner, admins, and people who may speak in the channel).
///
/// The agent is told to stop; the run ends as `cancelled` when it does, or at once when the agent cannot be reached.
#[utoipa::path(post, path = "/v1/runs/{run}/stop", tag = "runs",
    responses((status = 409, description = "the run has ended"), (status = 200, body = RunObject<'static>)))]
pub async fn stop(caller: Caller, Path(run): Path<RunId>) -> Answer {
    let command = Command::Run(RunCommand::Stop { run });
    let Reply::Run { run, .. } = caller.execute(command).await? else { return Err(unexpected()) };
    shown(&caller, &run)
}

fn shown(caller: &Caller, run: &Arc<Run>) -> Answer {
    let (name, tally) =
        caller.hub.with_state(|state| (state.name_of(run.agent).to_owned(), state.runs().tally(run.id)));
    reply::ok(&RunObject::named(run, &name, tally))
}

/// A diff is bytes: what a file says need not be UTF-8.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes a body that is read as it arrives")]
pub struct DiffBytes(Vec<u8>);

/// The changes of a run as a unified diff (the agent, or the member or machine whose daemon carries it).
///
/// At most 4 MiB; a later one takes the place of the one before.
#[utoipa::path(put, path = "/v1/runs/{run}/diff", tag = "runs",
    request_body(content = inline(DiffBytes), content_type = "text/x-diff"),
    responses((status = 409, description = "the run has ended"), (status = 507), (status = 200, body = RunObject<'static>)))]
pub async fn put_diff(Carrier(caller): Carrier, Path(run): Path<RunId>, request: Request) -> Answer {
    let received = files::receive_whole(&caller, request, "text/x-diff", folkmoot_core::decide::MAX_DIFF_BYTES).await?;
    let (run, replaced) = files::keep_diff(&caller, run, received).await?;
    if let Some(file) = replaced {
        files::forget(&caller, file).await;
    }
    shown(&caller, &run)
}

/// The changes of a run, if it has brought them.
#[utoipa::path(get, path = "/v1/runs/{run}/diff", tag = "runs", responses(
    (status = 200, description = "the diff", body = String, content_type = "text/x-diff")))]
pub async fn diff(caller: Caller, Path(id): Path<RunId>) -> Answer {
    let run = query::one(&caller, id, refusal::RUN_NOT_FOUND, access::may_see_run).await?;
    let file = run.diff.ok_or_else(|| ApiError::not_found("the run has no diff"))?;
    let bytes = tokio::fs::read(caller.hub.files_dir().join(file.to_string())).await.map_err(|error| {
        tracing::error!(%file, %error, "the bytes of a diff cannot be read");
        ApiError::unavailable("the bytes of this diff cannot be read")
    })?;
    let mut response = Response::new(bytes.into());
    *response.status_mut() = StatusCode::OK;
    for (name, value) in [
        (header::CONTENT_TYPE, "text/x-diff; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
