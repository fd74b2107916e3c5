//! Trouble around the bridge: servers that fail for a while, files that cannot be had, and what is said about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::support::telegram::{ANN, Bridge, Fault, GROUP, Setup};
use crate::telegram_commands::with_a_card;

/// A group for Ann.
async fn with_group() -> Setup {
    let setup = Setup::new().await.telegram("chat_id = -100200\nallowed_user_ids = [1001]");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    setup
}

#[tokio::test]
async fn before_the_bot_knows_its_name_nothing_is_taken_and_nothing_is_taken_for_it() {
    let setup = with_group().await;
    setup.api.fail_next("getMe", Fault::Status(502), 1);
    setup.api.say(GROUP, ANN, "/status@other_bot");
    setup.api.say(GROUP, ANN, "@moot_test_bot hello");
    let bridge = setup.start().await;
    bridge.wait_text(GROUP, "done").await;
    let shown = bridge.api.shown(GROUP);
    assert!(shown.iter().all(|message| !message.text.contains("nothing runs")), "{shown:?}");
}

#[tokio::test]
async fn the_bots_name_is_known_from_the_last_start_also_when_telegram_does_not_tell_it() {
    let mut bridge = with_group().await.start().await;
    bridge.api.say(GROUP, ANN, "/trigger mentions");
    bridge.wait_text(GROUP, "in this chat only mentions").await;
    bridge.stop().await;
    bridge.api.fail_next("getMe", Fault::Hang, 1);
    bridge.api.say(GROUP, ANN, "/status@other_bot");
    bridge.api.say(GROUP, ANN, "@moot_test_bot hello");
    bridge.restart().await;
    bridge.wait_text(GROUP, "done").await;
    let shown = bridge.api.shown(GROUP);
    assert!(shown.iter().all(|message| !message.text.contains("nothing runs")), "{shown:?}");
}

#[tokio::test]
async fn the_menu_is_set_however_often_that_fails_at_first() {
    let setup = Setup::new().await;
    setup.api.fail_next("setMyCommands", Fault::too_many(0), 7);
    let bridge = setup.start().await;
    bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
}

#[tokio::test]
async fn a_button_is_answered_after_a_429() {
    let bridge = Bridge::start().await;
    bridge.api.fail_next("answerCallbackQuery", Fault::too_many(0), 3);
    bridge.api.say(ANN, ANN, "hold");
    let sign = bridge.wait_text(ANN, "starting").await;
    let query = bridge.api.press(ANN, sign.id, ANN, &sign.buttons()[0]);
    let answer = bridge.api.wait("the answer", |world| world.callbacks[&query].clone()).await;
    assert_eq!(answer, "cancelling…");
}

#[tokio::test]
async fn a_card_is_not_decided_from_another_chat() {
    let (bridge, card) = with_a_card().await;
    bridge.api.say(ANN, ANN, "/status");
    let elsewhere = bridge.wait_text(ANN, "nothing runs").await;
    let query = bridge.api.press(ANN, elsewhere.id, ANN, &card.buttons()[0]);
    let answer = bridge.api.wait("an answer", |world| world.callbacks[&query].clone()).await;
    assert_eq!(answer, "this question is not known any more");
    let query = bridge.api.press(GROUP, card.id, ANN, &card.buttons()[0]);
    let answer = bridge.api.wait("an answer", |world| world.callbacks[&query].clone()).await;
    assert_eq!(answer, "allowed once");
}

/// Ears that fail with these answers first.
async fn with_failing_ears(failures: &'static [StatusCode]) -> (Setup, Arc<AtomicUsize>) {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let answer = move || {
        let failure = failures.get(count.fetch_add(1, Ordering::SeqCst)).copied();
        async move {
            match failure {
                Some(status) => (status, [("retry-after", "0")], "not now").into_response(),
                None => axum::Json(json!({"text": "fix the spoken bug"})).into_response(),
            }
        }
    };
    let router = axum::Router::new().route("/v1/audio/transcriptions", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let setup = Setup::new().await.config(&format!("[stt]\nbase_url = \"http://{address}/v1\""));
    setup.api.with(|world| world.add_file("v", "voice/1.ogg", b"OggS"));
    (setup, heard)
}

fn voice(fields: &Value) -> Value {
    let mut message = json!({"voice": {"file_id": "v", "duration": 2}});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

#[tokio::test]
async fn a_voice_note_survives_ears_and_files_that_fail_for_a_while() {
    let failures = &[StatusCode::BAD_GATEWAY, StatusCode::TOO_MANY_REQUESTS, StatusCode::TOO_MANY_REQUESTS];
    let (setup, heard) = with_failing_ears(failures).await;
    setup.api.fail_next("getFile", Fault::too_many(0), 6);
    let bridge = setup.start().await;
    bridge.api.say_more(ANN, ANN, voice(&json!({})));
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("fix the spoken bug"), "{}", last.text);
    assert_eq!(heard.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_refusal_of_the_ears_is_final_and_said() {
    let (setup, heard) = with_failing_ears(&[StatusCode::BAD_REQUEST]).await;
    let bridge = setup.start().await;
    bridge.api.say_more(ANN, ANN, voice(&json!({})));
    bridge.wait_text(ANN, "the voice note could not be written down").await;
    assert!(bridge.engine_log().is_empty());
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_is_named_and_the_rest_is_run() {
    let bridge = Bridge::start().await;
    let large = json!({"file_id": "l", "file_name": "film.mkv", "file_size": 30_000_000});
    bridge.api.say_more(ANN, ANN, json!({"document": large, "caption": "watch this"}));
    let last = bridge.wait_text(ANN, "done").await;
    assert!(last.text.contains("watch this") && last.text.contains("missing"), "{}", last.text);
    let told = bridge.api.wait_shown(ANN, "what is missing", |message| message.text.contains("goes on without")).await;
    assert!(told.text.contains("film.mkv is too large"), "{}", told.text);
    bridge.api.say_more(ANN, ANN, json!({"document": {"file_id": "gone", "file_name": "gone.txt"}}));
    bridge.wait_text(ANN, "gone.txt could not be fetched").await;
    assert_eq!(bridge.engine_log().len(), 2, "nothing is run without words");
}

/// Projects `one` and `two`, and a chat that goes on where it was.
async fn with_two_projects() -> Setup {
    let mut setup = Setup::new().await.telegram("chat_id = 1001\nsession_mode = \"chat\"");
    for name in ["one", "two"] {
        let folder = setup.path(name);
        std::fs::create_dir(&folder).unwrap();
        setup = setup.config(&format!("[projects.{name}]\npath = \"{}\"", folder.display()));
    }
    setup
}

#[tokio::test]
async fn in_chat_mode_a_thread_goes_on_where_it_was_begun_and_every_place_has_its_own() {
    let bridge = with_two_projects().await.start().await;
    let mut runs = Vec::new();
    for text in ["/one first", "/two second", "third plain", "/one fourth", "fifth"] {
        let before = bridge.engine_log().len();
        bridge.api.say(ANN, ANN, text);
        let log = bridge.wait_engine(text, |log| log.len() >= before + 2).await;
        let words: Vec<String> = log[before].split(' ').map(str::to_owned).collect();
        runs.push((words[1].clone(), words[2].rsplit('/').next().unwrap().to_owned()));
        let word = text.rsplit(' ').next().unwrap();
        bridge.api.wait_shown(ANN, "its answer", |message| message.text.contains(&format!("{word}\n"))).await;
    }
    let places: Vec<&str> = runs.iter().map(|(_, place)| place.as_str()).collect();
    assert_eq!(places, ["one", "two", "two", "one", "one"]);
    assert_ne!(runs[0].0, runs[1].0, "a place of its own has a thread of its own: {runs:?}");
    assert_eq!(runs[1].0, runs[2].0, "{runs:?}");
    assert_eq!(runs[0].0, runs[3].0, "{runs:?}");
    assert_eq!(runs[3].0, runs[4].0, "{runs:?}");
    for tap in ["/codex", "/two"] {
        bridge.api.say(ANN, ANN, tap);
        bridge.wait_text(ANN, &format!("say what to do in the same message: {tap} fix")).await;
    }
    assert_eq!(bridge.engine_log().len(), 10, "a tap on the menu runs nothing");
}

#[tokio::test]
async fn a_group_with_a_new_id_is_told_once_which_key_to_set_to_it() {
    const OLD: i64 = -300;
    const NEW: i64 = -1_000_000_000_300;
    let setup = Setup::new().await.telegram("chat_id = -300\nallowed_user_ids = [1001]");
    setup.api.with(|world| {
        world.add_group(OLD);
        world.add_group(NEW);
    });
    let mut bridge = setup.start().await;
    for _ in 0..2 {
        bridge.api.with(|world| {
            world.say(OLD, ANN, json!({"migrate_to_chat_id": NEW}));
            world.chat(OLD).moved_to = Some(NEW);
        });
        // What is owed to the old group moves with it, and tells of the move too.
        bridge.api.say(OLD, ANN, "/status");
        bridge.api.wait("all is taken", |world| world.is_all_taken().then_some(())).await;
    }
    let told = bridge.wait_text(NEW, "this group has become a supergroup").await;
    assert!(told.text.contains("set telegram.chat_id to -1000000000300"), "{}", told.text);
    bridge.stop().await;
    let words = bridge.api.shown(NEW);
    let count = words.iter().filter(|message| message.text.starts_with("this group has become")).count();
    assert_eq!(count, 1, "{words:?}");
}

#[tokio::test]
async fn a_voice_note_or_a_file_in_reply_to_a_card_is_the_note() {
    for file in ["v", "d"] {
        let (setup, _) = with_failing_ears(&[]).await;
        setup.api.with(|world| world.add_file("d", "documents/2", b"a plan"));
        let bridge = setup.start().await;
        bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
        bridge.api.say(ANN, ANN, "/claude clean up");
        let card = bridge.wait_text(ANN, "⚠️ deletes files without asking\npermission · claude").await;
        let (fields, expected) = match file {
            "v" => (voice(&json!({"reply_to": card.id})), "(voice transcribed) fix the spoken bug"),
            _ => {
                let document = json!({"file_id": "d", "file_name": "plan.txt"});
                (json!({"document": document, "caption": "like this", "reply_to": card.id}), "incoming/plan.txt")
            }
        };
        bridge.api.say_more(ANN, ANN, fields);
        bridge.wait_text(ANN, "done · claude").await;
        let answers = std::fs::read_to_string(bridge.path("answers")).unwrap();
        assert!(answers.contains("\"deny\"") && answers.contains(expected), "{answers}");
        assert!(bridge.engine_log().is_empty(), "no other run");
    }
}

#[tokio::test]
async fn what_no_engine_can_be_given_is_answered_once_and_service_messages_are_not() {
    let bridge = Bridge::start().await;
    bridge.api.say_more(ANN, ANN, json!({"new_chat_title": "x"}));
    bridge.api.say_more(ANN, ANN, json!({"sticker": {"file_id": "s"}}));
    bridge.api.say_more(ANN, ANN, json!({"dice": {"emoji": "x", "value": 3}}));
    bridge.wait_text(ANN, "this cannot be given to an engine").await;
    bridge.api.say(ANN, ANN, "/status");
    bridge.wait_text(ANN, "nothing runs").await;
    let shown = bridge.api.shown(ANN);
    let told: Vec<_> = shown.iter().filter(|message| message.text.contains("cannot be given to an engine")).collect();
    assert!(told.len() == 1 && told[0].text.contains("voice notes, photos or files"), "{shown:?}");
}

#[tokio::test]
async fn the_words_after_new_are_the_first_prompt_of_the_new_thread() {
    let bridge = with_two_projects().await.start().await;
    for (text, runs) in [("one", 2), ("/new fix the login bug", 4), ("and two", 6)] {
        bridge.api.say(ANN, ANN, text);
        bridge.wait_engine(text, |log| log.len() == runs).await;
        let word = text.rsplit(' ').next().unwrap();
        bridge.api.wait_shown(ANN, "its answer", |message| message.text.contains(&format!("{word}\n"))).await;
    }
    let log = bridge.engine_log();
    let thread = |at: usize| log[at].split_whitespace().nth(1).unwrap();
    assert!(log[2].ends_with("fix the login bug") && !log[2].contains("/new"), "{log:?}");
    assert_ne!(thread(0), thread(2), "{log:?}");
    assert_eq!(thread(2), thread(4), "it goes on: {log:?}");
}

#[tokio::test]
async fn what_somebody_else_wrote_and_linked_comes_along() {
    let bridge = with_group().await.start().await;
    let theirs = bridge.api.say(GROUP, crate::support::telegram::EVE, "it breaks here");
    let link = json!([{"type": "text_link", "offset": 0, "length": 4, "url": "https://x.org/why"}]);
    bridge.api.say_more(GROUP, ANN, json!({"text": "this explains it?", "entities": link, "reply_to": theirs}));
    let last = bridge.wait_text(GROUP, "done").await;
    assert!(
        bridge.engine_log()[0].contains("> it breaks here\\n\\nthis (https://x.org/why) explains it?"),
        "{}",
        last.text
    );
}
