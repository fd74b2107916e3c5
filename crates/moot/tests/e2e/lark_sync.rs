//! `sync.resume`: a client that was away gets exactly what it missed, or the word that it must reload.

use serde_json::{Value, json};

use crate::support::{Lark, number, register, start, text};

/// Everything that `sync.resume` sends for one channel, up to its end marker.
async fn resume(lark: &mut Lark, data: Value) -> (Vec<Value>, Value) {
    let id = lark.send("sync.resume", data).await;
    let mut missed = Vec::new();
    loop {
        let frame = lark.next().await;
        match text(&frame, "type") {
            "sync.done" | "sync.reload" => {
                assert_eq!(frame["reply_to"], id.as_str(), "{frame}");
                return (missed, frame);
            }
            "presence.update" => {}
            "error" => panic!("sync.resume was refused: {frame}"),
            _ => missed.push(frame),
        }
    }
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| text(frame, "type")).collect()
}

#[tokio::test]
async fn what_was_missed_comes_in_order_and_then_done() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut lark = bob.lark().await;
    alice.post(&general, "seen").await;
    let seen = number(&lark.expect("message.new").await, "seq");
    lark.close().await;
    for content in ["one", "two", "three"] {
        alice.post(&general, content).await;
    }
    let mut lark = bob.lark().await;
    let request = json!({ "channel_id": general, "after_seq": seen });
    let (missed, done) = resume(&mut lark, request).await;
    let contents: Vec<&Value> = missed.iter().map(|frame| &frame["data"]["content"]).collect();
    assert_eq!(contents, ["one", "two", "three"]);
    for (place, frame) in (1i64..).zip(&missed) {
        assert_eq!(number(&frame["data"], "seq"), seen + place);
    }
    assert_eq!(done["type"], "sync.done");
    assert_eq!(done["data"]["channel_id"], general.as_str());
    assert_eq!(number(&done["data"], "seq"), seen + 3);
}

#[tokio::test]
async fn every_kind_of_stored_event_is_replayed_as_its_ordinary_frame() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut live = alice.lark().await;
    let first = live.say(&general, "first").await;
    let start = number(&live.expect("message.new").await, "seq");
    live.say(&general, "second").await;
    let third = live.say(&general, "third").await;
    let edit = json!({ "message_id": first, "content": "changed" });
    live.send("message.edit", edit).await;
    live.expect("message.edit").await;
    let reactions = format!("/v1/messages/{first}/reactions");
    alice.rest.post(&reactions, json!({ "emoji": "👍" })).await.done();
    alice.rest.delete(&format!("{reactions}/%F0%9F%91%8D")).await.ok();
    let pins = format!("/v1/channels/{general}/pins");
    let pin = alice.rest.post(&pins, json!({ "message_id": first })).await.done();
    alice.rest.delete(&format!("/v1/pins/{}", text(&pin, "id"))).await.ok();
    live.send("message.delete", json!({ "message_id": third })).await;
    live.expect("message.delete").await;

    let mut lark = alice.lark().await;
    let request = json!({ "channel_id": general, "after_seq": start });
    let (missed, done) = resume(&mut lark, request).await;
    let mut seen = kinds(&missed);
    // The text of a message that is gone need not be shown once more: its place may hold the deletion already.
    let gone = seen.remove(1);
    assert!(["message.new", "message.delete"].contains(&gone), "{gone}");
    let expected =
        ["message.new", "message.edit", "reaction.add", "reaction.remove", "pin.add", "pin.remove", "message.delete"];
    assert_eq!(seen, expected);
    for (place, frame) in (1i64..).zip(&missed) {
        assert_eq!(number(&frame["data"], "seq"), start + place, "{frame}");
    }
    assert_eq!(number(&done["data"], "seq"), start + 8);
}

#[tokio::test]
async fn nothing_missed_is_just_done() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    lark.say(&general, "hello").await;
    let seq = number(&lark.expect("message.new").await, "seq");
    let request = json!({ "channel_id": general, "after_seq": seq });
    let done = lark.asks("sync.resume", request, "sync.done").await;
    assert_eq!(number(&done, "seq"), seq);
    assert!(lark.kept("message.new").is_empty());
}

#[tokio::test]
async fn a_workspace_resumes_all_its_positions_in_one_request() {
    let (_hub, alice) = start().await;
    let one = alice.add_channel("one", &[]).await;
    let two = alice.add_channel("two", &[]).await;
    let mut positions = serde_json::Map::new();
    for channel in [&one, &two] {
        let message = alice.post(channel, "seen").await;
        positions.insert(channel.clone(), message["seq"].clone());
        alice.post(channel, "missed").await;
    }
    let mut lark = alice.lark().await;
    let request = json!({ "workspace": true, "positions": positions });
    lark.send("sync.resume", request).await;
    for channel in [&one, &two] {
        let in_channel = |data: &Value| data["channel_id"] == channel.as_str();
        let new = lark.expect_where("message.new", in_channel).await;
        assert_eq!(new["content"], "missed");
        let done = lark.expect_where("sync.done", in_channel).await;
        assert_eq!(done["seq"], new["seq"]);
    }
    assert!(lark.kept("message.new").is_empty(), "nothing twice");
}

#[tokio::test]
async fn a_long_absence_is_replayed_whole_or_answered_with_reload() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut writer = alice.lark().await;
    let total: i64 = 1200;
    for round in 0..total {
        let data = json!({ "channel_id": general, "content": format!("m{round}") });
        writer.send("message.send", data).await;
        if round % 100 == 99 {
            for _ in 0..100 {
                writer.expect("message.ack").await;
            }
            writer.forget();
        }
    }
    let head = number(&alice.history(&general).await[0], "seq");
    let mut lark = alice.lark().await;
    let request = json!({ "channel_id": general, "after_seq": head - total });
    let (missed, end) = resume(&mut lark, request).await;
    assert_eq!(end["data"]["channel_id"], general.as_str());
    assert_eq!(number(&end["data"], "seq"), head);
    if end["type"] == "sync.reload" {
        assert!(missed.is_empty(), "reload comes instead of the events");
    } else {
        let seqs: Vec<i64> = missed.iter().map(|frame| number(&frame["data"], "seq")).collect();
        assert_eq!(seqs, (head - total + 1..=head).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_position_from_before_a_restored_backup_is_answered_with_reload() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.lark().await.say(&general, "hello").await;
    let seq = number(&alice.history(&general).await[0], "seq");
    let mut lark = alice.lark().await;
    let (missed, end) = resume(&mut lark, json!({ "channel_id": general, "after_seq": seq + 3 })).await;
    assert_eq!((missed.len(), &end["type"]), (0, &json!("sync.reload")));
    assert_eq!(number(&end["data"], "seq"), seq);
}

#[tokio::test]
async fn after_done_the_live_frames_go_on_without_gap_or_double() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut writer = alice.lark().await;
    writer.say(&general, "m0").await;
    let first = number(&writer.expect("message.new").await, "seq");
    for round in 1..20 {
        let data = json!({ "channel_id": general, "content": format!("m{round}") });
        writer.send("message.send", data).await;
    }
    // While the burst is under way, bob comes back and asks for what he missed.
    let mut lark = bob.lark().await;
    let request = json!({ "channel_id": general, "after_seq": first });
    lark.send("sync.resume", request).await;
    for _ in 1..20 {
        writer.expect("message.ack").await;
    }
    writer.say(&general, "last").await;
    let mut seen = std::collections::BTreeSet::new();
    // What is said meanwhile may arrive before the replay; both are in by the time of the later of the two marks.
    let mut done = false;
    while !done || !seen.contains(&(first + 20)) {
        let frame = lark.next().await;
        if frame["type"] == "message.new" {
            seen.insert(number(&frame["data"], "seq"));
        }
        done |= frame["type"] == "sync.done";
    }
    let expected: Vec<i64> = (first + 1..=first + 20).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected, "no hole");
}

#[tokio::test]
async fn a_foreign_channel_is_not_replayed() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mallory = register(&hub, "mallory").await;
    let secret = alice.add_private("secret", &[]).await;
    alice.post(&secret, "swordfish").await;
    for intruder in [&bob, &mallory] {
        let mut lark = intruder.lark().await;
        let request = json!({ "channel_id": secret, "after_seq": 0 });
        let error = lark.refused("sync.resume", request).await;
        assert_eq!(error, "not a channel member");
        let mut positions = serde_json::Map::new();
        positions.insert(secret.clone(), json!(0));
        lark.send("sync.resume", json!({ "workspace": true, "positions": positions })).await;
        lark.ask("channel.join", json!({ "channel_id": secret })).await;
        assert!(lark.kept("message.new").is_empty());
    }
}

#[tokio::test]
async fn wrong_positions_are_refused() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for request in [
        json!({}),
        json!({ "channel_id": general, "after_seq": "1" }),
        json!({ "channel_id": general, "after_seq": -1 }),
        json!({ "channel_id": general, "after_seq": 1.5 }),
        json!({ "workspace": true, "positions": [1] }),
    ] {
        lark.refused("sync.resume", request).await;
    }
}
