//! From frames to requests: what is understood, and that nothing that comes in can do harm.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::door::Ask;
use crate::lark::mapping::{Request, request};
use crate::lark::wire;
use folkmoot_core::command::Command;
use folkmoot_core::ids::{MemberId, RunId};
use folkmoot_core::model::ContentType;
use folkmoot_core::refusal;
use folkmoot_core::run::{RunCommand, RunEnd};
use folkmoot_wire::Id;

/// Every type that the door knows; [`the_list_of_types_is_complete`] holds it against the source.
const TYPES: &[&str] = &[
    "auth.login",
    "channel.join",
    "channel.leave",
    "agent.hello",
    "agent.sleep",
    "agent.thinking",
    "daemon.register",
    "message.send",
    "message.edit",
    "message.delete",
    "thread.reply",
    "typing.start",
    "typing.stop",
    "call.offer",
    "call.answer",
    "call.ice",
    "call.end",
    "approval.request",
    "presence.update",
    "inbox.poll",
    "inbox.ack",
    "draft.create",
    "draft.validate",
    "draft.send",
    "review.request",
    "review.result",
    "workspace.update",
    "reaction.add",
    "reaction.remove",
    "pin.add",
    "pin.remove",
    "channel.read",
    "approval.decide",
    "approval.use",
    "wake.pass",
    "wake.fail",
    "wake.join",
    "sync.resume",
    "run.start",
    "run.action",
    "run.progress",
    "run.session",
    "run.changes",
    "run.complete",
    "run.stop",
    "session.put",
    "session.forget",
];

/// The names of all fields that any request has.
const FIELDS: &[&str] = &[
    "token",
    "channel_id",
    "name",
    "role_card",
    "runtime",
    "agents",
    "agent_id",
    "content",
    "content_type",
    "type",
    "thread_id",
    "file_id",
    "metadata",
    "message_id",
    "parent_id",
    "status",
    "callee_id",
    "sdp",
    "call_id",
    "target_id",
    "candidate",
    "action",
    "payload",
    "source_type",
    "unread_only",
    "since",
    "limit",
    "item_id",
    "draft_id",
    "force_version",
    "reviewer_id",
    "subject",
    "review_id",
    "comment",
    "namespace",
    "description",
    "tags",
    "emoji",
    "pin_id",
    "seq",
    "approval_id",
    "delivery_id",
    "run_id",
    "why",
    "approved",
    "note",
    "after_seq",
    "positions",
    "delivery_id",
    "run_id",
    "engine",
    "model",
    "text",
    "id",
    "kind",
    "title",
    "phase",
    "ok",
    "detail",
    "resume",
    "resume_line",
    "changes",
    "state",
    "answer",
    "usage",
    "cost_usd",
];

#[test]
fn the_list_of_types_is_complete() {
    let source = include_str!("../mapping/requests.rs");
    let (_, list) = source.split_once("const TYPES").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    let names: Vec<_> = list.split("(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(names, TYPES);
}

#[test]
fn every_type_but_a_few_needs_data() {
    let without = ["agent.sleep", "inbox.poll"];
    for kind in TYPES {
        let outcome = request(&json!({ "id": 1, "type": kind }).to_string());
        match outcome {
            Ok((_, ticket)) => assert!(without.contains(&ticket.request), "{kind}"),
            Err((refusal, ticket)) => {
                assert_eq!(refusal, refusal::INVALID_DATA, "{kind}");
                assert_eq!((ticket.id.as_deref(), ticket.request), (Some("1"), *kind));
            }
        }
    }
}

fn key_of(frame: &Value) -> Option<String> {
    let Ok((Request::Ask(Ask::Do { command, .. }), _)) = request(&frame.to_string()) else { panic!("{frame}") };
    let Command::Send(send) = *command else { panic!("{command:?}") };
    send.key
}

#[test]
fn only_a_uuid_is_an_idempotency_key() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let send = |id: Value| json!({ "id": id, "type": "message.send", "data": { "channel_id": "c", "content": "x" } });
    let reply = |id: Value| json!({ "id": id, "type": "thread.reply", "data": { "parent_id": "m", "content": "x" } });
    for spelled in [uuid, "550E8400-E29B-41D4-A716-446655440000", "550e8400e29b41d4a716446655440000"] {
        assert_eq!(key_of(&send(json!(spelled))).as_deref(), Some(uuid), "{spelled}");
        assert_eq!(key_of(&reply(json!(spelled))).as_deref(), Some(uuid), "{spelled}");
    }
    for other in [json!("1"), json!(7), json!(null), json!({}), json!([uuid]), json!(""), json!("msg-1")] {
        assert_eq!(key_of(&send(other.clone())), None, "{other}");
    }
}

#[test]
fn an_empty_type_or_content_type_is_one_that_was_left_out() {
    let data = json!({ "channel_id": "ch_1", "content": "hi", "type": "", "content_type": "" });
    let frame = json!({ "type": "message.send", "data": data });
    let Ok((Request::Ask(Ask::Do { command, .. }), _)) = request(&frame.to_string()) else { panic!("{frame}") };
    assert!(matches!(*command, Command::Send(send) if send.content_type == ContentType::Text), "{frame}");
}

#[test]
fn an_id_that_cannot_be_read_is_nobodys() {
    let frame = json!({ "type": "message.edit", "data": { "message_id": "../../etc/passwd", "content": "x" } });
    let Ok((Request::Ask(Ask::Do { command, .. }), _)) = request(&frame.to_string()) else { panic!() };
    assert!(matches!(*command, Command::EditMessage { message, .. } if message.is_none()));
}

#[test]
fn a_poll_is_bounded() {
    let limit = |data: Value| {
        let frame = json!({ "type": "inbox.poll", "data": data });
        let Ok((Request::Ask(Ask::Poll(poll)), _)) = request(&frame.to_string()) else { panic!("{frame}") };
        poll.limit
    };
    assert_eq!(limit(json!({})), 50);
    assert_eq!(limit(json!({ "limit": 0 })), 50);
    assert_eq!(limit(json!({ "limit": 7 })), 7);
    assert_eq!(limit(json!({ "limit": 1_000_000 })), 200);
}

#[test]
fn an_unknown_type_is_shown_shortened() {
    let (refusal, _) = request(&json!({ "type": "x".repeat(60_000) }).to_string()).unwrap_err();
    assert!(refusal.text.len() < 200, "{}", refusal.text.len());
}

/// Any JSON, with a liking for what the door's requests are made of.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("ch_01HYY3BSG0T7XTYZVJHMQAW000")),
        Just(json!("550e8400-e29b-41d4-a716-446655440000")),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((field(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![9 => proptest::sample::select(FIELDS).prop_map(str::to_owned), 1 => ".{0,6}"]
}

/// An envelope of a known type with any data.
fn any_envelope() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![9 => proptest::sample::select(TYPES).prop_map(Value::from), 1 => any_json()];
    (kind, any_json(), any_json()).prop_map(|(kind, id, data)| json!({ "type": kind, "id": id, "data": data }))
}

proptest! {
    #![proptest_config(crate::testing::cases(1024))]

    #[test]
    fn no_text_does_harm(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = request(&text);
        let _ = request(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_envelope_does_harm_and_its_id_comes_back(envelope in any_envelope()) {
        let (Ok((_, ticket)) | Err((_, ticket))) = request(&envelope.to_string());
        if envelope["type"].is_string() {
            let given = (!envelope["id"].is_null()).then(|| envelope["id"].to_string());
            prop_assert_eq!(ticket.id, given);
        }
    }

    #[test]
    fn a_cut_off_frame_is_answered_like_any_nonsense(envelope in any_envelope(), at: proptest::sample::Index) {
        let text = envelope.to_string();
        let cut: String = text.chars().take(at.index(text.chars().count())).collect();
        prop_assert_eq!(request(&cut).unwrap_err().0, refusal::INVALID_DATA);
    }
}

#[test]
fn the_wire_has_a_type_for_every_request_that_the_door_takes() {
    let taken: Vec<_> = crate::lark::mapping::request_types().collect();
    assert_eq!(taken, wire::TYPES);
}

#[test]
fn what_a_daemon_writes_is_what_the_door_reads_for_the_agent_it_names() {
    let agent = MemberId(7);
    let asked = wire::Carried {
        agent_id: Id::of(agent),
        request: wire::RunComplete {
            run_id: Id::of(RunId(9)),
            state: wire::RunEnd::Failed,
            answer: None,
            error: Some("no engine".to_owned()),
            resume: None,
            resume_line: None,
            usage: serde_json::value::to_raw_value(&json!({"tokens": 3})).ok(),
            cost_usd: Some(0.5),
            model: None,
        },
    };
    let (request, ticket) = request(&wire::request("kept-1", 0, &asked)).expect("understood");
    assert_eq!((ticket.id.as_deref(), ticket.request), (Some("\"kept-1\""), "run.complete"));
    let Request::Ask(Ask::Do { command, on_behalf }) = request else { panic!("{request:?}") };
    assert_eq!(on_behalf, Some(agent));
    let Command::Run(RunCommand::Complete(complete)) = *command else { panic!("{command:?}") };
    assert_eq!((complete.run, complete.end, complete.error.as_deref()), (RunId(9), RunEnd::Failed, Some("no engine")));
    assert_eq!(complete.usage.map(|usage| usage.get().to_owned()).as_deref(), Some("{\"tokens\":3}"));
}
