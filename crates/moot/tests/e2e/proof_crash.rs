//! A power cut in a burst: every acknowledged message is there, in order, once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Hub, Lark, Member, items, number, start, text};

const WRITERS: usize = 4;
const IN_FLIGHT: usize = 8;

/// One send of a writer, and the id of the message once it was acknowledged.
struct Sent {
    key: String,
    content: String,
    acknowledged: Option<String>,
}

/// Sends without pause, a few at a time, until the hub is gone.
async fn write_until_the_end(mut lark: Lark, writer: usize, channel: String, acks: Arc<AtomicU64>) -> Vec<Sent> {
    let mut sent: Vec<Sent> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        while places.len() < IN_FLIGHT {
            let key = Uuid::new_v4().to_string();
            let content = format!("{writer}-{:06}", sent.len());
            let data = json!({ "channel_id": channel, "content": content });
            let open = lark.try_send(&key, "message.send", data).await;
            places.insert(key.clone(), sent.len());
            sent.push(Sent { key, content, acknowledged: None });
            if !open {
                return sent;
            }
        }
        let Some(frame) = lark.next_until_end().await else {
            return sent;
        };
        assert_ne!(frame["type"], "error", "{frame}");
        if frame["type"] == "message.ack" {
            let place = places.remove(text(&frame, "reply_to")).expect("a send of ours");
            sent[place].acknowledged = Some(text(&frame["data"], "message_id").to_owned());
            acks.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Every message of the channel, oldest first.
async fn everything(member: &Member, channel: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let mut before = i64::MAX;
    loop {
        let path = format!("/v1/channels/{channel}/messages?limit=200&before={before}");
        let page = member.rest.get(&path).await.ok();
        let Some(oldest) = items(&page).last() else {
            break;
        };
        before = number(oldest, "seq");
        messages.extend(items(&page).iter().cloned());
    }
    messages.reverse();
    messages
}

fn check(messages: &[Value], sent: &[Sent], seed: u64) {
    let mut places = BTreeMap::new();
    for (place, message) in messages.iter().enumerate() {
        let twice = places.insert(text(message, "content"), place);
        assert!(twice.is_none(), "seed {seed}: twice: {message}");
    }
    let mut last = None;
    for one in sent {
        let place = places.get(one.content.as_str()).copied();
        if let Some(id) = &one.acknowledged {
            let place = place.unwrap_or_else(|| panic!("seed {seed}: acknowledged and lost: {}", one.content));
            assert_eq!(messages[place]["id"], id.as_str(), "seed {seed}");
        }
        if place.is_some() {
            assert!(place > last, "seed {seed}: out of order: {}", one.content);
            last = place;
        }
    }
}

fn check_numbers(messages: &[Value], seed: u64) {
    let seqs: Vec<i64> = messages.iter().map(|message| number(message, "seq")).collect();
    let dense: Vec<i64> = (seqs[0]..).take(seqs.len()).collect();
    assert_eq!(seqs, dense, "seed {seed}: the numbers have no gap");
}

async fn retry(alice: &Member, channel: &str, sent: &[Sent]) {
    let mut lark = alice.lark().await;
    for one in sent {
        let data = json!({ "channel_id": channel, "content": one.content });
        lark.send_as(&one.key, "message.send", data).await;
        let answer = lark.reply_to(&one.key, "a retry").await;
        assert_eq!(answer["type"], "message.ack", "{answer}");
        if let Some(id) = &one.acknowledged {
            assert_eq!(answer["data"]["message_id"], id.as_str());
        }
        lark.forget();
    }
}

/// Lets the writers go until `acknowledgements` have arrived, then ends the hub by `end`.
async fn burst(hub: &mut Hub, alice: &Member, channel: &str, enough: u64, power_cut: bool) -> Vec<Vec<Sent>> {
    let acks = Arc::new(AtomicU64::new(0));
    let mut larks = Vec::new();
    for _ in 0..WRITERS {
        larks.push(alice.lark().await);
    }
    let writers = larks.into_iter().enumerate().map(|(writer, lark)| {
        let task = write_until_the_end(lark, writer, channel.to_owned(), acks.clone());
        tokio::spawn(task)
    });
    let writers: Vec<_> = writers.collect();
    crate::support::eventually("the burst is under way", || async {
        (acks.load(Ordering::Relaxed) >= enough).then_some(())
    })
    .await;
    if power_cut {
        hub.kill();
    } else {
        assert!(hub.stop().await.success());
    }
    let mut sent = Vec::new();
    for writer in writers {
        sent.push(writer.await.expect("a writer"));
    }
    sent
}

#[tokio::test]
async fn kill_9_in_a_burst_loses_nothing_that_was_acknowledged() {
    for seed in [1u64, 2, 3, 5, 8] {
        let (mut hub, alice) = start().await;
        let channel = alice.add_channel("burst", &[]).await;
        // A different moment for each seed, and a second cut on the same folder.
        let mut all = Vec::new();
        for round in 0..2u64 {
            let enough = 20 + (seed.wrapping_mul(0x9E37_79B9) >> (8 * round)) % 150;
            let prefix = format!("cut{round}");
            let room = if round == 0 { channel.clone() } else { alice.add_channel(&prefix, &[]).await };
            let sent = burst(&mut hub, &alice, &room, enough, true).await;
            hub.restart().await;
            all.push((room, sent));
        }
        for (room, sent) in &all {
            let messages = everything(&alice, room).await;
            for writer in sent {
                check(&messages, writer, seed);
            }
            check_numbers(&messages, seed);
        }
        let (room, sent) = &all[0];
        for writer in sent {
            let tail = writer.len().saturating_sub(IN_FLIGHT + 2);
            retry(&alice, room, &writer[tail..]).await;
        }
        let messages = everything(&alice, room).await;
        let expected: usize = sent.iter().map(Vec::len).sum();
        assert_eq!(messages.len(), expected, "seed {seed}: each send once after the retries");
    }
}

#[tokio::test]
async fn a_stop_in_a_burst_loses_nothing_that_was_acknowledged() {
    let (mut hub, alice) = start().await;
    let channel = alice.add_channel("burst", &[]).await;
    let sent = burst(&mut hub, &alice, &channel, 60, false).await;
    hub.restart().await;
    let messages = everything(&alice, &channel).await;
    for writer in &sent {
        check(&messages, writer, 0);
    }
    check_numbers(&messages, 0);
}

#[tokio::test]
async fn everybody_sees_the_same_order() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("burst", &[&bob]).await;
    let mut readers = [alice.lark().await, bob.lark().await];
    let mut larks = Vec::new();
    for writer in 0..WRITERS {
        let member = if writer % 2 == 0 { &alice } else { &bob };
        larks.push(member.lark().await);
    }
    let writers = larks.into_iter().enumerate().map(|(writer, mut lark)| {
        let channel = channel.clone();
        tokio::spawn(async move {
            for round in 0..25 {
                lark.say(&channel, &format!("{writer}-{round}")).await;
                lark.forget();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    let stored = everything(&alice, &channel).await;
    let stored: Vec<&str> = stored.iter().map(|message| text(message, "id")).collect();
    assert_eq!(stored.len(), WRITERS * 25);
    for reader in &mut readers {
        let mut heard = Vec::new();
        for _ in 0..stored.len() {
            let new = reader.expect("message.new").await;
            heard.push(text(&new, "id").to_owned());
        }
        assert_eq!(heard, stored);
    }
}
