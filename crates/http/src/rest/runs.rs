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

use super::error::ApiError;
use super::extract::{Caller, Carrier, Path, Query, bounded, given};
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
    after: Option<u32>,
    /// At most 1000; 200 when left out.
    limit: Option<usize>,
}

/// One run with its actions.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(ActionQuery),
    responses((status = 200, body = RunWithActions<'static>)))]
pub async fn get(caller: Caller, Path(id): Path<RunId>, Query(query): Query<ActionQuery>) -> Answer {
    let run = query::one(&caller, id, refusal::RUN_NOT_FOUND, access::may_see_run).await?;
    let filter = Filter::scope(id.0).limit(usize::MAX);
    let mut actions = caller.read(move |reader| reader.list::<RunAction>(&filter)).await?;
    let count = actions.len();
    actions.retain(|action| query.after.is_none_or(|after| action.seq > after));
    actions.sort_unstable_by_key(|action| action.seq);
    actions.truncate(bounded(query.limit, 200, 1000));
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
    /// `running`, `waiting`, `completed`, `failed`, `cancelled`; or `open` for all that have not ended.
    state: Option<String>,
    /// At most 200; 50 when left out.
    limit: Option<usize>,
    /// Only runs that began before this one.
    before: Option<String>,
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
    let (states, open_only) = wanted_states(query.state.as_deref())?;
    let filter = filter.states(if open_only {
        &[OPEN]
    } else if states.is_some() {
        &[CLOSED]
    } else {
        &[]
    });
    let filter = filter.before(given(query.before, RunId::parse).map(|run| run.0));
    let wanted = |state: &State, member: &Member, run: &Run| {
        states.is_none_or(|wanted| run.state == wanted) && access::may_see_run(state, member, run)
    };
    let runs: Vec<Run> = query::visible(caller, filter, bounded(query.limit, 50, 200), wanted).await?;
    let counts = counts_of(caller, &runs).await?;
    let names: Vec<_> = runs.iter().map(|run| name_of(caller, run)).collect();
    let objects = runs
        .iter()
        .zip(&names)
        .zip(counts)
        .map(|((run, name), count)| RunObject::named(run, name, Some(Tally { count, ..Tally::default() })));
    reply::ok(&objects.collect::<Vec<_>>())
}

/// Which state was asked for, and whether only open runs can be in it.
fn wanted_states(text: Option<&str>) -> Result<(Option<RunState>, bool), ApiError> {
    Ok(match text.filter(|text| !text.is_empty()) {
        None => (None, false),
        Some("open") => (None, true),
        Some("running") => (Some(RunState::Running), true),
        Some("waiting") => (Some(RunState::Waiting), true),
        Some("completed") => (Some(RunState::Completed), false),
        Some("failed") => (Some(RunState::Failed), false),
        Some("cancelled") => (Some(RunState::Cancelled), false),
        Some(_) => {
            let states = "state must be one of running, waiting, completed, failed, cancelled, open";
            return Err(ApiError::bad_request(states));
        }
    })
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
    responses((status = 200, body = RunObject<'static>)))]
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

/// The changes of a run as a unified diff (the agent, or the member or machine whose daemon carries it).
///
/// At most 4 MiB; a later one takes the place of the one before.
#[utoipa::path(put, path = "/v1/runs/{run}/diff", tag = "runs",
    request_body(content = String, content_type = "text/x-diff"),
    responses((status = 200, body = RunObject<'static>)))]
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
    (status = 200, description = "the diff", content_type = "text/x-diff")))]
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
