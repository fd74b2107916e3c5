//! Changing one key of the file.

use super::*;

fn sources(folder: &tempfile::TempDir, text: &str) -> Sources {
    let path = folder.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    Sources { file: Some(path), ..Sources::default() }
}

fn read(sources: &Sources) -> String {
    std::fs::read_to_string(sources.file.as_ref().unwrap()).unwrap()
}

#[test]
fn a_key_is_changed_in_place_and_comments_stay() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder, "# mine\n[server]\nlisten = \"127.0.0.1:1\" # here\n");
    edit::set(&sources, "server.listen", "127.0.0.1:2").unwrap();
    assert_eq!(read(&sources), "# mine\n[server]\nlisten = \"127.0.0.1:2\" # here\n");
    edit::set(&sources, "server.registration", "open").unwrap();
    edit::set(&sources, "engines.codex.model", "o9").unwrap();
    edit::set(&sources, "telegram.allowed_user_ids", "1,2").unwrap();
    let expected = "# mine\n[server]\nlisten = \"127.0.0.1:2\" # here\nregistration = \"open\"\n\n[engines.codex]\nmodel = \"o9\"\n\n[telegram]\nallowed_user_ids = [1, 2]\n";
    assert_eq!(read(&sources), expected);
}

#[test]
fn a_bad_value_or_an_unknown_key_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder, "[server]\nlog = \"info\"\n");
    for (key, value) in [("server.lisen", "x"), ("server.listen", "x"), ("smarthole.enabled", "maybe"), ("server", "x")]
    {
        assert!(edit::set(&sources, key, value).is_err(), "{key}");
    }
    assert_eq!(read(&sources), "[server]\nlog = \"info\"\n");
}

#[test]
fn a_file_that_is_wrong_elsewhere_can_be_mended_key_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder, "[server]\nlisten = \"x\"\nlog_format = \"xml\"\n");
    edit::set(&sources, "server.listen", "127.0.0.1:2").unwrap();
    edit::set(&sources, "server.log_format", "json").unwrap();
    assert!(load(&sources).is_ok());
}

#[test]
fn a_new_file_is_for_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/config.toml");
    let sources = Sources { file: Some(path.clone()), ..Sources::default() };
    edit::set(&sources, "llm.api_key", "sk-1").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
