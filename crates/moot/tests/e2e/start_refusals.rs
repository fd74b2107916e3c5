//! Starts that must fail: with a sentence, the right exit code, and nothing changed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::hub::{Done, free_address};
use crate::support::{Hub, moot, register};

async fn serve(folder: &Path, data: &Path, more: &[&str], environment: &[(&str, &str)]) -> Done {
    let address = free_address().to_string();
    let data = data.to_str().expect("a readable path");
    let mut arguments = vec!["serve", "--data-dir", data];
    if !more.contains(&"--listen") {
        arguments.extend(["--listen", &address]);
    }
    arguments.extend(more);
    moot(folder, &arguments, environment).await
}

#[tokio::test]
async fn an_unknown_key_in_the_file_is_named_with_the_nearest_known_one() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "[server]\nlisen = \"127.0.0.1:1\"\n").expect("a file");
    let data = folder.path().join("data");
    let file = file.to_str().expect("a path");
    let started = serve(folder.path(), &data, &["--config", file], &[]).await;
    let checked = moot(folder.path(), &["config", "check", "--config", file], &[]).await;
    for done in [started, checked] {
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("lisen"), "{}", done.stderr);
        assert!(done.stderr.contains("listen"), "{}", done.stderr);
    }
    assert!(!data.exists(), "nothing was made");
}

#[tokio::test]
async fn an_unknown_key_in_the_environment_is_named() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join("data");
    let wrong = [("MOOT_SERVER__REGISTRATOIN", "open")];
    let done = serve(folder.path(), &data, &[], &wrong).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    let said = done.stderr.to_lowercase();
    assert!(said.contains("registratoin") && said.contains("registration"), "{said}");
}

#[tokio::test]
async fn a_wrong_value_names_its_key() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join("data");
    let wrong = [("MOOT_SERVER__REGISTRATION", "sometimes")];
    let done = serve(folder.path(), &data, &[], &wrong).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("registration"), "{}", done.stderr);
    let done = serve(folder.path(), &data, &["--listen", "nowhere"], &[]).await;
    assert_eq!(done.code, Some(2), "{}", done.stderr);
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let folder = TempDir::new().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let listen = address.to_string();
    let data = folder.path().join("data");
    let done = serve(folder.path(), &data, &["--listen", &listen], &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains(&address.port().to_string()), "{}", done.stderr);
    assert!(done.stderr.contains("hint:"), "{}", done.stderr);
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_written_is_named() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("a-file");
    std::fs::write(&file, "not a folder").expect("a file");
    let data = file.join("data");
    let done = serve(folder.path(), &data, &[], &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("a-file"), "{}", done.stderr);
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(kept, "not a folder");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_untouched() {
    let mut hub = Hub::start().await;
    register(&hub, "alice").await;
    hub.stop().await;
    let database = database_in(&hub.data);
    let mut bytes = std::fs::read(&database).expect("the database");
    let version = u32::from_be_bytes(bytes[60..64].try_into().expect("four bytes"));
    assert!(version > 0, "the version is kept in the header of the file");
    bytes[60..64].copy_from_slice(&(version + 1000).to_be_bytes());
    std::fs::write(&database, &bytes).expect("the database");
    let folder = hub.folder();
    let done = serve(folder.path(), &hub.data, &[], &[]).await;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("newer"), "{}", done.stderr);
    assert!(std::fs::read(&database).expect("the database") == bytes, "untouched");
}

fn database_in(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("the data folder");
    let mut files = entries.map(|entry| entry.expect("an entry").path());
    files
        .find(|path| {
            let start = std::fs::read(path).unwrap_or_default();
            start.starts_with(b"SQLite format 3\0")
        })
        .expect("a database in the data folder")
}
