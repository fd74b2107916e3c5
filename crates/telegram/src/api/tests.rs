//! Answers of the server and what they become, and each method against the fake.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::fake_api::{BOT, BOT_NAME, FakeApi, Fault, TOKEN};

const PERSON: i64 = 7;
const FORUM: i64 = -1_000_000_000_100;

async fn rig() -> (FakeApi, Bot) {
    let api = FakeApi::start().await;
    api.with(|world| {
        world.add_private(PERSON);
        world.add_forum(FORUM).members.insert(PERSON, "creator");
    });
    let bot = Bot::new(&format!("{}/", api.base()), TOKEN).expect("a bot");
    (api, bot)
}

fn refused(code: u16, description: &str) -> ApiError {
    let body = json!({ "ok": false, "error_code": code, "description": description });
    answer::<Value>(code, body.to_string().as_bytes()).expect_err("an error")
}

#[test]
fn a_429_says_how_long_to_wait() {
    let body = |parameters: &str| format!(r#"{{"ok":false,"error_code":429,"description":"x"{parameters}}}"#);
    let wait = |body: &str| match answer::<Value>(429, body.as_bytes()) {
        Err(ApiError::RateLimited { retry_after }) => retry_after.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&body(r#","parameters":{"retry_after":17}"#)), 17);
    assert_eq!(wait(&body("")), 5);
    assert_eq!(wait("<html>"), 5);
}

#[test]
fn ok_decides_also_where_there_is_no_result() {
    for body in [r#"{"ok":true,"result":null}"#, r#"{"ok":true}"#] {
        assert_eq!(answer::<Value>(200, body.as_bytes()), Ok(Value::Null), "{body}");
        assert_eq!(answer::<Option<Sent>>(200, body.as_bytes()), Ok(None), "{body}");
    }
    let refused = answer::<Value>(400, br#"{"ok":false,"result":null,"error_code":400,"description":"no"}"#);
    assert!(matches!(refused, Err(ApiError::Rejected { code: 400, .. })), "{refused:?}");
}

#[test]
fn a_beginning_has_no_more_characters_and_no_more_units_than_it_may() {
    for (text, units, expected) in [("abc", 2, "ab"), ("😀😀", 3, "😀"), ("😀", 1, ""), ("a😀", 3, "a😀"), ("", 0, "")]
    {
        assert_eq!(&text[..units_end(text, units)], expected, "{text} {units}");
    }
}

#[test]
fn a_5xx_is_unreachable_and_had_no_effect() {
    for (status, body) in [(502, "<html>"), (500, r#"{"ok":false,"error_code":500,"description":"Internal"}"#)] {
        let error = answer::<Value>(status, body.as_bytes()).expect_err("an error");
        assert!(matches!(error, ApiError::Unreachable { perhaps_done: false, .. }), "{error:?}");
    }
}

#[test]
fn a_gateway_that_waited_in_vain_leaves_open_whether_it_had_an_effect() {
    let error = answer::<Value>(504, b"<html>").expect_err("an error");
    assert!(matches!(error, ApiError::Unreachable { perhaps_done: true, .. }), "{error:?}");
}

#[test]
fn an_answer_that_is_not_understood_may_have_had_its_effect() {
    for body in ["<html>", r#"{"ok":true,"result":{"no":"id"}}"#, ""] {
        let error = answer::<Sent>(200, body.as_bytes()).expect_err("an error");
        assert!(matches!(error, ApiError::Unreachable { perhaps_done: true, .. }), "{error:?}");
    }
}

#[test]
fn refusals_are_told_apart() {
    type Check = fn(&ApiError) -> bool;
    let checks: [(&str, Check); 7] = [
        ("Bad Request: message is not modified: specified new message content", ApiError::is_not_modified),
        ("Bad Request: message to edit not found", ApiError::is_message_gone),
        ("Bad Request: message can't be deleted for everyone", ApiError::is_message_gone),
        ("Bad Request: message thread not found", ApiError::is_topic_gone),
        ("Bad Request: chat not found", ApiError::is_chat_gone),
        ("Bad Request: not enough rights to send text messages to the chat", ApiError::is_chat_gone),
        ("Bad Request: group chat was deactivated", |error| !error.is_message_gone()),
    ];
    for (description, check) in checks {
        assert!(check(&refused(400, description)), "{description}");
    }
    assert!(refused(403, "Forbidden: bot was blocked by the user").is_chat_gone());
    assert!(refused(401, "Unauthorized").is_unauthorized());
    assert!(refused(404, "Not Found").is_unauthorized(), "that is what a token of a wrong form gets");
    assert!(refused(409, "Conflict: terminated by other getUpdates request").is_conflict());
    assert!(!refused(400, "Bad Request: message is too long").is_chat_gone());
}

#[test]
fn a_group_that_moved_says_where() {
    let body = r#"{"ok":false,"error_code":400,"description":"x","parameters":{"migrate_to_chat_id":-1009}}"#;
    let error = answer::<Value>(400, body.as_bytes()).expect_err("an error");
    assert!(matches!(error, ApiError::Rejected { moved_to: Some(ChatId(-1009)), .. }), "{error:?}");
}

#[test]
fn a_token_has_a_form() {
    for token in ["", "123", ":x", "abc:def", "12:a b", "12:../x", "12:"] {
        assert_eq!(Bot::new("http://127.0.0.1:1", token).err(), Some(BadToken::Form), "{token}");
    }
}

#[tokio::test]
async fn the_token_is_in_no_error() {
    let (api, bot) = rig().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let unreachable = Bot::new(&nobody, TOKEN).unwrap().get_me().await.expect_err("nobody is there");
    let other = Bot::new(&api.base(), "99:wrong").unwrap().get_me().await.expect_err("a wrong token");
    assert!(other.is_unauthorized());
    api.fail_next("getMe", Fault::BeforeAnswer, 1);
    let broken = bot.get_me().await.expect_err("a broken connection");
    assert!(matches!(broken, ApiError::Unreachable { perhaps_done: true, .. }), "{broken:?}");
    let file = bot.download("missing/file", 10).await.expect_err("no such file");
    for error in [&unreachable, &other, &broken, &file] {
        let shown = format!("{error} {error:?} {bot:?}");
        assert!(!shown.contains("fake-token") && !shown.contains("wrong"), "{shown}");
    }
    assert!(matches!(unreachable, ApiError::Unreachable { perhaps_done: false, .. }), "{unreachable:?}");
}

#[tokio::test]
async fn updates_come_once_they_are_there_and_go_when_they_were_taken() {
    let (api, bot) = rig().await;
    let poll = tokio::spawn({
        let bot = bot.clone();
        async move { bot.get_updates(None, Duration::from_secs(20)).await }
    });
    api.wait("the poll", |world| (world.current_poll() == 1).then_some(())).await;
    let id = api.say(PERSON, PERSON, "hello");
    let updates = poll.await.unwrap().unwrap();
    let Content::Message(message) = &updates[0].content else { panic!("{updates:?}") };
    assert_eq!((message.message_id, message.words()), (MessageId(id), Some("hello")));
    assert!(message.chat.is_private());
    let next = UpdateId(updates[0].update_id.0 + 1);
    assert_eq!(bot.get_updates(Some(next), Duration::ZERO).await.unwrap(), []);
}

#[tokio::test]
async fn an_update_that_cannot_be_read_does_not_hide_the_others() {
    let (api, bot) = rig().await;
    api.with(|world| world.push_update(json!({ "message": { "strange": true } })));
    api.with(|world| world.push_update(json!({ "poll": {} })));
    api.say(PERSON, PERSON, "hello");
    let updates = bot.get_updates(None, Duration::ZERO).await.unwrap();
    assert_eq!(updates.len(), 3);
    assert_eq!(updates[0].content, Content::Other);
    assert!(matches!(updates[2].content, Content::Message(_)));
}

#[tokio::test]
async fn two_who_poll_get_a_conflict() {
    let (api, bot) = rig().await;
    let first = tokio::spawn({
        let bot = bot.clone();
        async move { bot.get_updates(None, Duration::from_secs(20)).await }
    });
    api.wait("the poll", |world| (world.current_poll() == 1).then_some(())).await;
    bot.get_updates(None, Duration::ZERO).await.unwrap();
    assert!(first.await.unwrap().expect_err("a conflict").is_conflict());
}

#[tokio::test]
async fn messages_carry_entities_without_parse_mode_and_no_preview() {
    let (api, bot) = rig().await;
    let asked = api.say(PERSON, PERSON, "x");
    let rendered = crate::text::render("**bold** https://x.y");
    let keyboard = Keyboard::row([Button::new("cancel", "c:1")]);
    let to = Address { chat: ChatId(PERSON), topic: None, reply_to: Some(MessageId(asked)), silent: true };
    let message = MessageText { text: &rendered.text, entities: &rendered.entities, keyboard: &keyboard };
    let sent = bot.send_message(to, message).await.unwrap().expect("its number");
    let body = api.calls("sendMessage").remove(0).body;
    assert_eq!(body["link_preview_options"]["is_disabled"], true);
    assert_eq!(body["reply_to_message_id"], asked);
    assert_eq!(body["entities"], json!([{ "type": "bold", "offset": 0, "length": 4 }]));
    assert_eq!(body.get("parse_mode"), None);
    let none = Keyboard::none();
    let edit = |text: &'static str| {
        bot.edit_message_text(ChatId(PERSON), sent.message_id, MessageText { text, entities: &[], keyboard: &none })
    };
    edit("new").await.unwrap();
    let shown = api.shown(PERSON).remove(0);
    assert_eq!((shown.text.as_str(), shown.buttons().len()), ("new", 0), "an edit without buttons takes them away");
    assert!(edit("new").await.expect_err("the same").is_not_modified());
    bot.delete_message(ChatId(PERSON), sent.message_id).await.unwrap();
    assert!(edit("x").await.expect_err("gone").is_message_gone());
}

#[tokio::test]
async fn the_other_methods_do_what_they_say() {
    let (api, bot) = rig().await;
    let me = bot.get_me().await.unwrap();
    assert_eq!((me.id, me.username.as_str()), (UserId(BOT), BOT_NAME));
    let forum = bot.get_chat(ChatId(FORUM)).await.unwrap();
    assert!(forum.is_forum && !forum.is_private());
    assert!(bot.get_chat(ChatId(1)).await.expect_err("no such chat").is_chat_gone());
    assert!(bot.get_chat_member(ChatId(FORUM), UserId(PERSON)).await.unwrap().is_admin());
    assert!(!bot.get_chat_member(ChatId(FORUM), UserId(9)).await.unwrap().is_admin());
    let topic = bot.create_forum_topic(ChatId(FORUM), "repo @main").await.unwrap().message_thread_id;
    bot.edit_forum_topic(ChatId(FORUM), topic, "repo @dev").await.unwrap();
    let command = BotCommand { command: "cancel".into(), description: "cancel run".into() };
    bot.set_my_commands(&[command]).await.unwrap();
    assert_eq!(api.with(|world| world.commands.len()), 1);
    let query = api.press(PERSON, 1, PERSON, "c:1");
    bot.answer_callback_query(&query, Some(&"x".repeat(500))).await.unwrap();
    assert_eq!(api.with(|world| world.callbacks[&query].clone()), Some(json!("x".repeat(200))));
}

#[tokio::test]
async fn the_general_topic_is_not_named_when_sending() {
    let (api, bot) = rig().await;
    let to = Address { chat: ChatId(FORUM), topic: Some(TopicId(1)), reply_to: None, silent: false };
    let message = MessageText { text: "hello", entities: &[], keyboard: &Keyboard::none() };
    bot.send_message(to, message).await.unwrap();
    assert_eq!(api.calls("sendMessage").remove(0).body.get("message_thread_id"), None);
}

#[tokio::test]
async fn files_go_both_ways_within_their_limits() {
    let (api, bot) = rig().await;
    api.with(|world| world.add_file("f1", "voice/note.ogg", b"sound"));
    let path = bot.get_file("f1").await.unwrap().file_path.unwrap();
    assert_eq!(bot.download(&path, 5).await.unwrap(), b"sound");
    assert!(matches!(bot.download(&path, 4).await, Err(ApiError::Rejected { code: 413, .. })));
    assert!(bot.download("../etc/passwd", 4).await.is_err());
    assert!(bot.get_file("f2").await.is_err());
    let document = Document {
        chat: ChatId(PERSON),
        topic: None,
        reply_to: Some(MessageId(999)),
        name: "a.txt",
        content: b"text".to_vec(),
        caption: Some("here"),
    };
    bot.send_document(document).await.unwrap();
    assert_eq!(api.with(|world| world.documents.clone()), [(PERSON, "a.txt".to_owned(), "text".to_owned())]);
}

#[test]
fn in_a_topic_the_message_that_opened_it_is_not_what_was_replied_to() {
    let message = |reply: Value| -> Message {
        let value = json!({
            "message_id": 9, "chat": { "id": FORUM }, "message_thread_id": 5, "is_topic_message": true,
            "reply_to_message": reply,
        });
        serde_json::from_value(value).unwrap()
    };
    let target =
        |id: i64, extra: Value| json!({ "message_id": id, "chat": { "id": FORUM }, "forum_topic_created": extra });
    assert!(message(target(5, Value::Null)).replied_to().is_none());
    assert!(message(target(6, json!({ "name": "x" }))).replied_to().is_none());
    assert!(message(target(6, Value::Null)).replied_to().is_some());
}

proptest! {
    #[test]
    fn no_answer_makes_the_client_panic(status in 100..600_u16, body in ".{0,200}") {
        let _ = answer::<Sent>(status, body.as_bytes());
        let framed = format!(r#"{{"ok":true,"result":[{{"update_id":1,"message":{body:?}}}]}}"#);
        let _ = answer::<Vec<Update>>(status, framed.as_bytes());
    }
}
