//! What stands in the way of a start is said in one sentence, and nothing is started.

use folkmoot_testbed::{Options, Postgres as Server, certificates};

use super::{is_there, new_database, open, place};
use crate::contract::fixtures::*;
use crate::postgres::Postgres;
use crate::{Store, StoreError};

fn refusal(url: &str) -> StoreError {
    match Postgres::open(&place(url)) {
        Ok(_) => panic!("`{url}` was opened"),
        Err(error) => error,
    }
}

#[test]
fn a_server_that_is_not_there_is_named_without_the_password() {
    let error = refusal("postgres://moot:geheim@127.0.0.1:1/hub");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(
        error.to_string().starts_with("the database at postgres://moot@127.0.0.1:1/hub cannot be reached"),
        "{error}"
    );
    assert!(error.hint().is_some() && !format!("{error:?}").contains("geheim"), "{error:?}");
}

#[test]
fn wrong_passwords_and_missing_databases_are_refused_with_a_remedy() {
    let access = "local all all trust\nhost all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let Some(server) = Server::start(Options { access: Some(access.into()), ..Options::default() }) else { return };
    let database = server.database();
    database.query("CREATE ROLE moot LOGIN PASSWORD 'geheim'; CREATE SCHEMA AUTHORIZATION moot");
    let url = |password: &str, name: &str| format!("postgres://moot:{password}@127.0.0.1:{}/{name}", server.port());
    let wrong = refusal(&url("offen", database.name()));
    assert!(
        matches!(&wrong, StoreError::Setup { sentence, .. } if sentence.contains("does not let `moot` in")),
        "{wrong}"
    );
    let missing = refusal(&url("geheim", "nowhere"));
    assert_eq!(
        missing.to_string(),
        format!("there is no database `nowhere` at postgres://moot@127.0.0.1:{}/nowhere", server.port())
    );
    assert!(!format!("{wrong:?}{missing:?}").contains("geheim"));
    drop(open(&url("geheim", database.name())));
}

#[test]
fn a_role_that_may_not_make_tables_is_told_so() {
    if !is_there() {
        return;
    }
    let database = new_database();
    database.query("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let url = database.url().replace("postgres@", "guest@");
    let error = refusal(&url);
    assert!(error.to_string().starts_with("`guest` may not make tables in the database"), "{error}");
    assert_eq!(error.hint(), Some("let it: `GRANT CREATE ON SCHEMA public TO guest`"));
    // Once somebody made them, it needs no such right.
    drop(open(&database.url()));
    database.query("GRANT ALL ON ALL TABLES IN SCHEMA public TO guest");
    drop(open(&url));
    database.query("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM guest; DROP ROLE guest");
}

#[test]
fn a_newer_schema_is_refused_untouched() {
    if !is_there() {
        return;
    }
    let database = new_database();
    drop(open(&database.url()));
    database.query("INSERT INTO moot_schema (version) VALUES (99); DROP TABLE touched");
    let error = refusal(&database.url());
    assert!(matches!(error, StoreError::Newer { found: 99, known: 1 }), "{error}");
    assert_eq!(database.query("SELECT count(*) FROM pg_tables WHERE tablename = 'touched'"), "0");
}

#[test]
fn hubs_that_start_at_once_make_the_tables_once_and_one_of_them_has_the_database() {
    if !is_there() {
        return;
    }
    let database = new_database();
    let url = database.socket_url();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| Postgres::open(&place(&url)))).collect();
        starts.into_iter().map(|start| start.join().expect("no panic")).collect()
    });
    let refused: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert!(refused.iter().all(|error| matches!(error, StoreError::DatabaseInUse(_))), "{refused:?}");
    assert_eq!(database.query("SELECT string_agg(version::text, ',') FROM moot_schema"), "1");
    drop(outcomes);
    drop(open(&url));
}

#[test]
fn a_hub_can_be_opened_where_a_runtime_is_running() {
    if !is_there() {
        return;
    }
    let database = new_database();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let store = open(&database.url());
        let reader = store.reader().expect("a reader");
        assert!(store.directory().expect("a directory").records.is_empty());
        drop(reader);
        drop(store);
    });
}

#[test]
fn tls_is_as_strict_as_the_address_asks_for() {
    let folder = tempfile::tempdir().expect("a folder");
    if !certificates(folder.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let options = Options {
        settings: vec!["ssl=on".into()],
        access: Some("local all all trust\nhostssl all all 127.0.0.1/32 trust\n".into()),
        files: ["server.crt", "server.key"].map(|name| (name.to_owned(), read(name))).into(),
    };
    let Some(server) = Server::start(options) else { return };
    let database = server.database();
    let (ca, other) = (folder.path().join("ca.crt"), folder.path().join("other.crt"));
    let url =
        |host: &str, rest: &str| format!("postgres://postgres@{host}:{}/{}?{rest}", server.port(), database.name());
    let root = |mode: &str, file: &std::path::Path| format!("sslmode={mode}&sslrootcert={}", file.display());
    for good in [
        url("127.0.0.1", "sslmode=require"),
        url("127.0.0.1", "sslmode=prefer"),
        url("127.0.0.1", ""),
        url("127.0.0.1", &root("verify-ca", &ca)),
        url("localhost", &(root("verify-full", &ca) + "&hostaddr=127.0.0.1")),
    ] {
        drop(open(&good));
    }
    for (bad, why) in [
        (url("127.0.0.1", "sslmode=disable"), "does not let"),
        (url("127.0.0.1", &root("require", &other)), "cannot be made safe"),
        (url("127.0.0.1", &root("verify-ca", &other)), "cannot be made safe"),
        (url("127.0.0.1", &root("verify-full", &ca)), "cannot be made safe"),
    ] {
        let error = refusal(&bad);
        assert!(matches!(&error, StoreError::Setup { sentence, .. } if sentence.contains(why)), "{bad}: {error:?}");
    }
}

#[test]
fn a_hub_that_was_stopped_leaves_the_database_to_the_next_at_once() {
    if !is_there() {
        return;
    }
    let (database, mut hub) = (new_database(), Hub::new());
    for number in 1..4 {
        let mut store = open(&database.url());
        store_all(&mut store, &[sent(&hub.message(GENERAL, "said"))]);
        assert_eq!(store.directory().expect("a directory").batch, number);
    }
    assert_eq!(database.query("SELECT epoch FROM leases WHERE name = 'hub'"), "3");
}
