//! A disk without room: writes are refused, reads go on, and with room again so do writes.
//!
//! A file size limit set on the running process stands in for the full disk: every write that would need more
//! room fails, as it would there.

use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::json;

use crate::support::{Hub, Setup, column, register, text};

fn limit_files(hub: &Hub, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(hub.pid()), Resource::Fsize, limit).expect("the limit is set");
}

async fn hub() -> Hub {
    Setup::default().survive_file_size_limit().start().await
}

#[tokio::test]
async fn a_full_disk_refuses_writes_keeps_reading_and_recovers() {
    let hub = hub().await;
    let alice = register(&hub, "alice").await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "before").await;
    let mut lark = alice.lark().await;

    limit_files(&hub, Some(4096));
    for round in 0..3 {
        let data = json!({ "channel_id": general, "content": format!("lost {round}") });
        lark.refused("message.send", data).await;
        let path = format!("/v1/channels/{general}/messages");
        let body = json!({ "content": format!("lost too {round}") });
        let refusal = alice.rest.post(&path, body).await;
        refusal.refused_as(&[500, 503, 507]);
        assert_eq!(alice.texts(&general).await, ["before"], "reading goes on");
    }
    assert!(lark.kept("message.new").is_empty(), "what is not stored is not told");
    assert!(lark.kept("message.ack").is_empty());

    limit_files(&hub, None);
    lark.say(&general, "after").await;
    alice.post(&general, "after that").await;
    let texts = alice.texts(&general).await;
    assert_eq!(texts, ["before", "after", "after that"]);
}

#[tokio::test]
async fn on_a_full_disk_the_hub_is_not_ready_until_there_is_room_and_searches_on() {
    let hub = hub().await;
    let alice = register(&hub, "alice").await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "plan before").await;
    let search = "/v1/search?q=plan";
    assert_eq!(column(&alice.rest.get(search).await.ok(), "content"), ["plan before"]);
    alice.post(&general, "plan unindexed").await;
    let ready = alice.rest.anonymous();
    ready.get("/readyz").await.ok();

    limit_files(&hub, Some(4096));
    let path = format!("/v1/channels/{general}/messages");
    alice.rest.post(&path, json!({ "content": "plan lost" })).await.refused_as(&[503]);
    for _ in 0..2 {
        let answer = ready.get("/readyz").await.with_status(503);
        assert!(text(&answer, "error").contains("nothing was changed"), "{answer}");
    }
    let found = alice.rest.get(search).await.ok();
    assert!(column(&found, "content").contains(&"plan before"), "{found}");

    limit_files(&hub, None);
    assert_eq!(ready.get("/readyz").await.ok()["status"], "ready", "nobody had to write first");
    alice.post(&general, "plan after").await;
    let found = alice.rest.get(search).await.ok();
    assert_eq!(column(&found, "content"), ["plan after", "plan unindexed", "plan before"]);
}

#[tokio::test]
async fn what_was_acknowledged_around_a_full_disk_survives_a_crash() {
    let mut hub = hub().await;
    let alice = register(&hub, "alice").await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    lark.say(&general, "before").await;
    limit_files(&hub, Some(4096));
    let data = json!({ "channel_id": general, "content": "lost" });
    lark.refused("message.send", data).await;
    limit_files(&hub, None);
    lark.say(&general, "after").await;
    hub.kill();
    hub.restart().await;
    assert_eq!(alice.texts(&general).await, ["before", "after"]);
}

#[tokio::test]
async fn an_upload_without_room_is_refused_and_leaves_nothing() {
    let hub = hub().await;
    let alice = register(&hub, "alice").await;
    limit_files(&hub, Some(64 * 1024));
    let bytes = vec![7u8; 4 * 1024 * 1024];
    let path = alice.path("files");
    let answer = alice.rest.upload(&path, "big.bin", "application/octet-stream", bytes).await;
    answer.refused_as(&[500, 503, 507]);
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
    limit_files(&hub, None);
    let file = alice.rest.upload(&path, "small.txt", "text/plain", b"hi".to_vec()).await;
    file.created();
}
