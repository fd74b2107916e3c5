//! Snek, sections 3 and 5, and the calls that real servers have besides.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::snek::refusal;
use crate::support::{column, eventually, items, number, start, text};

#[tokio::test]
async fn a_call_id_comes_back_with_its_json_type() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    for id in [json!("a1b2"), json!(7), json!(1.5), json!(true), json!({ "a": [1, null] }), json!([]), json!("ü\n\"")]
    {
        snek.send_as(&id, "ping", json!([])).await;
        let answer = snek.answer_to(&id, "ping").await;
        assert_eq!((&answer["success"], &answer["data"]), (&json!(true), &json!({ "pong": [] })));
    }
    // What is too large for a number of ours is not ours to change.
    snek.send_text(r#"{"method":"ping","callId":123456789012345678901234567890}"#).await;
    let answer = snek.find("a large id", |frame| frame["callId"].is_number()).await;
    assert_eq!(answer["success"], true);
    snek.send_text(r#"{"method":"ping","callId":null}"#).await;
    let answer = snek.find("null", |frame| frame.get("callId") == Some(&Value::Null)).await;
    assert_eq!(answer["success"], true);
}

#[tokio::test]
async fn missing_and_null_arguments_count_as_none() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    for (id, call) in [
        r#"{"method":"get_user","callId":0}"#,
        r#"{"method":"get_user","args":null,"kwargs":null,"callId":1}"#,
        r#"{"method":"get_user","args":[],"callId":2}"#,
        r#"{"method":"get_user","args":[null],"kwargs":{},"callId":3}"#,
    ]
    .into_iter()
    .enumerate()
    {
        snek.send_text(call).await;
        assert_eq!(snek.answer_to(&json!(id), call).await["data"]["username"], "alice");
    }
}

#[tokio::test]
async fn unknown_private_and_ill_typed_calls_are_refused_in_words() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    for (method, args, expected) in [
        ("launch", json!([]), "there is no method `launch`"),
        ("_secret", json!([]), "private"),
        ("send_message", json!([]), "`send_message` needs `channel_uid`"),
        ("send_message", json!([channel]), "`send_message` needs `message_text`"),
        ("send_message", json!([7, "hi"]), "`channel_uid` of `send_message` must be a string"),
        ("send_message", json!([channel, ["hi"]]), "`message_text` of `send_message` must be a string"),
        ("send_message", json!([channel, "hi", "yes"]), "`is_final` of `send_message` must be true or false"),
        ("send_message", json!([channel, "hi", true, 1]), "takes at most 3 arguments"),
        ("send_message", json!([channel, "  "]), "content is required"),
        ("send_message", json!([channel, "x".repeat(10_001)]), "content too long"),
        ("get_messages", json!([channel, -1]), "must be a whole number"),
        ("get_messages", json!([channel, 0, "yesterday"]), "must be a moment"),
        ("get_user", json!([7]), "must be a string"),
        ("get_user", json!(["nobody"]), "member not found"),
        ("get_channels", json!([1]), "takes at most 0 arguments"),
        ("get_user", json!({ "a": 1 }), "`args` must be an array"),
    ] {
        let said = snek.refused(method, args.clone()).await;
        assert!(said.contains(expected), "{method} {args} → {said}");
    }
    for (call, expected) in [
        (r#"{"callId":1}"#, "a call needs a `method`"),
        (r#"{"method":7,"callId":1}"#, "`method` must be a string"),
        (r#"{"method":"ping","args":"x","callId":1}"#, "`args` must be an array"),
        (r#"{"method":"get_user","kwargs":[1],"callId":1}"#, "`kwargs` must be an object"),
        (r#"{"method":"get_user","kwargs":{"who":"x"},"callId":1}"#, "`get_user` has no argument `who`"),
        (r#"{"method":"get_user","args":["x"],"kwargs":{"user_uid":"y"},"callId":1}"#, "got `user_uid` twice"),
    ] {
        snek.send_text(call).await;
        let answer = snek.answer_to(&json!(1), call).await;
        assert!(refusal(&answer, call).contains(expected), "{answer}");
    }
    assert!(alice.texts(&channel).await.is_empty(), "nothing was changed");
}

#[tokio::test]
async fn what_is_no_call_is_answered_and_the_socket_stays() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    for nonsense in ["", "nonsense", "[]", "[\"ping\"]", "7", "null", "{\"method\":\"ping\"", "{\"a\":}"] {
        snek.send_text(nonsense).await;
        let answer = snek.next().await;
        refusal(&answer, nonsense);
        assert!(answer["callId"].is_null(), "{answer}");
    }
    snek.send_message(Message::binary(vec![1, 2, 3])).await;
    refusal(&snek.next().await, "a binary frame");
    snek.call("ping", json!([])).await;
}

#[tokio::test]
async fn a_frame_beyond_the_limit_closes_the_connection() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    let padding = "x".repeat(262_144 - r#"{"method":"echo","args":[""],"callId":1}"#.len());
    snek.send_text(format!(r#"{{"method":"echo","args":["{padding}"],"callId":1}}"#)).await;
    assert_eq!(snek.answer_to(&json!(1), "the largest frame").await["success"], true);
    snek.send_text(format!(r#"{{"method":"echo","args":["{padding}x"],"callId":2}}"#)).await;
    assert_eq!(snek.closed().await, Some(1009));
}

#[tokio::test]
async fn calls_run_at_once_and_each_is_answered_exactly_once() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    let calls = [
        ("ping", json!([])),
        ("get_messages", json!([channel])),
        ("send_message", json!([channel, "hi", true])),
        ("get_channels", json!([])),
        ("nonsense", json!([])),
    ];
    for id in 0..200 {
        let (method, args) = &calls[id % calls.len()];
        snek.send_as(&json!(id), method, args.clone()).await;
    }
    let mut answered = BTreeSet::new();
    while answered.len() < 200 {
        let frame = snek.next().await;
        if let Some(id) = frame["callId"].as_i64() {
            assert!(answered.insert(id), "{id} was answered twice");
        }
    }
    snek.call("ping", json!([])).await;
    assert_eq!(snek.kept_where(|frame| frame.get("callId").is_some()).count(), 0, "more answers than calls");
}

#[tokio::test]
async fn a_fast_call_does_not_wait_for_a_slow_one() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    // A send waits for the disk; a ping that comes behind it does not. The disk may be done before the ping is even sent, so
    // a single round proves nothing; if pings waited, they would lose every one.
    for _ in 0..50 {
        let slow = snek.send("send_message", json!([channel, "to disk", true])).await;
        let fast = snek.send("ping", json!([])).await;
        let first = snek.find("an answer", |frame| frame.get("callId").is_some()).await;
        let overtaken = first["callId"] == fast.as_str();
        let other = if overtaken { slow } else { fast };
        snek.answer_to(&json!(other), "the other call").await;
        if overtaken {
            return;
        }
    }
    panic!("a ping never overtook a send");
}

#[tokio::test]
async fn sends_of_one_socket_keep_their_order() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    for number in 0..100 {
        snek.send("send_message", json!([channel, format!("{number}"), true])).await;
    }
    for number in 0..100 {
        assert_eq!(snek.expect("message").await["message"], number.to_string());
    }
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(alice.texts(&channel).await, expected);
}

#[tokio::test]
async fn get_user_shows_oneself_and_others_without_their_email() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    alice.rest.patch(&alice.path(&format!("members/{}", bob.id)), json!({ "nick": "Bobby" })).await.ok();
    let mut snek = alice.snek().await;
    let own = snek.call("get_user", json!([null])).await;
    assert_eq!((text(&own, "username"), text(&own, "email")), ("alice", "alice@example.org"));
    for who in [&*bob.id, "bob", "BOB"] {
        let other = snek.call("get_user", json!([who])).await;
        assert_eq!((text(&other, "uid"), text(&other, "nick")), (&*bob.id, "Bobby"));
        assert!(other.get("email").is_none(), "{other}");
        assert_eq!(other["color"].as_str().map(str::len), Some(7));
    }
}

#[tokio::test]
async fn get_channels_lists_what_one_is_in_with_uid_name_and_tag() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let carol = alice.add_human("carol").await;
    let general = alice.add_channel("general", &[&bot]).await;
    let back = alice.add_private("back", &[&bot]).await;
    let dm = alice.direct(&[&bot]).await;
    let group = alice.direct(&[&bot, &carol]).await;
    alice.add_channel("elsewhere", &[]).await;
    alice.post(&general, "unread").await;
    let mut snek = bot.snek().await;
    let channels = snek.call("get_channels", json!([])).await;
    let mut seen: Vec<_> =
        items(&channels).iter().map(|it| (text(it, "uid"), text(it, "name"), text(it, "tag"))).collect();
    seen.sort_unstable();
    let mut expected = vec![
        (&*general, "general", "public"),
        (&*back, "back", "private"),
        (&*dm, "alice", "dm"),
        (&*group, "alice, carol", "group"),
    ];
    expected.sort_unstable();
    assert_eq!(seen, expected);
    let open = items(&channels).iter().find(|it| it["uid"] == general.as_str()).unwrap();
    assert_eq!(
        (number(open, "new_count"), &open["is_moderator"], &open["is_read_only"]),
        (1, &json!(false), &json!(false))
    );
    for uid in column(&channels, "uid") {
        assert!(uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{uid}");
    }
}

#[tokio::test]
async fn get_messages_pages_back_and_lists_the_oldest_first() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    for number in 0..60 {
        snek.say(&channel, &format!("{number}")).await;
    }
    let texts = |page: &Value| -> Vec<String> { column(page, "message").into_iter().map(str::to_owned).collect() };
    let range = |from: usize, to: usize| -> Vec<String> { (from..to).map(|number| number.to_string()).collect() };
    assert_eq!(texts(&snek.call("get_messages", json!([channel])).await), range(10, 60));
    assert_eq!(texts(&snek.call("get_messages", json!([channel, 50])).await), range(0, 10));
    assert_eq!(texts(&snek.call("get_messages", json!([channel, 2, null, 3])).await), range(55, 58));
    let all = snek.call("get_messages", json!([channel, 0, null, 200])).await;
    let moment = &items(&all)[30]["created_at"];
    let before = snek.call("get_messages", json!([channel, 0, moment, 200])).await;
    let earlier = items(&all).iter().filter(|message| message["created_at"].as_str() < moment.as_str()).count();
    assert_eq!(texts(&before), range(0, earlier));
    let one = &items(&all)[0];
    for key in ["message", "username", "user_nick", "channel_uid", "uid", "user_uid", "created_at", "updated_at"] {
        assert!(one[key].is_string(), "{key} in {one}");
    }
    assert_eq!(one["is_final"], true);
}

#[tokio::test]
async fn users_of_a_channel_those_online_and_those_whose_name_fits() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let channel = alice.add_channel("general", &[&bob]).await;
    let mut snek = alice.snek().await;
    let users = snek.call("get_users", json!([channel])).await;
    assert_eq!(column(&users, "username"), ["alice", "bob"]);
    let online = snek.call("get_online_users", json!([channel])).await;
    assert_eq!(column(&online, "username"), ["alice"]);
    let _lark = bob.lark().await;
    let online = snek.call("get_online_users", json!([channel])).await;
    assert_eq!(column(&online, "username"), ["alice", "bob"]);
    assert_eq!(snek.call("search_user", json!(["AR"])).await, json!([carol.name]));
    assert_eq!(snek.call("search_user", json!(["nobody"])).await, json!([]));
}

#[tokio::test]
async fn channels_are_made_changed_and_deleted_by_those_who_may() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut owner = alice.snek().await;
    let mut other = bob.snek().await;
    let made = other.call("create_channel", json!(["plans", "what we do", true])).await;
    assert_eq!((&made["success"], text(&made, "name"), text(&made, "tag")), (&json!(true), "plans", "private"));
    let uid = text(&made, "uid");
    assert_eq!(owner.refused("get_messages", json!([uid])).await, "channel not found");
    assert_eq!(owner.refused("send_message", json!([uid, "hi"])).await, "not a channel member");
    assert_eq!(owner.refused("invite_user", json!([uid, "alice"])).await, "channel not found");
    assert_eq!(other.call("invite_user", json!([uid, "alice"])).await["success"], true);
    assert_eq!(owner.expect("join").await, json!({ "event": "join", "data": { "channel_uid": uid } }));
    owner.say(uid, "thanks").await;
    let renamed = other.call("update_channel", json!([uid, "ideas", "new"])).await;
    assert_eq!((&renamed["success"], text(&renamed, "name")), (&json!(true), "ideas"));
    assert_eq!(other.refused("create_channel", json!(["IDEAS"])).await, "a channel named `ideas` exists");
    let open = owner.call("create_channel", json!(["open"])).await;
    assert_eq!(open["tag"], "public");
    let closed = owner.call("update_channel", json!([open["uid"], null, null, true])).await;
    assert_eq!((text(&closed, "name"), text(&closed, "tag")), ("open", "private"));
    assert_eq!(other.refused("get_messages", json!([open["uid"]])).await, "channel not found");
    let refused = owner.refused("update_channel", json!([open["uid"], null, null, "yes"])).await;
    assert_eq!(refused, "`is_private` of `update_channel` must be true or false");
    let by_name = json!({ "channel_uid": open["uid"], "is_private": false });
    owner.send_text(json!({ "method": "update_channel", "kwargs": by_name, "callId": 7 }).to_string()).await;
    assert_eq!(owner.answer_to(&json!(7), "update_channel by name").await["data"]["tag"], "public");
    assert_eq!(other.call("get_messages", json!([open["uid"]])).await, json!([]));
    let refused = other.refused("delete_channel", json!([open["uid"]])).await;
    assert!(refused.contains("admin"), "{refused}");
    assert_eq!(other.call("delete_channel", json!([uid])).await, json!({ "success": true }));
    assert_eq!(owner.expect("leave").await, json!({ "event": "leave", "data": { "channel_uid": uid } }));
}

#[tokio::test]
async fn mark_as_read_empties_the_count_of_new_messages() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    alice.post(&channel, "one").await;
    let mut snek = bob.snek().await;
    assert_eq!(number(&items(&snek.call("get_channels", json!([])).await)[0], "new_count"), 1);
    assert_eq!(snek.call("mark_as_read", json!([channel])).await, true);
    assert_eq!(number(&items(&snek.call("get_channels", json!([])).await)[0], "new_count"), 0);
}

#[tokio::test]
async fn update_message_text_changes_ones_own_message_only() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    let (mut one, mut two) = (alice.snek().await, bob.snek().await);
    let uid = one.say(&channel, "helo").await;
    assert_eq!(two.refused("update_message_text", json!([uid, "mine"])).await, "not message author");
    assert_eq!(one.call("update_message_text", json!([uid, "hello"])).await["uid"], uid.as_str());
    assert_eq!(two.hears("hello").await["uid"], uid.as_str());
    assert_eq!(alice.texts(&channel).await, ["hello"]);
}

#[tokio::test]
async fn echo_gives_back_what_it_got() {
    let (_hub, alice) = start().await;
    let mut snek = alice.snek().await;
    let args = json!([1, "two", { "three": [null, 1e300] }]);
    assert_eq!(snek.call("echo", args.clone()).await, args);
    assert_eq!(snek.call("ping", json!(["x"])).await, json!({ "pong": ["x"] }));
}

#[tokio::test]
async fn a_send_that_is_repeated_under_its_uuid_is_stored_once() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    let id = json!(uuid::Uuid::new_v4().to_string());
    let mut uids = BTreeSet::new();
    for _ in 0..2 {
        snek.send_as(&id, "send_message", json!([channel, "once", true])).await;
        uids.insert(snek.answer_to(&id, "send_message").await["data"]["uid"].to_string());
    }
    assert_eq!((uids.len(), alice.texts(&channel).await.len()), (1, 1));
}

#[tokio::test]
async fn several_sockets_of_one_user_all_hear_everything_agents_included() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    let (mut first, mut second) = (bot.snek().await, bot.snek().await);
    alice.post(&channel, "to both").await;
    first.hears("to both").await;
    second.hears("to both").await;
    first.close().await;
    eventually("the other one is still there", async || {
        let agents = alice.rest.get(&alice.path("agents")).await.ok();
        (items(&agents)[0]["online"] == true).then_some(())
    })
    .await;
    second.say(&channel, "still here").await;
}
