//! Sessions that end, answers that are lost, and others who take over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use folkmoot_testbed::{Direction, Options, Postgres as Server, Proxy, postgres};

use super::{is_there, new_database, open, place};
use crate::contract::fixtures::*;
use crate::postgres::Postgres;
use crate::postgres::lease::{HUB, Leases};
use crate::postgres::log::Log;
use crate::{LogRow, Store, StoreError};

const END_WRITERS: &str = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
    WHERE application_name LIKE 'moot-writer-%' AND datname = current_database()";

#[test]
fn a_session_that_ended_between_two_transactions_is_replaced() {
    if !is_there() {
        return;
    }
    let (database, mut hub) = (new_database(), Hub::new());
    let mut store = open(&database.url());
    let reader = store.reader().expect("a reader");
    let messages = [hub.message(GENERAL, "one"), hub.message(GENERAL, "two")];
    store_all(&mut store, &[sent(&messages[0])]);
    assert_eq!(reader.newest_messages(GENERAL, 9), Ok(messages[..1].to_vec()));
    database.query(&END_WRITERS.replace("moot-writer-%", "moot-%"));
    // The first to notice may be refused; nothing is stored then, and the next is fine.
    if try_to_store(&mut store, &[sent(&messages[1])]).is_err() {
        store_all(&mut store, &[sent(&messages[1])]);
    }
    assert_eq!(reader.newest_messages(GENERAL, 9), Ok(messages.to_vec()));
}

#[test]
fn a_transaction_does_not_outlive_its_session() {
    if !is_there() {
        return;
    }
    let (database, mut hub) = (new_database(), Hub::new());
    let mut store = open(&database.url());
    let messages = [hub.message(GENERAL, "one"), hub.message(GENERAL, "two")];
    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&sent(&messages[0])).expect("an append");
    assert_eq!(transaction.newest_messages(GENERAL, 9), Ok(messages[..1].to_vec()), "the server was told");
    database.query(END_WRITERS);
    transaction.append(&sent(&messages[1])).expect("an append");
    assert!(transaction.commit().is_err(), "half of a transaction must not be committed");
    assert_eq!(database.query("SELECT count(*) FROM messages"), "0");
    store_all(&mut store, &messages.each_ref().map(sent));
}

#[test]
fn a_commit_whose_answer_was_lost_is_looked_up() {
    let Some(server) = postgres() else { return };
    let (database, mut hub) = (server.database(), Hub::new());
    let proxy = Proxy::to(server.port());
    let mut store = open(&database.url_through(&proxy));
    store_all(&mut store, &[sent(&hub.message(GENERAL, "before"))]);
    for number in 2..5 {
        let message = hub.message(GENERAL, "stored, but not answered");
        let stored = format!("SELECT count(*) FROM messages WHERE seq = {number}");
        proxy.stall(Direction::ToClient);
        std::thread::scope(|scope| {
            let commit = scope.spawn(|| try_to_store(&mut store, &[sent(&message)]));
            while database.query(&stored) != "1" {}
            proxy.cut_once();
            proxy.heal();
            commit.join().expect("no panic").expect("it was stored, and that was found out");
        });
    }
    assert_eq!(store.directory().expect("a directory").batch, 4);
    assert_eq!(database.query("SELECT count(*), max(seq) FROM messages"), "4|4");
}

#[test]
fn a_commit_that_never_arrived_is_known_not_to_be_stored() {
    let Some(server) = postgres() else { return };
    let (database, mut hub) = (server.database(), Hub::new());
    let proxy = Proxy::to(server.port());
    let mut store = open(&database.url_through(&proxy));
    let message = hub.message(GENERAL, "never arrived");
    store.begin().expect("a session");
    proxy.stall(Direction::ToServer);
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| try_to_store(&mut store, &[sent(&message)]));
        // The session is gone before a byte of the commit reached it.
        database.query(END_WRITERS);
        proxy.cut_once();
        proxy.heal();
        let error = commit.join().expect("no panic").expect_err("it cannot be stored");
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    });
    assert_eq!(database.query("SELECT count(*) FROM messages"), "0");
    store_all(&mut store, &[sent(&message)]);
}

#[test]
fn whatever_becomes_of_a_commit_when_the_server_crashes_is_told_truly() {
    let Some(mut server) = Server::start(Options::default()) else { return };
    let (database, mut hub) = (server.database(), Hub::new());
    let mut store = open(&database.url());
    let acknowledged = AtomicU64::new(0);
    for round in 1..4 {
        let (server, acknowledged) = (&mut server, &acknowledged);
        std::thread::scope(|scope| {
            let crash = scope.spawn(move || {
                while acknowledged.load(Ordering::SeqCst) < 20 * round {
                    std::thread::yield_now();
                }
                server.crash();
                server.start_again();
                assert!(server.is_there());
            });
            while !crash.is_finished() || acknowledged.load(Ordering::SeqCst) < 20 * round + 5 {
                let before = hub.head(GENERAL);
                match try_to_store(&mut store, &[sent(&hub.message(GENERAL, "said"))]) {
                    Ok(()) => drop(acknowledged.fetch_add(1, Ordering::SeqCst)),
                    Err(error) => {
                        assert!(!matches!(error, StoreError::Unknown | StoreError::Fenced), "{error}");
                        hub.set_head(GENERAL, before);
                    }
                }
            }
        });
    }
    let count = acknowledged.load(Ordering::SeqCst);
    assert_eq!(database.query("SELECT count(*), max(seq) FROM messages"), format!("{count}|{count}"));
}

#[test]
fn nothing_is_stored_before_what_is_in_memory_was_read_anew() {
    let Some(server) = postgres() else { return };
    let (database, mut hub) = (server.database(), Hub::new());
    let proxy = Proxy::to(server.port());
    let mut store = open(&database.url_through(&proxy));
    store_all(&mut store, &[sent(&hub.message(GENERAL, "before"))]);
    let message = hub.message(GENERAL, "after");
    proxy.cut();
    assert!(store.directory().is_err());
    proxy.heal();
    loop {
        // In memory there may be more than what is stored.
        assert!(try_to_store(&mut store, &[sent(&message)]).is_err());
        if store.directory().is_ok() {
            return store_all(&mut store, &[sent(&message)]);
        }
    }
}

#[test]
fn who_was_overtaken_stores_nothing_more() {
    if !is_there() {
        return;
    }
    let (database, mut hub) = (new_database(), Hub::new());
    let mut store = open(&database.url());
    store_all(&mut store, &[sent(&hub.message(GENERAL, "mine"))]);
    database.query("UPDATE leases SET epoch = epoch + 1 WHERE name = 'hub'");
    let message = hub.message(GENERAL, "no longer mine");
    for _ in 0..2 {
        let error = try_to_store(&mut store, &[sent(&message)]).expect_err("it is fenced off");
        assert!(matches!(error, StoreError::Fenced), "{error}");
    }
    database.query(END_WRITERS);
    assert!(try_to_store(&mut store, &[sent(&message)]).is_err());
    let error = try_to_store(&mut store, &[sent(&message)]).expect_err("not in a new session either");
    assert!(matches!(error, StoreError::Fenced), "{error}");
    assert_eq!(database.query("SELECT count(*) FROM messages"), "1");
}

#[test]
fn leases_change_hands_by_epoch_and_the_log_is_dense() {
    if !is_there() {
        return;
    }
    let (database, mut hub) = (new_database(), Hub::new());
    let place = place(&database.url());
    let mut nodes = [(); 2].map(|()| Postgres::join(&place).expect("a node"));
    let (leases, others) = (Leases::new(place.clone()).expect("leases"), Leases::new(place.clone()).expect("leases"));
    let log = Log::new(place).expect("a log");
    let free = leases.read(HUB).expect("a read").expect("a row");
    assert!(free.is_free && free.is_orphaned && free.epoch == 0);
    let taken = leases.take(HUB, 0, "a").expect("a take").expect("it was free");
    assert_eq!((taken.epoch, taken.batch, taken.node.as_str()), (1, 0, "a"));
    assert_eq!(others.take(HUB, 0, "b").expect("a take"), None, "of two only one gets it");
    let seen = others.read(HUB).expect("a read").expect("a row");
    assert!(!seen.is_free && !seen.is_orphaned && seen.age < Duration::from_secs(30));

    assert!(matches!(nodes[0].begin().err(), Some(StoreError::Fenced)), "nobody writes who does not lead");
    nodes[0].lead(1, 0).expect("it leads");
    for (number, body) in [(1, b"first"), (2, b"other")] {
        let mut transaction = nodes[0].begin().expect("a transaction");
        transaction.append(&sent(&hub.message(GENERAL, "said"))).expect("an append");
        let row = LogRow { body, last_id: 70 + u128::from(number), last_at: 7 };
        assert_eq!(transaction.commit_logged(row).expect("a commit"), number);
    }
    assert!(leases.renew(HUB, 1).expect("a renewal"));
    drop(leases);
    let next = loop {
        let lease = others.read(HUB).expect("a read").expect("a row");
        if lease.is_orphaned {
            break others.take(HUB, lease.epoch, "b").expect("a take").expect("it was left");
        }
    };
    assert_eq!((next.epoch, next.batch, next.last_id, next.last_at), (2, 2, 72, 7));
    assert!(!others.renew(HUB, 1).expect("a renewal") && !others.free(HUB, 1).expect("a try"));

    let fenced = try_to_store(&mut nodes[0], &[sent(&hub.message(RANDOM, "too late"))]);
    assert!(matches!(fenced, Err(StoreError::Fenced)));
    assert_eq!(others.end_older_writers(2).expect("an end"), 1);
    nodes[1].lead(2, 2).expect("it leads");
    let mut transaction = nodes[1].begin().expect("a transaction");
    transaction.append(&sent(&hub.message(GENERAL, "said by another"))).expect("an append");
    assert_eq!(transaction.commit_logged(LogRow { body: b"third", last_id: 1, last_at: 1 }).expect("a commit"), 3);
    let rows = log.after(1, 10).expect("the log");
    let rows: Vec<_> = rows.iter().map(|batch| (batch.n, batch.epoch, batch.body.as_slice())).collect();
    assert_eq!(rows, [(2, 1, &b"other"[..]), (3, 2, &b"third"[..])]);
    assert_eq!(log.newest().expect("a number"), 3);
    let last = others.read(HUB).expect("a read").expect("a row");
    assert_eq!((last.last_id, last.last_at), (72, 7), "ids and times never go back");
    assert_eq!(log.trim(Duration::from_secs(3600), 10).expect("a trim"), 0);
    assert_eq!(log.trim(Duration::ZERO, 2).expect("a trim"), 2);
    assert_eq!(log.after(0, 10).expect("the log").len(), 1);
    assert!(others.take("pools", 0, "b").expect("a take").is_some(), "roles have leases too");
}
