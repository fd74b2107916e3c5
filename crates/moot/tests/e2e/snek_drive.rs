//! The drive: uploads, links, and who may read what.

use serde_json::json;

use crate::support::{Answer, Member, start, text};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and the rest";

async fn upload(member: &Member, name: &str) -> serde_json::Value {
    member.rest.upload("/drive.bin", name, "image/png", PNG.to_vec()).await.created()
}

async fn fetch(member: &Member, url: &str) -> Answer {
    member.rest.get(url).await
}

#[tokio::test]
async fn an_upload_is_the_uploaders_until_it_is_posted_then_the_channels_members() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let channel = alice.add_channel("general", &[&bob]).await;
    let file = upload(&alice, "cat.PNG").await;
    let url = text(&file, "url");
    assert_eq!(url, format!("/drive.bin/{}.png", text(&file, "uid")));
    assert_eq!(fetch(&alice, url).await.bytes, PNG);
    fetch(&bob, url).await.hidden();
    let mut snek = alice.snek().await;
    let mut reader = bob.snek().await;
    let link = format!("look: {}", text(&file, "markdown"));
    snek.say(&channel, &link).await;
    assert_eq!(reader.expect("message").await["message"], link.as_str(), "links stay as they are");
    let shown = fetch(&bob, url).await;
    assert_eq!((shown.status, shown.header("content-type"), &*shown.bytes), (200, "image/png", PNG));
    assert_eq!(shown.header("x-content-type-options"), "nosniff");
    // The channel is open: carol could join, but she is not in it.
    fetch(&carol, url).await.hidden();
    alice.admit(&channel, &carol).await;
    assert_eq!(fetch(&carol, url).await.status, 200);
}

#[tokio::test]
async fn the_drive_and_v1_have_the_same_files_under_the_same_rule() {
    let (hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let channel = alice.add_channel("general", &[&bob]).await;
    let file = upload(&alice, "cat.png").await;
    let v1 = format!("/v1/files/{}", text(&file, "uid"));
    assert_eq!(alice.rest.get(&v1).await.ok()["filename"], "cat.png");
    bob.rest.get(&format!("{v1}/download")).await.hidden();
    alice.post(&channel, text(&file, "markdown")).await;
    assert_eq!(bob.rest.get(&format!("{v1}/download")).await.bytes, PNG);
    carol.rest.get(&format!("{v1}/download")).await.hidden();
    let listed = carol.rest.get(&carol.path("files")).await.ok();
    assert_eq!(listed, json!([]));
    let over_v1 = alice.rest.upload(&alice.path("files"), "b.png", "image/png", PNG.to_vec()).await.created();
    let over_drive = format!("/drive.bin/{}.png", text(&over_v1, "id"));
    fetch(&bob, &over_drive).await.hidden();
    alice.post(&channel, &over_drive).await;
    assert_eq!(fetch(&bob, &over_drive).await.bytes, PNG);
    let stranger = crate::support::register(&hub, "mallory").await;
    fetch(&stranger, text(&file, "url")).await.hidden();
}

#[tokio::test]
async fn a_link_shares_only_ones_own_files() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    let file = upload(&alice, "cat.png").await;
    bob.post(&channel, text(&file, "markdown")).await;
    fetch(&bob, text(&file, "url")).await.hidden();
}

#[tokio::test]
async fn a_file_can_be_posted_to_several_channels() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let (one, two) = (alice.add_private("one", &[&bob]).await, alice.add_private("two", &[&carol]).await);
    let file = upload(&alice, "cat.png").await;
    alice.post(&one, text(&file, "markdown")).await;
    fetch(&carol, text(&file, "url")).await.hidden();
    alice.post(&two, &format!("also here {}", text(&file, "url"))).await;
    assert_eq!(
        (fetch(&bob, text(&file, "url")).await.status, fetch(&carol, text(&file, "url")).await.status),
        (200, 200)
    );
}

#[tokio::test]
async fn strangers_and_wrong_names_get_nothing() {
    let (_hub, alice) = start().await;
    let file = upload(&alice, "cat.png").await;
    alice.rest.anonymous().get(text(&file, "url")).await.refused(401, "AUTH_REQUIRED");
    alice.rest.anonymous().upload("/drive.bin", "x.png", "image/png", PNG.to_vec()).await.refused(401, "AUTH_REQUIRED");
    for wrong in
        ["/drive.bin/nothing.png", "/drive.bin/file_00000000000000000000000000.png", "/drive.bin/..%2f..%2fsecret.key"]
    {
        alice.rest.get(wrong).await.refused_as(&[404]);
    }
    alice.rest.post("/drive.bin", json!({})).await.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn an_agents_key_opens_the_drive() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    let file = upload(&bot, "chart.png").await;
    let mut snek = bot.snek().await;
    snek.say(&channel, text(&file, "markdown")).await;
    assert_eq!(fetch(&alice, text(&file, "url")).await.bytes, PNG);
}

#[tokio::test]
async fn what_is_uploaded_runs_in_no_browser() {
    let (_hub, alice) = start().await;
    let file = alice.rest.upload("/drive.bin", "x.html", "text/html", b"<script>".to_vec()).await.created();
    let answer = fetch(&alice, text(&file, "url")).await;
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert!(answer.header("content-disposition").starts_with("attachment"));
}

#[tokio::test]
async fn a_file_posted_on_lark_is_a_link_on_snek() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    let file = alice.rest.upload(&alice.path("files"), "cat.png", "image/png", PNG.to_vec()).await.created();
    let mut snek = bob.snek().await;
    let path = format!("/v1/channels/{channel}/messages");
    alice.rest.post(&path, json!({ "content": "see", "file_id": file["id"] })).await.created();
    let message = snek.expect("message").await;
    let link = format!("(/drive.bin/{})", text(&file, "id"));
    assert!(text(&message, "message").starts_with("see\n") && text(&message, "message").ends_with(&link), "{message}");
    assert_eq!(fetch(&bob, link.trim_matches(['(', ')'])).await.bytes, PNG);
}
