//! Slow readers, and very many that come back at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Hub, Lark, Member, items, number, start, text};

const LAST: &str = "that is all";

/// Sends long messages, a few at a time, until somebody could not keep up; returns the number of the last.
async fn talk(hub: &Hub, alice: &Member, channel: &str) -> i64 {
    let mut lark = alice.lark().await;
    let filler = "lorem ipsum ".repeat(700);
    while !hub.has_overflowed().await {
        for place in 0..20 {
            let data = json!({ "channel_id": channel, "content": format!("{place} {filler}") });
            lark.send("message.send", data).await;
        }
        for _ in 0..20 {
            lark.expect("message.ack").await;
        }
        lark.forget();
    }
    number(&alice.post(channel, LAST).await, "seq")
}

/// Reads until it has heard the last message, and returns the numbers of all in the order they came.
async fn read_until_last(lark: &mut Lark) -> Vec<i64> {
    let mut seqs = Vec::new();
    loop {
        let frame = lark.next().await;
        assert_ne!(frame["type"], "sync.lagged", "a fast reader does not lag");
        if frame["type"] == "message.new" {
            seqs.push(number(&frame["data"], "seq"));
            if frame["data"]["content"] == LAST {
                return seqs;
            }
        }
    }
}

/// What the slow reader finds when it looks up at last: messages without a hole, then the word that it lags.
async fn read_until_lagged(lark: &mut Lark, first: i64) -> (i64, Value) {
    let mut next = first;
    loop {
        let frame = lark.next().await;
        match text(&frame, "type") {
            "message.new" => {
                assert_eq!(number(&frame["data"], "seq"), next, "a silent hole before `sync.lagged`");
                next += 1;
            }
            "sync.lagged" => return (next - 1, frame["data"].clone()),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_slow_reader_is_told_and_catches_up_while_the_fast_one_hears_everything() {
    let (hub, alice) = start().await;
    let fast = alice.add_human("fast").await;
    let slow = alice.add_human("slow").await;
    let channel = alice.add_channel("busy", &[&fast, &slow]).await;
    let mut fast_lark = fast.lark().await;
    let mut slow_lark = Lark::narrow(hub.address).await;
    slow_lark.login(&slow.token).await;
    let start_message = alice.post(&channel, "start").await;
    let first = number(&start_message, "seq");

    let reader = tokio::spawn(async move { read_until_last(&mut fast_lark).await });
    let last = talk(&hub, &alice, &channel).await;
    let heard = reader.await.expect("the fast reader");
    assert_eq!(heard, (first..=last).collect::<Vec<_>>());

    let (position, lagged) = read_until_lagged(&mut slow_lark, first).await;
    assert!(position < last, "what did not fit was not sent");
    assert!(number(&lagged, "dropped") >= 1, "{lagged}");
    let channels = items(&lagged["channels"]);
    assert!(channels.iter().any(|entry| entry["channel_id"] == channel.as_str()), "{lagged}");

    let request = json!({ "channel_id": channel, "after_seq": position });
    slow_lark.send("sync.resume", request).await;
    let mut seen = BTreeSet::new();
    loop {
        let frame = slow_lark.next().await;
        match text(&frame, "type") {
            "message.new" => {
                seen.insert(number(&frame["data"], "seq"));
            }
            "sync.done" => break,
            "sync.reload" => {
                seen.extend(position + 1..=number(&frame["data"], "seq"));
                break;
            }
            _ => {}
        }
    }
    let missed: Vec<i64> = (position + 1..=last).filter(|seq| !seen.contains(seq)).collect();
    assert!(missed.is_empty(), "never told about {missed:?}");
    slow_lark.say(&channel, "here I am again").await;
}

/// Opens a connection per member at the same moment.
async fn all_at_once(members: &[Member]) -> Vec<Lark> {
    let tasks: Vec<_> =
        members.iter().cloned().map(|member| tokio::spawn(async move { member.lark().await })).collect();
    let mut larks = Vec::new();
    for task in tasks {
        larks.push(task.await.expect("a connection"));
    }
    larks
}

async fn all_hear(larks: &mut [Lark], id: &str) {
    for lark in larks {
        lark.expect_where("message.new", |data| data["id"] == id).await;
    }
}

#[tokio::test]
async fn five_hundred_connections_reconnect_at_once() {
    let (mut hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("crowd", &[&bob]).await;
    // Fifty agents with one connection each, and two humans with very many tabs.
    let mut members = Vec::new();
    for number in 0..50 {
        let agent = alice.add_agent(&format!("agent{number}")).await;
        alice.admit(&channel, &agent).await;
        members.push(agent);
    }
    members.extend((0..225).flat_map(|_| [alice.clone(), bob.clone()]));
    assert_eq!(members.len(), 500);

    let mut larks = all_at_once(&members).await;
    let message = alice.post(&channel, "before").await;
    all_hear(&mut larks, text(&message, "id")).await;
    hub.kill();
    drop(larks);
    hub.restart().await;
    let mut larks = all_at_once(&members).await;
    let message = alice.post(&channel, "after").await;
    all_hear(&mut larks, text(&message, "id")).await;
    // Everyone can also speak: one of each kind tries.
    for place in [0, 49, 50, 499] {
        larks[place].say(&channel, &format!("from {place}")).await;
    }
    assert_eq!(alice.texts(&channel).await.len(), 6);
}
