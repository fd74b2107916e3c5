//! How the core's own types stand in the description of the REST surface: states and kinds as named enums with all their
//! values, and the small objects that the core writes itself.
//!
//! The core knows nothing of descriptions, so each type has a namesake here, only for `#[schema(value_type = …)]`.

use std::borrow::Cow;

use folkmoot_core::delivery::{DeliveryState as CoreDeliveryState, WakeReason as CoreWakeReason};

use folkmoot_core::hosting::Policy as CorePolicy;
use folkmoot_core::{model, pools, run};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, schema::SchemaType};
use utoipa::{PartialSchema, ToSchema};

/// One line per enum: its name in the description, the core's type, and every value of it. A value that is missing or too
/// much does not compile; how it is written is asked of the core.
macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident of $core:ty: $($value:ident),+;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let all = [$(<$core>::$value),+];
                for value in &all {
                    match value { $(<$core>::$value => (),)+ }
                }
                named_values(&all)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )*};
}

enums! {
    MemberKind of model::MemberKind: Human, Agent;
    Role of model::Role: Member, Admin, Owner;
    Presence of model::Presence: Online, Idle, Offline, Dnd, Sleeping;
    ChannelKind of model::ChannelKind: Channel, Private, Dm, GroupDm;
    NotifyPreference of model::NotifyPreference: All, Mentions, None;
    ContentType of model::ContentType: Text, Markdown;
    DraftStatus of model::DraftStatus: Held, Sent, Expired, Cancelled;
    TaskStatus of model::TaskStatus: Todo, InProgress, Review, Done;
    Priority of model::Priority: Low, Medium, High, Urgent;
    CallStatus of model::CallStatus: Ringing, Answered, Ended, Missed;
    ApprovalStatus of model::ApprovalStatus: Pending, Approved, Denied;
    ApprovalKind of model::ApprovalKind: Action, Permission, LoopGuard;
    ApprovalScope of model::ApprovalScope: Once, Run;
    RunState of run::RunState: Running, Waiting, Completed, Failed, Cancelled;
    ActionPhase of run::ActionPhase: Started, Updated, Completed;
    FileChangeKind of run::FileChangeKind: Added, Modified, Deleted, Renamed;
    DeliveryState of CoreDeliveryState:
        Queued, Leased, Admitted, Answered, Passed, Failed, Expired, Cancelled, Suppressed;
    WakeReason of CoreWakeReason: Mention, Dm, ThreadReply, TaskAssigned, Manual;
    Policy of CorePolicy: Ask, AskCommands, AcceptEdits, DangerouslyAllowAll;
    PoolKind of pools::SessionKind: Music, Assistant;
}

fn named_values<T: serde::Serialize>(all: &[T]) -> RefOr<Schema> {
    let values = all.iter().filter_map(|value| serde_json::to_value(value).ok());
    let object = ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).enum_values(Some(values));
    RefOr::T(Schema::Object(object.build()))
}

/// How a review stands: `pending`, then the reviewer's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    Pending,
    Approved,
    ChangesRequested,
    Rejected,
    Denied,
    Commented,
}

impl ReviewStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::ChangesRequested => "changes_requested",
            Self::Rejected => "rejected",
            Self::Denied => "denied",
            Self::Commented => "commented",
        }
    }
}

/// What an agent may ask of its own accord.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum AskedKind {
    Action,
    Permission,
}

/// The channels that can be made; direct ones are opened.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum NewChannelKind {
    Channel,
    Private,
}

/// How somebody who is here says they are.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SaidPresence {
    Online,
    Idle,
    Dnd,
    Sleeping,
}

/// What a reviewer may say.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Rejected,
    Denied,
    Commented,
}

/// What a notification comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationSource {
    Mention,
    Dm,
    #[serde(alias = "thread_reply")]
    Thread,
    #[serde(alias = "task_assigned")]
    Task,
    #[serde(alias = "review_request", alias = "review_result")]
    Review,
    #[serde(alias = "approval_result")]
    Approval,
    Route,
    System,
}

impl NotificationSource {
    /// The source that a client means: its own word, or the kind of what comes from it.
    pub fn named(word: &str) -> Option<Self> {
        Self::deserialize(word.into_deserializer()).map_err(|_: serde::de::value::Error| ()).ok()
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Dm => "dm",
            Self::Thread => "thread",
            Self::Task => "task",
            Self::Review => "review",
            Self::Approval => "approval",
            Self::Route => "route",
            Self::System => "system",
        }
    }
}

/// What an agent is for, in the words of whoever answers for it.
#[derive(ToSchema)]
pub struct RoleCard {
    pub system_prompt: String,
    #[schema(required = false)]
    pub capabilities: Vec<String>,
}

/// What an agent says it runs on.
#[derive(ToSchema)]
pub struct Runtime {
    #[schema(rename = "type", value_type = String, required = false)]
    pub kind: Option<String>,
    #[schema(value_type = String, required = false)]
    pub provider: Option<String>,
    #[schema(value_type = String, required = false)]
    pub model: Option<String>,
}

/// Everybody who reacted to a message with one emoji.
#[derive(ToSchema)]
pub struct MessageReaction {
    pub emoji: String,
    /// Ids of the members.
    pub members: Vec<String>,
}

/// One changed file of a run.
#[derive(ToSchema)]
pub struct FileChange {
    pub path: String,
    #[schema(value_type = FileChangeKind)]
    pub kind: FileChangeKind,
    /// Lines.
    pub added: u64,
    pub removed: u64,
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::MemberId;
    use serde_json::{Value, json};

    use super::*;

    fn described<T: PartialSchema>() -> Value {
        serde_json::to_value(T::schema()).unwrap()
    }

    /// The fields a description names are those that are written.
    fn same_fields<T: PartialSchema>(written: impl serde::Serialize) {
        let written = serde_json::to_value(written).unwrap();
        let names =
            |value: &Value| value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names(&described::<T>()["properties"]), names(&written));
    }

    #[test]
    fn an_enum_has_the_values_that_are_written() {
        assert_eq!(described::<TaskStatus>()["enum"], json!(["todo", "in_progress", "review", "done"]));
        assert_eq!(
            described::<Policy>()["enum"],
            json!(["ask", "ask-commands", "accept-edits", "dangerously-allow-all"])
        );
        let told = [CoreDeliveryState::Queued, CoreDeliveryState::Suppressed].map(CoreDeliveryState::as_str);
        let states = &described::<DeliveryState>()["enum"];
        assert_eq!([&states[0], &states[8]], told);
        assert_eq!(described::<WakeReason>()["enum"][2], CoreWakeReason::ThreadReply.as_str());
    }

    #[test]
    fn an_object_of_the_core_has_the_fields_that_are_written() {
        same_fields::<RoleCard>(model::RoleCard { system_prompt: String::new(), capabilities: Vec::new() });
        let word = || Some("x".to_owned());
        same_fields::<Runtime>(model::Runtime { kind: word(), provider: word(), model: word() });
        same_fields::<MessageReaction>(model::Reaction { emoji: String::new(), members: vec![MemberId(1)] });
        let change = run::FileChange { path: String::new(), kind: run::FileChangeKind::Added, added: 0, removed: 0 };
        same_fields::<FileChange>(change);
    }
}
