//! Section 6 of the Takopi document: prompts become runs, runs become messages, threads go on.

use serde_json::json;

use crate::support::telegram::{ANN, Bridge, EVE, GROUP, Setup};

#[tokio::test]
async fn a_message_is_run_and_the_final_message_has_status_answer_and_resume_line() {
    let bridge = Bridge::start().await;
    let asked = bridge.api.say(ANN, ANN, "hello \"world\"");
    let last = bridge.wait_text(ANN, "done · codex").await;
    assert!(last.text.contains("echo: hello \"world\""), "{}", last.text);
    assert!(last.text.contains("codex resume th-"), "{}", last.text);
    assert_eq!((last.reply_to, last.silent), (Some(asked), false), "a reply that makes a sound");
    let gone = |world: &mut crate::support::telegram::fake_api::World| {
        let progress = world.shown(ANN).into_iter().any(|message| !message.buttons().is_empty());
        (!progress).then_some(())
    };
    bridge.api.wait("the progress message goes", gone).await;
}

#[tokio::test]
async fn a_reply_continues_the_thread_in_order() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "first");
    let last = bridge.wait_text(ANN, "done").await;
    bridge.api.reply(ANN, ANN, "second", last.id);
    let log = bridge
        .wait_engine("the second run", |log| log.iter().filter(|line| line.starts_with("end")).count() == 2)
        .await;
    let thread = |line: &String| line.split_whitespace().nth(1).map(str::to_owned);
    assert_eq!(thread(&log[0]), thread(&log[2]), "{log:?}");
}

#[tokio::test]
async fn a_reply_to_a_running_message_waits_for_its_thread_also_before_that_has_a_name() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "late hold one");
    let progress = bridge.wait_text(ANN, "starting").await;
    bridge.api.reply(ANN, ANN, "two", progress.id);
    bridge.wait_text(ANN, "queued").await;
    bridge.wait_engine("the first run", |log| log.len() == 1).await;
    bridge.go("go");
    let log = bridge.wait_engine("both runs", |log| log.len() == 4).await;
    let words: Vec<&str> = log.iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(words, ["begin", "end", "begin", "end"], "the second does not start until the first completes");
    let thread = |line: &str| line.split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(thread(&log[0]), thread(&log[2]), "{log:?}");
}

#[tokio::test]
async fn two_messages_sent_one_after_the_other_are_both_used() {
    // A wide window, because on a busy machine a short pause may be a long one.
    let bridge = Setup::new().await.telegram("chat_id = 1001\njoin_window_s = 2.5").start().await;
    bridge.api.say(ANN, ANN, "FIRST HALF");
    bridge.api.wait("the first half is taken by itself", |world| world.is_all_taken().then_some(())).await;
    bridge.api.say(ANN, ANN, "SECOND HALF");
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("FIRST HALF") && last.text.contains("SECOND HALF"), "{}", last.text);
    assert_eq!(bridge.engine_log().iter().filter(|line| line.starts_with("begin")).count(), 1);
}

#[tokio::test]
async fn an_engine_that_fails_is_shown_with_the_tail_of_standard_error_and_the_resume_line() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "please fail");
    let last = bridge.wait_text(ANN, "error · codex").await;
    assert!(last.text.contains("no credit left") && last.text.contains("codex resume th-"), "{}", last.text);
}

#[tokio::test]
async fn an_engine_that_is_not_installed_is_an_error_with_its_resume_line() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "go on\n\nopencode --session ses_abc");
    let last = bridge.wait_text(ANN, "error · opencode").await;
    assert!(last.text.contains("opencode --session ses_abc"), "{}", last.text);
}

#[tokio::test]
async fn resume_beats_directive_and_directive_beats_default() {
    let bridge = Setup::new().await.config("[engines]\ndefault = \"pi\"").start().await;
    bridge.api.say(ANN, ANN, "/codex fresh");
    let last = bridge.wait_text(ANN, "done · codex").await;
    assert!(last.text.contains("echo: fresh"), "the directive is stripped: {}", last.text);
    bridge.api.say(ANN, ANN, "/claude again\ncodex resume th-77");
    let log = bridge.wait_engine("the resumed run", |log| log.len() >= 3).await;
    assert!(log[2].starts_with("begin th-77"), "{log:?}");
}

#[tokio::test]
async fn the_engine_on_the_command_line_overrides_the_default() {
    let setup = Setup::new().await.config("[engines]\ndefault = \"pi\"").argument("codex");
    let bridge = setup.start().await;
    bridge.api.say(ANN, ANN, "hello");
    bridge.wait_text(ANN, "done · codex").await;
}

#[tokio::test]
async fn a_long_answer_comes_in_pages_that_all_have_the_resume_line() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "big");
    let pages = bridge
        .api
        .wait("all pages", |world| {
            let pages: Vec<_> = world.shown(ANN).into_iter().filter(|page| page.text.contains("line ")).collect();
            pages.iter().any(|page| page.text.contains("line 899 ")).then_some(pages)
        })
        .await;
    assert!(pages.len() > 3);
    assert!(pages.iter().all(|page| page.text.contains("codex resume th-") && page.text.chars().count() <= 4096));
}

#[tokio::test]
async fn strangers_get_silence_and_a_group_without_a_list_is_told_how_to_fix_it() {
    let setup = Setup::new().await.telegram("chat_id = -100200");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    bridge.api.say(EVE, EVE, "let me in");
    bridge.api.say(GROUP, ANN, "hello");
    let told = bridge.wait_text(GROUP, "nobody may give orders").await;
    assert!(told.text.contains("telegram.allowed_user_ids"), "{}", told.text);
    assert!(bridge.api.shown(EVE).is_empty() && bridge.engine_log().is_empty());
}

#[tokio::test]
async fn in_a_group_only_the_listed_may_also_with_buttons() {
    let setup = Setup::new().await.telegram("chat_id = -100200\nallowed_user_ids = [1001]");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    bridge.api.say(GROUP, EVE, "not me");
    bridge.api.say(GROUP, ANN, "hold me");
    let progress = bridge.wait_text(GROUP, "starting").await;
    bridge.wait_engine("the run", |log| !log.is_empty()).await;
    let press = bridge.api.press(GROUP, progress.id, EVE, &progress.buttons()[0]);
    bridge.api.wait("an answer to the button", |world| world.callbacks[&press].clone()).await;
    bridge.go("go");
    bridge.wait_text(GROUP, "done").await;
    let log = bridge.engine_log();
    assert!(log.iter().all(|line| !line.contains("not me")), "{log:?}");
    bridge.api.say(ANN, ANN, "and in private");
    bridge.wait_text(ANN, "done").await;
}

#[tokio::test]
async fn forwards_join_the_words_about_them_and_wait_for_them() {
    let bridge = Bridge::start().await;
    bridge.api.say_more(ANN, ANN, json!({"text": "their words", "forward_origin": {"type": "hidden_user"}}));
    bridge.wait_text(ANN, "kept for your next message").await;
    assert!(bridge.engine_log().is_empty(), "a forward alone does not run");
    bridge.api.say(ANN, ANN, "what is this?");
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("what is this?") && last.text.contains("their words"), "{}", last.text);
}

#[tokio::test]
async fn a_mention_is_a_prompt_and_no_branch() {
    let bridge = Bridge::start().await;
    bridge.api.say(ANN, ANN, "@mybot fix it");
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("echo: @mybot fix it"), "{}", last.text);
}
