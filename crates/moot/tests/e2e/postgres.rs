//! One hub on Postgres: the same hub, and the same commands around it.

use std::path::Path;

use folkmoot_testbed::{Database, Options, Postgres, postgres};
use serde_json::json;

use crate::support::hub::{Done, free_address};
use crate::support::{Hub, Member, Rest, Setup, column, eventually, items, moot, register, text};

const SECRET: &str = "swordfish";

/// The address of a database with a password in it. (The server trusts everybody, and so does not ask for it.)
fn url(database: &Database) -> String {
    database.url().replace("postgres@", &format!("postgres:{SECRET}@"))
}

async fn start_on(database: &Database) -> (Hub, Member) {
    let hub = Setup::default().env("MOOT_STORE__URL", &url(database)).start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

async fn command(hub: &Hub, database: &Database, arguments: &[&str]) -> Done {
    let data = hub.data.to_str().expect("a path");
    let arguments = [arguments, &["--data-dir", data]].concat();
    let done = moot(hub.folder().path(), &arguments, &[("MOOT_STORE__URL", &url(database))]).await;
    assert!(!format!("{}{}", done.stdout, done.stderr).contains(SECRET), "a password is shown");
    done
}

/// What a member reads whose hub has another address now.
async fn texts_at(hub: &Hub, member: &Member, channel: &str) -> Vec<String> {
    let rest = Rest::new(hub.url(""), Some(format!("Bearer {}", member.token)));
    let newest_first = rest.get(&format!("/v1/channels/{channel}/messages")).await.ok();
    items(&newest_first).iter().rev().map(|message| text(message, "content").to_owned()).collect()
}

fn path_of(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill_and_is_found() {
    let Some(server) = postgres() else { return };
    let database = server.database();
    let (mut hub, alice) = start_on(&database).await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let root = alice.post(&general, "the quick \u{0} brown fox").await;
    let mut lark = alice.lark().await;
    for round in 0..30 {
        lark.say(&general, &format!("round {round}")).await;
    }
    let path = format!("/v1/messages/{}", text(&root, "id"));
    alice.rest.patch(&path, json!({ "content": "the quick \u{0} red fox" })).await.ok();
    hub.kill();
    hub.restart().await;
    let texts = alice.texts(&general).await;
    assert_eq!(texts.len(), 31);
    assert!(
        texts.contains(&"the quick \u{0} red fox".to_owned()) && texts.contains(&"round 29".to_owned()),
        "{texts:?}"
    );
    let found = alice.rest.get("/v1/search?q=quick%20fox").await.ok();
    assert_eq!(column(&found, "id"), [text(&root, "id")]);
    assert_eq!(items(&alice.rest.get("/v1/search?q=brown").await.ok()).len(), 0);
    alice.post(&general, "after the kill").await;
    assert!(!hub.data.join("hub.db").exists(), "nothing of it is in the data folder");
    assert!(hub.stop().await.success());
    assert!(!hub.log().contains(SECRET), "the log shows a password");
}

#[tokio::test]
async fn a_second_hub_is_refused_and_doctor_names_the_store() {
    let Some(server) = postgres() else { return };
    let database = server.database();
    let (hub, _alice) = start_on(&database).await;
    let doctor = command(&hub, &database, &["doctor"]).await;
    assert!(
        doctor.stdout.contains(&format!("postgres://postgres@127.0.0.1:{}/{}", server.port(), database.name())),
        "{}",
        doctor.stdout
    );
    let folder = tempfile::TempDir::new().expect("a folder");
    let (data, listen) = (path_of(&folder.path().join("data")), free_address().to_string());
    let arguments = ["serve", "--data-dir", &data, "--listen", &listen];
    let second = moot(folder.path(), &arguments, &[("MOOT_STORE__URL", &url(&database))]).await;
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(
        second.stderr.contains("another hub is using the database") && second.stderr.contains("hint:"),
        "{}",
        second.stderr
    );
    let wrong = url(&database).replace(database.name(), "nowhere");
    let missing = moot(folder.path(), &arguments, &[("MOOT_STORE__URL", &wrong)]).await;
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("there is no database `nowhere`") && missing.stderr.contains("hint:"),
        "{}",
        missing.stderr
    );
    assert!(!format!("{}{}", second.stderr, missing.stderr).contains(SECRET));
}

#[tokio::test]
async fn a_hub_moves_to_postgres_and_back_and_its_people_notice_nothing() {
    let Some(server) = postgres() else { return };
    let database = server.database();
    let mut hub = Hub::start().await;
    let alice = register(&hub, "alice").await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "said on SQLite").await;
    let refused =
        moot(hub.folder().path(), &["migrate", "--to", &url(&database), "--data-dir", &path_of(&hub.data)], &[]).await;
    assert_eq!(refused.code, Some(1), "a running hub is not moved: {}", refused.stdout);
    hub.stop().await;
    let moved =
        moot(hub.folder().path(), &["migrate", "--to", &url(&database), "--data-dir", &path_of(&hub.data)], &[]).await;
    assert_eq!(moved.code, Some(0), "{}", moved.stderr);
    assert!(moved.stdout.starts_with("moved 1 messages") && !moved.stdout.contains(SECRET), "{}", moved.stdout);

    let on_postgres = Setup::default().env("MOOT_STORE__URL", &url(&database));
    let mut hub = on_postgres.start_on(hub.folder(), hub.data.clone()).await;
    assert_eq!(texts_at(&hub, &alice, &general).await, ["said on SQLite"]);
    let here = Rest::new(hub.url(""), Some(format!("Bearer {}", alice.token)));
    here.post(&format!("/v1/channels/{general}/messages"), json!({ "content": "said on Postgres" })).await.created();
    let archive = path_of(&hub.folder().path().join("hub.backup"));
    let backup = command(&hub, &database, &["backup", &archive]).await;
    assert_eq!(backup.code, Some(0), "{}", backup.stderr);
    hub.stop().await;
    let back = command(&hub, &database, &["migrate", "--to", &path_of(&hub.data), "--force"]).await;
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    let hub = Setup::default().start_on(hub.folder(), hub.data.clone()).await;
    assert_eq!(texts_at(&hub, &alice, &general).await, ["said on SQLite", "said on Postgres"]);
}

#[tokio::test]
async fn a_hub_goes_on_when_its_postgres_comes_back() {
    let Some(mut server) = Postgres::start(Options::default()) else { return };
    let database = server.database();
    let (_hub, alice) = start_on(&database).await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "before").await;
    server.crash();
    let path = format!("/v1/channels/{general}/messages");
    let refused = alice.rest.post(&path, json!({ "content": "while it is gone" })).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    server.start_again();
    assert!(server.is_there());
    let sent = || async {
        let answer = alice.rest.post(&path, json!({ "content": "after" })).await;
        (answer.status == 201).then_some(())
    };
    eventually("the hub stores again", sent).await;
    assert_eq!(alice.texts(&general).await, ["before", "after"]);
    assert_eq!(
        database.query("SELECT string_agg(seq::text, ',' ORDER BY seq) FROM messages"),
        "1,2",
        "no position is lost"
    );
}
