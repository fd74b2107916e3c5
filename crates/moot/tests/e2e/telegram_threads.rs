//! Which thread a message belongs to, in which order the prompts of a thread run, and which messages are one prompt.

use serde_json::json;

use crate::support::telegram::{ANN, Bridge, GROUP, Setup};
use crate::telegram_commands::{FORUM, with_project_and, with_slow_ears};

/// The threads and last words of the runs that have begun, in this order.
fn begun(log: &[String]) -> Vec<(&str, &str)> {
    let begins = log.iter().filter(|line| line.starts_with("begin"));
    begins.map(|line| (line.split(' ').nth(1).unwrap(), line.split(' ').next_back().unwrap())).collect()
}

fn ended(log: &[String]) -> usize {
    log.iter().filter(|line| line.starts_with("end")).count()
}

async fn wait_menu(bridge: &Bridge) {
    bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
}

/// A group where only mentions count, and windows that a busy machine does not miss.
async fn with_mentions() -> Bridge {
    let lines = "chat_id = -100200\nallowed_user_ids = [1001]\njoin_window_s = 2.5";
    let setup = Setup::new().await.telegram(lines);
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    wait_menu(&bridge).await;
    bridge.api.say(GROUP, ANN, "/trigger mentions");
    bridge.wait_text(GROUP, "in this chat only mentions").await;
    bridge
}

#[tokio::test]
async fn replies_run_in_the_order_in_which_they_were_written_also_when_git_is_asked_about_one() {
    let mut bridge = with_project_and("").await.start().await;
    bridge.api.say(ANN, ANN, "/web zero");
    let answer = bridge.wait_text(ANN, "done").await;
    bridge.kill();
    for (text, date) in [("@alice R1", 1_800_000_000), ("R2", 1_800_000_100), ("R3", 1_800_000_200)] {
        bridge.api.say_more(ANN, ANN, json!({"text": text, "reply_to": answer.id, "date": date}));
    }
    bridge.restart().await;
    let log = bridge.wait_engine("all runs", |log| ended(log) == 4).await;
    let (threads, words): (Vec<&str>, Vec<&str>) = begun(&log).into_iter().unzip();
    assert_eq!(words, ["zero", "R1", "R2", "R3"], "{log:?}");
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{log:?}");
}

#[tokio::test]
async fn what_follows_a_voice_note_in_its_thread_waits_for_it_and_what_begins_another_does_not() {
    let (bridge, let_go) = with_slow_ears().await;
    bridge.api.say(ANN, ANN, "zero");
    let answer = bridge.wait_text(ANN, "done").await;
    let voice = json!({"voice": {"file_id": "v", "duration": 2}, "reply_to": answer.id, "date": 1_800_000_000});
    bridge.api.say_more(ANN, ANN, voice);
    bridge.wait_text(ANN, "receiving").await;
    bridge.api.say_more(ANN, ANN, json!({"text": "typed", "reply_to": answer.id, "date": 1_800_000_100}));
    bridge.api.say_more(ANN, ANN, json!({"text": "elsewhere", "date": 1_800_000_200}));
    bridge.wait_engine("another thread", |log| ended(log) == 2).await;
    let_go.send_replace(true);
    let log = bridge.wait_engine("all runs", |log| ended(log) == 4).await;
    let words: Vec<&str> = begun(&log).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, ["zero", "elsewhere", "bug", "typed"], "{log:?}");
}

#[tokio::test]
async fn what_is_still_being_received_can_be_cancelled_and_holds_up_nobody_afterwards() {
    let (bridge, let_go) = with_slow_ears().await;
    bridge.api.say(ANN, ANN, "zero");
    let answer = bridge.wait_text(ANN, "done").await;
    let voice = json!({"voice": {"file_id": "v", "duration": 2}, "reply_to": answer.id, "date": 1_800_000_000});
    bridge.api.say_more(ANN, ANN, voice.clone());
    let sign = bridge.wait_text(ANN, "receiving").await;
    bridge.api.say_more(ANN, ANN, json!({"text": "/status", "date": 1_800_000_050}));
    bridge.wait_text(ANN, "… on its way to an engine").await;
    bridge.api.say_more(ANN, ANN, json!({"text": "typed", "reply_to": answer.id, "date": 1_800_000_100}));
    let query = bridge.api.press(ANN, sign.id, ANN, &sign.buttons()[0]);
    let answered = bridge.api.wait("the answer", |world| world.callbacks[&query].clone()).await;
    assert_eq!(answered, "dropped from the queue");
    bridge.api.wait_shown(ANN, "the last word", |message| message.id == sign.id && message.text == "cancelled").await;
    bridge.wait_engine("what waited behind it", |log| ended(log) == 2).await;
    // Also by the command, without a reply when there is nothing else.
    bridge.api.say_more(ANN, ANN, voice);
    bridge
        .api
        .wait("another", |world| world.shown(ANN).iter().any(|shown| shown.text == "receiving").then_some(()))
        .await;
    bridge.api.say_more(ANN, ANN, json!({"text": "/cancel", "date": 1_800_000_200}));
    let cancelled = |world: &mut crate::support::telegram::fake_api::World| {
        let count = world.shown(ANN).iter().filter(|shown| shown.text == "cancelled").count();
        (count == 2).then_some(())
    };
    bridge.api.wait("both are cancelled", cancelled).await;
    let_go.send_replace(true);
    bridge.api.say_more(ANN, ANN, json!({"text": "the last", "date": 1_800_000_300}));
    let log = bridge.wait_engine("the last run", |log| ended(log) == 3).await;
    let words: Vec<&str> = begun(&log).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, ["zero", "typed", "last"], "{log:?}");
}

#[tokio::test]
async fn in_chat_mode_messages_that_arrive_together_go_on_with_each_other() {
    let setup = with_project_and("session_mode = \"chat\"").await;
    for (text, date) in [("@alice one", 1_800_000_000), ("two", 1_800_000_100), ("three", 1_800_000_200)] {
        setup.api.say_more(FORUM, ANN, json!({"text": text, "date": date}));
    }
    let bridge = setup.start().await;
    let log = bridge.wait_engine("all runs", |log| ended(log) == 3).await;
    let (threads, words): (Vec<&str>, Vec<&str>) = begun(&log).into_iter().unzip();
    assert_eq!(words, ["one", "two", "three"], "{log:?}");
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{log:?}");
}

#[tokio::test]
async fn a_queued_reply_keeps_its_thread_over_a_crash_also_when_that_had_no_name_yet() {
    let mut bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "unnamed leader");
    let progress = bridge.wait_text(ANN, "starting").await;
    bridge.wait_engine("the first run", |log| log.len() == 1).await;
    for (count, text) in [(1, "#f1 first"), (2, "second")] {
        bridge.api.reply(ANN, ANN, text, progress.id);
        let queued = move |world: &mut crate::support::telegram::fake_api::World| {
            let queued = world.shown(ANN).iter().filter(|message| message.text.starts_with("queued")).count();
            (queued == count).then_some(())
        };
        bridge.api.wait("it is queued", queued).await;
    }
    bridge.go("go-thread");
    bridge.wait_text(ANN, "done").await;
    bridge.wait_engine("the second run", |log| begun(log).len() == 2).await;
    bridge.kill();
    bridge.restart().await;
    let log = bridge.wait_engine("the third run", |log| begun(log).iter().any(|(_, word)| *word == "second")).await;
    let runs = begun(&log);
    assert_eq!(runs[0].0, runs.last().unwrap().0, "{log:?}");
    bridge.go("go-f1");
}

#[tokio::test]
async fn with_trigger_mentions_the_rest_of_a_long_text_and_what_a_comment_is_about_count_too() {
    let bridge = with_mentions().await;
    let long = format!("@moot_test_bot {}", "x".repeat(4080));
    bridge.api.with(|world| {
        world.say(GROUP, ANN, json!({"text": long}));
        world.say(GROUP, ANN, json!({"text": "THE REST"}));
    });
    let log = bridge.wait_engine("the long text", |log| ended(log) == 1).await;
    assert!(log[0].contains("THE REST"), "{log:?}");
    bridge.api.with(|world| {
        world.say(GROUP, ANN, json!({"text": "@moot_test_bot what is this?"}));
        world.say(GROUP, ANN, json!({"text": "their words", "forward_origin": {"type": "hidden_user"}}));
    });
    let log = bridge.wait_engine("the comment", |log| ended(log) == 2).await;
    assert!(log[2].contains("what is this?") && log[2].contains("their words"), "{log:?}");
}

#[tokio::test]
async fn a_forwarded_command_is_no_command_and_waits_for_words_behind_commands_and_directives() {
    let bridge = Bridge::start().await;
    wait_menu(&bridge).await;
    bridge.api.say_more(ANN, ANN, json!({"text": "/agent set claude", "forward_origin": {"type": "hidden_user"}}));
    bridge.wait_text(ANN, "kept for your next message").await;
    bridge.api.say(ANN, ANN, "/agent");
    bridge.wait_text(ANN, "engine of this chat: codex").await;
    bridge.api.say(ANN, ANN, "/codex what is this?");
    let last = bridge.wait_text(ANN, "done · codex").await;
    assert!(last.text.contains("what is this?") && last.text.contains("/agent set claude"), "{}", last.text);
}

#[tokio::test]
async fn new_during_a_run_begins_a_thread_that_the_run_does_not_take_back() {
    let bridge = Setup::new().await.telegram("chat_id = 1001\nsession_mode = \"chat\"").start().await;
    bridge.api.say(ANN, ANN, "unnamed one");
    bridge.wait_engine("the first run", |log| log.len() == 1).await;
    bridge.api.say(ANN, ANN, "/new");
    bridge.api.wait_shown(ANN, "its answer", |message| message.text.contains("the next message begins")).await;
    bridge.api.say(ANN, ANN, "two");
    bridge.wait_text(ANN, "done").await;
    bridge.go("go-thread");
    let both = |world: &mut crate::support::telegram::fake_api::World| {
        let done = world.shown(ANN).iter().filter(|message| message.text.starts_with("done")).count();
        (done == 2).then_some(())
    };
    bridge.api.wait("both answers", both).await;
    bridge.api.say(ANN, ANN, "three");
    let log = bridge.wait_engine("the third run", |log| begun(log).len() == 3).await;
    let runs = begun(&log);
    assert_ne!(runs[0].0, runs[1].0, "{log:?}");
    assert_eq!(runs[1].0, runs[2].0, "{log:?}");
}

#[tokio::test]
async fn a_pasted_line_that_looks_like_a_context_is_part_of_the_prompt() {
    let bridge = with_project_and("").await.start().await;
    bridge.api.say(ANN, ANN, "explain this:\nname: x\nctx: prod\nport: 1");
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("ctx: prod"), "{}", last.text);
}

#[tokio::test]
async fn a_reply_to_an_answer_that_quotes_another_resume_line_goes_to_the_thread_of_the_answer() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "please quote");
    let answer = bridge.wait_text(ANN, "done").await;
    assert!(answer.text.contains("claude --resume 0199aaaa-1"), "{}", answer.text);
    bridge.api.reply(ANN, ANN, "again", answer.id);
    let log = bridge.wait_engine("the reply", |log| begun(log).len() == 2).await;
    let runs = begun(&log);
    assert_eq!(runs[0].0, runs[1].0, "{log:?}");
}

#[tokio::test]
async fn cancel_in_reply_to_the_prompt_itself_cancels_its_run() {
    let bridge = Bridge::start().await;
    let prompt = bridge.api.say(ANN, ANN, "hold");
    bridge.wait_engine("a run", |log| log.len() == 1).await;
    bridge.api.reply(ANN, ANN, "/cancel", prompt);
    bridge.wait_text(ANN, "cancelled · codex").await;
}

#[tokio::test]
async fn a_directive_may_follow_a_mention_of_the_bot() {
    let setup = Setup::new().await.config("[engines]\ndefault = \"pi\"");
    let bridge = setup.start().await;
    wait_menu(&bridge).await;
    bridge.api.say(ANN, ANN, "@moot_test_bot /codex do it");
    let last = bridge.wait_text(ANN, "done · codex").await;
    assert!(last.text.contains("echo: do it"), "{}", last.text);
}
