//! The ways in: the bridge inside `moot serve`, its set-up, the look of `moot doctor`, and the pace of edits.

use std::time::Duration;

use crate::support::telegram::{ANN, Bridge, Setup, TOKEN, walk_through_setup};
use crate::support::{self, moot};

/// A hub whose configuration has a bot.
fn hub_with_bot(setup: &Setup, token: &str) -> support::Setup {
    support::Setup::default()
        .env("MOOT_TELEGRAM__BOT_TOKEN", token)
        .env("MOOT_TELEGRAM__CHAT_ID", &ANN.to_string())
        .env("MOOT_TELEGRAM__API_BASE", &setup.api.base())
        .env("MOOT_ENGINES__CODEX__COMMAND", &setup.path("bin/codex").to_string_lossy())
}

#[tokio::test]
async fn the_hub_runs_the_bridge_and_takes_it_down_cleanly() {
    let setup = Setup::new().await;
    let mut hub = hub_with_bot(&setup, TOKEN).start().await;
    setup.api.say(ANN, ANN, "through the hub");
    let last = setup.api.wait_shown(ANN, "the answer", |message| message.text.starts_with("done")).await;
    assert!(last.text.contains("echo: through the hub"), "{}", last.text);
    let asked = setup.api.say(ANN, ANN, "hold");
    setup.api.wait_shown(ANN, "a first sign", |message| message.reply_to == Some(asked)).await;
    let lock = hub.folder().path().join("config/folkmoot/config.lock");
    assert!(lock.exists());
    assert!(hub.stop().await.success());
    assert!(!lock.exists());
    setup.api.wait_shown(ANN, "its end", |message| message.text.starts_with("stopped")).await;
    assert!(!hub.log().contains(TOKEN), "the token is in the log");
}

#[tokio::test]
async fn a_token_that_telegram_refuses_is_no_reason_not_to_serve_the_hub() {
    let setup = Setup::new().await;
    let hub = hub_with_bot(&setup, "1:wrong").start().await;
    support::eventually("the log tells of it", || async {
        hub.log().contains("the hub goes on without the Telegram bridge").then_some(())
    })
    .await;
    let answer = reqwest::get(hub.url("/health")).await.unwrap();
    assert!(answer.status().is_success());
}

#[tokio::test]
async fn setup_checks_the_token_and_writes_a_configuration_that_works() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    let (code, said) = walk_through_setup(home.path(), &setup.api, "1:wrong\n", &["--chat", "1001"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Telegram does not know this token"), "{said}");
    let (code, said) = walk_through_setup(home.path(), &setup.api, TOKEN, &["--chat", "-5"]).await;
    assert_eq!(code, Some(2), "a group needs a user: {said}");
    let (code, said) =
        walk_through_setup(home.path(), &setup.api, TOKEN, &["--chat", "1001", "--engine", "claude"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("@moot_test_bot") && !said.contains(TOKEN), "{said}");
    let file = home.path().join("config/folkmoot/config.toml");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(TOKEN) && written.contains("chat_id = 1001") && written.contains("default = \"claude\""));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "it holds a token");
    let checked = moot(home.path(), &["config", "check"], &[]).await;
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
}

#[tokio::test]
async fn doctor_looks_at_token_chat_engine_and_ears() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    let codex = setup.path("bin/codex").to_string_lossy().into_owned();
    let base = setup.api.base();
    let good = [
        ("MOOT_TELEGRAM__BOT_TOKEN", TOKEN),
        ("MOOT_TELEGRAM__API_BASE", base.as_str()),
        ("MOOT_TELEGRAM__CHAT_ID", "1001"),
        ("MOOT_ENGINES__CODEX__COMMAND", codex.as_str()),
    ];
    let done = moot(home.path(), &["doctor"], &good).await;
    for word in ["the token is that of @moot_test_bot", "chat 1001", "codex 1.2.3", "voice notes need"] {
        assert!(done.stdout.contains(word), "{word}:\n{}", done.stdout);
    }
    let mut bad = good;
    bad[2].1 = "-77";
    let done = moot(home.path(), &["doctor"], &bad).await;
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    assert!(done.stdout.contains("does not see the chat -77"), "{}", done.stdout);
    bad[0].1 = "1:wrong";
    let done = moot(home.path(), &["doctor"], &bad).await;
    assert!(done.stdout.contains("does not know the bot token"), "{}", done.stdout);
}

#[tokio::test]
async fn edits_keep_their_interval_and_none_says_what_is_there_already() {
    let bridge = Bridge::start().await;
    let asked = bridge.api.say(ANN, ANN, "hold");
    let sign = bridge.api.wait_shown(ANN, "a first sign", |message| message.reply_to == Some(asked)).await;
    let three = |world: &mut crate::support::telegram::fake_api::World| {
        let edits = world.calls.iter().filter(|call| call.method == "editMessageText").count();
        (edits >= 3).then_some(())
    };
    bridge.api.wait("the clock moves", three).await;
    bridge.go("go");
    bridge.wait_text(ANN, "done").await;
    let edits = bridge.api.calls("editMessageText");
    let times: Vec<Duration> = edits.iter().map(|edit| edit.at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(950)), "{times:?}");
    assert!(times[0] - sign.sent_at >= Duration::from_millis(950), "{times:?} after {:?}", sign.sent_at);
    let texts: Vec<&str> = edits.iter().filter_map(|edit| edit.body["text"].as_str()).collect();
    assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
    assert!(
        texts.iter().all(|text| text.contains("codex resume th-")),
        "the resume line is in progress too: {texts:?}"
    );
    assert!(edits.iter().all(|edit| edit.status == 200));
}
