//! What may come in: every method with good and bad arguments, and anything at all.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::door::{Ask, Session, Step};
use crate::query::{History, Query};
use crate::snek::mapping::{self, Request, request};
use crate::snek::session::SnekSession;
use folkmoot_core::command::{Command, Send, Stage};
use folkmoot_core::ids::*;
use folkmoot_core::model::ContentType;

/// The methods of the document and those that real servers have besides.
const METHODS: &[&str] = &[
    "login",
    "get_user",
    "get_channels",
    "send_message",
    "set_typing",
    "ping",
    "echo",
    "get_messages",
    "get_users",
    "get_online_users",
    "search_user",
    "create_channel",
    "update_channel",
    "delete_channel",
    "invite_user",
    "mark_as_read",
    "update_message_text",
];

fn query(call: &Value) -> Query {
    match request(&call.to_string()) {
        Ok((Request::Ask(Ask::Query(query)), _)) => query,
        other => panic!("{call} → {other:?}"),
    }
}

fn command(call: &Value) -> Command {
    match request(&call.to_string()) {
        Ok((Request::Ask(Ask::Do { command, on_behalf: None }), _)) => *command,
        other => panic!("{call} → {other:?}"),
    }
}

fn send(call: &Value) -> Send {
    match command(call) {
        Command::Send(send) => send,
        other => panic!("{call} → {other:?}"),
    }
}

#[test]
fn a_message_is_markdown_and_final_unless_told_otherwise() {
    let channel = ChannelId(7);
    let whole = send(&json!({ "method": "send_message", "args": [channel, "hi"], "callId": "1" }));
    assert_eq!((whole.channel, &*whole.content, whole.stage), (channel, "hi", Stage::Final));
    assert_eq!((whole.content_type, whole.key), (ContentType::Markdown, None));
    let partial = send(&json!({ "method": "send_message", "args": [channel, "hi", false] }));
    assert_eq!(partial.stage, Stage::Partial);
}

#[test]
fn a_call_id_that_is_a_uuid_makes_a_final_send_repeatable() {
    let uuid = "550E8400-e29b-41d4-a716-446655440000";
    let call = |id: Value, last: bool| json!({ "method": "send_message", "args": ["ch", "hi", last], "callId": id });
    assert_eq!(send(&call(json!(uuid), true)).key.as_deref(), Some("550e8400-e29b-41d4-a716-446655440000"));
    assert_eq!(send(&call(json!(uuid), false)).key, None, "a partial text is not stored");
    for id in [json!("a1b2c3d4e5f6a7b8"), json!(1), json!([uuid]), Value::Null] {
        assert_eq!(send(&call(id, true)).key, None);
    }
}

#[test]
fn every_name_that_clients_use_for_an_argument_is_known() {
    for text in ["message_text", "message", "text"] {
        let call =
            json!({ "method": "send_message", "kwargs": { "channel_uid": "ch", text: "hi", "is_final": false } });
        assert_eq!((&*send(&call).content, send(&call).stage), ("hi", Stage::Partial));
    }
    for color in ["html_color_code", "color"] {
        let call = json!({ "method": "set_typing", "args": ["ch"], "kwargs": { color: "#123456" } });
        assert!(
            matches!(command(&call), Command::Typing { color: Some(color), on: true, .. } if color.as_str() == "#123456")
        );
    }
}

#[test]
fn a_page_of_history_is_bounded() {
    let channel = ChannelId(7);
    let page = |args: Value| match query(&json!({ "method": "get_messages", "args": args })) {
        Query::History(History { before, offset, limit, .. }) => (before, offset, limit),
        other => panic!("{other:?}"),
    };
    assert_eq!(page(json!([channel])), (None, 0, 50));
    assert_eq!(page(json!([channel, 30, 1000, 1])), (Some(1000), 30, 1));
    assert_eq!(page(json!([channel, null, "1970-01-01T00:00:01Z", 9999])), (Some(1000), 0, 200));
    assert_eq!(page(json!([channel, 0, null, 0])), (None, 0, 1));
}

#[test]
fn every_other_method_asks_for_what_its_name_says() {
    let channel = ChannelId(7);
    assert_eq!(query(&json!({ "method": "get_user", "args": [null] })), Query::Member(None));
    assert_eq!(query(&json!({ "method": "get_user", "args": ["x"] })), Query::Member(Some("x".to_owned())));
    assert_eq!(query(&json!({ "method": "get_channels" })), Query::Channels);
    let people = |online| Query::People { channel, online };
    assert_eq!(query(&json!({ "method": "get_users", "args": [channel] })), people(false));
    assert_eq!(query(&json!({ "method": "get_online_users", "args": [channel] })), people(true));
    assert_eq!(query(&json!({ "method": "search_user", "args": ["a"] })), Query::Search("a".to_owned()));
    let shown = |method: &str, args: Value| format!("{:?}", command(&json!({ "method": method, "args": args })));
    assert!(shown("create_channel", json!(["a", "b", true])).contains("kind: Private, topic: \"b\""));
    assert!(shown("update_channel", json!([channel, null, "b"])).contains("name: None, topic: Some(\"b\")"));
    assert!(shown("delete_channel", json!([channel])).starts_with("DeleteChannel"));
    assert!(shown("invite_user", json!([channel, "bob"])).contains("who: \"bob\""));
    assert!(shown("mark_as_read", json!([channel])).starts_with("MarkRead"));
    assert!(shown("update_message_text", json!([MessageId(1), "b"])).starts_with("EditMessage"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!(ChannelId(7))),
        Just(json!("#12aBcD")),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map("[a-z_]{0,10}", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A call of a known method with any arguments.
fn any_call() -> impl Strategy<Value = Value> {
    let method = prop_oneof![9 => proptest::sample::select(METHODS).prop_map(Value::from), 1 => any_json()];
    let args = prop_oneof![4 => proptest::collection::vec(any_json(), 0..5).prop_map(Value::from), 1 => any_json()];
    (method, args, any_json(), any_json()).prop_map(
        |(method, args, kwargs, id)| json!({ "method": method, "args": args, "kwargs": kwargs, "callId": id }),
    )
}

fn session(is_member: bool) -> SnekSession {
    let mut session = SnekSession::new(0);
    if is_member {
        session.on_text(r#"{"method":"login","args":["a","b"]}"#, 0);
        assert!(session.on_login(Ok(MemberId(7)), 0).is_empty());
    }
    session
}

proptest! {
    #![proptest_config(crate::testing::cases(1024))]

    #[test]
    fn no_text_does_harm(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = request(&text);
        let _ = request(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn every_call_leads_to_exactly_one_step_that_knows_its_id(call in any_call(), is_member: bool) {
        let steps = session(is_member).on_text(&call.to_string(), 0);
        prop_assert_eq!(steps.len(), 1);
        match &steps[0] {
            Step::Send(text) => {
                let answer: Value = serde_json::from_str(text).unwrap();
                let id = &call["callId"];
                prop_assert!(text.starts_with(&format!("{{\"callId\":{id},")), "{} for {}", text, id);
                prop_assert!(answer["success"].is_boolean() && answer.get("data").is_some());
            }
            Step::Ask(_, ticket) => {
                let given = (!call["callId"].is_null()).then(|| call["callId"].to_string());
                prop_assert_eq!(&ticket.id, &given);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn before_the_login_nothing_but_a_login_is_asked_of_the_hub(call in any_call()) {
        let steps = session(false).on_text(&call.to_string(), 0);
        if let Step::Ask(ask, _) = &steps[0] {
            prop_assert!(matches!(ask, Ask::Prove { .. }), "{:?}", ask);
        }
    }

    #[test]
    fn a_cut_off_call_is_answered_without_an_id(call in any_call(), at: proptest::sample::Index) {
        let text = call.to_string();
        let cut: String = text.chars().take(at.index(text.chars().count())).collect();
        let (refusal, ticket) = request(&cut).unwrap_err();
        prop_assert_eq!(&ticket.id, &None);
        serde_json::from_str::<Value>(&mapping::failure(&ticket, &refusal)).unwrap();
    }
}
