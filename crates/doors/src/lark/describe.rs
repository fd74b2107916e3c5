//! The description of `/ws` as AsyncAPI: every frame that a client may send and every frame that it may be told, with the
//! shapes of the types that are read and written.

use folkmoot_wire::Shape;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::objects::*;
use super::wire;
use crate::smarthole::objects::RouteObject;

const INTRODUCTION: &str = "\
People and agents of one hub over a WebSocket. Every frame is one JSON envelope: `type` says what it is, `data` what it \
says. A client logs in first (`auth.login`), within 30 seconds. An answer names the request it is for in `reply_to`; a \
refusal is an `error`. Frames hold at most 65,536 bytes. Times are milliseconds since 1970, ids are opaque.";

/// A message that is new or was changed. It comes twice in one frame, at the top and under `message`, unless the client
/// asked for `frames: \"plain\"` when it logged in.
#[derive(Serialize, ToSchema)]
struct ToldMessage {
    #[serde(flatten)]
    fields: wire::Message,
    #[schema(value_type = String, required = false)]
    message_id: Option<String>,
    #[schema(value_type = wire::Message, required = false)]
    message: Option<wire::Message>,
}

/// A channel without what is each reader's own.
#[derive(Serialize, ToSchema)]
struct ToldChannel {
    id: String,
    channel_id: String,
    workspace_id: String,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::ChannelKind)]
    kind: (),
    name: String,
    topic: String,
    archived: bool,
    created_by: String,
    created_at: i64,
    seq: u64,
    room_version: u64,
    member_ids: Vec<String>,
    member_count: u64,
}

/// A task, and the same again under `task`.
#[derive(Serialize, ToSchema)]
struct ToldTask {
    #[serde(flatten)]
    fields: TaskObject,
    task: TaskObject,
}

/// A review under both names of its id.
#[derive(Serialize, ToSchema)]
struct ToldReview {
    #[serde(flatten)]
    fields: ReviewObject,
    review_id: String,
}

/// `message.delete` of a stored message, or of one that was being written.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes two frames of one name")]
enum ToldDeletion {
    Stored(wire::MessageDeleted),
    Partial(wire::DraftGone),
}

/// What the hub was asked for, and what it tells everybody, under one name.
macro_rules! told {
    ($($kind:literal $meaning:literal $type:ty;)*) => {
        /// Every frame that the hub sends, with its meaning and its shape.
        fn told() -> Vec<(&'static str, &'static str, Shape)> {
            vec![$(($kind, $meaning, Shape::of::<$type>())),*]
        }
    };
}

told! {
    "auth.success" "The log-in went well." wire::AuthSuccess;
    "auth.fail" "The log-in was refused; the connection ends." wire::AuthFail<'static>;
    "error" "A request was refused." wire::Refused<'static>;
    "channel.join" "The connection follows the channel." wire::ChannelRef;
    "channel.leave" "The connection no longer follows the channel." wire::ChannelRef;
    "agent.welcome" "The agent is here." wire::AgentWelcome<'static>;
    "daemon.registered" "Whom the daemon carries, and whom it may not." wire::DaemonRegistered;
    "message.ack" "The message is stored." wire::MessageAck;
    "call.ring" "Somebody calls." wire::CallRing<'static>;
    "call.offer" "To the caller how the call stands; to the callee what is offered." CallOfferTold;
    "call.answer" "The callee took the call." wire::CallAnswered<'static>;
    "call.ice" "A way to reach the other side." wire::CallCandidate<'static>;
    "call.end" "The call is over." wire::CallEnded<'static>;
    "approval.request" "To the agent how its question stands; to people the question." ApprovalTold;
    "approval.use" "The decision is taken up." wire::ApprovalAnswer;
    "approval.result" "A question was decided." ApprovalObject;
    "inbox.items" "What the agent has not acknowledged, newest first." InboxItems;
    "inbox.ack" "The item is acknowledged." wire::InboxAcked<'static>;
    "draft.ack" "The reply is held." wire::DraftAck;
    "draft.result" "Whether a held reply still fits." wire::DraftResult<'static>;
    "draft.send" "The held reply was sent." wire::DraftSent<'static>;
    "review.request" "A review is asked for." ReviewTold;
    "review.result" "A review was decided." ReviewTold;
    "workspace.update" "The agent's item as it is now." ItemObject;
    "wake.pass" "The wake is over: the agent says nothing to it." wire::DeliveryAnswer<DeliveryObject<'static>>;
    "wake.fail" "The wake is over: it could not be done." wire::DeliveryAnswer<DeliveryObject<'static>>;
    "wake.join" "The wake goes into a run under way." wire::DeliveryAnswer<DeliveryObject<'static>>;
    "sync.done" "Everything up to `seq` was told." wire::SyncDone;
    "sync.reload" "Too much was missed: load the channel anew." wire::SyncDone;
    "sync.lagged" "Frames were dropped: resume each channel after its position." wire::SyncLagged;
    "run.started" "A run began." wire::RunStarted<RunObject<'static>>;
    "run.updated" "A run is further." wire::RunCompleted<RunObject<'static>>;
    "run.completed" "A run ended." wire::RunCompleted<RunObject<'static>>;
    "run.action" "What a run did." wire::RunActed<ActionObject<'static>>;
    "run.stop" "To the agent: stop. To the asker: the run as it is." RunStopTold;
    "run.session" "What the run goes on with is noted." wire::RunRef;
    "run.changes" "What the run changed is noted." wire::RunRef;
    "session.put" "What a thread goes on with is noted." wire::SessionAnswer<SessionObject<'static>>;
    "session.forget" "The thread begins anew." wire::ThreadRef;
    "agent.wake" "Somebody wants this agent." wire::AgentWake<'static, TaskObject>;
    "message.new" "A message, or one that is being written." ToldMessage;
    "message.edit" "A message says something else." ToldMessage;
    "message.delete" "A message is gone." ToldDeletion;
    "reaction.add" "Somebody reacted." wire::Reacted<'static, schemas::MessageReaction>;
    "reaction.remove" "Somebody took a reaction back." wire::Reacted<'static, schemas::MessageReaction>;
    "pin.add" "A message was pinned." wire::Pinned;
    "pin.remove" "A message was unpinned." wire::Pinned;
    "channel.joined" "Somebody is in the channel." wire::MemberOfChannel<'static>;
    "channel.left" "Somebody left the channel." wire::MemberOfChannel<'static>;
    "channel.read" "How far the caller has read." wire::ChannelWasRead;
    "channel.update" "A channel is new or was changed." ToldChannel;
    "channel.delete" "A channel is gone." wire::ChannelRef;
    "typing.start" "Somebody types." wire::MemberOfChannel<'static>;
    "typing.stop" "Somebody types no longer." wire::MemberOfChannel<'static>;
    "presence.update" "How somebody is." wire::PresenceChanged;
    "member.update" "A member is new or was changed." MemberObject<'static>;
    "member.left" "A member is gone." wire::MemberLeft<'static>;
    "workspace.changed" "The workspace was renamed." WorkspaceObject<'static>;
    "notification.new" "Something the caller should know of." NotificationObject<'static>;
    "notification.update" "It was read or acknowledged." NotificationObject<'static>;
    "task.update" "A task is new or was changed." ToldTask;
    "task.assigned" "A task is the caller's now." wire::TaskAssigned<TaskObject>;
    "task.delete" "A task is gone." wire::TaskDeleted;
    "delivery.update" "What became of a wake." DeliveryObject<'static>;
    "route.update" "What became of a sentence." RouteObject<'static>;
}

/// Frames that say one thing to the one who asked and another to everybody else.
macro_rules! either {
    ($($(#[$doc:meta])* $name:ident $one:ty, $other:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Serialize, ToSchema)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "describes two frames of one name")]
        enum $name {
            Answer($one),
            Told(Box<$other>),
        }
    )*};
}

either! {
    CallOfferTold wire::CallOffered<String>, wire::CallOffering<'static>;
    ApprovalTold wire::ApprovalAnswer, ApprovalObject;
    ReviewTold wire::ReviewAnswer, ToldReview;
    RunStopTold wire::StopAsked, wire::RunCompleted<RunObject<'static>>;
}

/// A bare list.
#[derive(Serialize, ToSchema)]
struct InboxItems(Vec<NotificationObject<'static>>);

/// What answers a request beside `error`; nothing where the event that follows is the answer.
fn answers(request: &str) -> &'static [&'static str] {
    match request {
        "auth.login" => &["auth.success", "auth.fail"],
        "channel.join" => &["channel.join"],
        "channel.leave" => &["channel.leave"],
        "agent.hello" => &["agent.welcome"],
        "daemon.register" => &["daemon.registered"],
        "message.send" | "thread.reply" => &["message.ack"],
        "call.offer" => &["call.offer"],
        "approval.request" => &["approval.request"],
        "approval.use" => &["approval.use"],
        "inbox.poll" => &["inbox.items"],
        "inbox.ack" => &["inbox.ack"],
        "draft.create" => &["draft.ack"],
        "draft.validate" => &["draft.result"],
        "draft.send" => &["draft.send"],
        "review.request" => &["review.request"],
        "review.result" => &["review.result"],
        "workspace.update" => &["workspace.update"],
        "wake.pass" => &["wake.pass"],
        "wake.fail" => &["wake.fail"],
        "wake.join" => &["wake.join"],
        "sync.resume" => &["sync.done", "sync.reload"],
        "run.start" => &["run.started"],
        "run.complete" => &["run.completed"],
        "run.stop" => &["run.stop"],
        "run.session" => &["run.session"],
        "run.changes" => &["run.changes"],
        "session.put" => &["session.put"],
        "session.forget" => &["session.forget"],
        _ => &[],
    }
}

/// The description as JSON text, the same whenever the types are the same.
pub fn asyncapi_json(version: &str) -> String {
    serde_json::to_string_pretty(&document(version)).unwrap_or_default()
}

fn document(version: &str) -> Value {
    let (mut messages, mut schemas, mut operations) = (Map::new(), Map::new(), Map::new());
    for (kind, shape) in wire::described() {
        let summary = shape_summary(&shape).unwrap_or_else(|| format!("Asks for `{kind}`."));
        messages.insert(asked_key(kind), message(kind, &summary, &asked_name(&shape.name), false));
        operations.insert(asked_key(kind), asking(kind));
        collect_asked(&mut schemas, shape);
    }
    let mut told_keys = Vec::new();
    for (kind, meaning, shape) in told() {
        told_keys.push(in_channel(&told_key(kind)));
        messages.insert(told_key(kind), message(kind, meaning, &shape.name, true));
        collect(&mut schemas, shape);
    }
    inner().into_iter().for_each(|shape| collect(&mut schemas, shape));
    operations.insert("tells".to_owned(), telling(told_keys));
    name_moments(&mut schemas);
    let in_channel: Map<_, _> = messages.keys().map(|key| (key.clone(), reference("messages", key))).collect();
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Folkmoot Lark", "version": version, "description": INTRODUCTION,
            "license": { "name": "MIT" },
        },
        "defaultContentType": "application/json",
        "servers": { "hub": { "host": "127.0.0.1:8484", "protocol": "ws", "description": "a hub on this machine" } },
        "channels": { "lark": { "address": "/ws", "title": "Lark", "messages": in_channel } },
        "operations": operations,
        "components": { "messages": messages, "schemas": schemas },
    })
}

fn asked_key(kind: &str) -> String {
    format!("asks.{kind}")
}

fn told_key(kind: &str) -> String {
    format!("tells.{kind}")
}

fn reference(section: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{section}/{name}") })
}

fn in_channel(key: &str) -> Value {
    json!({ "$ref": format!("#/channels/lark/messages/{key}") })
}

/// The hub hears a request, and answers it or refuses it.
fn asking(kind: &str) -> Value {
    let answers = answers(kind).iter().chain(&["error"]).map(|kind| in_channel(&told_key(kind)));
    let channel = json!({ "$ref": "#/channels/lark" });
    json!({
        "action": "receive", "channel": channel, "messages": [in_channel(&asked_key(kind))],
        "reply": { "channel": channel, "messages": answers.collect::<Vec<_>>() },
    })
}

fn telling(messages: Vec<Value>) -> Value {
    let summary = "What the hub answers, and what it tells of its own accord.";
    json!({ "action": "send", "summary": summary, "channel": { "$ref": "#/channels/lark" }, "messages": messages })
}

/// One envelope.
fn message(kind: &str, summary: &str, shape: &str, is_told: bool) -> Value {
    let mut properties = json!({
        "v": { "type": "integer", "description": "the version of the protocol, 1" },
        "id": { "type": "string", "description": "names the frame, for `reply_to`" },
        "type": { "const": kind },
        "ts": { "type": "integer", "description": "when it was sent, in milliseconds since 1970" },
        "data": reference("schemas", shape),
    });
    if is_told {
        properties["reply_to"] = json!({ "description": "the `id` of the request that this answers" });
    }
    let required: &[&str] = if is_told { &["v", "id", "type", "ts", "data"] } else { &["type"] };
    json!({
        "name": kind, "summary": summary,
        "payload": { "type": "object", "required": required, "properties": properties },
    })
}

fn shape_summary(shape: &Shape) -> Option<String> {
    let (_, schema) = shape.parts.first()?;
    let schema = serde_json::to_value(schema).ok()?;
    schema["description"].as_str().map(str::to_owned)
}

fn collect(schemas: &mut Map<String, Value>, shape: Shape) {
    for (name, schema) in shape.parts {
        schemas.entry(name).or_insert_with(|| serde_json::to_value(schema).unwrap_or_default());
    }
}

/// What is read and what is written have types of their own; those of requests are told apart by their names.
fn asked_name(name: &str) -> String {
    format!("Asked{name}")
}

fn collect_asked(schemas: &mut Map<String, Value>, shape: Shape) {
    for (name, schema) in shape.parts {
        let text = serde_json::to_string(&schema).unwrap_or_default();
        let told_apart = text.replace("#/components/schemas/", "#/components/schemas/Asked");
        let schema = told_apart.replace("#/components/schemas/Askedi64", "#/components/schemas/i64");
        schemas.insert(asked_name(&name), serde_json::from_str(&schema).unwrap_or_default());
    }
}

/// What stands inside generic types, which do not name it among their parts.
fn inner() -> [Shape; 4] {
    [
        Shape::of::<RunObject<'static>>(),
        Shape::of::<ActionObject<'static>>(),
        Shape::of::<SessionObject<'static>>(),
        Shape::of::<schemas::MessageReaction>(),
    ]
}

/// A moment is a number of the core, which has no name of its own there.
fn name_moments(schemas: &mut Map<String, Value>) {
    let text = serde_json::to_string(&*schemas).unwrap_or_default();
    let named = text.replace("#/components/schemas/i64", "#/components/schemas/Millis");
    *schemas = serde_json::from_str(&named).unwrap_or_default();
    schemas.remove("i64");
    schemas.remove("Askedi64");
    let meaning = "A moment, in milliseconds since 1970.";
    schemas.insert("Millis".to_owned(), json!({ "type": "integer", "format": "int64", "description": meaning }));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_request_of_the_door_is_described_and_nothing_else() {
        let described: Vec<_> = wire::described().into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(described, wire::TYPES);
        let mut asked: Vec<_> = super::super::mapping::request_types().collect();
        asked.sort_unstable();
        let mut known = described.clone();
        known.sort_unstable();
        assert_eq!(known, asked);
    }

    /// The names of frames stand as texts where they are written.
    #[test]
    fn every_frame_that_the_hub_writes_is_described() {
        let written = [
            include_str!("mapping/events.rs"),
            include_str!("mapping/replies.rs"),
            include_str!("mapping/runs.rs"),
            include_str!("mapping/mod.rs"),
        ];
        let told: Vec<_> = told().into_iter().map(|(kind, ..)| kind).collect();
        let is_kind = |text: &&str| {
            text.contains('.') && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_'))
        };
        let unanswered = ["auth.login", "run.start", "run.complete"];
        for text in written {
            for kind in text.split('"').skip(1).step_by(2).filter(is_kind).filter(|kind| !unanswered.contains(kind)) {
                assert!(told.contains(&kind), "{kind} is told and not described");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document("1");
        let text = document.to_string();
        for reference in text.split("\"#/").skip(1) {
            let pointer = format!("/{}", reference.split('"').next().unwrap_or_default());
            assert!(document.pointer(&pointer).is_some(), "{pointer}");
        }
    }

    #[test]
    fn no_name_stands_for_two_things() {
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for (name, schema) in told().into_iter().flat_map(|(.., shape)| shape.parts) {
            let mut schema = serde_json::to_value(schema).unwrap();
            schema["description"] = Value::Null;
            let before = known.entry(name.clone()).or_insert_with(|| schema.clone());
            assert_eq!(*before, schema, "{name}");
        }
    }
}
