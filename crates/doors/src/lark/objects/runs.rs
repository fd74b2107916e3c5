//! Runs, their actions, and the sessions of threads as JSON.

use folkmoot_core::ids::*;
use folkmoot_core::run::*;
use folkmoot_core::{Millis, State};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Metadata, schemas};

/// An agent at work in a thread of a channel.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunObject<'a> {
    #[schema(value_type = String)]
    pub id: RunId,
    #[schema(value_type = String)]
    pub channel_id: ChannelId,
    /// The first message of the thread it works in.
    #[schema(value_type = String)]
    pub thread_id: MessageId,
    /// The message that shows how far it is and becomes the answer.
    #[schema(value_type = String)]
    pub message_id: MessageId,
    #[schema(value_type = String)]
    pub trigger_id: MessageId,
    #[schema(value_type = String)]
    pub delivery_id: DeliveryId,
    #[schema(value_type = String)]
    pub agent_id: MemberId,
    pub agent_name: &'a str,
    /// The person whose message the work began with.
    #[schema(value_type = Option<String>, required = true)]
    pub asker_id: Option<MemberId>,
    pub engine: &'a str,
    #[schema(required = true)]
    pub model: Option<&'a str>,
    #[schema(required = true)]
    pub project: Option<&'a str>,
    #[schema(required = true)]
    pub branch: Option<&'a str>,
    #[schema(required = true)]
    pub machine: Option<&'a str>,
    /// `running`, `waiting` (for a decision of people), `completed`, `failed` or `cancelled`.
    #[schema(value_type = schemas::RunState)]
    pub state: RunState,
    #[schema(required = true)]
    pub error: Option<&'a str>,
    /// What the engine continues the thread with.
    #[schema(required = true)]
    pub resume: Option<&'a str>,
    /// How a person continues it in a terminal.
    #[schema(required = true)]
    pub resume_line: Option<&'a str>,
    pub started_at: Millis,
    #[schema(required = true)]
    pub ended_at: Option<Millis>,
    /// What the engine reports of its use.
    #[schema(value_type = Option<Object>, required = true)]
    pub usage: Option<&'a RawValue>,
    #[schema(required = true)]
    pub cost_usd: Option<f64>,
    pub action_count: u32,
    #[schema(value_type = Vec<schemas::FileChange>)]
    pub changes: &'a [FileChange],
    pub has_diff: bool,
    pub stop_requested: bool,
    /// The whole answer, only where it is too long for the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub answer: Option<&'a str>,
}

impl<'a> RunObject<'a> {
    pub fn new(run: &'a Run, state: &'a State) -> Self {
        Self::named(run, state.name_of(run.agent), state.runs().tally(run.id))
    }

    /// With the name of its agent given, and how far its actions are, where that is known better.
    pub fn named(run: &'a Run, agent_name: &'a str, tally: Option<Tally>) -> Self {
        Self {
            id: run.id,
            channel_id: run.channel,
            thread_id: run.thread,
            message_id: run.message,
            trigger_id: run.trigger,
            delivery_id: run.delivery,
            agent_id: run.agent,
            agent_name,
            asker_id: run.asker,
            engine: &run.engine,
            model: run.model.as_deref(),
            project: run.project.as_deref(),
            branch: run.branch.as_deref(),
            machine: run.machine.as_deref(),
            state: run.state,
            error: run.error.as_deref(),
            resume: run.resume.as_deref(),
            resume_line: run.resume_line.as_deref(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            usage: run.usage.as_ref().map(|usage| &*usage.0),
            cost_usd: run.cost_usd,
            action_count: tally.map_or(run.action_count, |tally| tally.count),
            changes: &run.changes,
            has_diff: run.diff.is_some(),
            stop_requested: run.stop_requested,
            answer: run.answer.as_deref(),
        }
    }
}

/// One action of a run, as its newest event has it.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = RunAction)]
pub struct ActionObject<'a> {
    /// The number of its newest event among those of the run; the list is in this order.
    pub seq: u32,
    /// The number of its first event.
    pub first_seq: u32,
    pub id: &'a str,
    pub kind: &'a str,
    pub title: &'a str,
    /// `started`, `updated` or `completed`.
    #[schema(value_type = schemas::ActionPhase)]
    pub phase: ActionPhase,
    #[schema(required = true)]
    pub ok: Option<bool>,
    /// What there is to know beside the title; cut to 16 KiB.
    #[schema(value_type = Object)]
    pub detail: Metadata<'a>,
    pub at: Millis,
}

impl<'a> From<&'a RunAction> for ActionObject<'a> {
    fn from(action: &'a RunAction) -> Self {
        Self {
            seq: action.seq,
            first_seq: action.first_seq,
            id: &action.action,
            kind: &action.kind,
            title: &action.title,
            phase: action.phase,
            ok: action.ok,
            detail: Metadata(action.detail.as_ref().map(|detail| &*detail.0)),
            at: action.at,
        }
    }
}

/// What an agent continues a thread with.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionObject<'a> {
    #[schema(value_type = String)]
    pub agent_id: MemberId,
    #[schema(value_type = String)]
    pub channel_id: ChannelId,
    #[schema(value_type = String)]
    pub thread_id: MessageId,
    #[schema(required = true)]
    pub engine: Option<&'a str>,
    #[schema(required = true)]
    pub model: Option<&'a str>,
    #[schema(required = true)]
    pub resume: Option<&'a str>,
    pub updated_at: Millis,
}

impl<'a> From<&'a ThreadSession> for SessionObject<'a> {
    fn from(session: &'a ThreadSession) -> Self {
        Self {
            agent_id: session.agent,
            channel_id: session.channel,
            thread_id: session.thread,
            engine: session.engine.as_deref(),
            model: session.model.as_deref(),
            resume: session.resume.as_deref(),
            updated_at: session.updated_at,
        }
    }
}
