//! Snek, section 10: one live message that grows, stored once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Lark, Member, eventually, start, text};

/// A client that knows only `message.new`, `message.edit` and `message.delete`: what it shows.
#[derive(Default)]
struct Screen {
    shown: BTreeMap<String, String>,
    /// Every text that was ever on it.
    seen: Vec<String>,
}

impl Screen {
    fn follow(&mut self, frame: &Value) {
        let data = &frame["data"];
        match frame["type"].as_str() {
            Some("message.new") => {
                let before = self.shown.insert(text(data, "id").to_owned(), text(data, "content").to_owned());
                assert!(before.is_none(), "told twice: {frame}");
                self.seen.push(text(data, "content").to_owned());
            }
            Some("message.edit") => {
                if let Some(shown) = self.shown.get_mut(text(data, "id")) {
                    *shown = text(data, "content").to_owned();
                    self.seen.push(shown.clone());
                }
            }
            Some("message.delete") => {
                self.shown.remove(text(data, "id"));
            }
            _ => {}
        }
    }

    /// Reads until a text is on the screen that is stored.
    async fn until_final(&mut self, lark: &mut Lark, content: &str) {
        loop {
            let frame = lark.next().await;
            self.follow(&frame);
            if frame["data"]["content"] == content && frame["data"]["seq"].is_number() {
                return;
            }
        }
    }

    fn texts(&self) -> Vec<&str> {
        self.shown.values().map(String::as_str).collect()
    }
}

async fn room() -> (crate::support::Hub, Member, Member, String) {
    let (hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    (hub, alice, bot, channel)
}

#[tokio::test]
async fn partial_texts_are_one_live_message_on_snek_and_stored_once() {
    let (_hub, alice, bot, channel) = room().await;
    let (mut writer, mut reader) = (bot.snek().await, alice.snek().await);
    let mut uids = Vec::new();
    for (said, last) in [("Partial cont...", false), ("Partial content h...", false), ("Partial content here.", true)] {
        let answer = writer.call("send_message", json!([channel, said, last])).await;
        assert_eq!(answer["is_final"], last);
        let event = reader.expect("message").await;
        assert_eq!((text(&event, "message"), &event["is_final"]), (said, &json!(last)));
        uids.push((text(&answer, "uid").to_owned(), text(&event, "uid").to_owned()));
        let history = reader.call("get_messages", json!([channel])).await;
        assert_eq!(history.as_array().map(Vec::len), Some(usize::from(last)), "partial texts are in no history");
    }
    assert!(uids.iter().all(|(answered, told)| answered == told && *told == uids[0].1), "{uids:?}");
    assert_eq!(alice.texts(&channel).await, ["Partial content here."]);
}

#[tokio::test]
async fn on_lark_a_stream_shows_while_it_grows_and_ends_as_exactly_one_message() {
    let (_hub, alice, bot, channel) = room().await;
    let mut writer = bot.snek().await;
    let mut lark = alice.lark().await;
    let mut screen = Screen::default();
    for text in ["W", "Wo", "Wor"] {
        writer.send("send_message", json!([channel, text, false])).await;
    }
    writer.say(&channel, "Work").await;
    screen.until_final(&mut lark, "Work").await;
    assert_eq!(screen.texts(), ["Work"]);
    assert_eq!(screen.seen, ["W", "Wo", "Wor", "Work"]);
}

#[tokio::test]
async fn who_comes_in_the_middle_of_a_stream_ends_with_the_message_too() {
    let (_hub, alice, bot, channel) = room().await;
    let mut writer = bot.snek().await;
    writer.call("send_message", json!([channel, "one", false])).await;
    let mut lark = alice.lark().await;
    let mut screen = Screen::default();
    writer.call("send_message", json!([channel, "one two", false])).await;
    writer.say(&channel, "one two three").await;
    screen.until_final(&mut lark, "one two three").await;
    assert_eq!(screen.texts(), ["one two three"]);
}

#[tokio::test]
async fn only_the_final_text_wakes() {
    let (_hub, alice, bot, channel) = room().await;
    let (mut writer, mut agent) = (alice.snek().await, bot.lark_agent().await);
    writer.call("send_message", json!([channel, "@bot are", false])).await;
    writer.say(&channel, "@bot are you there?").await;
    let wake = agent.expect("agent.wake").await;
    let recent = wake["context"]["recent_messages"].as_array().unwrap();
    assert_eq!(recent.last().unwrap()["content"], "@bot are you there?");
    agent.asks("inbox.poll", json!({}), "inbox.items").await;
    assert!(agent.kept("agent.wake").is_empty(), "one wake for one message");
}

#[tokio::test]
async fn a_stream_of_a_sender_who_is_gone_is_finished_with_its_last_text() {
    let (_hub, alice, bot, channel) = room().await;
    let (mut writer, mut reader) = (bot.snek().await, alice.snek().await);
    let mut lark = alice.lark().await;
    let partial = writer.call("send_message", json!([channel, "I was about to", false])).await;
    writer.close().await;
    reader.wait_up_to(Duration::from_secs(15));
    lark.wait_up_to(Duration::from_secs(15));
    let event = reader.expect_where("message", |frame| frame["is_final"] == true).await;
    assert_eq!((&event["uid"], text(&event, "message")), (&partial["uid"], "I was about to"));
    let mut screen = Screen::default();
    screen.until_final(&mut lark, "I was about to").await;
    assert_eq!(screen.texts(), ["I was about to"]);
    assert_eq!(alice.texts(&channel).await, ["I was about to"]);
}

#[tokio::test]
async fn a_sender_who_reconnects_finishes_its_own_stream() {
    let (_hub, alice, bot, channel) = room().await;
    let mut writer = bot.snek().await;
    let partial = writer.call("send_message", json!([channel, "I was", false])).await;
    writer.close().await;
    let mut again = bot.snek().await;
    assert_eq!(again.say(&channel, "I was cut off").await, text(&partial, "uid"));
    assert_eq!(alice.texts(&channel).await, ["I was cut off"]);
}

#[tokio::test]
async fn a_stop_finishes_what_is_being_written_and_a_crash_leaves_nothing_half() {
    let (mut hub, alice, bot, channel) = room().await;
    let mut writer = bot.snek().await;
    let mut lark = alice.lark().await;
    writer.call("send_message", json!([channel, "before the stop", false])).await;
    assert!(hub.stop().await.success());
    let mut screen = Screen::default();
    while let Some(frame) = lark.next_until_end().await {
        screen.follow(&frame);
    }
    assert_eq!(screen.texts(), ["before the stop"]);
    hub.restart().await;
    assert_eq!(alice.texts(&channel).await, ["before the stop"]);
    let mut writer = bot.snek().await;
    writer.call("send_message", json!([channel, "before the crash", false])).await;
    hub.kill();
    hub.restart().await;
    assert_eq!(alice.texts(&channel).await, ["before the stop"], "half a message is no message");
    let mut writer = bot.snek().await;
    writer.say(&channel, "after the crash").await;
    assert_eq!(alice.texts(&channel).await, ["before the stop", "after the crash"]);
}

#[tokio::test]
async fn a_stream_whose_sender_is_removed_disappears() {
    let (_hub, alice, bot, channel) = room().await;
    let (mut writer, mut reader) = (bot.snek().await, alice.snek().await);
    let mut lark = alice.lark().await;
    let partial = writer.call("send_message", json!([channel, "half a", false])).await;
    let draft = lark.expect("message.new").await;
    alice.rest.delete(&alice.path(&format!("channels/{channel}/members/{}", bot.id))).await.ok();
    assert_eq!(lark.expect("message.delete").await["id"], draft["id"]);
    let gone = reader.expect("message_deleted").await;
    assert_eq!(gone["data"], json!({ "channel_uid": channel, "uid": partial["uid"] }));
    eventually("nothing stays", async || alice.texts(&channel).await.is_empty().then_some(())).await;
}
