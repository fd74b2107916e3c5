//! The contract on a real server, and what only this backend does.

mod faults;
mod opening;
mod same_words;

use std::sync::{Arc, Mutex};

use folkmoot_testbed::{Database, postgres};

use super::Postgres;
use crate::Store;
use crate::contract::{Place, contract};

contract!(crate::postgres::tests::database, crate::postgres::tests::is_there);

fn is_there() -> bool {
    postgres().is_some()
}

fn database() -> Box<dyn Place> {
    let idle = IDLE.lock().expect("no panic").pop();
    Box::new(Server(Some(idle.unwrap_or_else(new_database))))
}

/// Databases that were used and emptied: random cases need many, and making one takes a while.
static IDLE: Mutex<Vec<Database>> = Mutex::new(Vec::new());

const EMPTY: &str = "DO $$ BEGIN IF to_regclass('messages') IS NOT NULL THEN \
    TRUNCATE messages, changes, records, forgotten, search, touched, batches, nodes RESTART IDENTITY; \
    UPDATE meta SET value = 0; UPDATE leases SET batch = 0; END IF; END $$";

fn new_database() -> Database {
    postgres().expect("a server").database()
}

struct Server(Option<Database>);

impl Place for Server {
    fn open(&self) -> Box<dyn Store> {
        Box::new(open(&self.0.as_ref().expect("a database").url()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(database) = self.0.take().filter(|_| !std::thread::panicking()) {
            database.query(EMPTY);
            IDLE.lock().expect("no panic").push(database);
        }
    }
}

fn place(url: &str) -> Arc<super::Place> {
    Arc::new(super::Place::parse(url).expect("an address"))
}

fn open(url: &str) -> Postgres {
    Postgres::open(&place(url)).unwrap_or_else(|error| panic!("{error}"))
}
