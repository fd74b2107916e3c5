//! What people approve is what is done: shown whole and alike everywhere, told apart by everything it is, and decided by nobody
//! whom the asker chose.

use serde_json::{Value, json};

use crate::support::agents::{Fake, WAIT_TIMEOUT, hosted, hub_with_fake, replies};
use crate::support::telegram::fake_api::World;
use crate::support::telegram::{ANN, Message, hub_with_bot, hub_with_bot_and_fake, link};
use crate::support::terminal::Terminal;
use crate::support::{Hub, Member, eventually_within, items, moot, start, text};

/// What the fake claude asks for when it is told to ask.
fn will_ask(fake: &Fake, file: &str, id: &str, tool: &str, input: &Value) {
    let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input});
    let line = json!({"type": "control_request", "request_id": id, "request": request});
    std::fs::write(fake.folder.join(file), format!("{line}\n")).expect("a question");
}

/// The open questions, once there are so many.
async fn open(alice: &Member, count: usize) -> Vec<Value> {
    let path = alice.path("approvals?status=pending");
    eventually_within(WAIT_TIMEOUT, &format!("{count} open questions"), || async {
        let all = items(&alice.rest.get(&path).await.ok()).to_vec();
        (all.len() == count).then_some(all)
    })
    .await
}

async fn decide(member: &Member, approval: &Value, body: Value) -> crate::support::Answer {
    member.rest.patch(&format!("/v1/approvals/{}", text(approval, "id")), body).await
}

/// Waits for words of the agent in answer to a message.
async fn said(alice: &Member, asked: &Value, words: &str) {
    let root = text(asked, "id").to_owned();
    eventually_within(WAIT_TIMEOUT, words, || async {
        replies(alice, &root).await.iter().any(|text| text.contains(words)).then_some(())
    })
    .await;
}

/// A command of the terminal as this member.
async fn terminal(hub: &Hub, member: &Member, words: &[&str]) -> String {
    let folder = tempfile::TempDir::new().expect("a folder");
    let base = hub.url("");
    let words: Vec<&str> = words.iter().copied().chain(["--server", &base, "--token", &member.token]).collect();
    let done = moot(folder.path(), &words, &[]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.stdout
}

#[tokio::test]
async fn every_surface_shows_the_same_whole_action_with_the_warning_first() {
    let (hub, alice, api, fake) = hub_with_bot_and_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({"channel_ids": [general]})).await;
    let padding = "echo padding\n".repeat(60);
    let input = json!({
        "command": format!("ls \u{202e}\u{1b}[8m\n{padding}rm -fr build"),
        "cmd": "git push",
        "row_id": "*",
        "url": "https://example.org/?q=whole",
    });
    will_ask(&fake, "question", "77", "Bash", &input);
    let mut lark = alice.lark().await;
    alice.post(&general, "@claude please ask").await;
    let told = lark.expect("approval.request").await;
    let approval = open(&alice, 1).await.remove(0);
    let shown = &approval["shown"];
    assert_eq!(told["shown"], *shown, "the socket and REST show the same");
    assert_eq!(shown["heading"], "Run a command");
    assert_eq!(shown["warning"], "deletes files without asking; publishes to a remote repository");
    let parts: Vec<(&str, &str)> =
        items(&shown["parts"]).iter().map(|part| (text(part, "label"), text(part, "text"))).collect();
    let labels: Vec<&str> = parts.iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, ["Command", "Command (input.cmd)", "Folder", "Machine", "Engine", "URL", "input.row_id"]);
    assert!(parts[0].1.starts_with("ls ⟨U+202E⟩␛[8m\n") && parts[0].1.ends_with("rm -fr build"), "{parts:?}");
    let is_card = |message: &Message| message.buttons().iter().any(|data| data.starts_with("agent:"));
    let card = api.wait("a card", |world| world.shown(ANN).into_iter().rfind(is_card)).await;
    let printed = terminal(&hub, &alice, &["approvals", "show", text(&approval, "id")]).await;
    for (surface, first) in [(&card.text, "⚠️ "), (&printed, "! ")] {
        assert!(surface.starts_with(&format!("{first}{}", text(shown, "warning"))), "{surface}");
        assert!(surface.contains("Run a command") && !surface.contains(['\u{1b}', '\u{202e}']), "{surface}");
        for (_, text) in &parts {
            assert!(text.lines().all(|line| surface.contains(line)), "{text} is missing: {surface}");
        }
    }
    let listed = terminal(&hub, &alice, &["approvals", "list"]).await;
    assert!(listed.contains("! Run a command: ls ⟨U+202E⟩") && listed.contains("61 more lines"), "{listed}");
    let exact = terminal(&hub, &alice, &["approvals", "show", text(&approval, "id"), "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&exact).expect("JSON")["payload"], approval["payload"]);
}

#[tokio::test]
async fn allowing_one_row_for_the_run_does_not_allow_all_rows() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    will_ask(&fake, "question", "77", "mcp__db__delete", &json!({"row_id": 7}));
    will_ask(&fake, "second", "78", "mcp__db__delete", &json!({"row_id": "*"}));
    let asked = alice.post(&general, "@claude please ask").await;
    let one = open(&alice, 1).await.remove(0);
    decide(&alice, &one, json!({"approved": true, "scope": "run"})).await.ok();
    let all = open(&alice, 1).await.remove(0);
    assert_ne!(all["fingerprint"], one["fingerprint"]);
    assert!(text(&all, "payload").contains("\"*\""), "{all:#}");
    decide(&alice, &all, json!({"approved": false, "note": "not all of them"})).await.ok();
    said(&alice, &asked, "declined not all of them").await;
}

#[tokio::test]
async fn a_fingerprint_of_the_agents_choosing_covers_only_what_was_shown() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let question =
        |payload: &str| json!({"channel_id": general, "action": "delete", "payload": payload, "fingerprint": "same"});
    let first = agent.asks("approval.request", question("{\"row_id\":7}"), "approval.request").await;
    decide(&alice, &first, json!({"approved": true})).await.ok();
    let other = agent.asks("approval.request", question("{\"row_id\":\"*\"}"), "approval.request").await;
    assert_eq!(other["status"], "pending", "nobody saw this one");
    let again = agent.asks("approval.request", question("{\"row_id\":7}"), "approval.request").await;
    assert_eq!((&again["id"], &again["status"]), (&first["id"], &json!("approved")));
}

#[tokio::test]
async fn tools_that_nobody_knows_ask_and_the_deny_list_knows_every_spelling() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({"policy": "ask-commands", "deny": ["git push", "rm -rf *"]})).await;
    for (tool, input) in [("mcp__shell__exec", json!({"cmd": "ls"})), ("Bash", json!({"command": "$x push"}))] {
        will_ask(&fake, "question", "77", tool, &input);
        let asked = alice.post(&general, "@claude please ask").await;
        let question = open(&alice, 1).await.remove(0);
        decide(&alice, &question, json!({"approved": false, "note": "no"})).await.ok();
        said(&alice, &asked, "declined no").await;
    }
    let before = items(&alice.rest.get(&alice.path("approvals")).await.ok()).len();
    for command in ["git  push", "env git push", "sh -c 'cd x && git push'", "rm -fr x"] {
        will_ask(&fake, "question", "77", "Bash", &json!({"command": command}));
        let asked = alice.post(&general, "@claude please ask").await;
        said(&alice, &asked, "declined this is never allowed here").await;
    }
    let after = items(&alice.rest.get(&alice.path("approvals")).await.ok()).len();
    assert_eq!(before, after, "nobody was asked");
}

#[tokio::test]
async fn what_is_too_large_to_show_is_denied_in_words() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let content = "x".repeat(100 * 1024);
    will_ask(&fake, "question", "77", "Write", &json!({"file_path": "a", "content": content}));
    let asked = alice.post(&general, "@claude please ask").await;
    said(&alice, &asked, "declined too large to show").await;
    assert_eq!(alice.rest.get(&alice.path("approvals")).await.ok(), json!([]));
}

#[tokio::test]
async fn the_asker_does_not_choose_who_decides() {
    let (_hub, alice) = start().await;
    let (bob, codebot) = (alice.add_human("bob").await, alice.add_agent("codebot").await);
    let general = alice.add_channel("general", &[&bob, &codebot]).await;
    let chatter = bob.post(&general, "nice weather").await;
    let mut agent = codebot.lark_agent().await;
    let about = |message: &Value| json!({"channel_id": general, "action": "wipe", "message_id": message["id"]});
    let question = agent.asks("approval.request", about(&chatter), "approval.request").await;
    let yes = || json!({"approved": true});
    decide(&bob, &question, yes()).await.refused(403, "FORBIDDEN");
    let wish = bob.post(&general, "@codebot do it").await;
    let question = agent.asks("approval.request", about(&wish), "approval.request").await;
    assert_eq!(decide(&bob, &question, yes()).await.ok()["reviewer_id"], bob.id.as_str(), "his words began it");
}

#[tokio::test]
async fn agents_never_decide_and_bring_nobody_in_who_could() {
    let (_hub, alice) = start().await;
    let (codebot, chief) = (alice.add_agent("codebot").await, alice.add_agent("chief").await);
    alice.rest.patch(&alice.path(&format!("members/{}", chief.id)), json!({"role": "admin"})).await.ok();
    let general = alice.add_channel("general", &[&codebot, &chief]).await;
    let mut agent = codebot.lark_agent().await;
    let question =
        agent.asks("approval.request", json!({"channel_id": general, "action": "wipe"}), "approval.request").await;
    decide(&chief, &question, json!({"approved": true})).await.refused(403, "FORBIDDEN");
    let puppet = json!({"name": "puppet", "type": "human", "password": "correct horse"});
    chief.rest.post(&alice.path("members"), puppet).await.refused(403, "FORBIDDEN");
    chief.rest.post(&alice.path("invites"), json!({})).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn what_others_write_does_not_steer_the_terminal() {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "a\u{1b}[2Jb\u{9b}31m\u{202e}c\u{200b}\rd").await;
    let printed = terminal(&hub, &alice, &["channel", "history", "general"]).await;
    assert!(printed.contains("a␛[2Jb⟨U+009B⟩31m⟨U+202E⟩c⟨U+200B⟩␍d"), "{printed}");
    let exact = terminal(&hub, &alice, &["channel", "history", "general", "--json"]).await;
    let exact: Value = serde_json::from_str(&exact).expect("JSON");
    assert_eq!(exact[0]["content"], "a\u{1b}[2Jb\u{9b}31m\u{202e}c\u{200b}\rd");
}

#[tokio::test]
async fn a_card_that_does_not_fit_says_how_much_follows_and_brings_it() {
    let (_hub, alice, api) = hub_with_bot(&[]).await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    link(&api, &alice, ANN).await;
    let mut agent = codebot.lark_agent().await;
    let command = (0..2500).map(|number| format!("echo line-{number}")).collect::<Vec<_>>().join("\n");
    let payload = json!({"detail": {"command": format!("{command}\nrm -rf /")}}).to_string();
    let request = json!({"channel_id": general, "action": "tidy", "payload": payload});
    agent.asks("approval.request", request, "approval.request").await;
    let is_card = |message: &Message| message.buttons().iter().any(|data| data.ends_with(":rest"));
    let card = api.wait("a card", |world| world.shown(ANN).into_iter().rfind(is_card)).await;
    assert!(card.text.starts_with("⚠️ deletes files without asking") && card.text.contains(" more lines"), "{card:?}");
    let seen = |world: &World, line: &str| world.shown(ANN).iter().any(|message| message.text.contains(line));
    assert!(!api.with(|world| seen(world, "line-2499")), "it comes when it is wanted");
    let rest = card.buttons().into_iter().find(|data| data.ends_with(":rest")).expect("the button");
    api.press(ANN, card.id, ANN, &rest);
    api.wait("the rest", |world| seen(world, "rm -rf /").then_some(())).await;
    let open = alice.rest.get(&alice.path("approvals?status=pending")).await.ok();
    assert_eq!(items(&open).len(), 1, "nothing was decided by that");
}

#[tokio::test]
async fn the_terminal_asks_with_the_whole_action() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let fake = Fake::new(folder.path());
    let input = json!({"command": "rm -fr build \u{1b}[8m", "row_id": 7});
    will_ask(&fake, "question", "77", "Bash", &input);
    let config = folder.path().join("moot.toml");
    let settings = format!("[engines.claude]\ncommand = {:?}\n", fake.program.to_string_lossy());
    std::fs::write(&config, settings).expect("a configuration");
    let words = ["--config", &config.to_string_lossy(), "run", "claude", "please ask"];
    let mut terminal = Terminal::run(folder.path(), &words);
    for line in [
        "! deletes files without asking",
        "Run a command",
        "rm -fr build ␛[8m",
        "Folder: ",
        "Machine: ",
        "input.row_id: 7",
        "y = yes",
    ] {
        terminal.shows(line).await;
    }
    terminal.press("n not now\r");
    terminal.shows("declined not now").await;
    terminal.end().await;
}

#[tokio::test]
async fn always_at_the_terminal_says_what_it_allows() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let fake = Fake::new(folder.path());
    let rules = json!([{"toolName": "Bash", "ruleContent": "rm:*"}]);
    let always = json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"});
    let unseen = json!({"type": "setMode", "mode": "bypassPermissions", "destination": "localSettings"});
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"},
                         "permission_suggestions": [always, unseen]});
    let line = json!({"type": "control_request", "request_id": "77", "request": request});
    std::fs::write(fake.folder.join("question"), format!("{line}\n")).expect("a question");
    let config = folder.path().join("moot.toml");
    let settings = format!("[engines.claude]\ncommand = {:?}\n", fake.program.to_string_lossy());
    std::fs::write(&config, settings).expect("a configuration");
    let words = ["--config", &config.to_string_lossy(), "run", "claude", "please ask"];
    let mut terminal = Terminal::run(folder.path(), &words);
    terminal.shows("always (in this session): Bash(rm:*)").await;
    terminal.shows("a = always").await;
    terminal.press("a\r");
    terminal.shows("accepted").await;
    terminal.end().await;
}
