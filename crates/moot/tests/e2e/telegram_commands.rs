//! Commands, projects and branches, files and voice notes, permission cards, and the menu.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::telegram::{ANN, Bridge, EVE, Fault, GROUP, Message, Setup};

pub const FORUM: i64 = -1_000_000_000_777;

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let done = Command::new("git").arg("-C").arg(folder).args(who).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

async fn with_project() -> Setup {
    with_project_and("").await
}

/// A project `web` with the branches `main` and `fix`, bound to the forum, and more about the bot.
pub async fn with_project_and(lines: &str) -> Setup {
    let setup = Setup::new().await.telegram(&format!("chat_id = 1001\nallowed_user_ids = [1001]\n{lines}"));
    setup.api.with(|world| {
        world.add_forum(FORUM);
    });
    let folder = setup.path("web");
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    git(&folder, &["branch", "fix"]);
    let lines = format!("[projects.web]\npath = \"{}\"\nchat_id = {FORUM}", folder.display());
    setup.config(&lines)
}

/// Sends a message and returns the folder in which the engine worked on it.
async fn folder_of(bridge: &Bridge, chat: i64, text: &str) -> String {
    let runs = bridge.engine_log().len();
    bridge.api.say(chat, ANN, text);
    let log = bridge.wait_engine("a run", |log| log.len() >= runs + 2).await;
    log[runs].split_whitespace().nth(2).unwrap().to_owned()
}

#[tokio::test]
async fn a_prompt_works_in_its_project_and_its_thread_stays_there() {
    let bridge = with_project().await.start().await;
    let web = bridge.path("web").display().to_string();
    assert_eq!(folder_of(&bridge, ANN, "no project").await, bridge.path("work").display().to_string());
    assert_eq!(folder_of(&bridge, ANN, "/web hello").await, web);
    let last = bridge.api.wait_shown(ANN, "the answer", |message| message.text.contains("ctx: web")).await;
    let resume = last.text.lines().last().unwrap().to_owned();
    bridge.api.reply(ANN, ANN, "by reply", last.id);
    let log = bridge.wait_engine("the reply", |log| log.len() == 6).await;
    assert!(log[4].contains(&web), "{log:?}");
    assert_eq!(
        folder_of(&bridge, ANN, &format!("by a bare line\n{resume}")).await,
        web,
        "a thread stays in its project"
    );
    assert_eq!(folder_of(&bridge, FORUM, "in the project's chat").await, web);
}

#[tokio::test]
async fn an_existing_branch_gets_a_worktree_and_a_name_that_is_none_is_a_prompt() {
    let bridge = with_project().await.start().await;
    let web = bridge.path("web").display().to_string();
    assert_eq!(folder_of(&bridge, ANN, "/web @fix do it").await, format!("{web}/.worktrees/fix"));
    assert_eq!(folder_of(&bridge, FORUM, "@nobody do it").await, web);
    let log = bridge.engine_log();
    assert!(log[2].ends_with("@nobody do it"), "{log:?}");
    assert!(!Path::new(&web).join(".worktrees/nobody").exists());
}

#[tokio::test]
async fn ctx_binds_shows_and_clears() {
    let bridge = with_project().await.start().await;
    bridge.api.say(ANN, ANN, "/ctx");
    bridge.wait_text(ANN, "works in").await;
    bridge.api.say(ANN, ANN, "/ctx set web @fix");
    bridge.wait_text(ANN, "works in ctx: web @fix").await;
    assert!(folder_of(&bridge, ANN, "bound").await.ends_with("/.worktrees/fix"));
    bridge.api.say(ANN, ANN, "/ctx clear");
    bridge.wait_text(ANN, "nothing is bound here").await;
    assert!(folder_of(&bridge, ANN, "free").await.ends_with("/work"));
    bridge.api.say(ANN, ANN, "/ctx set nothing");
    bridge.wait_text(ANN, "there is no project nothing; there are web").await;
}

#[tokio::test]
async fn topic_makes_a_branch_a_worktree_and_a_topic() {
    let bridge = with_project().await.start().await;
    bridge.api.say(FORUM, ANN, "/topic web @new-idea");
    bridge.wait_text(FORUM, "made the topic web @new-idea").await;
    let bound = bridge.wait_text(FORUM, "bound to ctx: web @new-idea").await;
    let topic = bound.topic.expect("it is said in the topic");
    assert!(bridge.path("web/.worktrees/new-idea").is_dir());
    let fields = json!({"text": "in the topic", "message_thread_id": topic, "is_topic_message": true});
    bridge.api.say_more(FORUM, ANN, fields);
    let last = bridge.wait_text(FORUM, "done").await;
    assert_eq!(last.topic, Some(topic));
    assert!(bridge.engine_log()[0].contains(".worktrees/new-idea"));
    bridge.api.say(ANN, ANN, "/topic web @x");
    bridge.wait_text(ANN, "this chat has no topics").await;
}

#[tokio::test]
async fn the_engine_is_that_of_directive_topic_chat_project_and_configuration_in_this_order() {
    let setup = with_project().await.config("default_engine = \"claude\"\n[engines]\ndefault = \"pi\"");
    let bridge = setup.start().await;
    let engine = async |fields: Value| {
        let before = bridge.api.with(|world| world.calls.len());
        bridge.api.say_more(FORUM, ANN, fields);
        bridge
            .api
            .wait("a first sign", |world| {
                let mut signs = world.calls[before..].iter().filter_map(|call| call.body["text"].as_str());
                signs.find_map(|text| text.strip_prefix("starting · ")?.split_whitespace().next().map(str::to_owned))
            })
            .await
    };
    let in_topic = |text: &str| json!({"text": text, "message_thread_id": 5, "is_topic_message": true});
    bridge.api.with(|world| world.chat(FORUM).topics.insert(5));
    assert_eq!(engine(in_topic("project's")).await, "claude");
    bridge.api.say(FORUM, ANN, "/agent set opencode");
    bridge.wait_text(FORUM, "new threads in this chat use opencode").await;
    assert_eq!(engine(in_topic("chat's")).await, "opencode");
    bridge.api.say_more(FORUM, ANN, in_topic("/agent set pi"));
    bridge.wait_text(FORUM, "new threads in this topic use pi").await;
    assert_eq!(engine(in_topic("topic's")).await, "pi");
    assert_eq!(engine(in_topic("/codex directive's")).await, "codex");
    bridge.api.say(ANN, ANN, "global");
    bridge.wait_text(ANN, "error · pi").await;
}

#[tokio::test]
async fn every_command_in_the_menu_gets_an_answer_and_starts_nothing() {
    let bridge = with_project().await.start().await;
    let menu = bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then(|| world.commands.clone())).await;
    let names: Vec<&str> = menu.iter().filter_map(|entry| entry["command"].as_str()).collect();
    for name in [
        "cancel",
        "codex",
        "claude",
        "web",
        "ctx",
        "agent",
        "model",
        "reasoning",
        "trigger",
        "topic",
        "file",
        "usage",
        "status",
        "steer",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for name in ["new", "link", "unlink"] {
        assert!(!names.contains(&name), "without a hub and without sessions nobody needs {name}");
    }
    assert!(!names.contains(&"opencode"), "what is not installed is not offered");
    bridge.wait_text(ANN, "Folkmoot is ready").await;
    for name in names {
        let asked = bridge.api.say(ANN, ANN, &format!("/{name}"));
        bridge.api.wait_shown(ANN, name, |message| message.reply_to == Some(asked)).await;
    }
    assert!(bridge.engine_log().is_empty(), "{:?}", bridge.engine_log());
}

#[tokio::test]
async fn model_and_reasoning_reach_the_engine() {
    let setup = Setup::new().await;
    let script = setup.path("bin/codex");
    let noting =
        std::fs::read_to_string(&script).unwrap().replacen("prompt=", "echo \"$*\" > \"$dir/args\"\nprompt=", 1);
    std::fs::write(&script, noting).unwrap();
    let bridge = setup.start().await;
    for (command, answer) in [
        ("/model set gpt-x", "codex in this chat: model gpt-x"),
        ("/reasoning set high", "codex in this chat: reasoning high"),
        ("/reasoning set enormous", "the levels are"),
        ("/model set --auto", "--auto is no name of a model"),
        ("/model", "codex in this chat: model gpt-x"),
    ] {
        bridge.api.say(ANN, ANN, command);
        bridge.wait_text(ANN, answer).await;
    }
    bridge.api.say(ANN, ANN, "hello");
    bridge.wait_text(ANN, "done").await;
    let args = std::fs::read_to_string(bridge.path("args")).unwrap();
    assert!(args.contains("--model gpt-x") && args.contains("model_reasoning_effort=high"), "{args}");
}

#[tokio::test]
async fn trigger_mentions_runs_only_what_addresses_the_bot() {
    let setup = Setup::new().await.telegram("chat_id = -100200\nallowed_user_ids = [1001]");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    bridge.api.say(GROUP, ANN, "/trigger mentions");
    bridge.wait_text(GROUP, "in this chat only mentions").await;
    bridge.api.say(GROUP, ANN, "just talking");
    bridge.api.say(GROUP, ANN, "/other@some_bot not ours");
    bridge.api.say(GROUP, ANN, "@moot_test_bot run this");
    bridge.wait_text(GROUP, "done").await;
    let log = bridge.engine_log();
    assert!(log.len() == 2 && log[0].contains("run this") && !log[0].contains("talking"), "{log:?}");
}

#[tokio::test]
async fn new_says_what_it_means_and_in_chat_mode_a_chat_goes_on_until_then() {
    let bridge = Setup::new().await.telegram("chat_id = 1001\nsession_mode = \"chat\"").start().await;
    let has_new = |commands: &[Value]| commands.iter().any(|entry| entry["command"] == "new");
    bridge.api.wait("a menu with /new", |world| has_new(&world.commands).then_some(())).await;
    folder_of(&bridge, ANN, "one").await;
    bridge.wait_text(ANN, "done").await;
    folder_of(&bridge, ANN, "two").await;
    bridge.api.wait_shown(ANN, "its answer", |message| message.text.contains("echo: two")).await;
    bridge.api.say(ANN, ANN, "/new");
    bridge.wait_text(ANN, "the next message begins a new thread").await;
    folder_of(&bridge, ANN, "three").await;
    let log = bridge.engine_log();
    let thread = |at: usize| log[at].split_whitespace().nth(1).unwrap();
    assert_eq!(thread(0), thread(2), "{log:?}");
    assert_ne!(thread(0), thread(4), "{log:?}");
    let stateless = Bridge::start().await;
    stateless.api.say(ANN, ANN, "/new");
    stateless.wait_text(ANN, "every message begins a new thread here").await;
    assert!(stateless.engine_log().is_empty());
}

#[tokio::test]
async fn photos_and_documents_are_stored_in_the_project_and_named_in_the_prompt() {
    let bridge = with_project().await.start().await;
    bridge.api.with(|world| {
        world.add_file("p", "photos/1.jpg", b"a photo");
        world.add_file("d", "documents/2", b"a document");
    });
    let album = |file: Value| {
        let mut fields = json!({"media_group_id": "album"});
        fields.as_object_mut().unwrap().extend(file.as_object().unwrap().clone());
        fields
    };
    bridge.api.say_more(
        FORUM,
        ANN,
        album(json!({"photo": [{"file_id": "p", "width": 9}], "caption": "look at these"})),
    );
    bridge.api.say_more(FORUM, ANN, album(json!({"document": {"file_id": "d", "file_name": "../notes.txt"}})));
    let last = bridge.wait_text(FORUM, "done").await;
    assert!(last.text.contains("look at these") && last.text.contains("incoming/notes.txt"), "{}", last.text);
    assert_eq!(std::fs::read(bridge.path("web/incoming/notes.txt")).unwrap(), b"a document");
    assert_eq!(bridge.engine_log().len(), 2, "one prompt");
    bridge.api.say_more(FORUM, ANN, json!({"document": {"file_id": "d", "file_name": "alone.txt"}}));
    bridge.wait_text(FORUM, "saved incoming/alone.txt").await;
    assert_eq!(bridge.engine_log().len(), 2, "a file without words is only stored");
}

#[tokio::test]
async fn file_put_and_get_stay_inside_the_project() {
    let bridge = with_project().await.start().await;
    bridge.api.with(|world| world.add_file("d", "documents/2", b"content"));
    let put = |caption: &str| json!({"document": {"file_id": "d", "file_name": "a"}, "caption": caption});
    bridge.api.say_more(FORUM, ANN, put("/file put docs/a.txt"));
    bridge.wait_text(FORUM, "saved docs/a.txt").await;
    bridge.api.say_more(FORUM, ANN, put("/file put docs/a.txt"));
    bridge.wait_text(FORUM, "docs/a.txt exists already").await;
    bridge.api.say_more(FORUM, ANN, put("/file put ../outside"));
    bridge.wait_text(FORUM, "../outside is not a path inside the project").await;
    bridge.api.fail_next("sendDocument", Fault::too_many(1), 1);
    bridge.api.fail_next("sendDocument", Fault::Status(502), 1);
    bridge.api.say(FORUM, ANN, "/file get docs/a.txt");
    bridge.api.wait("the document", |world| (world.documents.len() == 1).then_some(())).await;
    bridge.api.say(FORUM, ANN, "/file get docs");
    let documents =
        bridge.api.wait("the folder", |world| (world.documents.len() == 2).then(|| world.documents.clone())).await;
    assert_eq!((documents[0].1.as_str(), documents[0].2.as_str()), ("a.txt", "content"));
    assert_eq!(documents[1].1, "docs.zip");
    bridge.api.say(FORUM, ANN, "/file get .git/config");
    bridge.wait_text(FORUM, ".git/config is not given away").await;
}

#[tokio::test]
async fn a_voice_note_without_ears_is_answered_with_the_remedy() {
    let bridge = Bridge::start().await;
    bridge.api.say_more(ANN, ANN, json!({"voice": {"file_id": "v", "duration": 2}}));
    let told = bridge.wait_text(ANN, "voice notes cannot be written down here").await;
    assert!(told.text.contains("stt.api_key"), "{}", told.text);
    assert!(bridge.engine_log().is_empty());
}

/// A bridge with ears that hear the same words in every voice note, but only when they are let go.
pub async fn with_slow_ears() -> (Bridge, tokio::sync::watch::Sender<bool>) {
    let (let_go, gate) = tokio::sync::watch::channel(false);
    let router = axum::Router::new().route(
        "/v1/audio/transcriptions",
        axum::routing::post(move || {
            let mut gate = gate.clone();
            async move {
                let _ = gate.wait_for(|open| *open).await;
                axum::Json(json!({"text": "fix the spoken bug"}))
            }
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let setup = Setup::new().await.config(&format!("[stt]\nbase_url = \"http://{address}/v1\""));
    let bridge = setup.start().await;
    bridge.api.with(|world| world.add_file("v", "voice/1.ogg", b"OggS"));
    (bridge, let_go)
}

#[tokio::test]
async fn a_voice_note_is_written_down_without_blocking_anything_else() {
    let (bridge, let_go) = with_slow_ears().await;
    bridge.api.say_more(ANN, ANN, json!({"voice": {"file_id": "v", "duration": 2}}));
    bridge.wait_text(ANN, "receiving").await;
    bridge.api.say(ANN, ANN, "typed meanwhile");
    bridge.wait_text(ANN, "done").await;
    let_go.send_replace(true);
    let log = bridge.wait_engine("the spoken prompt", |log| log.len() == 4).await;
    assert!(log[2].contains("(voice transcribed) fix the spoken bug"), "{log:?}");
}

/// A group in which an engine asks for permission.
pub async fn with_a_card() -> (Bridge, Message) {
    let setup = Setup::new().await.telegram("chat_id = -100200\nallowed_user_ids = [1001]");
    setup.api.with(|world| {
        world.add_group(GROUP);
    });
    let bridge = setup.start().await;
    bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
    bridge.api.say(GROUP, ANN, "/claude clean up");
    let card = bridge.wait_text(GROUP, "⚠️ deletes files without asking\npermission · claude").await;
    (bridge, card)
}

#[tokio::test]
async fn a_permission_question_is_a_card_that_is_decided_once_by_somebody_who_may() {
    let (bridge, card) = with_a_card().await;
    assert!(card.text.contains("rm -rf build"), "the exact command: {}", card.text);
    let buttons = card.buttons();
    let press = bridge.api.press(GROUP, card.id, EVE, &buttons[0]);
    bridge.api.wait("silence", |world| world.callbacks[&press].clone()).await;
    assert!(!bridge.path("answers").exists(), "a stranger decides nothing");
    bridge.api.press(GROUP, card.id, ANN, &buttons[0]);
    let again = bridge.api.press(GROUP, card.id, ANN, &buttons[1]);
    let refused = bridge.api.wait("an answer", |world| world.callbacks[&again].clone()).await;
    assert!(refused.to_string().contains("no longer open"), "{refused}");
    let last = bridge.wait_text(GROUP, "done · claude").await;
    assert!(last.text.contains("went on"), "{}", last.text);
    let answers = std::fs::read_to_string(bridge.path("answers")).unwrap();
    assert!(answers.lines().count() == 1 && answers.contains("\"allow\""), "{answers}");
    let decided = bridge.api.wait_shown(GROUP, "the card", |message| message.text.contains("allowed once by")).await;
    assert!(decided.id == card.id && decided.buttons().is_empty());
    bridge.api.say(GROUP, ANN, "/usage");
    let usage = bridge.wait_text(GROUP, "today").await;
    assert!(usage.text.contains("claude: 1 run, 7 tokens in, 3 out, $0.25"), "{}", usage.text);
}

#[tokio::test]
async fn a_reply_to_the_card_is_the_note_to_the_engine() {
    let bridge = Bridge::start().await;
    bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
    bridge.api.say(ANN, ANN, "/claude clean up");
    let card = bridge.wait_text(ANN, "⚠️ deletes files without asking\npermission · claude").await;
    bridge.api.reply(ANN, ANN, "use trash instead", card.id);
    bridge.wait_text(ANN, "done · claude").await;
    let answers = std::fs::read_to_string(bridge.path("answers")).unwrap();
    assert!(answers.contains("\"deny\"") && answers.contains("use trash instead"), "{answers}");
}

#[tokio::test]
async fn a_card_whose_engine_ended_with_the_bridge_says_so() {
    let mut bridge = Bridge::start().await;
    bridge.api.wait("the menu", |world| (!world.commands.is_empty()).then_some(())).await;
    bridge.api.say(ANN, ANN, "/claude clean up");
    let card = bridge.wait_text(ANN, "⚠️ deletes files without asking\npermission · claude").await;
    bridge.kill();
    bridge.restart().await;
    let expired = bridge.api.wait_shown(ANN, "the card", |message| message.text.contains("no longer open")).await;
    assert!(expired.id == card.id && expired.buttons().is_empty(), "{}", expired.text);
    let press = bridge.api.press(ANN, card.id, ANN, &card.buttons()[0]);
    let answer = bridge.api.wait("an answer", |world| world.callbacks[&press].clone()).await;
    assert!(answer.to_string().contains("no longer open"), "{answer}");
}
