//! The contract, and what is SQLite's own.

use std::collections::BTreeMap;
use std::path::Path;

use folkmoot_core::ids::IdSource;
use folkmoot_core::model::Door;
use std::sync::Arc;
use tempfile::TempDir;

use super::*;
use crate::contract::{Place, contract};

contract!(crate::sqlite::tests::folder);

/// A data folder that goes away with the test.
struct Folder(TempDir);

fn folder() -> Box<dyn Place> {
    Box::new(Folder(new_folder()))
}

impl Place for Folder {
    fn open(&self) -> Box<dyn Store> {
        crate::open(self.0.path()).expect("the store opens")
    }
}

fn new_folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

const CHANNEL: ChannelId = ChannelId(5);
const SENDER: MemberId = MemberId(6);

fn message(seq: u64, content: &str) -> Message {
    let now = 1_700_000_000_000 + i64::try_from(seq).expect("a small number");
    Message {
        id: MessageId(IdSource::new(seq).next(now)),
        seq,
        version: seq,
        kind: "user".into(),
        door: Door::Lark,
        created_at: now,
        updated_at: now,
        key: Some(format!("key {seq}")),
        ..Message::unsent(CHANNEL, SENDER, content.into())
    }
}

fn send(store: &mut Sqlite, message: &Message) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    transaction.append(&Event::MessageSent(Arc::new(message.clone())))?;
    transaction.commit()
}

#[test]
fn an_event_that_cannot_be_stored_is_refused_when_it_is_appended() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let first = message(1, "first");
    send(&mut store, &first).expect("a message");
    let mut transaction = store.begin().expect("a transaction");
    assert!(transaction.append(&Event::MessageSent(Arc::new(first))).is_err());
}

fn bytes_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a listing").map(|entry| entry.expect("an entry"));
    let content = |path: &Path| std::fs::read(path).expect("a file");
    entries.map(|entry| (entry.file_name().display().to_string(), content(&entry.path()))).collect()
}

/// The folder as a hub that was killed would leave it.
fn copy_as_killed(from: &Path) -> TempDir {
    let to = new_folder();
    for name in ["hub.db", "hub.db-wal"] {
        std::fs::copy(from.join(name), to.path().join(name)).expect("a copy");
    }
    to
}

#[test]
fn a_message_of_a_door_that_nobody_knows_is_not_read_back_as_one_of_lark() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let sent = message(1, "hello");
    send(&mut store, &sent).expect("it is stored");
    drop(store);
    let database = Connection::open(folder.path().join(DATABASE)).expect("a database");
    database.execute("UPDATE messages SET door = 200", []).expect("a door of another version");
    database.close().expect("it closes");
    let store = Sqlite::open(folder.path()).expect("a store");
    let read = store.reader().expect("a reader").message(sent.id).expect("a read").expect("the message");
    assert_eq!((read.door.number(), read.door.name()), (200, "unknown"));
    assert_ne!(read.door, Door::Lark);
}

#[test]
fn a_newer_database_is_refused_and_stays_as_it_is() {
    let folder = new_folder();
    drop(Sqlite::open(folder.path()).expect("a store"));
    let database = Connection::open(folder.path().join(DATABASE)).expect("a database");
    database.pragma_update(None, "user_version", 99).expect("a new version");
    database.close().expect("it closes");
    let before = bytes_in(folder.path());
    let refusal = Sqlite::open(folder.path()).err();
    assert!(
        matches!(refusal, Some(StoreError::Newer { found: 99, known }) if known == SCHEMA.version()),
        "{refusal:?}"
    );
    assert!(before == bytes_in(folder.path()), "no file changed, none came, none went");
}

#[test]
fn a_newer_version_that_is_only_in_the_log_is_refused_as_well() {
    let folder = new_folder();
    drop(Sqlite::open(folder.path()).expect("a store"));
    let database = Connection::open(folder.path().join(DATABASE)).expect("a database");
    database.pragma_update(None, "user_version", 99).expect("a new version");
    let killed = copy_as_killed(folder.path());
    let before = bytes_in(killed.path());
    assert!(matches!(Sqlite::open(killed.path()), Err(StoreError::Newer { found: 99, .. })));
    let after = bytes_in(killed.path());
    for name in ["hub.db", "hub.db-wal"] {
        assert!(before[name] == after[name], "{name} stays as it is");
    }
}

#[test]
fn a_folder_serves_one_hub_at_a_time() {
    let folder = new_folder();
    let store = Sqlite::open(folder.path()).expect("a store");
    let refusal = Sqlite::open(folder.path()).err();
    assert!(matches!(&refusal, Some(StoreError::InUse(path)) if *path == folder.path().display().to_string()));
    drop(store);
    assert!(Sqlite::open(folder.path()).is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = new_folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let refusal = Sqlite::open(&file.join("data")).map(drop).expect_err("no folder can be in a file").to_string();
    assert!(refusal.contains("file/data"), "{refusal}");
}

#[test]
fn a_file_that_is_no_database_is_named_and_stays_as_it_is() {
    let folder = new_folder();
    let path = folder.path().join(DATABASE);
    let text = "This is not a database. ".repeat(100);
    std::fs::write(&path, &text).expect("a file");
    let refusal = Sqlite::open(folder.path()).map(drop).expect_err("it is no database").to_string();
    assert!(refusal.contains("hub.db"), "{refusal}");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), text);
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_folder_or_the_database() {
    use std::os::unix::fs::PermissionsExt;
    let parent = new_folder();
    let folder = parent.path().join("new").join("data");
    let mut store = Sqlite::open(&folder).expect("a store");
    send(&mut store, &message(1, "a secret")).expect("a send");
    let rights = |path: &Path| std::fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(rights(&folder), 0o700);
    for name in ["hub.db", "hub.db-wal"] {
        assert_eq!(rights(&folder.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_full_disk_refuses_writes_keeps_reading_and_recovers() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let reader = store.reader().expect("a reader");
    let (first, large) = (message(1, "first"), message(2, &"large ".repeat(2000)));
    send(&mut store, &first).expect("there is room");

    let limit_pages = |store: &Sqlite, pages: i64| {
        store.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).expect("a limit");
    };
    limit_pages(&store, 1);
    for _ in 0..3 {
        assert!(matches!(send(&mut store, &large), Err(StoreError::Full)));
    }
    assert_eq!(reader.newest_messages(CHANNEL, 9), Ok(vec![first.clone()]));
    let transaction = store.begin().expect("looking still works");
    assert_eq!(transaction.message_by_key(SENDER, "key 2"), Ok(None), "what was refused left no trace");
    assert_eq!(transaction.message_by_key(SENDER, "key 1"), Ok(Some(first.clone())));
    transaction.commit().expect("nothing to commit");

    limit_pages(&store, 1_000_000);
    send(&mut store, &large).expect("there is room again");
    assert_eq!(reader.newest_messages(CHANNEL, 9), Ok(vec![first, large]));
}

#[test]
fn a_statement_is_prepared_once_however_many_values_it_is_given() {
    const SQL: &str =
        "SELECT m.n FROM keys k JOIN live m ON m.n = k.n WHERE k.hash = ?1 AND m.sender = ?2 AND m.key = ?3";
    let folder = new_folder();
    let store = Sqlite::open(folder.path()).expect("a store");
    let reader = open_for_reading(&store.path).expect("a reader");
    for connection in [&store.connection, &reader] {
        let mut statement = connection.prepare(SQL).expect("a statement");
        for n in 0..5 {
            let parameters = rusqlite::params![n, rows::blob(SENDER.0), format!("key {n}")];
            assert_eq!(statement.exists(parameters), Ok(false));
        }
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }
}

#[test]
fn looking_costs_no_write() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send(&mut store, &message(1, "said")).expect("a send");
    let before = bytes_in(folder.path());
    for _ in 0..5 {
        let transaction = store.begin().expect("a transaction");
        assert!(transaction.message_by_key(SENDER, "key 1").expect("a lookup").is_some());
        transaction.commit().expect("a commit");
        assert!(store.begin().is_ok());
    }
    let after = bytes_in(folder.path());
    for name in ["hub.db", "hub.db-wal"] {
        assert!(before[name] == after[name], "{name} stays as it is");
    }
}

/// Enough messages for keys to be gathered and filed in part.
fn send_many(store: &mut Sqlite, seqs: std::ops::RangeInclusive<u64>) {
    let seqs: Vec<_> = seqs.collect();
    for batch in seqs.chunks(1000) {
        let mut transaction = store.begin().expect("a transaction");
        for seq in batch {
            transaction.append(&Event::MessageSent(Arc::new(message(*seq, "said")))).expect("an append");
        }
        transaction.commit().expect("a commit");
    }
}

#[test]
fn what_was_committed_survives_a_kill_with_its_keys() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=36_000);
    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&Event::MessageSent(Arc::new(message(36_001, "never acknowledged")))).expect("an append");

    let killed = copy_as_killed(folder.path());
    let mut store = Sqlite::open(killed.path()).expect("the store opens again");
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message_count(), Ok(36_000));
    for seq in (1..=36_000).step_by(499) {
        let key = format!("key {seq}");
        let transaction = store.begin().expect("a transaction");
        assert_eq!(transaction.message_by_key(SENDER, &key).expect("a lookup").map(|found| found.seq), Some(seq));
    }
    assert_eq!(reader.message_by_key(SENDER, "key 35999").expect("a lookup").map(|found| found.seq), Some(35_999));
    assert_eq!(reader.message_by_key(SENDER, "key 36001"), Ok(None));
    send_many(&mut store, 36_001..=36_002);
}

#[test]
fn a_clean_stop_leaves_no_keys_to_be_read_at_the_next_start() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=2000);
    assert!(store.unfiled.keys.has_unfiled());
    drop(store);
    let store = Sqlite::open(folder.path()).expect("the store opens again");
    assert!(!store.unfiled.keys.has_unfiled());
}

#[test]
fn places_are_filed_as_they_gather_and_at_the_latest_when_it_is_quiet() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let unfiled = |store: &Sqlite| store.unfiled.keys.newest() - store.unfiled.places.filed();
    for batch in 0..30 {
        send_many(&mut store, batch * 100 + 1..=batch * 100 + 100);
        assert!(unfiled(&store) < 1024 + 100, "what must be looked through stays short");
    }
    assert!(unfiled(&store) > 0, "but not every commit files");
    while store.catch_up(500).expect("some work") {}
    assert_eq!(unfiled(&store), 0);
}

#[test]
fn a_place_given_out_in_a_transaction_that_was_undone_is_free_again() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=3);
    let again = || Event::MessageSent(Arc::new(message(4, "said")));
    store.begin().expect("a transaction").append(&again()).expect("an append");
    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&again()).expect("the place is free");
    transaction.commit().expect("a commit");
    assert!(store.begin().expect("a transaction").append(&again()).is_err(), "and now it is taken");
}

#[test]
fn messages_without_keys_do_not_pile_up_for_the_next_start() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    for batch in 0..80 {
        let mut transaction = store.begin().expect("a transaction");
        for number in 1..=1000 {
            let message = Message { key: None, ..message(batch * 1000 + number, "said") };
            transaction.append(&Event::MessageSent(Arc::new(message))).expect("an append");
        }
        transaction.commit().expect("a commit");
    }
    let filed: i64 = store
        .connection
        .query_row("SELECT value FROM meta WHERE name = 'filed'", [], |row| row.get(0))
        .expect("a mark");
    assert!(filed > 30_000, "{filed}");
}

#[test]
fn an_idle_hub_moves_its_log_into_the_database() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let mut transaction = store.begin().expect("a transaction");
    for seq in 1..=1000 {
        let event = Event::MessageSent(Arc::new(message(seq, &"x".repeat(10_000))));
        transaction.append(&event).expect("an append");
    }
    transaction.commit().expect("a commit");
    // Without its log, the database is as it was when the log was moved last.
    let count_without_log = || {
        let alone = new_folder();
        std::fs::copy(folder.path().join(DATABASE), alone.path().join(DATABASE)).expect("a copy");
        let copy = Sqlite::open(alone.path()).expect("a store");
        copy.reader().expect("a reader").message_count()
    };
    assert_eq!(count_without_log(), Ok(0));
    while store.catch_up(1000).expect("catching up works") {}
    assert_eq!(count_without_log(), Ok(1000));
}

#[test]
fn the_log_stays_bounded_while_a_reader_is_open() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    let reader = store.reader().expect("a reader");
    let text = "x".repeat(10_000);
    let limit = u64::try_from(2 * schema::LOG_PAGES * 4096).expect("a small number");
    for batch in 0..100 {
        let mut transaction = store.begin().expect("a transaction");
        for number in 1..=50 {
            transaction.append(&Event::MessageSent(Arc::new(message(batch * 50 + number, &text)))).expect("an append");
        }
        transaction.commit().expect("a commit");
        assert_eq!(reader.version_at(CHANNEL, u64::MAX), Ok((batch + 1) * 50));
        let log = std::fs::metadata(folder.path().join("hub.db-wal")).expect("a log").len();
        assert!(log < limit, "{log} bytes");
    }
}

#[test]
fn after_a_clean_stop_the_database_alone_holds_everything() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    // As in the hub, readers outlive the writer.
    let reader = store.reader().expect("a reader");
    send_many(&mut store, 1..=300);
    drop(store);
    assert!(!folder.path().join("hub.db-mark").exists());
    let alone = new_folder();
    std::fs::copy(folder.path().join(DATABASE), alone.path().join(DATABASE)).expect("a copy");
    let copy = Sqlite::open(alone.path()).expect("the copy opens");
    assert_eq!(copy.reader().expect("a reader").last_seq(CHANNEL), Ok(300));
    assert_eq!(reader.last_seq(CHANNEL), Ok(300));
}

/// A folder as a kill leaves it, with messages that are only in the log.
fn killed_with_a_log() -> TempDir {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=300);
    store.unfiled.mark.write(&store.connection);
    let killed = copy_as_killed(folder.path());
    std::fs::copy(folder.path().join("hub.db-mark"), killed.path().join("hub.db-mark")).expect("a copy");
    killed
}

#[test]
fn a_log_that_is_whole_is_taken_as_it_is() {
    let killed = killed_with_a_log();
    let store = Sqlite::open(killed.path()).expect("it opens");
    assert_eq!(store.reader().expect("a reader").last_seq(CHANNEL), Ok(300));
}

#[test]
fn a_log_that_is_gone_cut_or_spoilt_is_noticed_in_words_and_nothing_is_touched() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 4] = [
        ("gone", |log| std::fs::remove_file(log).expect("it goes")),
        ("emptied", |log| std::fs::write(log, "").expect("it is emptied")),
        ("cut", |log| {
            let bytes = std::fs::read(log).expect("a log");
            std::fs::write(log, &bytes[..bytes.len() / 2]).expect("it is cut");
        }),
        ("spoilt", |log| {
            let mut bytes = std::fs::read(log).expect("a log");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0xff;
            std::fs::write(log, bytes).expect("it is spoilt");
        }),
    ];
    for (harm, spoil) in harms {
        let killed = killed_with_a_log();
        spoil(&killed.path().join("hub.db-wal"));
        let before = std::fs::read(killed.path().join(DATABASE)).expect("a database");
        let refusal = Sqlite::open(killed.path()).map(drop).expect_err(harm);
        assert!(matches!(refusal, StoreError::LogLost { .. }), "{harm}: {refusal}");
        assert!(refusal.to_string().contains("hub.db-wal"), "{refusal}");
        assert!(before == std::fs::read(killed.path().join(DATABASE)).expect("a database"), "{harm}");
        std::fs::remove_file(killed.path().join("hub.db-mark")).expect("the way on");
        assert!(Sqlite::open(killed.path()).is_ok(), "{harm}");
    }
}

#[test]
fn a_log_that_is_wholly_in_the_database_is_not_missed() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=300);
    store.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).expect("a checkpoint");
    store.unfiled.mark.write(&store.connection);
    let killed = copy_as_killed(folder.path());
    std::fs::copy(folder.path().join("hub.db-mark"), killed.path().join("hub.db-mark")).expect("a copy");
    std::fs::remove_file(killed.path().join("hub.db-wal")).expect("it goes");
    let store = Sqlite::open(killed.path()).expect("it opens");
    assert_eq!(store.reader().expect("a reader").last_seq(CHANNEL), Ok(300));
}

#[test]
fn damage_is_found_and_a_sound_database_is_not_accused() {
    let folder = new_folder();
    let mut store = Sqlite::open(folder.path()).expect("a store");
    send_many(&mut store, 1..=3000);
    drop(store);
    let timeout = Duration::from_secs(20);
    assert_eq!(crate::find_damage(folder.path(), timeout), None);
    let path = folder.path().join(DATABASE);
    let mut bytes = std::fs::read(&path).expect("a database");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&path, bytes).expect("damage");
    assert!(crate::find_damage(folder.path(), timeout).is_some());
}
