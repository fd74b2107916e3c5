//! Many chats, bad weather and sudden ends: every prompt gets exactly one final message.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::support::telegram::fake_api::World;
use crate::support::telegram::{Bridge, Setup};

const FIRST: i64 = 2001;

/// How bad it gets.
struct Soak {
    chats: i64,
    prompts_each: i64,
    /// Ends of the bridge; every second one without warning.
    ends: usize,
    patience: Duration,
}

impl Soak {
    async fn run(&self) {
        let users: Vec<String> = (0..self.chats).map(|chat| (FIRST + chat).to_string()).collect();
        let lines = format!("allowed_user_ids = [{}]", users.join(", "));
        let setup = Setup::new().await.telegram(&lines);
        setup.api.with(|world| {
            (0..self.chats).for_each(|chat| drop_chat(world.add_private(FIRST + chat)));
            world.faults.at_random(0x5eed_1234, 8, 8);
        });
        let mut bridge = setup.start().await;
        let asked = self.ask_and_end(&mut bridge).await;
        let total = (self.chats * self.prompts_each) as usize;
        assert_eq!(asked.len(), total);
        self.wait_for_finals(&bridge, &asked).await;
        bridge.api.with(|world| world.faults.at_random(1, 0, 0));
        let settled = |world: &mut World| {
            let signs = world.chats.keys().flat_map(|chat| world.shown(*chat));
            signs.filter(|message| !message.buttons().is_empty()).count().eq(&0).then_some(())
        };
        bridge.api.wait("no message pretends to work", settled).await;
        assert!(bridge.stop().await.success());
        let finals = bridge.api.with(|world| finals(world, self.chats));
        let wrong: Vec<_> = asked.iter().filter(|key| finals.get(key).map(Vec::len) != Some(1)).collect();
        assert!(
            wrong.is_empty(),
            "not exactly one final message: {:?}",
            wrong.iter().map(|key| (key, finals.get(*key))).collect::<Vec<_>>()
        );
        assert!(bridge.engines_alive().is_empty(), "no orphan");
        let done = finals.values().flatten().filter(|text| text.starts_with("done")).count();
        eprintln!("{total} prompts, {} ends: {done} done, {} stopped", self.ends, total - done);
    }

    /// Everybody asks in turn, while the bridge ends again and again.
    async fn ask_and_end(&self, bridge: &mut Bridge) -> Vec<(i64, i64)> {
        let mut asked = Vec::new();
        let every = (self.prompts_each as usize / (self.ends + 1)).max(1);
        let mut ended = 0;
        for round in 0..self.prompts_each {
            for chat in 0..self.chats {
                let fields = json!({"text": format!("nap {chat} {round}"), "date": 1_700_000_000 + round * 60});
                asked.push((FIRST + chat, bridge.api.say_more(FIRST + chat, FIRST + chat, fields)));
            }
            self.reach_a_moment(bridge, round).await;
            if (round as usize + 1).is_multiple_of(every) && ended < self.ends {
                match ended % 2 {
                    0 => bridge.kill(),
                    _ => assert!(bridge.stop().await.success()),
                }
                ended += 1;
                bridge.restart().await;
            }
        }
        asked
    }

    /// Sometimes before anything of the round is known, sometimes when it is stored, when a run has begun, or when one has ended.
    async fn reach_a_moment(&self, bridge: &Bridge, round: i64) {
        let runs = |log: &[String], word: &str| log.iter().filter(|line| line.starts_with(word)).count();
        let before = bridge.engine_log();
        let more = |word: &'static str| {
            let before = runs(&before, word);
            move |log: &[String]| runs(log, word) > before
        };
        match round % 4 {
            0 => {}
            1 => bridge.api.wait("all is taken", |world| world.is_all_taken().then_some(())).await,
            2 => drop(bridge.wait_engine("a run begins", more("begin")).await),
            _ => drop(bridge.wait_engine("a run ends", more("end")).await),
        }
    }

    async fn wait_for_finals(&self, bridge: &Bridge, asked: &[(i64, i64)]) {
        let missing = |world: &mut World| {
            let finals = finals(world, self.chats);
            asked.iter().filter(|key| !finals.contains_key(key)).count()
        };
        let all = |world: &mut World| (missing(world) == 0).then_some(());
        bridge.api.wait_within(self.patience, "a final message for everybody", all).await;
    }
}

fn drop_chat<T>(_: T) {}

/// The final messages by what they answer.
fn finals(world: &World, chats: i64) -> BTreeMap<(i64, i64), Vec<String>> {
    let mut finals: BTreeMap<(i64, i64), Vec<String>> = BTreeMap::new();
    for chat in FIRST..FIRST + chats {
        for message in world.shown(chat) {
            let last = ["done", "error", "cancelled", "stopped"].iter().any(|word| message.text.starts_with(word));
            if let (true, Some(asked)) = (last, message.reply_to) {
                finals.entry((chat, asked)).or_default().push(message.text);
            }
        }
    }
    finals
}

#[tokio::test]
async fn every_prompt_gets_exactly_one_final_message_in_bad_weather() {
    Soak { chats: 5, prompts_each: 6, ends: 3, patience: Duration::from_secs(90) }.run().await;
}

/// The whole of it, for `make check`: 20 chats, 200 prompts, nine ends.
#[tokio::test]
#[ignore = "takes a minute; `make check` runs it"]
async fn the_long_soak() {
    Soak { chats: 20, prompts_each: 10, ends: 9, patience: Duration::from_secs(400) }.run().await;
}
