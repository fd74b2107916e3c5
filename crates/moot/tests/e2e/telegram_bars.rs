//! How quick the bridge is, in numbers that are printed.

use std::time::{Duration, Instant};

use crate::support::SLACK;
use crate::support::telegram::{ANN, Bridge, Setup};

const WINDOW: Duration = Duration::from_millis(350);

/// The middle one, printed with its name.
fn median(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let middle = times[times.len() / 2];
    eprintln!("{what}: {middle:?} (median of {}; {:?} to {:?})", times.len(), times[0], times[times.len() - 1]);
    middle
}

#[tokio::test]
async fn first_sign_final_message_and_cancel_are_quick() {
    // Everybody writes once in a chat of their own: what is measured is the bridge, not Telegram's pace for one chat.
    let people: Vec<i64> = (3001..3011).collect();
    let allowed: Vec<String> = people.iter().map(ToString::to_string).collect();
    let setup = Setup::new().await.telegram(&format!("chat_id = {ANN}\nallowed_user_ids = [{}]", allowed.join(", ")));
    for &person in &people {
        setup.api.with(|world| world.add_private(person).id);
    }
    let bridge = setup.start().await;
    bridge.wait_text(ANN, "Folkmoot is ready").await;
    let (lingering, cancelling) = people.split_at(5);
    let (mut signs, mut finals, mut cancels) = (Vec::new(), Vec::new(), Vec::new());
    for &ann in lingering {
        let name = format!("r{ann}");
        let asked = Instant::now();
        let message = bridge.api.say(ann, ann, &format!("linger #{name}"));
        bridge.api.wait_shown(ann, "a first sign", |shown| shown.reply_to == Some(message)).await;
        signs.push(asked.elapsed().saturating_sub(WINDOW));
        bridge.go(&format!("go-{name}"));
        bridge
            .wait_engine("the result", |log| log.iter().any(|line| line.starts_with("end") && line.contains(&name)))
            .await;
        let result = Instant::now();
        bridge
            .api
            .wait_shown(ann, "the answer", |shown| shown.reply_to == Some(message) && shown.text.starts_with("done"))
            .await;
        finals.push(result.elapsed());
    }
    for &ann in cancelling {
        let message = bridge.api.say(ann, ann, "hold");
        let sign = bridge.api.wait_shown(ann, "a first sign", |shown| shown.reply_to == Some(message)).await;
        let pressed = Instant::now();
        let press = bridge.api.press(ann, sign.id, ann, &sign.buttons()[0]);
        bridge.api.wait("an answer", |world| world.callbacks[&press].clone()).await;
        cancels.push(pressed.elapsed());
        bridge.api.wait_shown(ann, "its end", |shown| shown.id == sign.id && shown.text.starts_with("cancelled")).await;
    }
    assert!(median("first reply after the joining window", signs) < SLACK * Duration::from_millis(600));
    assert!(median("final message after the result, process lingers", finals) < SLACK * Duration::from_millis(1500));
    assert!(median("cancel button answered", cancels) < SLACK * Duration::from_millis(600));
}

#[tokio::test]
async fn the_third_of_three_groups_prompted_at_once_does_not_wait_for_the_others() {
    let groups = [-100_201, -100_202, -100_203];
    let projects: Vec<String> =
        groups.iter().map(|group| format!("[projects.p{}]\npath = \"/tmp\"\nchat_id = {group}", -group)).collect();
    let setup = Setup::new().await.telegram("allowed_user_ids = [1001]").config(&projects.join("\n"));
    setup.api.with(|world| {
        groups.iter().for_each(|group| {
            world.add_group(*group);
        });
    });
    let bridge = setup.start().await;
    let mut times = Vec::new();
    for round in 1..=3 {
        let asked = Instant::now();
        let last = groups.map(|group| bridge.api.say(group, ANN, "hello"))[2];
        bridge.api.wait_shown(groups[2], "a first sign", |shown| shown.reply_to == Some(last)).await;
        bridge
            .wait_engine("three engines", |log| {
                log.iter().filter(|line| line.starts_with("begin")).count() == 3 * round
            })
            .await;
        times.push(asked.elapsed());
        for group in groups {
            let all = |world: &mut crate::support::telegram::fake_api::World| {
                (world.shown(group).iter().filter(|shown| shown.text.starts_with("done")).count() == round)
                    .then_some(())
            };
            bridge.api.wait("the answers", all).await;
        }
    }
    assert!(
        median("third of three groups: acknowledged and its engine started, window included", times)
            < SLACK * Duration::from_secs(2)
    );
}

#[tokio::test]
async fn the_start_is_quick_and_idling_is_small() {
    let mut times = Vec::new();
    let mut bridge = Bridge::start().await;
    for _ in 0..3 {
        assert!(bridge.stop().await.success());
        let polls = bridge.api.with(|world| world.current_poll());
        let started = Instant::now();
        bridge.restart().await;
        bridge.api.wait("a poll", |world| (world.current_poll() > polls).then_some(())).await;
        times.push(started.elapsed());
    }
    assert!(median("start to ready", times) < SLACK * Duration::from_secs(2));
    bridge.api.say(ANN, ANN, "warm up");
    bridge.wait_text(ANN, "done").await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", bridge.pid())).unwrap();
    let megabytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    };
    // The pages of the program itself are as large as its build; what it keeps for itself is the same in all builds.
    let (whole, own) = (megabytes("VmRSS:"), megabytes("RssAnon:"));
    eprintln!("idle memory: {whole:.1} MB, of which {own:.1} MB are not the program's own pages");
    assert!(own < 20.0, "{status}");
}
