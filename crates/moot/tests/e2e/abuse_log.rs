//! The database and its log: a clean stop leaves one file that holds everything, and what is lost or damaged is said at the start.

use std::sync::Arc;

use crate::support::{Rest, Setup, eventually, moot, start, text};

#[tokio::test]
async fn after_a_clean_stop_a_copy_of_the_database_alone_holds_everything() {
    let (mut hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    for round in 0..50 {
        alice.post(&general, &format!("message {round}")).await;
    }
    // A connection that is open when the hub stops is no reason to leave something behind.
    let _open = alice.lark().await;
    assert!(hub.stop().await.success());
    let folder = Arc::new(tempfile::TempDir::new().expect("a folder"));
    let copy = folder.path().join("data");
    std::fs::create_dir(&copy).expect("a folder");
    std::fs::copy(hub.data.join("hub.db"), copy.join("hub.db")).expect("a copy");
    let elsewhere = Setup::default().start_on(folder, copy).await;
    let rest = Rest::new(elsewhere.url(""), Some(format!("Bearer {}", alice.token)));
    let history = rest.get(&format!("/v1/channels/{general}/messages?limit=200")).await.ok();
    assert_eq!(history.as_array().map(Vec::len), Some(50), "{history}");
    assert_eq!(history[0]["content"], "message 49");
}

#[tokio::test]
async fn a_log_that_is_gone_is_noticed_at_the_start_and_by_the_doctor() {
    let (mut hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "acknowledged").await;
    hub.kill();
    std::fs::rename(hub.data.join("hub.db-wal"), hub.data.join("aside")).expect("a log");
    let (home, data) = (hub.folder(), hub.data.display().to_string());
    let started = moot(home.path(), &["serve", "--listen", "127.0.0.1:0", "--data-dir", &data], &[]).await;
    assert_ne!(started.code, Some(0));
    assert!(started.stderr.contains("hub.db-wal") && started.stderr.contains("hint:"), "{}", started.stderr);
    let doctor = moot(home.path(), &["doctor"], &[("MOOT_SERVER__DATA_DIR", &data)]).await;
    assert!(doctor.stdout.contains("is gone or cut"), "{}{}", doctor.stdout, doctor.stderr);
    std::fs::rename(hub.data.join("aside"), hub.data.join("hub.db-wal")).expect("a log");
    hub.restart().await;
    assert_eq!(alice.texts(&general).await, ["acknowledged"]);
}

#[tokio::test]
async fn a_damaged_database_is_not_ready_and_says_why() {
    let (mut hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    for _ in 0..40 {
        alice.post(&general, &"lorem ipsum ".repeat(800)).await;
    }
    assert!(hub.stop().await.success());
    let path = hub.data.join("hub.db");
    let mut bytes = std::fs::read(&path).expect("a database");
    // In the middle of what was said: nothing at the start reads it.
    let middle = bytes.len() * 3 / 4 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&path, bytes).expect("damage");
    hub.start_again();
    let ready = alice.rest.anonymous();
    let answer = eventually("the damage is told", || async {
        let asked = ready.request(reqwest::Method::GET, "/readyz").send().await.ok()?;
        let is_refused = asked.status().as_u16() == 503;
        is_refused.then_some(asked)?.json::<serde_json::Value>().await.ok()
    })
    .await;
    assert!(text(&answer, "error").contains("damaged"), "{answer}");
}
