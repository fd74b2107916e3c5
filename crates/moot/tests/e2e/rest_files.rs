//! Files: uploaded in a stream, served so that a browser does not run them.

use serde_json::json;

use crate::support::{column, register, start, text};

#[tokio::test]
async fn a_file_is_uploaded_listed_and_downloaded() {
    let (_hub, alice) = start().await;
    let bytes: Vec<u8> = (0..100_000u32).map(|number| (number % 251) as u8).collect();
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "noise.bin", "application/octet-stream", bytes.clone()).await;
    let file = file.created();
    assert_eq!(file["filename"], "noise.bin");
    assert_eq!(file["size"], 100_000);
    let id = text(&file, "id");
    let list = alice.rest.get(&path).await.ok();
    assert_eq!(column(&list, "id"), [id]);
    assert_eq!(alice.rest.get(&format!("/v1/files/{id}")).await.ok()["filename"], "noise.bin");
    let download = alice.rest.get(&format!("/v1/files/{id}/download")).await;
    assert_eq!(download.status, 200);
    assert_eq!(download.bytes, bytes);
}

#[tokio::test]
async fn active_content_is_served_with_a_safe_type_and_nosniff() {
    let (_hub, alice) = start().await;
    for (name, kind) in [
        ("page.html", "text/html"),
        ("image.svg", "image/svg+xml"),
        ("code.js", "text/javascript"),
        ("doc.xhtml", "application/xhtml+xml"),
        ("liar.png", "text/html"),
    ] {
        let bytes = b"<script>alert(1)</script>".to_vec();
        let file = alice.rest.upload(&alice.path("files"), name, kind, bytes).await.created();
        let path = format!("/v1/files/{}/download", text(&file, "id"));
        let download = alice.rest.get(&path).await;
        assert_eq!(download.header("x-content-type-options"), "nosniff", "{name}");
        let shown = download.header("content-type").to_lowercase();
        for active in ["html", "svg", "xml", "javascript"] {
            assert!(!shown.contains(active), "{name} is served as {shown}");
        }
    }
}

#[tokio::test]
async fn a_file_of_32_mb_is_accepted() {
    let (_hub, alice) = start().await;
    let bytes = vec![7u8; 32 * 1024 * 1024];
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "big.bin", "application/octet-stream", bytes).await;
    assert_eq!(file.created()["size"], 32 * 1024 * 1024);
}

#[tokio::test]
async fn an_upload_is_never_held_in_memory() {
    let (hub, alice) = start().await;
    let process = format!("/proc/{}", hub.pid().as_raw_nonzero());
    // 5 sets the peak back to what is used now.
    // Only root may say so to a process that lets nobody look into it; else the peak since the start counts.
    let _ = std::fs::write(format!("{process}/clear_refs"), "5");
    let before = peak_kilobytes(&process);
    let bytes = vec![7u8; 32 * 1024 * 1024];
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "big.bin", "application/octet-stream", bytes).await;
    let file = file.created();
    let download = format!("/v1/files/{}/download", text(&file, "id"));
    assert_eq!(alice.rest.get(&download).await.bytes.len(), 32 * 1024 * 1024);
    let grown = peak_kilobytes(&process) - before;
    assert!(grown < 12 * 1024, "{grown} kB more than before");
}

fn peak_kilobytes(process: &str) -> i64 {
    let status = std::fs::read_to_string(format!("{process}/status")).expect("the status");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    let digits = line.split_whitespace().nth(1).expect("a number");
    digits.parse().expect("a number")
}

#[tokio::test]
async fn a_file_over_32_mb_is_refused_and_leaves_nothing() {
    let (hub, alice) = start().await;
    let before = files_below(&hub.data);
    let bytes = vec![7u8; 32 * 1024 * 1024 + 1];
    let path = alice.path("files");
    let answer = alice.rest.upload(&path, "big.bin", "application/octet-stream", bytes).await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
    assert_eq!(files_below(&hub.data), before, "no half of a file stays behind");
}

/// How many files larger than a database page lie outside the database itself.
fn files_below(folder: &std::path::Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the data folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            count += files_below(&entry.path());
        } else if entry.metadata().expect("a size").len() > 8 * 1024 * 1024 {
            count += 1;
        }
    }
    count
}

#[tokio::test]
async fn a_file_name_is_only_a_name() {
    let (hub, alice) = start().await;
    for name in ["../../escape.txt", "/etc/passwd", "..\\..\\escape.txt"] {
        let path = alice.path("files");
        let answer = alice.rest.upload(&path, name, "text/plain", b"hello".to_vec()).await;
        if answer.status != 201 {
            answer.refused(400, "BAD_REQUEST");
            continue;
        }
        let file = answer.json();
        let kept = text(&file, "filename");
        assert!(!kept.contains('/') && !kept.contains('\\'), "{kept}");
    }
    assert!(!hub.folder().path().join("escape.txt").exists());
}

#[tokio::test]
async fn files_stay_within_the_workspace() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "a.txt", "text/plain", b"secret".to_vec()).await.created();
    let path = format!("/v1/files/{}", text(&file, "id"));
    mallory.rest.get(&path).await.hidden();
    mallory.rest.get(&format!("{path}/download")).await.hidden();
    mallory.rest.delete(&path).await.hidden();
    let anonymous = alice.rest.anonymous();
    anonymous.get(&format!("{path}/download")).await.refused(401, "AUTH_REQUIRED");
    alice.rest.get(&path).await.ok();
}

#[tokio::test]
async fn a_deleted_file_is_gone() {
    let (_hub, alice) = start().await;
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "a.txt", "text/plain", b"bye".to_vec()).await.created();
    let path = format!("/v1/files/{}", text(&file, "id"));
    alice.rest.delete(&path).await.ok();
    alice.rest.get(&path).await.refused(404, "NOT_FOUND");
    alice.rest.get(&format!("{path}/download")).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn an_upload_without_a_file_is_refused() {
    let (_hub, alice) = start().await;
    let refusal = alice.rest.post(&alice.path("files"), json!({})).await;
    refusal.refused_as(&[400, 415]);
}

#[tokio::test]
async fn an_upload_of_two_files_at_once_is_refused_and_keeps_nothing() {
    let (_hub, alice) = start().await;
    let path = alice.path("files");
    let form = reqwest::multipart::Form::new().part("file", reqwest::multipart::Part::bytes(b"one".to_vec()));
    let answer = alice.rest.upload_with(form, &path, "two.txt", "text/plain", b"two".to_vec()).await;
    let refusal = answer.refused(400, "BAD_REQUEST");
    assert_eq!(refusal["error"], "the form has more than one part named `file`; upload them one by one");
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
}

#[tokio::test]
async fn a_message_can_carry_a_file() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "a.txt", "text/plain", b"hi".to_vec()).await.created();
    let path = format!("/v1/channels/{general}/messages");
    let body = json!({ "content": "see this", "file_id": file["id"] });
    let message = alice.rest.post(&path, body).await.created();
    assert_eq!(message["file_id"], file["id"]);
}

#[tokio::test]
async fn a_file_of_a_private_channel_is_hidden_from_outsiders() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let secret = alice.add_private("secret", &[&carol]).await;
    let form = reqwest::multipart::Form::new().text("channel_id", secret.clone());
    let path = alice.path("files");
    let file = alice.rest.upload_with(form, &path, "plan.txt", "text/plain", b"swordfish".to_vec()).await.created();
    let one = format!("/v1/files/{}", text(&file, "id"));
    bob.rest.get(&one).await.hidden();
    bob.rest.get(&format!("{one}/download")).await.hidden();
    assert_eq!(bob.rest.get(&path).await.ok(), json!([]));
    assert_eq!(carol.rest.get(&format!("{one}/download")).await.text(), "swordfish");
}

#[tokio::test]
async fn a_file_is_its_uploaders_before_it_is_posted_and_after_that_message_is_deleted() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "a.txt", "text/plain", b"hi".to_vec()).await.created();
    let download = format!("/v1/files/{}/download", text(&file, "id"));
    bob.rest.get(&download).await.hidden();
    assert_eq!(bob.rest.get(&path).await.ok(), json!([]));
    let body = json!({ "content": "see this", "file_id": file["id"] });
    let message = alice.rest.post(&format!("/v1/channels/{general}/messages"), body).await.created();
    assert_eq!(bob.rest.get(&download).await.text(), "hi");
    alice.rest.delete(&format!("/v1/messages/{}", text(&message, "id"))).await.ok();
    bob.rest.get(&download).await.hidden();
    assert_eq!(alice.rest.get(&download).await.text(), "hi");
}

#[tokio::test]
async fn a_file_can_be_the_avatar() {
    let (_hub, alice) = start().await;
    let path = alice.path("files");
    let file = alice.rest.upload(&path, "me.png", "image/png", b"\x89PNG\r\n\x1a\n".to_vec()).await.created();
    let body = json!({ "file_id": file["id"] });
    alice.rest.post("/v1/members/me/avatar", body).await.ok();
    let me = alice.rest.get("/v1/members/me").await.text();
    assert!(me.contains(text(&file, "id")), "{me}");
    let bob = alice.add_human("bob").await;
    let seen = bob.rest.get(&format!("/v1/files/{}/download", text(&file, "id"))).await;
    assert_eq!(seen.status, 200, "a picture is for everybody");
    let unknown = json!({ "file_id": "file_unknown" });
    alice.rest.post("/v1/members/me/avatar", unknown).await.refused_as(&[400, 404]);
}
