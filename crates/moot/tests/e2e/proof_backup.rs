//! `moot backup` while the hub works, `moot restore` into an empty folder.

use std::path::Path;

use serde_json::json;

use crate::support::agents::{Fake, hosted};
use crate::support::bot::Bot;
use crate::support::telegram::{FakeApi, TOKEN};
use crate::support::{Setup, moot, register, start, text};

/// Every SQLite file below a folder, told by its first bytes, but for what people uploaded and agents work on.
fn databases(folder: &Path) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            if kind.is_dir() && name != "files" && name != "agents" {
                folders.push(path);
            } else if kind.is_file() && std::fs::read(&path).expect("a file").starts_with(b"SQLite format 3\0") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn every_database_of_the_data_folder_is_in_the_backup_and_comes_back() {
    let folder = std::sync::Arc::new(tempfile::TempDir::new().expect("a folder"));
    let (fake, api) = (Fake::new(folder.path()), FakeApi::start().await);
    let data = folder.path().join("data");
    let setup = Setup::default()
        .env("MOOT_ENGINES__CLAUDE__COMMAND", &fake.program.to_string_lossy())
        .env("MOOT_TELEGRAM__BOT_TOKEN", TOKEN)
        .env("MOOT_TELEGRAM__API_BASE", &api.base());
    let hub = setup.start_on(folder.clone(), data.clone()).await;
    let alice = register(&hub, "alice").await;
    hosted(&alice, "claude", json!({})).await;
    let helper = alice.add_agent("helper").await;
    let memory = data.join("bot.db");
    let _bot =
        Bot::start_with(&hub, &helper, "lark", &[("MOOT_BOT__DATABASE", memory.to_str().expect("a path"))]).await;
    let kept = databases(&data);
    for name in ["bot.db", "hosting/agentd.db", "hub.db", "telegram.db"] {
        assert!(kept.iter().any(|known| known == name), "{name} is not among {kept:?}");
    }

    let copy = folder.path().join("copy.backup");
    let copy = copy.to_str().expect("a path");
    let done = moot(folder.path(), &["backup", copy, "--data-dir", data.to_str().expect("a path")], &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let restored = folder.path().join("restored");
    let done = moot(folder.path(), &["restore", copy, "--data-dir", restored.to_str().expect("a path")], &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert_eq!(databases(&restored), kept, "a new database is kept with `folkmoot_database::Schema`, as NAME.db");
}

#[tokio::test]
async fn a_backup_of_a_busy_hub_restores_to_a_working_hub() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let file = alice.rest.upload(&alice.path("files"), "a.txt", "text/plain", b"attached".to_vec()).await;
    let file = file.created();
    let mut before = Vec::new();
    let mut writer = alice.lark().await;
    for round in 0..20 {
        before.push(writer.say(&general, &format!("before {round}")).await);
    }

    // The writer goes on while the copy is made.
    let channel = general.clone();
    let writing = tokio::spawn(async move {
        for round in 0..100 {
            writer.say(&channel, &format!("during {round}")).await;
            writer.forget();
        }
    });
    let folder = hub.folder();
    let copy = folder.path().join("copy.backup");
    let copy = copy.to_str().expect("a path");
    let data = hub.data.to_str().expect("a path");
    let done = moot(folder.path(), &["backup", copy, "--data-dir", data], &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    writing.await.expect("the writer was not disturbed");

    let restored = folder.path().join("restored");
    let target = restored.to_str().expect("a path");
    let done = moot(folder.path(), &["restore", copy, "--data-dir", target], &[]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    drop(hub);

    let hub = Setup::default().start_on(folder.clone(), restored).await;
    let rest = crate::support::Rest::new(hub.url(""), Some(format!("Bearer {}", alice.token)));
    let path = format!("/v1/channels/{general}/messages?limit=200");
    let history = rest.get(&path).await.ok();
    let mut ids: Vec<&str> = crate::support::column(&history, "id");
    ids.reverse();
    assert_eq!(ids[..before.len()], before, "everything from before the backup");
    let during = crate::support::column(&history, "content").len() - before.len();
    assert!(during <= 100);
    let path = format!("/v1/files/{}/download", text(&file, "id"));
    assert_eq!(rest.get(&path).await.text(), "attached");

    // Passwords and keys work there, and the numbering goes on.
    let body = json!({ "email": "alice@example.org", "password": crate::support::member::PASSWORD });
    rest.anonymous().post("/v1/auth/login", body).await.ok();
    let agent = rest.with(&format!("Bearer {}", codebot.token));
    let path = format!("/v1/channels/{general}/messages");
    let message = agent.post(&path, json!({ "content": "restored" })).await.created();
    let newest = crate::support::number(&history[0], "seq");
    assert_eq!(crate::support::number(&message, "seq"), newest + 1);
}

#[tokio::test]
async fn a_backup_file_is_not_readable_by_others() {
    use std::os::unix::fs::PermissionsExt;
    let (hub, _alice) = start().await;
    let folder = hub.folder();
    let copy = folder.path().join("copy.backup");
    let data = hub.data.to_str().expect("a path");
    let done = moot(folder.path(), &["backup", copy.to_str().expect("a path"), "--data-dir", data], &[]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mode = std::fs::metadata(&copy).expect("the copy").permissions().mode();
    assert_eq!(mode & 0o077, 0, "it holds hashes and messages: {mode:o}");
}

#[tokio::test]
async fn restoring_something_that_is_no_backup_fails_and_makes_nothing() {
    let (hub, _alice) = start().await;
    let folder = hub.folder();
    let junk = folder.path().join("junk");
    std::fs::write(&junk, "not a backup at all").expect("a file");
    let target = folder.path().join("target");
    let arguments = ["restore", junk.to_str().expect("a path"), "--data-dir", target.to_str().expect("a path")];
    let done = moot(folder.path(), &arguments, &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("junk` is not a backup of a hub"), "{}", done.stderr);
    assert!(!target.exists());
}
