//! Nobody else on the machine reads what is the hub's: files are made for their owner, and old ones are mended.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::hub::{BINARY, clean_command, free_address};
use crate::support::{Hub, Setup, eventually, items, moot, register, start};

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o7777
}

fn with_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our own file");
}

/// Everything below a folder that others may look at.
fn exposed(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(exposed(&path));
        }
        if mode(&path) & 0o077 != 0 {
            found.push(path);
        }
    }
    found
}

async fn doctor(hub: &Hub) -> Vec<Value> {
    let data = hub.data.to_str().expect("a path");
    let address = hub.address.to_string();
    let arguments = ["doctor", "--json", "--data-dir", data, "--listen", &address];
    let done = moot(hub.folder().path(), &arguments, &[]).await;
    let findings: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr));
    let modes = items(&findings).iter().filter(|finding| finding["check"] == "private files");
    modes.cloned().collect()
}

#[tokio::test]
async fn everything_a_hub_makes_is_for_its_owner_only() {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "private").await;
    alice.rest.upload(&alice.path("files"), "a.txt", "text/plain", b"private".to_vec()).await;
    alice.rest.post("/v1/admin/backup", json!({})).await.created();
    assert_eq!(mode(&hub.data), 0o700);
    assert_eq!(exposed(&hub.data), Vec::<PathBuf>::new());
    assert_eq!(doctor(&hub).await[0]["verdict"], "ok");
}

#[tokio::test]
async fn the_secret_of_a_hub_is_made_for_its_owner_whatever_the_umask() {
    let folder = TempDir::new().expect("a temporary folder");
    let data = folder.path().join("data");
    let mut command: Command = clean_command("sh", folder.path());
    let address = free_address().to_string();
    command.env_remove("MOOT_SERVER__JWT_SECRET").args(["-c", "umask 000; exec \"$@\"", "sh", BINARY, "serve"]);
    command.args(["--listen", &address, "--data-dir"]).arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    let secret = data.join("secret.key");
    eventually("a secret", || async { secret.metadata().is_ok_and(|it| it.len() > 0).then_some(()) }).await;
    eventually("the folder for files", || async { data.join("files").exists().then_some(()) }).await;
    let found = exposed(&data);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!((found, mode(&data), mode(&secret)), (Vec::new(), 0o700, 0o600));
}

#[tokio::test]
async fn a_start_mends_what_others_could_read_and_says_so() {
    let (mut hub, _alice) = start().await;
    hub.stop().await;
    let database = hub.data.join("hub.db");
    with_mode(&database, 0o644);
    with_mode(&hub.data, 0o755);
    hub.restart().await;
    assert_eq!((mode(&database), mode(&hub.data)), (0o600, 0o700));
    for path in [&database, &hub.data] {
        let log = hub.logged(&format!("`{}`", path.display())).await;
        let said = |line: &&str| line.contains("others could read") && line.contains(&format!("`{}`", path.display()));
        assert_eq!(log.lines().filter(said).count(), 1, "{log}");
    }
}

#[tokio::test]
async fn the_doctor_mends_the_data_folder_the_configuration_and_the_profile() {
    let hub = Hub::start().await;
    register(&hub, "alice").await;
    let folder = hub.folder();
    let config = folder.path().join("config/folkmoot/config.toml");
    std::fs::create_dir_all(config.parent().expect("a folder")).expect("a folder");
    std::fs::write(&config, "[telegram]\nbot_token = \"1:abc\"\n").expect("a configuration");
    let profile = folder.path().join("config/folkmoot/profile.json");
    std::fs::write(&profile, "{}").expect("a profile");
    let database = hub.data.join("hub.db");
    let made_by_others = hub.data.join("notes.txt");
    std::fs::write(&made_by_others, "x").expect("a file");
    for path in [&config, &profile, &database, &made_by_others] {
        with_mode(path, 0o644);
    }
    let findings = doctor(&hub).await;
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings.iter().all(|finding| finding["verdict"] == "warn"), "{findings:?}");
    assert_eq!([&config, &profile, &database].map(|path| mode(path)), [0o600; 3]);
    assert_eq!(mode(&made_by_others), 0o644, "not the hub's");
    assert_eq!(doctor(&hub).await[0]["verdict"], "ok");
}

#[tokio::test]
async fn a_linked_data_folder_is_mended_and_what_links_lead_to_from_inside_is_not() {
    let folder = Arc::new(TempDir::new().expect("a temporary folder"));
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    let foreign = folder.path().join("telegram.db");
    std::fs::create_dir(&real).expect("a folder");
    std::fs::write(&foreign, "").expect("a file");
    with_mode(&real, 0o755);
    with_mode(&foreign, 0o644);
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let mut hub = Setup::default().start_on(Arc::clone(&folder), link.clone()).await;
    hub.stop().await;
    std::os::unix::fs::symlink(&foreign, real.join("bot.db")).expect("a link");
    hub.restart().await;
    assert_eq!((mode(&real), mode(&foreign)), (0o700, 0o644));
    assert!(link.is_symlink());
}
