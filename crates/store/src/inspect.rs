//! A look at a data folder that changes nothing, for whoever wants to know whether all is well.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::StoreError;
use crate::sqlite::{DATABASE, mark, open_for_reading, schema};

/// What a sound database tells about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    pub version: u32,
    /// The version that this binary writes; an older database is brought up to it at the next start.
    pub known: u32,
}

/// Checks version and integrity of the database in a data folder; none when there is none yet. A hub may be running.
pub fn inspect(data_dir: &Path) -> Result<Option<Inspection>, StoreError> {
    let path = data_dir.join(DATABASE);
    if !path.exists() {
        return Ok(None);
    }
    schema::refuse_newer_file(&path)?;
    mark::check_files(&path)?;
    let damaged =
        |cause: &dyn std::fmt::Display| StoreError::Other(format!("`{}` is damaged: {cause}", path.display()));
    let connection = open_for_reading(&path).map_err(|error| damaged(&error))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(|error| damaged(&error))?;
    if application != schema::APPLICATION {
        return Err(StoreError::Other(format!("`{}` is not a database of a hub", path.display())));
    }
    let version = schema::version(&connection).map_err(|error| damaged(&error))?;
    schema::refuse_newer(version)?;
    let verdict = verdict(&connection).map_err(|error| damaged(&error))?;
    if verdict != "ok" {
        return Err(damaged(&verdict));
    }
    Ok(Some(Inspection { version, known: schema::VERSION }))
}

/// Looks through the database for damage for at most this long, and says what it found; of a large one, only its beginning is
/// looked at. A hub may be running.
pub fn find_damage(data_dir: &Path, at_most: Duration) -> Option<String> {
    let path = data_dir.join(DATABASE);
    let connection = match open_for_reading(&path) {
        Ok(connection) => connection,
        Err(error) => return Some(error.to_string()),
    };
    let interrupt = connection.get_interrupt_handle();
    let (finished, waiting) = mpsc::channel::<()>();
    let found = std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(at_most) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let found = verdict(&connection);
        drop(finished);
        found
    });
    match found {
        Ok(verdict) => (verdict != "ok").then_some(verdict),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => None,
        Err(error) => Some(error.to_string()),
    }
}

fn verdict(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "quick_check", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_database_is_not_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(inspect(folder.path()).unwrap(), None);
    }

    #[test]
    fn a_sound_database_tells_its_version_also_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::open(folder.path()).unwrap();
        let expected = Inspection { version: schema::VERSION, known: schema::VERSION };
        assert_eq!(inspect(folder.path()).unwrap(), Some(expected));
        drop(store);
        assert_eq!(inspect(folder.path()).unwrap(), Some(expected));
    }

    #[test]
    fn damage_and_foreign_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(DATABASE), "not a database at all".repeat(100)).unwrap();
        assert!(inspect(folder.path()).unwrap_err().to_string().contains("is damaged"));
    }
}
