//! `moot say` without a sentence: a prompt at a terminal, plain lines elsewhere.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::support::hub::{BINARY, clean_command};
use crate::support::smarthole::{SmartHole, client};
use crate::support::terminal::Terminal;
use crate::support::{start, text};

const UP: &str = "\u{1b}[A";
const BACKSPACE: &str = "\u{7f}";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// The client hears this next, takes it, and has something to say.
async fn takes(client: &mut SmartHole, words: &str) {
    let message = client.message().await;
    assert_eq!(message["text"], words);
    let id = text(&message, "id");
    client.ack(id).await;
    client.respond(id, "notification", json!({ "title": "Noted", "body": format!("{words}!") })).await;
}

#[tokio::test]
async fn the_prompt_edits_remembers_and_shows_answers_as_they_come() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let home = tempfile::TempDir::new().expect("a folder");
    let server = hub.url("");
    let say = ["say", "--server", &server, "--token", &alice.token];

    let mut terminal = Terminal::run(home.path(), &say);
    terminal.shows("say> ").await;
    terminal.press(&format!("notebook: eggz{BACKSPACE}s\r"));
    takes(&mut notebook, "eggs").await;
    terminal.shows("notebook took it").await;
    terminal.shows("notebook: Noted: eggs!").await;
    terminal.shows("say> ").await;
    terminal.press(&format!("not this{CTRL_C}"));
    terminal.shows("say> ").await;
    terminal.press(&format!("{UP}and milk\r"));
    takes(&mut notebook, "eggsand milk").await;
    terminal.shows("notebook: Noted: eggsand milk!").await;
    terminal.shows("say> ").await;
    terminal.press(CTRL_D);
    assert_eq!(terminal.end().await, Some(0));

    let history = home.path().join(".local/state/folkmoot/say-history");
    let mode = std::fs::metadata(&history).expect("a history").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut terminal = Terminal::run(home.path(), &say);
    terminal.shows("say> ").await;
    terminal.press(&format!("{UP}{UP}\r"));
    takes(&mut notebook, "eggs").await;
    terminal.shows("notebook took it").await;
}

#[tokio::test]
async fn the_prompt_says_when_nobody_takes_it_and_stays() {
    let (hub, alice) = start().await;
    let home = tempfile::TempDir::new().expect("a folder");
    let mut terminal = Terminal::run(home.path(), &["say", "--server", &hub.url(""), "--token", &alice.token]);
    terminal.shows("say> ").await;
    terminal.press("buy milk\r");
    terminal.shows("no clients are connected").await;
    terminal.shows("hint: start one").await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    terminal.press("notebook: milk\r");
    takes(&mut notebook, "milk").await;
    terminal.shows("notebook took it").await;
}

#[tokio::test]
async fn without_a_terminal_every_line_is_a_sentence_and_no_prompt_is_shown() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let home = tempfile::TempDir::new().expect("a folder");
    let mut child = clean_command(BINARY, home.path())
        .args(["say", "--timeout", "1", "--server", &hub.url(""), "--token", &alice.token])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"notebook: eggs\n\n  \nnotebook: milk\n").expect("a reader");
    drop(input);
    for words in ["eggs", "milk"] {
        let message = notebook.message().await;
        assert_eq!(message["text"], words);
        notebook.ack(text(&message, "id")).await;
    }
    let done = tokio::task::spawn_blocking(move || child.wait_with_output()).await.expect("a thread").expect("an end");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "notebook took it\nnotebook took it\n");
}

/// `moot say` with these lines on its standard input.
async fn piped(server: &str, token: &str, lines: &str) -> std::process::Output {
    let home = tempfile::TempDir::new().expect("a folder");
    let mut child = clean_command(BINARY, home.path())
        .args(["say", "--timeout", "600", "--server", server, "--token", token])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("a reader");
    drop(input);
    tokio::task::spawn_blocking(move || child.wait_with_output()).await.expect("a thread").expect("an end")
}

#[tokio::test]
async fn without_a_terminal_the_answers_are_waited_for_too() {
    let (hub, alice) = start().await;
    let mut notebook = client(&hub, "notebook", "I keep notes.").await;
    let taking = tokio::spawn(async move {
        let first = text(&notebook.message().await, "id").to_owned();
        notebook.ack(&first).await;
        // It takes the second before it has answered the first.
        takes(&mut notebook, "milk").await;
        notebook.respond(&first, "notification", json!({ "body": "eggs!" })).await;
        notebook
    });
    let done = piped(&hub.url(""), &alice.token, "notebook: eggs\nnotebook: milk\n").await;
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut lines: Vec<_> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["notebook took it", "notebook took it", "notebook: Noted: milk!", "notebook: eggs!"], "{shown}");
    drop(taking.await);
}

#[tokio::test]
async fn without_a_terminal_a_sentence_that_nobody_took_is_a_failure() {
    let (hub, alice) = start().await;
    let done = piped(&hub.url(""), &alice.token, "buy milk\n").await;
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("no clients are connected") && told.contains("nobody took 1 of 1 sentences"), "{told}");
}
