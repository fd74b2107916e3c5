//! One file that holds a whole hub: making it while the hub runs, and putting it back.
//!
//! The archive is an ordinary tar file with `hub.db`, the uploaded files under `files/`, and `secret.key` when there is one,
//! and the databases that parts of the hub keep beside its own.
//! Uploaded files never change once they are there, so files copied after the database are those it speaks of.

mod backup;
mod restore;
#[cfg(test)]
mod tests;

use std::path::{Component, Path, PathBuf};

use crate::StoreError;

pub use backup::backup;
pub use restore::restore;

const FILES: &str = "files";
const SECRET: &str = "secret.key";
/// Databases that others keep beside the hub's: the journal of the Telegram bridge, the bot's memory.
pub const BESIDE: [&str; 2] = ["telegram.db", "bot.db"];

/// Makes an error of something that went wrong with a file.
fn with_file<E: std::fmt::Display>(what: &str, path: &Path) -> impl FnOnce(E) -> StoreError {
    let prefix = format!("cannot {what} `{}`", path.display());
    move |cause| StoreError::Other(format!("{prefix}: {cause}"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes a rename durable: until its folder is synced, a power cut may undo it.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::File::open(folder)?.sync_all()
}

/// Whether a name is one of those an archive may hold; everything else, `..` and absolute paths above all, is refused.
fn is_known(name: &Path) -> bool {
    let mut parts = name.components();
    let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    let first = parts.next().map(|part| part.as_os_str().to_owned());
    let rest = parts.count();
    match first.as_ref().and_then(|first| first.to_str()) {
        Some(crate::sqlite::DATABASE | SECRET) => plain && rest == 0,
        Some(name) if BESIDE.contains(&name) => plain && rest == 0,
        Some(FILES) => plain,
        _ => false,
    }
}
