//! Many clients, one truth: whoever follows the frames, with crashes and reconnects between, sees what REST shows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::proof_noise::Chance;
use crate::support::{Hub, Lark, Member, items, number, start, text};

/// What a client knows of one channel, from frames alone.
struct View {
    lark: Lark,
    member: Member,
    seq: i64,
    messages: BTreeMap<String, String>,
}

impl View {
    async fn open(member: &Member) -> View {
        View { lark: member.lark().await, member: member.clone(), seq: 0, messages: BTreeMap::new() }
    }

    /// Comes back after a loss of the connection and asks for what it missed.
    async fn come_back(&mut self, channel: &str) {
        self.lark = self.member.lark().await;
        let request = json!({ "channel_id": channel, "after_seq": self.seq });
        let id = self.lark.send("sync.resume", request).await;
        loop {
            let frame = self.lark.next().await;
            if frame["type"] == "sync.done" && frame["reply_to"] == id.as_str() {
                self.seq = self.seq.max(number(&frame["data"], "seq"));
                return;
            }
            assert_ne!(frame["type"], "sync.reload", "so little was not too much");
            self.take(&frame);
        }
    }

    fn take(&mut self, frame: &Value) {
        let data = &frame["data"];
        let kind = text(frame, "type");
        if !["message.new", "message.edit", "message.delete"].contains(&kind) {
            if let Some(seq) = data["seq"].as_i64() {
                self.seq = self.seq.max(seq);
            }
            return;
        }
        let seq = number(data, "seq");
        // A frame that was already seen, live or by resuming, says nothing new.
        if seq <= self.seq {
            return;
        }
        self.seq = seq;
        if kind == "message.delete" {
            self.messages.remove(text(data, "message_id"));
        } else {
            let content = text(data, "content").to_owned();
            self.messages.insert(text(data, "id").to_owned(), content);
        }
    }

    /// Follows the frames up to the marker that ends the story.
    async fn follow_to(&mut self, marker: &str) {
        while !self.messages.contains_key(marker) {
            let frame = self.lark.next().await;
            self.take(&frame);
        }
    }
}

/// One step of somebody: say, edit, delete or react.
async fn act(chance: &mut Chance, member: &Member, channel: &str, own: &mut BTreeSet<String>, round: usize) {
    let some = own.iter().nth(chance.below(own.len().max(1))).cloned();
    match (chance.below(6), some) {
        (0, Some(id)) => {
            let body = json!({ "content": format!("edited in {round}") });
            member.rest.patch(&format!("/v1/messages/{id}"), body).await.ok();
        }
        (1, Some(id)) => {
            member.rest.delete(&format!("/v1/messages/{id}")).await.ok();
            own.remove(&id);
        }
        (2, Some(id)) => {
            let path = format!("/v1/messages/{id}/reactions");
            member.rest.post(&path, json!({ "emoji": "👍" })).await;
        }
        _ => {
            let message = member.post(channel, &format!("said in {round}")).await;
            own.insert(text(&message, "id").to_owned());
        }
    }
}

/// What REST shows, by id.
async fn truth(member: &Member, channel: &str) -> BTreeMap<String, String> {
    let history = member.history(channel).await;
    let pairs = items(&history).iter();
    pairs.map(|message| (text(message, "id").to_owned(), text(message, "content").to_owned())).collect()
}

async fn story(hub: &mut Hub, members: &[Member], channel: &str, seed: u64) {
    let mut chance = Chance::seeded(seed);
    let mut views = Vec::new();
    for member in members {
        views.push(View::open(member).await);
    }
    let mut own: Vec<BTreeSet<String>> = vec![BTreeSet::new(); members.len()];
    for round in 0..60 {
        let actor = chance.below(members.len());
        act(&mut chance, &members[actor], channel, &mut own[actor], round).await;
        if chance.below(8) == 0 {
            let view = chance.below(views.len());
            views[view].come_back(channel).await;
        }
        if round == 25 || round == 45 {
            hub.kill();
            hub.restart().await;
            for view in &mut views {
                view.come_back(channel).await;
            }
        }
    }
    let marker = members[0].post(channel, "the end").await;
    let expected = truth(&members[0], channel).await;
    for view in &mut views {
        view.follow_to(text(&marker, "id")).await;
        assert_eq!(view.messages, expected, "seed {seed}, the view of {}", view.member.name);
    }
}

#[tokio::test]
async fn every_view_made_of_frames_equals_what_is_stored() {
    for seed in 1..=4 {
        let (mut hub, alice) = start().await;
        let mut members = vec![alice.clone()];
        for name in ["one", "two", "three"] {
            members.push(alice.add_agent(name).await);
        }
        let others: Vec<&Member> = members[1..].iter().collect();
        let channel = alice.add_channel("story", &others).await;
        story(&mut hub, &members, &channel, seed).await;
    }
}
