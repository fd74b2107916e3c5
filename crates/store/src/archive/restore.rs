//! Putting an archive back into a data folder.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{BESIDE, FILES, SECRET, is_known, sync_folder, with_file, with_suffix};
use crate::StoreError;
use crate::sqlite::{DATABASE, LOCK, create_private_file, make_private_folder, schema, take_folder};

/// Puts the hub of an archive into a data folder.
///
/// Refuses a folder that holds a hub, unless forced, and one that a hub is using, always. The archive is unpacked and
/// its databases are checked beside the old content first; until they proved sound, nothing that was there is touched.
pub fn restore(source: &Path, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    let archive = File::open(source).map_err(with_file("read", source))?;
    look_at_beginning(source)?;
    let had_folder = data_dir.exists();
    let lock_file = data_dir.join(LOCK);
    let had_lock = lock_file.exists();
    let lock = take_folder(data_dir)?;
    let restored = fill(archive, source, data_dir, force);
    drop(lock);
    if restored.is_err() {
        // Nothing stays behind of what did not come about.
        if !had_lock {
            let _ = std::fs::remove_file(lock_file);
        }
        if !had_folder {
            let _ = std::fs::remove_dir(data_dir);
        }
    }
    restored
}

fn fill(archive: File, source: &Path, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    if !force && data_dir.join(DATABASE).exists() {
        return Err(StoreError::Other(format!(
            "there is a hub in `{}` already\nhint: use `--force` to replace it",
            data_dir.display()
        )));
    }
    let staging = Staging::new(data_dir)?;
    unpack(archive, source, &staging.folder)?;
    check_database(&staging.folder.join(DATABASE), source)?;
    for name in BESIDE.iter().filter(|name| staging.folder.join(name).is_file()) {
        check_sound(&staging.folder.join(name), source)?;
    }
    put_in_place(&staging.folder, data_dir)
}

/// A folder inside the data folder (so that a rename moves things out of it), gone when the restore is over.
struct Staging {
    folder: PathBuf,
}

impl Staging {
    fn new(data_dir: &Path) -> Result<Self, StoreError> {
        let folder = data_dir.join("restore.partial");
        remove_folder(&folder)?;
        make_private_folder(&folder).map_err(with_file("make", &folder))?;
        Ok(Self { folder })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What is no archive at all is refused before anything is made.
fn look_at_beginning(source: &Path) -> Result<(), StoreError> {
    let mut archive = tar::Archive::new(File::open(source).map_err(with_file("read", source))?);
    let first = archive.entries().ok().and_then(|mut entries| entries.next());
    if first.is_some_and(|entry| entry.is_ok_and(|entry| entry.path().is_ok_and(|name| is_known(&name)))) {
        return Ok(());
    }
    Err(StoreError::Other(format!(
        "`{}` is not a backup of a hub\nhint: `moot backup FILE` makes one",
        source.display()
    )))
}

const ANOTHER: &str = "hint: use another backup; `moot backup FILE` makes one";

fn unreadable<E: std::fmt::Display>(source: &Path) -> impl Fn(E) -> StoreError {
    move |cause| StoreError::Other(format!("cannot read `{}`: {cause}\n{ANOTHER}", source.display()))
}

fn unpack(archive: File, source: &Path, folder: &Path) -> Result<(), StoreError> {
    let mut archive = tar::Archive::new(BufReader::new(archive));
    for entry in archive.entries().map_err(unreadable(source))? {
        let mut entry = entry.map_err(unreadable(source))?;
        let name = entry.path().map_err(unreadable(source))?.into_owned();
        let kind = entry.header().entry_type();
        let is_folder = kind.is_dir() && name.starts_with(FILES);
        if !is_known(&name) || !(kind.is_file() || is_folder) {
            return Err(StoreError::Other(format!(
                "`{}` is not a backup of a hub: it holds `{}`",
                source.display(),
                name.display()
            )));
        }
        if kind.is_file() {
            unpack_file(&mut entry, &folder.join(&name), source)?;
        }
    }
    if folder.join(DATABASE).is_file() {
        return Ok(());
    }
    Err(StoreError::Other(format!("`{}` is not a backup of a hub: it has no `{DATABASE}`", source.display())))
}

fn unpack_file(entry: &mut tar::Entry<'_, impl std::io::Read>, path: &Path, source: &Path) -> Result<(), StoreError> {
    if let Some(parent) = path.parent() {
        make_private_folder(parent).map_err(with_file("make", parent))?;
    }
    let size = entry.size();
    let mut file = create_private_file(path).map_err(with_file("write", path))?;
    let copied = std::io::copy(entry, &mut file).map_err(unreadable(source))?;
    if copied != size {
        return Err(StoreError::Other(format!("`{}` is cut off\n{ANOTHER}", source.display())));
    }
    file.sync_all().map_err(with_file("write", path))
}

fn check_database(database: &Path, source: &Path) -> Result<(), StoreError> {
    schema::refuse_newer_file(database)?;
    if check_sound(database, source)? == schema::APPLICATION {
        return Ok(());
    }
    Err(StoreError::Other(format!("the database in `{}` is not one of a hub", source.display())))
}

/// Looks through a database and says whose it is.
fn check_sound(database: &Path, source: &Path) -> Result<i32, StoreError> {
    let damaged = |cause: &dyn std::fmt::Display| {
        StoreError::Other(format!("the database in `{}` is damaged: {cause}\n{ANOTHER}", source.display()))
    };
    let connection = Connection::open(database).map_err(|error| damaged(&error))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(|error| damaged(&error))?;
    let verdict: String =
        connection.pragma_query_value(None, "quick_check", |row| row.get(0)).map_err(|error| damaged(&error))?;
    if verdict != "ok" {
        return Err(damaged(&verdict));
    }
    connection.close().map_err(|(_, error)| damaged(&error))?;
    Ok(application)
}

/// The database comes last: as long as it is the old one, running the restore again is all it takes.
fn put_in_place(staging: &Path, data_dir: &Path) -> Result<(), StoreError> {
    let replaced = data_dir.join("restore.replaced");
    remove_folder(&replaced)?;
    move_if_there(&data_dir.join(FILES), &replaced)?;
    move_if_there(&staging.join(FILES), &data_dir.join(FILES))?;
    move_if_there(&staging.join(SECRET), &data_dir.join(SECRET))?;
    for name in BESIDE {
        remove_side_files(&data_dir.join(name))?;
        remove_file(&data_dir.join(name))?;
        move_if_there(&staging.join(name), &data_dir.join(name))?;
    }
    remove_side_files(&data_dir.join(DATABASE))?;
    move_if_there(&staging.join(DATABASE), &data_dir.join(DATABASE))?;
    sync_folder(data_dir).map_err(with_file("write", data_dir))?;
    remove_folder(&replaced)
}

/// A log of the old database beside the new one would be taken for the new one's.
fn remove_side_files(database: &Path) -> Result<(), StoreError> {
    ["-wal", "-shm", "-mark"].iter().try_for_each(|suffix| remove_file(&with_suffix(database, suffix)))
}

fn move_if_there(from: &Path, to: &Path) -> Result<(), StoreError> {
    unless_missing(std::fs::rename(from, to)).map_err(with_file("write", to))
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    unless_missing(std::fs::remove_file(path)).map_err(with_file("remove", path))
}

fn remove_folder(path: &Path) -> Result<(), StoreError> {
    unless_missing(std::fs::remove_dir_all(path)).map_err(with_file("remove", path))
}

fn unless_missing(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
