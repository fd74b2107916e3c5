//! One way to keep a SQLite file: private, of a known version, on disk when a commit returns, and found by a backup.
//!
//! Whoever needs a database of its own describes it as a [`Schema`] and opens it with [`Schema::open`]. That is all it
//! takes to be in every backup of the data folder: the file carries a mark that says that it is ours, and
//! [`ours_below`] finds what carries one. Where callers are asynchronous, a [`Worker`] has the connection.

mod find;
mod inspect;
mod private;
mod schema;
mod worker;

use std::path::Path;

use rusqlite::ErrorCode;

pub use find::{SIDE_FILES, is_our_name, ours_below, with_suffix};
pub use inspect::{Soundness, find_damage, soundness};
pub use private::{create_private_file, make_private_folder};
pub use schema::{Schema, open_for_reading, version};
pub use worker::Worker;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    #[error("the disk is full")]
    Full,
    #[error("`{path}` was written by a newer version (its format is {found}, this one knows {known})")]
    Newer { path: String, found: u32, known: u32 },
    #[error("cannot use `{path}`: {cause}")]
    File { path: String, cause: String },
    #[error("the database failed: {0}")]
    Failed(String),
    #[error("the database is closed")]
    Closed,
}

impl DatabaseError {
    /// Names the file; a full disk is the disk's fault.
    fn in_file<E: Into<Self>>(path: &Path) -> impl Fn(E) -> Self {
        move |error| match error.into() {
            Self::Failed(cause) => Self::File { path: path.display().to_string(), cause },
            other => other,
        }
    }
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<std::io::Error> for DatabaseError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}
