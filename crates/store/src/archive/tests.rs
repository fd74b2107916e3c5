//! Backups taken from a busy hub, and archives nobody should trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use folkmoot_core::Event;
use folkmoot_core::ids::*;
use folkmoot_core::model::{ContentType, Door, Message};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::Store;

const CHANNEL: ChannelId = ChannelId(5);

fn new_folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn send(store: &mut dyn Store, seq: u64, content: &str) {
    let message = Message {
        id: MessageId(u128::from(seq)),
        channel: CHANNEL,
        seq,
        version: seq,
        sender: MemberId(1),
        thread: None,
        content: content.into(),
        content_type: ContentType::Text,
        kind: "user".into(),
        file: None,
        metadata: None,
        door: Door::Lark,
        created_at: 0,
        updated_at: 0,
        edited_at: None,
        edit_count: 0,
        reply_count: 0,
        reactions: Vec::new(),
        deleted: false,
        key: None,
        root: None,
        depth: 0,
    };
    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&Event::MessageSent(Arc::new(message))).expect("an append");
    transaction.commit().expect("a commit");
}

fn said_in(data_dir: &Path) -> Vec<String> {
    let store = crate::open(data_dir).expect("the store opens");
    let reader = store.reader().expect("a reader");
    let messages = reader.newest_messages(CHANNEL, usize::MAX).expect("messages");
    messages.into_iter().map(|message| message.content).collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a listing").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = entries.map(|name| name.display().to_string()).collect();
    names.sort();
    names
}

/// A hub with one message, an uploaded file and a secret.
fn hub(said: &str) -> TempDir {
    let folder = new_folder();
    send(crate::open(folder.path()).expect("a store").as_mut(), 1, said);
    std::fs::create_dir_all(folder.path().join("files/ab")).expect("a folder");
    std::fs::write(folder.path().join("files/ab/file_1"), format!("upload: {said}")).expect("a file");
    std::fs::write(folder.path().join("secret.key"), format!("secret: {said}")).expect("a secret");
    folder
}

fn backup_of(hub: &TempDir, into: &TempDir) -> PathBuf {
    let target = into.path().join("hub.tar");
    backup(hub.path(), &target).expect("a backup");
    target
}

fn refusal(source: &Path, data_dir: &Path, force: bool) -> String {
    let error = restore(source, data_dir, force).expect_err("it is refused");
    format!("{error}\nhint: {}", error.hint().unwrap_or_default())
}

#[test]
fn a_hub_comes_back_with_its_files_and_its_secret() {
    let (hub, shelf, new) = (hub("hello"), new_folder(), new_folder());
    let archive = backup_of(&hub, &shelf);
    assert_eq!(names_in(shelf.path()), ["hub.tar"], "no helper file stays behind");
    restore(&archive, new.path(), false).expect("a restore");
    assert_eq!(said_in(new.path()), ["hello"]);
    assert_eq!(std::fs::read_to_string(new.path().join("files/ab/file_1")).ok(), Some("upload: hello".into()));
    assert_eq!(std::fs::read_to_string(new.path().join("secret.key")).ok(), Some("secret: hello".into()));
    assert_eq!(names_in(new.path()), ["files", "hub.db", "hub.lock", "secret.key"]);
}

/// Where parts of the hub keep databases of their own, and the mark that each of them has; the last was made without one.
const PARTS: [(&str, i32); 3] = [("telegram.db", 0x4654_656c), ("bot.db", 0x4642_6f74), ("hosting/agentd.db", 0)];

/// A database that a part of the hub keeps, with one row that is still in its log.
fn part(folder: &Path, (name, mark): (&str, i32), said: &str) -> Connection {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = Connection::open(path).expect("a database");
    database.pragma_update(None, "application_id", mark).expect("a mark");
    database.pragma_update(None, "journal_mode", "WAL").expect("a log");
    database.execute_batch(&format!("CREATE TABLE said (text); INSERT INTO said VALUES ('{said}')")).expect("a row");
    database
}

fn part_said(folder: &Path, (name, _): (&str, i32)) -> String {
    let database = Connection::open(folder.join(name)).expect("a database");
    database.query_row("SELECT text FROM said", [], |row| row.get(0)).expect("a row")
}

#[test]
fn databases_beside_the_hubs_own_come_back_too() {
    let (hub, shelf, new) = (hub("hello"), new_folder(), new_folder());
    let _in_use: Vec<Connection> = PARTS.map(|one| part(hub.path(), one, one.0)).into();
    let archive = backup_of(&hub, &shelf);
    assert_eq!(names_in(shelf.path()), ["hub.tar"], "no helper file stays behind");
    restore(&archive, new.path(), false).expect("a restore");
    PARTS.iter().for_each(|one| assert_eq!(part_said(new.path(), *one), one.0));
}

#[test]
fn a_database_that_nobody_has_heard_of_is_in_the_backup_if_it_is_ours() {
    const NEW: folkmoot_database::Schema = folkmoot_database::Schema {
        mark: *b"New",
        migrations: &["CREATE TABLE said (text); INSERT INTO said VALUES ('new')"],
        pragmas: &[],
        statements: 1,
    };
    let (hub, shelf, new) = (hub("hello"), new_folder(), new_folder());
    let _in_use = NEW.open(&hub.path().join("part/new.db")).expect("a database");
    Connection::open(hub.path().join("foreign.db"))
        .expect("a file")
        .execute_batch("CREATE TABLE t (a)")
        .expect("a table");
    restore(&backup_of(&hub, &shelf), new.path(), false).expect("a restore");
    assert_eq!(part_said(new.path(), ("part/new.db", 0)), "new");
    assert!(!new.path().join("foreign.db").exists());
}

#[test]
fn a_restore_leaves_nothing_of_another_hubs_parts() {
    let (hub, shelf, old) = (hub("hello"), new_folder(), hub("old"));
    PARTS.iter().for_each(|one| drop(part(old.path(), *one, "another")));
    std::fs::write(old.path().join("hosting/agentd.status"), "not a database").expect("a file");
    restore(&backup_of(&hub, &shelf), old.path(), true).expect("a restore");
    assert_eq!(names_in(old.path()), ["files", "hosting", "hub.db", "hub.lock", "secret.key"]);
    assert_eq!(names_in(&old.path().join("hosting")), ["agentd.status"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_backup_and_what_comes_out_of_it() {
    use std::os::unix::fs::PermissionsExt;
    let (hub, shelf, new) = (hub("hello"), new_folder(), new_folder());
    let archive = backup_of(&hub, &shelf);
    restore(&archive, new.path(), false).expect("a restore");
    for path in [&archive, &new.path().join("hub.db"), &new.path().join("files/ab/file_1")] {
        let mode = std::fs::metadata(path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn a_backup_of_a_busy_hub_is_of_one_moment() {
    let (hub, shelf) = (new_folder(), new_folder());
    let mut store = crate::open(hub.path()).expect("a store");
    let (committed, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 1.. {
                send(store.as_mut(), seq, &"busy ".repeat(100));
                committed.store(seq, Ordering::SeqCst);
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for round in 0..5 {
            let before = committed.load(Ordering::SeqCst);
            let archive = shelf.path().join(format!("{round}.tar"));
            backup(hub.path(), &archive).expect("a backup");
            let new = new_folder();
            restore(&archive, new.path(), false).expect("a restore");
            let count = said_in(new.path()).len() as u64;
            assert!(count >= before, "{count} of {before} acknowledged messages are in the backup");
            let restored = crate::open(new.path()).expect("a store");
            let replay = restored.reader().expect("a reader").replay(CHANNEL, 0, usize::MAX).expect("a replay");
            assert_eq!(replay.len() as u64, count, "and nothing else is");
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_backup_that_fails_leaves_nothing_and_names_the_reason() {
    let (hub, shelf, empty) = (hub("hello"), new_folder(), new_folder());
    let nowhere = shelf.path().join("missing").join("hub.tar");
    let text = backup(hub.path(), &nowhere).expect_err("there is no such folder").to_string();
    assert!(text.contains("missing"), "{text}");
    let text = backup(empty.path(), &shelf.path().join("hub.tar")).expect_err("there is no hub").to_string();
    assert!(text.contains(&empty.path().display().to_string()), "{text}");
    assert!(names_in(shelf.path()).is_empty() && names_in(empty.path()).is_empty());
}

#[test]
fn a_second_backup_replaces_the_first() {
    let (hub, shelf, new) = (hub("first"), new_folder(), new_folder());
    backup_of(&hub, &shelf);
    send(crate::open(hub.path()).expect("a store").as_mut(), 2, "second");
    let archive = backup_of(&hub, &shelf);
    restore(&archive, new.path(), false).expect("a restore");
    assert_eq!(said_in(new.path()), ["first", "second"]);
}

#[test]
fn a_hub_that_is_there_is_replaced_only_by_force() {
    let (old, hub, shelf) = (hub("old"), hub("new"), new_folder());
    std::fs::write(old.path().join("files/old_upload"), "old").expect("a file");
    let archive = backup_of(&hub, &shelf);
    let text = refusal(&archive, old.path(), false);
    assert!(text.contains(&old.path().display().to_string()) && text.contains("hint:"), "{text}");
    assert_eq!(said_in(old.path()), ["old"]);
    restore(&archive, old.path(), true).expect("a restore");
    assert_eq!(said_in(old.path()), ["new"]);
    assert_eq!(names_in(old.path()), ["files", "hub.db", "hub.lock", "secret.key"]);
    assert_eq!(names_in(&old.path().join("files")), ["ab"]);
}

#[test]
fn the_log_of_a_killed_hub_is_not_mixed_into_what_is_restored() {
    let (hub, shelf, killed) = (hub("new"), new_folder(), new_folder());
    let archive = backup_of(&hub, &shelf);
    let other = new_folder();
    let mut store = crate::open(other.path()).expect("a store");
    for seq in 1..=20 {
        send(store.as_mut(), seq, "old");
    }
    for name in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        std::fs::copy(other.path().join(name), killed.path().join(name)).expect("a copy");
    }
    restore(&archive, killed.path(), true).expect("a restore");
    assert_eq!(said_in(killed.path()), ["new"]);
}

#[test]
fn a_hub_in_use_is_not_replaced_even_by_force() {
    let (old, hub, shelf) = (hub("old"), hub("new"), new_folder());
    let archive = backup_of(&hub, &shelf);
    let store = crate::open(old.path()).expect("a store");
    assert!(matches!(restore(&archive, old.path(), true), Err(StoreError::InUse(_))));
    drop(store);
    assert_eq!(said_in(old.path()), ["old"]);
}

/// An archive with entries of any name and type, as nobody's backup would make them.
fn forged(shelf: &TempDir, entries: &[(&str, tar::EntryType, &[u8])]) -> PathBuf {
    let path = shelf.path().join("forged.tar");
    let mut archive = tar::Builder::new(std::fs::File::create(&path).expect("a file"));
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        // Written as it is: the safe way to set a name refuses what this test is about.
        header.as_gnu_mut().expect("a header").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_cksum();
        archive.append(&header, *content).expect("an entry");
    }
    archive.finish().expect("an archive");
    path
}

#[test]
fn an_archive_cannot_write_outside_the_folder_or_under_another_name() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    let (old, hub, shelf) = (hub("old"), hub("new"), new_folder());
    let database = std::fs::read(hub.path().join("hub.db")).expect("a database");
    let entries: [(&str, tar::EntryType); 11] = [
        ("../evil", Regular),
        ("files/../../evil", Regular),
        ("/tmp/evil", Regular),
        ("files/link", Symlink),
        ("files/link", Link),
        ("hub.db/evil", Regular),
        ("secret.key", Directory),
        ("hub.lock", Regular),
        ("hub.db-wal", Regular),
        ("config.toml", Regular),
        ("hub.db", Regular),
    ];
    for (name, kind) in entries {
        let content: &[u8] = if kind == Regular { b"evil" } else { b"" };
        let archive = forged(&shelf, &[("hub.db", Regular, &database), (name, kind, content)]);
        let text = refusal(&archive, old.path(), true);
        assert!(text.contains("forged.tar") || text.contains(name), "{text}");
        assert_eq!(said_in(old.path()), ["old"], "{name}");
        assert_eq!(names_in(old.path()), ["files", "hub.db", "hub.lock", "secret.key"], "{name}");
    }
}

#[test]
fn what_is_no_sound_backup_is_refused_before_anything_changes() {
    let (old, hub, shelf) = (hub("old"), hub("new"), new_folder());
    let path = shelf.path().join("bad.tar");
    let good = std::fs::read(backup_of(&hub, &shelf)).expect("an archive");
    let bad: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("text", b"hello ".repeat(1000)),
        ("cut off", good[..good.len() / 2].to_vec()),
        (
            "damaged",
            good.iter()
                .enumerate()
                .map(|(at, byte)| if at % 4096 > 3000 && at > 9000 { 0x55 } else { *byte })
                .collect(),
        ),
        (
            "without a database",
            std::fs::read(forged(&shelf, &[("secret.key", tar::EntryType::Regular, b"x")])).expect("a file"),
        ),
    ];
    for (what, bytes) in bad {
        std::fs::write(&path, bytes).expect("a file");
        let text = refusal(&path, old.path(), true);
        assert!(text.contains("bad.tar"), "{what}: {text}");
        assert_eq!(said_in(old.path()), ["old"], "{what}");
        assert!(text.contains("\nhint: ") || what == "without a database", "{what}: {text}");
        let fresh = shelf.path().join("fresh");
        refusal(&path, &fresh, false);
        assert!(!fresh.exists(), "{what}");
    }
    assert!(refusal(&shelf.path().join("nothing"), old.path(), true).contains("nothing"));
}

#[test]
fn a_backup_of_a_newer_hub_and_a_foreign_database_are_refused() {
    let (old, hub, shelf) = (hub("old"), hub("new"), new_folder());
    let database = Connection::open(hub.path().join("hub.db")).expect("a database");
    database.pragma_update(None, "user_version", 99).expect("a version");
    database.close().expect("it closes");
    let archive = backup_of(&hub, &shelf);
    assert!(matches!(restore(&archive, old.path(), true), Err(StoreError::Newer { found: 99, .. })));

    let foreign = Connection::open(shelf.path().join("foreign.db")).expect("a database");
    foreign.execute_batch("CREATE TABLE t (a)").expect("a table");
    foreign.close().expect("it closes");
    let bytes = std::fs::read(shelf.path().join("foreign.db")).expect("a file");
    let archive = forged(&shelf, &[("hub.db", tar::EntryType::Regular, &bytes)]);
    assert!(refusal(&archive, old.path(), true).contains("forged.tar"));
    assert_eq!(said_in(old.path()), ["old"]);
}
