//! `message.send`, `message.ack`, `message.new`, `message.edit`, `message.delete`.

use serde_json::json;

use crate::support::{items, number, register, start, text};

#[tokio::test]
async fn a_send_is_acknowledged_with_the_new_message_id() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let data = json!({ "channel_id": general, "content": "Hello, world!" });
    let ack = lark.asks("message.send", data, "message.ack").await;
    assert_eq!(ack["message_id"], ack["id"], "both names of the id");
    let history = alice.history(&general).await;
    assert_eq!(items(&history).len(), 1);
    assert_eq!(history[0]["id"], ack["message_id"]);
    assert_eq!(history[0]["content"], "Hello, world!");
    assert_eq!(history[0]["sender_id"], alice.id.as_str());
}

#[tokio::test]
async fn a_send_reaches_every_subscriber_the_sender_included() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let mut sender = alice.lark().await;
    let mut human = bob.lark().await;
    let mut agent = codebot.lark_agent().await;
    let id = sender.say(&general, "Hello").await;
    for lark in [&mut sender, &mut human, &mut agent] {
        let new = lark.expect("message.new").await;
        assert_eq!(new["id"], id.as_str());
        assert_eq!(new["content"], "Hello");
    }
}

#[tokio::test]
async fn the_sender_sees_the_message_before_its_acknowledgement() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let data = json!({ "channel_id": general, "content": "order" });
    lark.send("message.send", data).await;
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let frame = lark.next().await;
        let kind = text(&frame, "type").to_owned();
        if kind.starts_with("message.") {
            kinds.push(kind);
        }
    }
    assert_eq!(kinds, ["message.new", "message.ack"]);
}

#[tokio::test]
async fn message_new_has_the_fields_at_the_top_and_under_message() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let id = lark.say(&general, "fields").await;
    let new = lark.expect("message.new").await;
    let message = new["message"].as_object().expect("`message`");
    for (key, value) in message {
        assert_eq!(&new[key], value, "`{key}` differs in {new}");
    }
    assert_eq!(new["id"], id.as_str());
    assert_eq!(new["channel_id"], general.as_str());
    assert_eq!(new["sender_id"], alice.id.as_str());
    assert_eq!(new["sender_name"], "alice");
    assert_eq!(new["content"], "fields");
    assert_eq!(new["content_type"], "text");
    assert!(new["type"].is_string(), "{new}");
    assert!(number(&new, "seq") >= 1);
    assert!(number(&new, "created_at") > 1_700_000_000_000, "milliseconds");
    assert!(number(&new, "updated_at") >= number(&new, "created_at"));
}

#[tokio::test]
async fn content_type_and_metadata_are_kept() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let metadata = json!({ "ticket": 42, "tags": ["a", "ä"], "nested": { "deep": null } });
    let data = json!({
        "channel_id": general, "content": "**bold**", "content_type": "markdown", "type": "user",
        "thread_id": "", "metadata": metadata,
    });
    lark.asks("message.send", data, "message.ack").await;
    let new = lark.expect("message.new").await;
    let stored = alice.history(&general).await[0].clone();
    for message in [&new, &stored] {
        assert_eq!(message["content_type"], "markdown");
        assert_eq!(message["type"], "user");
        assert_eq!(message["metadata"], metadata);
        let thread = message["thread_id"].as_str().unwrap_or_default();
        assert_eq!(thread, "", "an empty thread_id is no thread");
    }
}

#[tokio::test]
async fn text_comes_back_exactly_as_it_was_sent() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let content = "  <script>\"quotes\" \\ ünï 👩‍🚀 \u{202e}\r\n\ttab \u{0001} end  ";
    lark.say(&general, content).await;
    assert_eq!(lark.expect("message.new").await["content"], content);
    assert_eq!(alice.texts(&general).await, [content]);
}

#[tokio::test]
async fn messages_of_a_channel_are_numbered_without_gaps() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut first = alice.lark().await;
    let mut second = bob.lark().await;
    let mut numbers = Vec::new();
    for round in 0..4 {
        first.say(&general, &format!("a{round}")).await;
        numbers.push(number(&first.expect("message.new").await, "seq"));
        second.say(&general, &format!("b{round}")).await;
        numbers.push(number(&first.expect("message.new").await, "seq"));
    }
    let expected: Vec<i64> = (numbers[0]..).take(8).collect();
    assert_eq!(numbers, expected);
}

#[tokio::test]
async fn ids_are_plain_and_sort_by_creation() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let mut ids = Vec::new();
    for round in 0..20 {
        ids.push(lark.say(&general, &format!("{round}")).await);
    }
    for id in ids.iter().chain([&alice.id, &alice.workspace, &general]) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        assert!(!id.is_empty() && id.chars().all(plain), "{id}");
    }
    assert!(ids[0].starts_with("msg_") && general.starts_with("ch_"), "{ids:?}");
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test]
async fn a_spoofed_sender_is_ignored() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut lark = bob.lark().await;
    let data = json!({
        "channel_id": general, "content": "I am alice", "sender_id": alice.id,
        "sender_name": "alice", "member_id": alice.id,
    });
    lark.asks("message.send", data, "message.ack").await;
    let new = lark.expect("message.new").await;
    assert_eq!(new["sender_id"], bob.id.as_str());
    assert_eq!(new["sender_name"], "bob");
}

#[tokio::test]
async fn empty_content_is_refused() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for content in ["", "   ", "\n\t"] {
        let data = json!({ "channel_id": general, "content": content });
        assert_eq!(lark.refused("message.send", data).await, "content is required");
    }
    assert!(alice.texts(&general).await.is_empty());
}

#[tokio::test]
async fn a_send_to_a_channel_one_is_not_in_is_refused_and_unseen() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let mallory = register(&hub, "mallory").await;
    for intruder in [&bob, &mallory] {
        let mut lark = intruder.lark().await;
        let data = json!({ "channel_id": secret, "content": "let me in" });
        assert_eq!(lark.refused("message.send", data).await, "not a channel member");
    }
    assert!(alice.texts(&secret).await.is_empty());
}

#[tokio::test]
async fn an_edit_is_broadcast_with_the_full_message() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut author = alice.lark().await;
    let mut reader = bob.lark().await;
    let id = author.say(&general, "frist").await;
    let data = json!({ "message_id": id, "content": "first" });
    author.send("message.edit", data).await;
    for lark in [&mut author, &mut reader] {
        let edit = lark.expect("message.edit").await;
        assert_eq!(edit["id"], id.as_str());
        assert_eq!(edit["channel_id"], general.as_str());
        assert_eq!(edit["content"], "first");
        assert_eq!(edit["edit_count"], 1);
        assert!(number(&edit, "edited_at") > 1_700_000_000_000);
    }
    assert_eq!(alice.texts(&general).await, ["first"]);
}

#[tokio::test]
async fn only_the_author_may_edit() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let message = bob.post(&general, "bob's words").await;
    let mut owner = alice.lark().await;
    let data = json!({ "message_id": message["id"], "content": "alice's words" });
    assert_eq!(owner.refused("message.edit", data).await, "not message author");
    assert_eq!(alice.texts(&general).await, ["bob's words"]);
}

#[tokio::test]
async fn an_edit_obeys_the_rules_of_content() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let id = lark.say(&general, "fine").await;
    let long = "x".repeat(10_001);
    let data = json!({ "message_id": id, "content": long });
    let error = lark.refused("message.edit", data).await;
    assert_eq!(error, "content too long (max 10000 characters)");
    let data = json!({ "message_id": id, "content": "  " });
    assert_eq!(lark.refused("message.edit", data).await, "content is required");
    assert_eq!(alice.texts(&general).await, ["fine"]);
}

#[tokio::test]
async fn a_deletion_is_broadcast_and_the_message_is_gone() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut author = alice.lark().await;
    let mut reader = bob.lark().await;
    let id = author.say(&general, "never mind").await;
    author.send("message.delete", json!({ "message_id": id })).await;
    for lark in [&mut author, &mut reader] {
        let delete = lark.expect("message.delete").await;
        assert_eq!(delete["id"], id.as_str());
        assert_eq!(delete["message_id"], id.as_str());
        assert_eq!(delete["channel_id"], general.as_str());
    }
    assert!(!alice.history(&general).await.to_string().contains("never mind"));
}

#[tokio::test]
async fn only_the_author_may_delete() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let message = bob.post(&general, "bob's words").await;
    let mut owner = alice.lark().await;
    let data = json!({ "message_id": message["id"] });
    assert_eq!(owner.refused("message.delete", data).await, "not message author");
    assert_eq!(alice.texts(&general).await, ["bob's words"]);
}

#[tokio::test]
async fn an_unknown_or_deleted_message_is_not_found() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let gone = lark.say(&general, "soon gone").await;
    lark.send("message.delete", json!({ "message_id": gone })).await;
    lark.expect("message.delete").await;
    for id in ["msg_unknown", &gone] {
        let data = json!({ "message_id": id, "content": "new" });
        assert_eq!(lark.refused("message.edit", data).await, "message not found");
        let data = json!({ "message_id": id });
        assert_eq!(lark.refused("message.delete", data).await, "message not found");
    }
}

#[tokio::test]
async fn a_message_of_a_foreign_channel_is_neither_edited_nor_shown() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let message = alice.post(&secret, "swordfish").await;
    let mut lark = bob.lark().await;
    let data = json!({ "message_id": message["id"], "content": "guppy" });
    let edit = lark.refused("message.edit", data.clone()).await;
    let delete = lark.refused("message.delete", data).await;
    assert!(!format!("{edit}{delete}").contains("swordfish"));
    assert_eq!(alice.texts(&secret).await, ["swordfish"]);
}

#[tokio::test]
async fn whoever_logs_in_for_plain_frames_gets_each_message_once_and_others_as_before() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut usual = bob.lark().await;
    let mut plain = alice.dial().await;
    let identity = plain.asks("auth.login", json!({ "token": alice.token, "frames": "plain" }), "auth.success").await;
    assert_eq!(identity["member_id"], alice.id.as_str());
    let id = usual.say(&general, "hello").await;
    usual.send("message.edit", json!({ "message_id": id, "content": "hello again" })).await;
    let sent = plain.expect("message.new").await;
    assert_eq!((&sent["id"], &sent["seq"], &sent["content"]), (&json!(id), &json!(1), &json!("hello")));
    let edited = plain.expect("message.edit").await;
    assert_eq!(
        (&edited["seq"], &edited["message_seq"], &edited["content"]),
        (&json!(2), &json!(1), &json!("hello again"))
    );
    for frame in [&sent, &edited] {
        assert!(frame.get("message").is_none() && frame.get("message_id").is_none(), "{frame}");
    }
    let twice = usual.expect("message.edit").await;
    assert_eq!((&twice["seq"], &twice["message"]["seq"]), (&json!(2), &json!(1)));
    plain.send("sync.resume", json!({ "channel_id": general, "after_seq": 0 })).await;
    assert_eq!(plain.expect("message.new").await.get("message"), None, "what is told again has the same shape");
    plain.expect("sync.done").await;
}
