//! How far the log had come when the hub last looked, kept beside the database, so that a log that is gone or cut is noticed.
//!
//! Until they are moved into the database, commits are only in the log (`hub.db-wal`), and SQLite opens a database without its
//! log, or with half of it, as if nothing had been there. The mark (`hub.db-mark`) names the log by its salts, which change
//! each time it begins anew, and says how many of its pages are needed. It is written after commits, at most every few
//! milliseconds and without waiting for the disk, so it costs nothing and is never ahead of the log. A clean stop moves
//! everything into the database and removes it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use folkmoot_database::{create_private_file, with_suffix};
use rusqlite::Connection;

use crate::StoreError;

const PAUSE: Duration = Duration::from_millis(20);
const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// What the mark says: the log of these salts must have at least this many pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    salts: (u32, u32),
    pages: u64,
}

/// The beginning of a log.
struct Header {
    page_bytes: u64,
    salts: (u32, u32),
}

/// Keeps the mark of an open database.
pub struct Mark {
    log: PathBuf,
    path: PathBuf,
    file: Option<File>,
    written_at: Option<Instant>,
}

impl Mark {
    pub fn beside(database: &Path) -> Self {
        Self { log: with_suffix(database, "-wal"), path: with_suffix(database, "-mark"), file: None, written_at: None }
    }

    /// After a commit; not after each.
    pub fn committed(&mut self, connection: &Connection) {
        if self.written_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.write(connection);
        }
    }

    /// It only helps to notice a loss: when it cannot be written, that is no reason to refuse what is stored.
    pub fn write(&mut self, connection: &Connection) {
        self.written_at = Some(Instant::now());
        let (Ok(pages), Some(header)) = (pages_needed(connection), read_header(&self.log)) else { return };
        let text = Needed { salts: header.salts, pages }.to_text();
        if self.file.is_none() {
            self.file = open_or_create(&self.path).ok();
        }
        if let Some(file) = &self.file {
            let _ = file.write_all_at(text.as_bytes(), 0);
        }
    }

    /// Everything is in the database.
    pub fn remove(&mut self) {
        self.file = None;
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Refuses a database whose log is gone or shorter than its mark says, before anything opens (and thereby touches) it.
pub fn check_files(database: &Path) -> Result<(), StoreError> {
    let Some(needed) = read_mark(database).filter(|needed| needed.pages > 0) else { return Ok(()) };
    let log = with_suffix(database, "-wal");
    let found = match read_header(&log) {
        Some(header) if header.salts == needed.salts => {
            let bytes = std::fs::metadata(&log).map_or(0, |metadata| metadata.len());
            bytes.saturating_sub(HEADER_BYTES) / (FRAME_HEADER_BYTES + header.page_bytes)
        }
        // Begun anew since: what the mark speaks of had been moved into the database before.
        Some(header) if header.salts.0.wrapping_sub(needed.salts.0) < u32::MAX / 2 => return Ok(()),
        _ => 0,
    };
    complain(&log, needed.pages, found)
}

/// The same once SQLite has read the log: it takes what is sound of it, and passes over the rest in silence.
pub fn check_open(database: &Path, connection: &Connection) -> Result<(), StoreError> {
    let Some(needed) = read_mark(database) else { return Ok(()) };
    let log = with_suffix(database, "-wal");
    if read_header(&log).is_none_or(|header| header.salts != needed.salts) {
        return Ok(());
    }
    let found: i64 = connection.query_row(LENGTH, [], |row| row.get(1))?;
    complain(&log, needed.pages, u64::try_from(found).unwrap_or(0))
}

fn complain(log: &Path, needed: u64, found: u64) -> Result<(), StoreError> {
    if found >= needed {
        return Ok(());
    }
    Err(StoreError::LogLost { path: log.display().to_string(), needed, found })
}

const LENGTH: &str = "PRAGMA wal_checkpoint(NOOP)";

/// How long the log is, unless all of it is in the database already.
fn pages_needed(connection: &Connection) -> rusqlite::Result<u64> {
    let (length, moved): (i64, i64) =
        connection.prepare_cached(LENGTH)?.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?;
    Ok(if moved >= length { 0 } else { u64::try_from(length).unwrap_or(0) })
}

impl Needed {
    fn to_text(self) -> String {
        format!("{:08x} {:08x} {:016}\n", self.salts.0, self.salts.1, self.pages)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let mut salt = || u32::from_str_radix(words.next()?, 16).ok();
        let salts = (salt()?, salt()?);
        Some(Self { salts, pages: words.next()?.parse().ok()? })
    }
}

/// A mark that a power cut left half written counts for nothing.
fn read_mark(database: &Path) -> Option<Needed> {
    Needed::parse(&std::fs::read_to_string(with_suffix(database, "-mark")).ok()?)
}

fn read_header(log: &Path) -> Option<Header> {
    let mut bytes = [0; HEADER_BYTES as usize];
    File::open(log).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    let number = |at: usize| bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    Some(Header { page_bytes: u64::from(number(8)), salts: (number(16), number(20)) })
}

fn open_or_create(path: &Path) -> std::io::Result<File> {
    match create_private_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => File::options().write(true).open(path),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_half_of_one_counts_for_nothing() {
        let needed = Needed { salts: (0xdead_beef, 7), pages: 12_345 };
        let text = needed.to_text();
        assert_eq!(Needed::parse(&text), Some(needed));
        for length in 0..text.len() {
            assert_eq!(Needed::parse(&text[..length]), None, "{length}");
        }
    }
}
