//! The shape of a file, how it came about, and opening it.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::DatabaseError;
use crate::find::Header;
use crate::private::{make_private_file, make_private_folder};

/// How long one connection waits for another that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a file holds, and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Three letters that say whose file it is; with an `F` before them they are the application id in its header.
    pub mark: [u8; 3],
    /// One per version, none ever changed after it was released.
    pub migrations: &'static [&'static str],
    /// Settings of the connection beyond those that every file has.
    pub pragmas: &'static [(&'static str, i64)],
    /// How many prepared statements are kept ready.
    pub statements: usize,
}

impl Schema {
    /// The version that this binary writes: the number of migrations.
    pub const fn version(&self) -> u32 {
        self.migrations.len() as u32
    }

    pub const fn application_id(&self) -> i32 {
        let [first, second, third] = self.mark;
        i32::from_be_bytes([b'F', first, second, third])
    }

    /// Opens a file for writing and brings it up to the newest version; what is missing is made, its folder too.
    /// A file of a newer version is refused and stays as it is.
    pub fn open(&self, path: &Path) -> Result<Connection, DatabaseError> {
        self.open_checked(path, |_| Ok(()))
    }

    /// The same, with a look of the caller's own at the file before anything in it can change.
    pub fn open_checked<E: From<DatabaseError>>(
        &self,
        path: &Path,
        check: impl FnOnce(&Connection) -> Result<(), E>,
    ) -> Result<Connection, E> {
        self.refuse_newer_file(path)?;
        let (mut connection, version) = self.untouched(path)?;
        check(&connection)?;
        let ready = self.set_up(&connection).and_then(|()| self.migrate(&mut connection, version));
        ready.map_err(DatabaseError::in_file(path))?;
        Ok(connection)
    }

    /// Refuses a file of a newer version by its header alone, before SQLite opens (and thereby touches) anything.
    pub fn refuse_newer_file(&self, path: &Path) -> Result<(), DatabaseError> {
        // Missing, empty, or something else: SQLite will make it, or say what is wrong with it.
        Header::read(path).map_or(Ok(()), |header| self.refuse_newer(path, header.version))
    }

    pub fn refuse_newer(&self, path: &Path, found: u32) -> Result<(), DatabaseError> {
        match found > self.version() {
            true => Err(DatabaseError::Newer { path: path.display().to_string(), found, known: self.version() }),
            false => Ok(()),
        }
    }

    /// A connection that has changed nothing yet, and would not when it is closed.
    fn untouched(&self, path: &Path) -> Result<(Connection, u32), DatabaseError> {
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(DatabaseError::in_file(folder))?;
        }
        make_private_file(path).map_err(DatabaseError::in_file(path))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            // A log left by a newer version that was killed may hold the newer version: then even closing must not
            // move it into the file.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            let version = version(&connection)?;
            Ok((connection, version))
        });
        let (connection, version) = opened.map_err(DatabaseError::in_file(path))?;
        self.refuse_newer(path, version)?;
        Ok((connection, version))
    }

    fn set_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        self.pragmas.iter().try_for_each(|(name, value)| connection.pragma_update(None, name, value))?;
        keep_statements(connection, self.statements)
    }

    /// Brings an older file up to the newest version, one transaction per step.
    fn migrate(&self, connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
        for (version, migration) in (1_u32..).zip(self.migrations).skip(from as usize) {
            let transaction = connection.transaction()?;
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", self.application_id())?;
            transaction.pragma_update(None, "user_version", version)?;
            transaction.commit()?;
        }
        let is_marked = application_id(connection)? == self.application_id();
        if !is_marked {
            // Made before every file had its mark.
            connection.pragma_update(None, "application_id", self.application_id())?;
        }
        if from < self.version() || !is_marked {
            // Version and mark must stand in the file itself: whoever looks there does so before opening anything.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

/// Opens a file that is there, to look at it only; somebody else may be writing.
pub fn open_for_reading(path: &Path, statements: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    keep_statements(&connection, statements)?;
    Ok(connection)
}

/// The version of a file that is open.
pub fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whose file it is, by what its header says.
pub(crate) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// Statements are prepared once. Without the stability guarantee SQLite may prepare one anew for every value bound to
/// it, which costs several times what the statement itself does.
fn keep_statements(connection: &Connection, statements: usize) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(statements);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const FIRST: &str = "CREATE TABLE one (a INTEGER);";
    const SECOND: &str = "CREATE TABLE two (b INTEGER); INSERT INTO two SELECT a FROM one;";
    const OLDER: Schema =
        Schema { mark: *b"Tst", migrations: &[FIRST], pragmas: &[("cache_size", -77)], statements: 8 };
    const NEWER: Schema = Schema { migrations: &[FIRST, SECOND], ..OLDER };

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/test.db");
        (folder, path)
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_can_read_the_file_its_side_files_and_a_folder_that_was_made_for_it() {
        let (_folder, path) = place();
        let connection = OLDER.open(&path).unwrap();
        connection.execute_batch("INSERT INTO one VALUES (1)").unwrap();
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        for suffix in ["", "-wal", "-shm"] {
            assert_eq!(mode(&crate::with_suffix(&path, suffix)), 0o600, "{suffix}");
        }
    }

    #[test]
    fn a_commit_is_on_disk_and_the_files_own_settings_hold() {
        let (_folder, path) = place();
        let connection = OLDER.open(&path).unwrap();
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), number("cache_size"), number("busy_timeout")), (2, -77, 5000));
        let log: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(log, "wal");
    }

    #[test]
    fn an_older_file_is_brought_up_step_by_step_and_keeps_what_is_in_it() {
        let (_folder, path) = place();
        OLDER.open(&path).unwrap().execute_batch("INSERT INTO one VALUES (7)").unwrap();
        let connection = NEWER.open(&path).unwrap();
        assert_eq!(connection.query_row("SELECT b FROM two", [], |row| row.get::<_, i64>(0)), Ok(7));
        assert_eq!(Header::read(&path).unwrap().version, 2, "it stands in the file itself");
    }

    #[test]
    fn a_file_of_a_newer_version_is_refused_and_left_alone() {
        let (_folder, path) = place();
        drop(NEWER.open(&path).unwrap());
        let before = std::fs::read(&path).unwrap();
        let refused = OLDER.open(&path).unwrap_err();
        assert_eq!(refused, DatabaseError::Newer { path: path.display().to_string(), found: 2, known: 1 });
        assert!(before == std::fs::read(&path).unwrap());
    }

    #[test]
    fn a_newer_version_that_is_only_in_the_log_is_refused_as_well() {
        let (_folder, path) = place();
        let writer = OLDER.open(&path).unwrap();
        writer.pragma_update(None, "user_version", 9).unwrap();
        let log = crate::with_suffix(&path, "-wal");
        let killed = path.with_file_name("killed.db");
        std::fs::copy(&path, &killed).unwrap();
        std::fs::copy(&log, crate::with_suffix(&killed, "-wal")).unwrap();
        assert!(matches!(OLDER.open(&killed), Err(DatabaseError::Newer { found: 9, .. })));
        assert!(std::fs::read(&path).unwrap() == std::fs::read(&killed).unwrap(), "its log was not moved into it");
    }

    #[test]
    fn what_is_no_database_is_named() {
        let (folder, _) = place();
        let path = folder.path().join("test.db");
        std::fs::write(&path, "not a database at all, but long enough to be looked at".repeat(20)).unwrap();
        let refused = OLDER.open(&path).unwrap_err().to_string();
        assert!(refused.contains("test.db"), "{refused}");
    }

    #[test]
    fn a_file_that_was_made_without_a_mark_gets_it() {
        let (_folder, path) = place();
        let connection = OLDER.open(&path).unwrap();
        connection.pragma_update(None, "application_id", 0).unwrap();
        drop(connection);
        drop(OLDER.open(&path).unwrap());
        assert_eq!(Header::read(&path).unwrap().application_id, OLDER.application_id());
    }
}
