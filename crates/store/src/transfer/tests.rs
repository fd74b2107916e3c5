//! Everything arrives, or nothing.

use std::path::Path;

use folkmoot_core::Event;
use folkmoot_core::model::{ChannelKind, Message};
use folkmoot_testbed::{Database, postgres};
use tempfile::TempDir;

use super::*;
use crate::contract::fixtures::*;
use crate::{Store, backup_at, open_at, restore_at};

fn new_folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn new_database() -> Option<Database> {
    postgres().map(folkmoot_testbed::Postgres::database)
}

fn server(database: &Database) -> Location {
    Location::parse(&database.url()).expect("an address")
}

fn silently(_: Progress) {}

/// A hub in which everything happened once.
fn live(store: &mut dyn Store, more: usize) {
    let mut hub = Hub::new();
    let channels = [0; 3].map(|_| hub.channel(WORKSPACE, ChannelKind::Channel));
    let mut events: Vec<Event> = channels.iter().map(|channel| Event::Saved(channel.clone().into())).collect();
    events.extend(hub.one_of_each().into_iter().map(Event::Saved));
    let mut said = Message { key: Some("a\0key".into()), ..hub.message(channels[0].id, "hello \0 wörld") };
    let reply = hub.reply(&said, "a reply");
    let mut gone = hub.message(channels[1].id, "regret");
    events.extend([sent(&said), sent(&reply), sent(&gone), sent(&hub.message(channels[2].id, "forgotten"))]);
    events.extend([hub.edit(&mut said, "hello again"), hub.react(&mut said, "👍"), hub.delete(&mut gone)]);
    events.push(hub.pin(&said).1);
    events.push(Event::Removed(channels[2].clone().into()));
    events.extend((0..more).map(|number| sent(&hub.message(channels[1].id, &format!("message {number}")))));
    store_all(store, &events);
}

/// What there is at a place, whoever keeps it.
fn sum(location: &Location, data_dir: &Path) -> Sum {
    let mut nowhere = |_, _| Ok(());
    let sum = match location {
        Location::Folder => walk(&mut FromSqlite::take(data_dir).expect("a folder"), "", &mut silently, &mut nowhere),
        Location::Server(place) => {
            walk(&mut FromPostgres::beside(place).expect("a database"), "", &mut silently, &mut nowhere)
        }
    };
    sum.expect("a sum")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a listing").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = entries.map(|name| name.display().to_string()).collect();
    names.sort();
    names
}

fn move_to(from: &Location, data_dir: &Path, to: &str, force: bool) -> Result<Sum, StoreError> {
    migrate(from, data_dir, to, force, &mut silently)
}

#[test]
fn a_hub_moves_into_a_database_and_back_and_is_the_same() {
    let Some(database) = new_database() else { return };
    let (folder, back) = (new_folder(), new_folder());
    live(open_at(&Location::Folder, folder.path()).expect("a store").as_mut(), 2 * PORTION + 7);
    let mut steps = Vec::new();
    let mut report = |progress: Progress| steps.push((progress.step, progress.what, progress.done, progress.total));
    let there = migrate(&Location::Folder, folder.path(), &database.url(), false, &mut report).expect("a move");
    assert_eq!(there.of(Table::Messages), 4 + 2 * PORTION as u64 + 7);
    assert!(steps.contains(&("copying", "messages", PORTION as u64, there.of(Table::Messages))), "{steps:?}");
    assert!(steps.contains(&("checking", "changes", 4, 4)), "{steps:?}");
    assert_eq!(sum(&Location::Folder, folder.path()), there);
    assert_eq!(sum(&server(&database), folder.path()), there);

    // It is used there, then comes back.
    let mut store = open_at(&server(&database), folder.path()).expect("a store");
    catch_up(store.as_mut());
    let mut hub = Hub::new();
    hub.now += 1_000_000;
    let new = hub.message(RANDOM, "said on Postgres");
    store_all(store.as_mut(), &[sent(&new)]);
    drop(store);
    let target = back.path().display().to_string();
    let here = move_to(&server(&database), folder.path(), &target, false).expect("a move");
    assert_eq!(names_in(back.path()), ["hub.db", "hub.lock"]);
    assert_eq!(sum(&Location::Folder, back.path()), here);
    let mut store = open_at(&Location::Folder, back.path()).expect("a store");
    catch_up(store.as_mut());
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(new.id), Ok(Some(new.clone())));
    assert_eq!(reader.search("postgres", &[RANDOM], 5), Ok(vec![new]));
    assert_eq!(
        reader.message_count(),
        Ok(here.of(Table::Messages) - 1),
        "the deleted one does not count, and its channel went"
    );
}

#[test]
fn a_place_that_holds_a_hub_is_replaced_only_by_force() {
    let Some(database) = new_database() else { return };
    let (first, second) = (new_folder(), new_folder());
    live(open_at(&Location::Folder, first.path()).expect("a store").as_mut(), 1);
    live(open_at(&Location::Folder, second.path()).expect("a store").as_mut(), 2);
    let kept = move_to(&Location::Folder, first.path(), &database.url(), false).expect("a move");
    let refused = move_to(&Location::Folder, second.path(), &database.url(), false).expect_err("it is refused");
    assert!(refused.to_string().contains("there is a hub in the database at"), "{refused}");
    assert_eq!(sum(&server(&database), first.path()), kept);
    let replaced = move_to(&Location::Folder, second.path(), &database.url(), true).expect("a move");
    assert_eq!(sum(&server(&database), second.path()), replaced);
    assert_ne!(replaced, kept);
    // The first folder has files and secrets of another history now.
    let error = open_at(&server(&database), first.path()).err().expect("it is refused");
    assert!(error.to_string().contains("belongs to another hub"), "{error}");
    drop(open_at(&server(&database), second.path()).expect("a store"));

    let target = first.path().display().to_string();
    let refused = move_to(&server(&database), second.path(), &target, false).expect_err("it is refused");
    assert!(refused.to_string().contains("there is a hub in"), "{refused}");
    move_to(&server(&database), second.path(), &target, true).expect("a move");
    assert_eq!(sum(&Location::Folder, first.path()), replaced);
}

#[test]
fn a_move_that_is_interrupted_leaves_nothing_behind() {
    let Some(database) = new_database() else { return };
    let (folder, target) = (new_folder(), new_folder());
    live(open_at(&Location::Folder, folder.path()).expect("a store").as_mut(), PORTION);
    let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
        WHERE application_name LIKE 'moot-%' AND datname = current_database()";
    for (step, what) in
        [("copying", "records"), ("copying", "messages"), ("checking", "messages"), ("checking", "changes")]
    {
        let mut cut = |progress: Progress| {
            if (progress.step, progress.what) == (step, what) {
                database.query(end);
            }
        };
        migrate(&Location::Folder, folder.path(), &database.url(), false, &mut cut).expect_err("it was interrupted");
        assert_eq!(database.query("SELECT count(*) FROM messages"), "0", "{step} {what}");
    }
    let whole = move_to(&Location::Folder, folder.path(), &database.url(), false).expect("a move");
    let mut cut = |_: Progress| drop(database.query(end));
    let to = target.path().display().to_string();
    migrate(&server(&database), folder.path(), &to, false, &mut cut).expect_err("it was interrupted");
    assert_eq!(names_in(target.path()), ["hub.lock"]);
    assert_eq!(sum(&server(&database), folder.path()), whole);
}

#[test]
fn a_running_hub_is_not_moved_and_an_empty_database_is_not_taken_for_one() {
    let Some(database) = new_database() else { return };
    let folder = new_folder();
    let mut store = open_at(&Location::Folder, folder.path()).expect("a store");
    live(store.as_mut(), 1);
    let error = move_to(&Location::Folder, folder.path(), &database.url(), false).expect_err("it is refused");
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    drop(store);
    let error = open_at(&server(&database), folder.path()).err().expect("it is refused");
    assert!(error.hint().is_some_and(|hint| hint.contains("moot migrate")), "{error}");
    let error = move_to(&Location::Folder, new_folder().path(), &database.url(), false).expect_err("there is nothing");
    assert!(error.to_string().contains("there is no hub in"), "{error}");
}

#[test]
fn a_backup_of_a_running_hub_on_postgres_comes_back_on_either_backend() {
    let (Some(database), Some(other)) = (new_database(), new_database()) else { return };
    let (folder, shelf, new, beside) = (new_folder(), new_folder(), new_folder(), new_folder());
    let mut store = open_at(&server(&database), folder.path()).expect("a store");
    live(store.as_mut(), 9);
    std::fs::create_dir_all(folder.path().join("files/ab")).expect("a folder");
    std::fs::write(folder.path().join("files/ab/file_1"), "upload").expect("a file");
    std::fs::write(folder.path().join("secret.key"), "secret").expect("a secret");
    let archive = shelf.path().join("hub.tar");
    backup_at(&server(&database), folder.path(), &archive).expect("a backup");
    assert_eq!(names_in(shelf.path()), ["hub.tar"], "no helper file stays behind");
    let everything = sum(&server(&database), folder.path());

    restore_at(&archive, &Location::Folder, new.path(), false).expect("a restore");
    assert_eq!(sum(&Location::Folder, new.path()), everything);
    restore_at(&archive, &server(&other), beside.path(), false).expect("a restore");
    assert_eq!(sum(&server(&other), beside.path()), everything);
    assert_eq!(names_in(beside.path()), ["files", "hub.history", "hub.lock", "secret.key"]);
    drop(open_at(&server(&other), beside.path()).expect("a store"));

    let refused = restore_at(&archive, &server(&other), beside.path(), false).expect_err("it is refused");
    assert!(refused.to_string().contains("there is a hub in the database"), "{refused}");
    let refused = restore_at(&archive, &server(&database), beside.path(), true).expect_err("a hub is using it");
    assert!(matches!(refused, StoreError::DatabaseInUse(_)), "{refused}");
    restore_at(&archive, &server(&other), beside.path(), true).expect("a restore");
    assert_eq!(sum(&server(&other), beside.path()), everything);
}
