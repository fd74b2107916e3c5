//! One file that holds a whole hub: making it while the hub runs, and putting it back.
//!
//! It is the same file wherever the hub keeps its messages: what is in Postgres is written into a `hub.db` for the archive, and
//! read out of it again. So a backup of either kind can be restored into the other.
//!
//! The archive is an ordinary tar file with every database of the data folder (`hub.db`, and those that parts of the hub keep
//! beside it), the uploaded files under `files/`, and `secret.key` when there is one. Which databases there are is told by
//! the files themselves ([`folkmoot_database::ours_below`]), so that a new one is in the archive without anybody listing it.
//! Uploaded files never change once they are there, so files copied after the database are those it speaks of.

mod backup;
mod restore;
#[cfg(test)]
mod tests;

use std::path::{Component, Path};

use crate::StoreError;

pub use backup::{backup, backup_at};
pub use restore::{restore, restore_at};

const FILES: &str = "files";
const SECRET: &str = "secret.key";

/// Makes an error of something that went wrong with a file.
fn with_file<E: std::fmt::Display>(what: &str, path: &Path) -> impl FnOnce(E) -> StoreError {
    let prefix = format!("cannot {what} `{}`", path.display());
    move |cause| StoreError::Other(format!("{prefix}: {cause}"))
}

/// Makes a rename durable: until its folder is synced, a power cut may undo it.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::File::open(folder)?.sync_all()
}

/// Whether a name is one of those an archive may hold; everything else, `..` and absolute paths above all, is refused.
fn is_known(name: &Path) -> bool {
    let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain && (name == Path::new(SECRET) || name.starts_with(FILES) || folkmoot_database::is_our_name(name))
}
