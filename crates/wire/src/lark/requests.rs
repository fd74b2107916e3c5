//! What a Lark client asks for, in the document's order and words.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::answers::*;
use super::events::Run;
use super::runs::*;
use super::values::*;
use crate::{Id, Millis, lenient};

/// Something a client may send, with what a hub answers; [`Nothing`] where the event that follows is the answer.
pub trait Request: Serialize {
    const TYPE: &'static str;
    type Answer: DeserializeOwned;
}

macro_rules! requests {
    ($($request:ident $kind:literal => $answer:ty;)*) => {
        $(impl Request for $request {
            const TYPE: &'static str = $kind;
            type Answer = $answer;
        })*

        /// The names of all requests.
        pub const TYPES: &[&str] = &[$($kind),*];

        /// All requests by name, each with its shape.
        #[cfg(feature = "schema")]
        pub fn described() -> Vec<(&'static str, crate::Shape)> {
            vec![$(($kind, crate::Shape::of::<$request>())),*]
        }
    };
}

// In the document's order; below the line what real agents and our own clients add.
requests! {
    AuthLogin "auth.login" => AuthSuccess;
    ChannelJoin "channel.join" => ChannelRef;
    ChannelLeave "channel.leave" => ChannelRef;
    AgentHello "agent.hello" => AgentWelcome<'static>;
    AgentSleep "agent.sleep" => Nothing;
    AgentThinking "agent.thinking" => Nothing;
    DaemonRegister "daemon.register" => DaemonRegistered;
    MessageSend "message.send" => MessageAck;
    MessageEdit "message.edit" => Nothing;
    MessageDelete "message.delete" => Nothing;
    ThreadReply "thread.reply" => MessageAck;
    TypingStart "typing.start" => Nothing;
    TypingStop "typing.stop" => Nothing;
    CallOffer "call.offer" => CallOffered;
    CallAnswer "call.answer" => Nothing;
    CallIce "call.ice" => Nothing;
    CallEnd "call.end" => Nothing;
    ApprovalRequest "approval.request" => ApprovalAnswer;
    // ---
    PresenceUpdate "presence.update" => Nothing;
    InboxPoll "inbox.poll" => Value;
    InboxAck "inbox.ack" => InboxAcked<'static>;
    DraftCreate "draft.create" => DraftAck;
    DraftValidate "draft.validate" => DraftResult<'static>;
    DraftSend "draft.send" => DraftSent<'static>;
    ReviewRequest "review.request" => ReviewAnswer;
    ReviewResult "review.result" => ReviewAnswer;
    WorkspaceUpdate "workspace.update" => Value;
    ReactionAdd "reaction.add" => Nothing;
    ReactionRemove "reaction.remove" => Nothing;
    PinAdd "pin.add" => Nothing;
    PinRemove "pin.remove" => Nothing;
    ChannelRead "channel.read" => Nothing;
    ApprovalDecide "approval.decide" => Nothing;
    ApprovalUse "approval.use" => ApprovalAnswer;
    WakePass "wake.pass" => DeliveryAnswer<Value>;
    WakeFail "wake.fail" => DeliveryAnswer<Value>;
    WakeJoin "wake.join" => DeliveryAnswer<Value>;
    SyncResume "sync.resume" => SyncDone;
    RunStart "run.start" => RunStarted<Run>;
    RunActionReport "run.action" => Nothing;
    RunProgress "run.progress" => Nothing;
    RunSession "run.session" => RunRef;
    RunChanges "run.changes" => RunRef;
    RunComplete "run.complete" => RunCompleted<Run>;
    RunStop "run.stop" => RunCompleted<Run>;
    SessionPut "session.put" => SessionAnswer<Value>;
    SessionForget "session.forget" => ThreadRef;
}

/// A request of a daemon for one of the agents it carries.
#[derive(Clone, Debug, Serialize)]
pub struct Carried<R> {
    pub agent_id: Id,
    #[serde(flatten)]
    pub request: R,
}

impl<R: Request> Request for Carried<R> {
    const TYPE: &'static str = R::TYPE;
    type Answer = R::Answer;
}

/// Requests that name nothing but a channel.
macro_rules! of_a_channel {
    ($($request:ident)*) => {$(
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        pub struct $request {
            pub channel_id: Id,
        }
    )*};
}

of_a_channel! { ChannelJoin ChannelLeave AgentThinking TypingStart TypingStop }

/// Without `Debug`: a token does not belong into a log.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuthLogin {
    pub token: String,
    /// Beyond the document: a daemon logs in for one agent that it carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Id>,
    /// Beyond the document: how messages are to come; anything else than a known word is as if it were left out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::fitting")]
    pub frames: Option<Frames>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentSleep {}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentHello {
    /// The member's own name counts; this one is not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub role_card: RoleCard,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoleCard {
    pub system_prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Runtime {
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DaemonRegister {
    #[serde(default)]
    pub agents: Vec<DaemonAgent>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DaemonAgent {
    pub name: String,
    pub agent_id: Id,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageSend {
    pub channel_id: Id,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<ContentType>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub metadata: Option<Box<RawValue>>,
    /// Beyond the document: the wake that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<Id>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageEdit {
    pub message_id: Id,
    #[serde(default)]
    pub content: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageDelete {
    pub message_id: Id,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThreadReply {
    #[serde(default)]
    pub channel_id: Id,
    #[serde(default)]
    pub parent_id: Id,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<ContentType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub metadata: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<Id>,
    /// It goes on where the agent's last message had to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<bool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PresenceUpdate {
    pub status: Presence,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallOffer {
    #[serde(default)]
    pub callee_id: Id,
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub sdp: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallAnswer {
    #[serde(default)]
    pub call_id: Id,
    #[serde(default)]
    pub sdp: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallIce {
    #[serde(default)]
    pub call_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_id: Option<Id>,
    /// A string in the document; browsers make it an object. Passed on as it came.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub candidate: Box<RawValue>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallEnd {
    #[serde(default)]
    pub call_id: Id,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApprovalRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<Id>,
    pub action: String,
    /// JSON as text in the document; an object is taken as well and kept as its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub payload: Option<Box<RawValue>>,
    /// Beyond the document: what makes two questions the same, the run they belong to, the message it began with.
    #[serde(default)]
    pub kind: ApprovalKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Id>,
}

// Beyond the document: what real agents use.

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InboxPoll {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InboxAck {
    pub item_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftCreate {
    pub channel_id: Id,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Id>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftValidate {
    pub draft_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftSend {
    pub draft_id: Id,
    /// `true`, or the version the agent has seen: either says "send it all the same".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_version: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewRequest {
    pub reviewer_id: Id,
    #[serde(default)]
    pub subject: String,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<Id>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewResult {
    pub review_id: Id,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WorkspaceUpdate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<Id>,
    #[serde(default)]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

// Our own additions.

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReactionAdd {
    pub message_id: Id,
    pub emoji: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReactionRemove {
    pub message_id: Id,
    pub emoji: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PinAdd {
    pub message_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<Id>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PinRemove {
    pub pin_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChannelRead {
    pub channel_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApprovalUse {
    pub approval_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApprovalDecide {
    pub approval_id: Id,
    pub approved: bool,
    #[serde(default)]
    pub scope: ApprovalScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakePass {
    pub delivery_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeFail {
    pub delivery_id: Id,
    #[serde(default)]
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeJoin {
    pub delivery_id: Id,
    pub run_id: Id,
}

/// One channel with a position, or several positions of the workspace at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SyncResume {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<BTreeMap<Id, u64>>,
}

/// On a daemon's connection any request may name the agent it is for; this reads the name alone.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct OnBehalf {
    #[serde(default)]
    pub agent_id: Option<Id>,
}
