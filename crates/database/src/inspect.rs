//! A look at a file that changes nothing, for whoever wants to know whether all is well.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::schema::{application_id, open_for_reading, version};

/// What a sound file tells about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soundness {
    pub version: u32,
    pub application_id: i32,
}

/// Looks through a whole file; the error says what is wrong with it. Somebody else may be writing.
pub fn soundness(path: &Path) -> Result<Soundness, String> {
    let look = |connection: Connection| {
        let found = Soundness { version: version(&connection)?, application_id: application_id(&connection)? };
        Ok((found, verdict(&connection)?))
    };
    match open_for_reading(path, 0).and_then(look) {
        Ok((found, verdict)) if verdict == "ok" => Ok(found),
        Ok((_, verdict)) => Err(verdict),
        Err(error) => Err(error.to_string()),
    }
}

/// Looks for damage for at most this long, and says what it found; of a large file, only the beginning is looked at.
pub fn find_damage(path: &Path, at_most: Duration) -> Option<String> {
    let connection = match open_for_reading(path, 0) {
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
