//! Files and folders that only their owner can read: everything that is kept is somebody's words or secrets.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder and those above it that are missing; one that is there stays as it is.
pub fn make_private_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new file; it must not be there yet.
pub fn create_private_file(path: &Path) -> std::io::Result<File> {
    File::options().create_new(true).write(true).mode(0o600).open(path)
}

/// SQLite would make it readable by all. (Its side files take over the rights of the database.)
pub(crate) fn make_private_file(path: &Path) -> std::io::Result<()> {
    match create_private_file(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
