//! The ways in: the bridge inside `moot serve`, its set-up, the look of `moot doctor`, and the pace of edits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::telegram::{ANN, Bridge, Fault, GROUP, Setup, TOKEN, walk_through_setup};
use crate::support::terminal::Terminal;
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
    let has_link = |commands: &[Value]| commands.iter().any(|entry| entry["command"] == "link");
    setup.api.wait("a menu with /link", |world| has_link(&world.commands).then_some(())).await;
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
async fn setup_makes_the_file_that_it_was_given_and_tries_again_when_telegram_fails() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("below/new.toml");
    setup.api.fail_next("getMe", Fault::Status(502), 1);
    let words = ["--chat", "1001", "--engine", "claude", "--config", file.to_str().unwrap()];
    let (code, said) = walk_through_setup(home.path(), &setup.api, TOKEN, &words).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("trying again"), "{said}");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(TOKEN) && written.contains("chat_id = 1001"), "{written}");
}

#[tokio::test]
async fn setup_asks_again_for_a_mistyped_token_and_waits_through_a_502() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    configured(home.path(), &format!("[telegram]\napi_base = \"{}\"\n", setup.api.base()));
    let mut terminal = Terminal::run(home.path(), &["telegram", "setup", "--engine", "claude"]);
    for wrong in ["nonsense\n", "1:wrong\n"] {
        terminal.shows("Token: ").await;
        terminal.press(wrong);
        terminal.shows("Try again").await;
    }
    terminal.shows("Token: ").await;
    setup.api.fail_next("getUpdates", Fault::Status(502), 1);
    terminal.press(&format!("{TOKEN}\n"));
    terminal.shows("Now write anything to @moot_test_bot").await;
    setup.api.say(ANN, ANN, "hi");
    terminal.shows("Serve this chat?").await;
    terminal.press("y\n");
    assert_eq!(terminal.end().await, Some(0));
}

/// Writes the configuration of a home, and says where it is.
fn configured(home: &Path, config: &str) -> PathBuf {
    let file = home.join("config/folkmoot/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, config).unwrap();
    file
}

#[tokio::test]
async fn setup_takes_no_anonymous_admin_and_no_demonstration_for_the_real_thing() {
    let setup = Setup::new().await;
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let home = tempfile::tempdir().unwrap();
    let missing = |name| format!("[engines.{name}]\ncommand = \"/nonexistent/{name}\"\n");
    let engines = ["claude", "codex", "opencode", "pi"].map(missing).concat();
    let file = configured(home.path(), &format!("{engines}[telegram]\napi_base = \"{}\"\n", setup.api.base()));
    let mut terminal = Terminal::run(home.path(), &["telegram", "setup", "--token-stdin"]);
    terminal.press(&format!("{TOKEN}\n"));
    terminal.shows("Now write anything to @moot_test_bot").await;
    let nobody = json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group"});
    let as_group = json!({"text": "hi", "from": nobody, "sender_chat": {"id": GROUP, "type": "supergroup"}});
    setup.api.say_more(GROUP, 1_087_968_824, as_group);
    terminal.shows("written anonymously").await;
    setup.api.say(GROUP, ANN, "hi");
    terminal.shows("Serve this chat?").await;
    terminal.press("y\n");
    terminal.shows("No engine is installed").await;
    terminal.shows("Engine of new threads [codex]").await;
    terminal.press("\n");
    terminal.shows("hint: install it, or set `engines.codex.command`").await;
    assert_eq!(terminal.end().await, Some(0));
    let written = std::fs::read_to_string(file).unwrap();
    for line in ["allowed_user_ids = [1001]", "chat_id = -100200", "default = \"codex\""] {
        assert!(written.contains(line), "{line}:\n{written}");
    }
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
async fn doctor_looks_at_every_engine_and_project_and_at_who_is_served() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    let broken = axum::Router::new().fallback(|| async { axum::http::StatusCode::SERVICE_UNAVAILABLE });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let speech = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, broken).await });
    let codex = setup.path("bin/codex");
    let config = format!(
        "[telegram]\nbot_token = \"{TOKEN}\"\napi_base = \"{}\"\nchat_id = {ANN}\nallowed_user_ids = [2002]\n\
         [engines.codex]\ncommand = \"{}\"\n[engines.claude]\ncommand = \"/nonexistent/claude\"\n\
         [engines.pi]\ncommand = \"/nonexistent/pi\"\n\
         [projects.web]\npath = \"/nonexistent/web\"\ndefault_engine = \"claude\"\n\
         [stt]\nbase_url = \"http://{speech}/v1\"\n",
        setup.api.base(),
        codex.display()
    );
    configured(home.path(), &config);
    let done = moot(home.path(), &["doctor", "--json"], &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let findings: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
    for (check, verdict, words) in [
        ("telegram", "fail", "nobody is served in the private chat 1001"),
        ("engine", "ok", "codex 1.2.3"),
        ("engine", "fail", "the project `web` needs it"),
        ("engine", "warn", "pi cannot be used"),
        ("project", "fail", "/nonexistent/web"),
        ("speech", "warn", "503"),
    ] {
        let found = findings.iter().any(|finding| {
            let says = finding["sentence"].as_str().unwrap_or_default().contains(words);
            finding["check"] == check && finding["verdict"] == verdict && says
        });
        assert!(found, "{check} {verdict} {words}: {}", done.stdout);
    }
}

#[tokio::test]
async fn doctor_fails_where_the_bot_is_not_in_its_group_or_may_not_write() {
    let setup = Setup::new().await;
    let home = tempfile::tempdir().unwrap();
    let base = setup.api.base();
    let environment = [
        ("MOOT_TELEGRAM__BOT_TOKEN", TOKEN),
        ("MOOT_TELEGRAM__API_BASE", base.as_str()),
        ("MOOT_TELEGRAM__CHAT_ID", "-100200"),
        ("MOOT_TELEGRAM__ALLOWED_USER_IDS", "[1001]"),
    ];
    for (status, words) in
        [("left", "is not in the group"), ("kicked", "is not in the group"), ("restricted", "may not write")]
    {
        setup.api.with(|world| {
            world.add_group(GROUP);
            world.chat(GROUP).members.insert(crate::support::telegram::fake_api::BOT, status);
        });
        let done = moot(home.path(), &["doctor"], &environment).await;
        assert_eq!(done.code, Some(1), "{status}: {}", done.stdout);
        assert!(done.stdout.contains(words), "{status}: {}", done.stdout);
    }
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
