//! Why a hub cannot start on a database, in one sentence with a remedy.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::link::words;
use super::place::Place;
use crate::StoreError;

/// The oldest server whose features are used.
const OLDEST: i32 = 14;

/// Why no session was made.
pub fn connecting(place: &Place, error: &Error) -> StoreError {
    let shown = place.shown();
    let Some(code) = error.code() else { return not_reached(place, error) };
    let (sentence, hint) =
        if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
            (
                format!("the database at {shown} does not let `{}` in: {}", place.user(), words(error)),
                "check the user and the password in `store.url`, and `pg_hba.conf` on the server",
            )
        } else if *code == SqlState::INVALID_CATALOG_NAME {
            (
                format!("there is no database `{}` at {shown}", place.database()),
                "make it first, for instance with `createdb`, or name another in `store.url`",
            )
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            (format!("the database at {shown} takes no more connections"), "raise `max_connections` on the server")
        } else {
            // It is starting, stopping, or recovering: that passes.
            return StoreError::Unreachable { place: shown.to_owned(), cause: words(error) };
        };
    StoreError::setup(sentence, hint)
}

fn not_reached(place: &Place, error: &Error) -> StoreError {
    let cause = words(error);
    let is_tls = error.to_string().contains("TLS");
    let is_login = error.to_string().contains("authentication") || error.to_string().contains("configuration");
    if is_tls {
        let sentence = format!("the connection to {} cannot be made safe: {cause}", place.shown());
        return StoreError::setup(sentence, "check `sslmode`, `sslrootcert` and the name of the host in `store.url`");
    }
    if is_login {
        let sentence = format!("`{}` cannot log in at {}: {cause}", place.user(), place.shown());
        return StoreError::setup(sentence, "check the user and the password in `store.url`");
    }
    let cause = error.source().map_or(cause, ToString::to_string);
    StoreError::Unreachable { place: place.shown().to_owned(), cause }
}

/// Why the tables could not be made.
pub fn making_tables(place: &Place, error: &Error) -> Option<StoreError> {
    let code = error.code()?;
    let is_right = *code == SqlState::INSUFFICIENT_PRIVILEGE || *code == SqlState::INVALID_SCHEMA_NAME;
    is_right.then(|| {
        let user = place.user();
        let sentence = format!("`{user}` may not make tables in the database `{}`: {}", place.database(), words(error));
        StoreError::setup(sentence, format!("let it: `GRANT CREATE ON SCHEMA public TO {user}`"))
    })
}

/// Refuses a server that is too old; `version` as in `server_version_num`.
pub fn check_version(place: &Place, version: i32) -> Result<(), StoreError> {
    if version >= OLDEST * 10_000 {
        return Ok(());
    }
    let sentence = format!("the database at {} is Postgres {}, which is too old", place.shown(), version / 10_000);
    Err(StoreError::setup(sentence, format!("use Postgres {OLDEST} or newer")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_named() {
        let place = Place::parse("postgres://moot:geheim@db/hub").expect("a place");
        assert!(check_version(&place, 140_000).is_ok());
        let error = check_version(&place, 130_021).expect_err("it is refused");
        assert_eq!(error.to_string(), "the database at postgres://moot@db:5432/hub is Postgres 13, which is too old");
        assert_eq!(error.hint(), Some("use Postgres 14 or newer"));
    }
}
