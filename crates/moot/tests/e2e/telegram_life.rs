//! Cancelling, stopping, crashing, starting again, and faults on the way: nothing is lost, and everything has an end.

use crate::support::telegram::{ANN, Bridge, Fault, GROUP, Message, Setup};

/// Messages in the chat that are the last word about a prompt.
fn finals(bridge: &Bridge, chat: i64) -> Vec<String> {
    let last = ["done", "error", "cancelled", "stopped"];
    let texts = bridge.api.shown(chat).into_iter().map(|message| message.text);
    texts.filter(|text| last.iter().any(|word| text.starts_with(word))).collect()
}

async fn held(bridge: &Bridge, words: &str) -> i64 {
    let runs = bridge.engine_log().len();
    bridge.api.say(ANN, ANN, words);
    let progress = bridge.wait_text(ANN, "starting").await;
    bridge.wait_engine("a run", |log| log.len() > runs).await;
    progress.id
}

/// What the button below a message says to the bot.
fn button(bridge: &Bridge, chat: i64, message: i64) -> String {
    let shown = bridge.api.shown(chat).into_iter().find(|shown| shown.id == message).expect("the message");
    shown.buttons().remove(0)
}

#[tokio::test]
async fn cancel_by_reply_terminates_the_run_and_produces_cancelled_with_the_resume_line() {
    let bridge = Bridge::start().await;
    let progress = held(&bridge, "hold").await;
    bridge.api.reply(ANN, ANN, "/cancel and more words", progress);
    let last = bridge.wait_text(ANN, "cancelled · codex").await;
    assert_eq!(last.id, progress, "the progress message says it");
    assert!(last.text.contains("codex resume th-") && last.buttons().is_empty(), "{}", last.text);
    let log = bridge.wait_engine("SIGTERM", |log| log.len() == 2).await;
    assert!(log[1].starts_with("term"), "{log:?}");
    let at = last.changed_at;
    bridge.api.say(ANN, ANN, "/status");
    bridge.wait_text(ANN, "nothing runs").await;
    let again = bridge.api.shown(ANN).into_iter().find(|message| message.id == progress).unwrap();
    assert_eq!(again.changed_at, at, "no further edits");
}

#[tokio::test]
async fn cancel_by_button_is_answered_at_once() {
    let bridge = Bridge::start().await;
    let progress = held(&bridge, "hold").await;
    let cancel = button(&bridge, ANN, progress);
    let press = bridge.api.press(ANN, progress, ANN, &cancel);
    bridge.api.wait("an answer to the button", |world| world.callbacks[&press].clone()).await;
    bridge.wait_text(ANN, "cancelled").await;
    let press = bridge.api.press(ANN, progress, ANN, &cancel);
    let answer = bridge.api.wait("an answer", |world| world.callbacks[&press].clone()).await;
    assert!(answer.to_string().contains("nothing is running"), "{answer}");
}

#[tokio::test]
async fn cancel_without_a_target_says_how() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "/cancel");
    bridge.wait_text(ANN, "reply to the progress message to cancel.").await;
    let own = bridge.api.say(ANN, ANN, "/help");
    bridge.wait_text(ANN, "Send a message").await;
    bridge.api.reply(ANN, ANN, "/cancel", own);
    bridge.wait_text(ANN, "nothing is currently running for that message.").await;
}

#[tokio::test]
async fn a_queued_prompt_can_be_dropped() {
    let bridge = Bridge::start().await;
    let progress = held(&bridge, "hold").await;
    bridge.api.reply(ANN, ANN, "second", progress);
    let queued = bridge.wait_text(ANN, "queued").await;
    bridge.api.press(ANN, queued.id, ANN, &button(&bridge, ANN, queued.id));
    let dropped = bridge.wait_text(ANN, "cancelled").await;
    assert!(dropped.id == queued.id && dropped.text.contains("Dropped from the queue"), "{}", dropped.text);
    bridge.go("go");
    bridge.wait_text(ANN, "done").await;
    assert_eq!(bridge.engine_log().len(), 2, "the second never ran");
}

#[tokio::test]
async fn a_clean_stop_ends_runs_finalises_messages_and_removes_the_lock() {
    let mut bridge = Bridge::start().await;
    let progress = held(&bridge, "hold").await;
    assert!(bridge.lock().exists());
    assert!(bridge.stop().await.success(), "exit code 0");
    assert!(!bridge.lock().exists());
    assert!(bridge.engines_alive().is_empty(), "no orphan");
    let last = bridge.wait_text(ANN, "stopped · codex").await;
    assert!(last.id == progress && last.text.contains("codex resume th-"), "{}", last.text);
}

#[tokio::test]
async fn after_a_crash_the_orphaned_message_is_finalised_and_queued_prompts_run() {
    let mut bridge = Bridge::start().await;
    let progress = held(&bridge, "hold").await;
    bridge.api.reply(ANN, ANN, "waits", progress);
    bridge.wait_text(ANN, "queued").await;
    bridge.kill();
    bridge.api.say(ANN, ANN, "sent while it was down");
    bridge.restart().await;
    let last = bridge.wait_text(ANN, "stopped · codex").await;
    assert!(last.id == progress && last.text.contains("codex resume th-"), "{}", last.text);
    let all = |log: &[String]| log.iter().filter(|line| line.starts_with("end")).count() == 2;
    let log = bridge.wait_engine("the queued prompt and the one sent meanwhile", all).await;
    assert!(
        log.iter().any(|line| line.ends_with("waits")) && log.iter().any(|line| line.contains("while it was down"))
    );
    let three = |world: &mut crate::support::telegram::fake_api::World| {
        let done = world.shown(ANN).iter().filter(|message| message.text.starts_with("done")).count();
        (done == 2).then_some(())
    };
    bridge.api.wait("their answers", three).await;
    assert_eq!(finals(&bridge, ANN).len(), 3, "one last word each");
}

#[tokio::test]
async fn something_forwarded_is_still_kept_after_a_crash() {
    let mut bridge = Bridge::start().await;
    let forward = serde_json::json!({"text": "their words", "forward_origin": {"type": "hidden_user"}});
    bridge.api.say_more(ANN, ANN, forward);
    bridge.wait_text(ANN, "kept for your next message").await;
    bridge.kill();
    bridge.restart().await;
    bridge.api.say(ANN, ANN, "what is this?");
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("what is this?") && last.text.contains("their words"), "{}", last.text);
    let asked = |message: &&Message| message.text.starts_with("kept for your next message");
    assert_eq!(bridge.api.shown(ANN).iter().filter(asked).count(), 1, "it is asked about once");
}

#[tokio::test]
async fn a_second_bridge_of_the_same_bot_is_refused_with_the_remedy() {
    let bridge = Bridge::start().await;
    let (code, words) = bridge.second().await;
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains(&bridge.pid().to_string()) && words.contains("hint: stop it first"), "{words}");
    bridge.api.say(ANN, ANN, "still there?");
    bridge.wait_text(ANN, "done").await;
}

#[tokio::test]
async fn a_stale_lock_does_not_matter_also_when_its_pid_lives_again() {
    let setup = Setup::new().await;
    let lock = setup.path("config/folkmoot/config.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let content = serde_json::json!({"pid": std::process::id(), "token_fingerprint": "0123456789"});
    std::fs::write(&lock, content.to_string()).unwrap();
    let bridge = setup.start().await;
    let held: serde_json::Value = serde_json::from_slice(&std::fs::read(bridge.lock()).unwrap()).unwrap();
    assert_eq!(held["pid"], bridge.pid());
    assert_eq!(held["token_fingerprint"].as_str().unwrap().len(), 10);
}

#[tokio::test]
async fn one_502_on_the_final_send_and_the_answer_is_delivered() {
    let bridge = Bridge::start().await;
    held(&bridge, "hold").await;
    bridge.api.fail_next("sendMessage", Fault::Status(502), 1);
    bridge.go("go");
    bridge.wait_text(ANN, "done").await;
    assert_eq!(finals(&bridge, ANN).len(), 1);
}

#[tokio::test]
async fn a_429_holds_up_its_own_chat_only() {
    let setup = Setup::new()
        .await
        .telegram("chat_id = 1001\nallowed_user_ids = [1001]")
        .config("[projects.web]\npath = \"/tmp\"\nchat_id = -100200");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    bridge.wait_text(ANN, "Folkmoot is ready").await;
    bridge.api.fail_next("sendMessage", Fault::too_many(6), 1);
    bridge.api.say(GROUP, ANN, "in the group");
    bridge.api.wait("the refusal", |world| world.calls.iter().any(|call| call.status == 429).then_some(())).await;
    bridge.api.say(ANN, ANN, "in private");
    bridge.wait_text(ANN, "done").await;
    let group = bridge.api.with(|world| world.shown(GROUP));
    assert!(!group.iter().any(|message| message.text.starts_with("done")), "the group waits, the person does not");
    bridge.wait_text(GROUP, "done").await;
    assert_eq!(bridge.api.with(|world| world.pace.violations), 0, "nobody was called who asked to wait");
}

#[tokio::test]
async fn the_final_message_comes_at_the_result_although_the_process_lingers() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "linger");
    bridge.wait_text(ANN, "done").await;
    assert!(!bridge.engines_alive().is_empty(), "it lingers indeed");
}

#[tokio::test]
async fn a_wrong_token_ends_the_bridge_with_words() {
    let setup = Setup::new().await;
    let config = format!("[telegram]\nbot_token = \"1:wrong\"\nchat_id = 1001\napi_base = \"{}\"\n", setup.api.base());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("moot.toml");
    std::fs::write(&file, config).unwrap();
    let file = file.to_string_lossy().into_owned();
    let done = crate::support::moot(home.path(), &["telegram", "--config", &file], &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("does not know this bot token") && done.stderr.contains("hint:"), "{}", done.stderr);
    assert!(!home.path().join("moot.lock").exists());
}

#[tokio::test]
async fn without_a_token_or_a_chat_the_command_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let done = crate::support::moot(home.path(), &["telegram"], &[]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("moot telegram setup"), "{}", done.stderr);
    let done = crate::support::moot(home.path(), &["telegram"], &[("MOOT_TELEGRAM__BOT_TOKEN", "1:a")]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("nobody would be served"), "{}", done.stderr);
}
