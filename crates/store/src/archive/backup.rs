//! Making an archive, also of a hub that is running.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use folkmoot_database::{create_private_file, ours_below, with_suffix};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{FILES, SECRET, sync_folder, with_file};
use crate::sqlite::{DATABASE, open_for_reading};
use crate::transfer::{self, FromPostgres, IntoSqlite};
use crate::{Location, StoreError};

/// Writes everything in the data folder to one tar file, as of one moment. The hub may be running.
///
/// The file appears under its name only when it is complete; an older one there is replaced.
pub fn backup(data_dir: &Path, target: &Path) -> Result<(), StoreError> {
    if !data_dir.join(DATABASE).is_file() {
        return Err(StoreError::Other(format!("there is no hub in `{}`: it has no `{DATABASE}`", data_dir.display())));
    }
    let snapshot = Leftover(with_suffix(target, ".partial.0"));
    copy_database(&data_dir.join(DATABASE), &snapshot.0)?;
    archive(data_dir, snapshot, target)
}

/// The same for a hub wherever it keeps its messages.
pub fn backup_at(location: &Location, data_dir: &Path, target: &Path) -> Result<(), StoreError> {
    let Location::Server(place) = location else { return backup(data_dir, target) };
    let mut copy = IntoSqlite::at(&with_suffix(target, ".partial.0"))?;
    transfer::copy(&mut FromPostgres::beside(place)?, &mut copy, &mut |_| {})?;
    let snapshot = Leftover(copy.close());
    archive(data_dir, snapshot, target)
}

/// What is in the data folder, with this as the hub's own database.
fn archive(data_dir: &Path, own: Leftover, target: &Path) -> Result<(), StoreError> {
    let partial = Leftover(with_suffix(target, ".partial"));
    let mut snapshots = vec![(PathBuf::from(DATABASE), own)];
    for (number, name) in (1..).zip(others(data_dir)?) {
        let snapshot = Leftover(with_suffix(target, &format!(".partial.{number}")));
        copy_database(&data_dir.join(&name), &snapshot.0)?;
        snapshots.push((name, snapshot));
    }
    write_archive(data_dir, &snapshots, &partial.0)?;
    std::fs::rename(&partial.0, target).map_err(with_file("write", target))?;
    sync_folder(target.parent().unwrap_or(Path::new("."))).map_err(with_file("write", target))
}

/// Those that parts of the hub keep: also one that is damaged, whose copy then fails and says so.
fn others(data_dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let found = ours_below(data_dir).map_err(with_file("read", data_dir))?;
    Ok(found.into_iter().filter(|name| name != Path::new(DATABASE)).collect())
}

/// A file that must not stay behind, whatever happens. (Once renamed it is gone already.)
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// One step copies all pages within one read transaction: the copy is of one moment and a busy writer cannot restart it.
fn copy_database(database: &Path, snapshot: &Path) -> Result<(), StoreError> {
    let _ = std::fs::remove_file(snapshot);
    create_private_file(snapshot).map_err(with_file("write", snapshot))?;
    let from = open_for_reading(database).map_err(with_file("read", database))?;
    let mut to = Connection::open(snapshot).map_err(with_file("write", snapshot))?;
    // The copy is synced as part of the archive; syncing it here as well would only cost time.
    to.pragma_update(None, "synchronous", "OFF").map_err(with_file("write", snapshot))?;
    let backup = Backup::new(&from, &mut to).map_err(with_file("read", database))?;
    match backup.step(-1).map_err(with_file("copy", database))? {
        StepResult::Done => Ok(()),
        unfinished => Err(StoreError::Other(format!("cannot copy `{}`: {unfinished:?}", database.display()))),
    }
}

fn write_archive(data_dir: &Path, snapshots: &[(PathBuf, Leftover)], partial: &Path) -> Result<(), StoreError> {
    let _ = std::fs::remove_file(partial);
    let file = create_private_file(partial).map_err(with_file("write", partial))?;
    let mut archive = tar::Builder::new(std::io::BufWriter::new(file));
    for (name, snapshot) in snapshots {
        add_file(&mut archive, &snapshot.0, name)?;
    }
    add_file(&mut archive, &data_dir.join(SECRET), Path::new(SECRET))?;
    add_folder(&mut archive, &data_dir.join(FILES), Path::new(FILES))?;
    let synced = archive.into_inner().and_then(|mut writer| {
        writer.flush()?;
        writer.get_ref().sync_all()
    });
    synced.map_err(with_file("write", partial))
}

fn add_folder(archive: &mut tar::Builder<impl Write>, folder: &Path, name: &Path) -> Result<(), StoreError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(with_file("read", folder)(error)),
    };
    let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(with_file("read", folder))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let kind = entry.file_type().map_err(with_file("read", &path))?;
        if kind.is_dir() {
            add_folder(archive, &path, &name)?;
        } else if kind.is_file() {
            add_file(archive, &path, &name)?;
        }
    }
    Ok(())
}

/// Adds a file as long as it was when it was opened; one that is gone (a deleted upload) is left out.
fn add_file(archive: &mut tar::Builder<impl Write>, path: &Path, name: &Path) -> Result<(), StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(with_file("read", path)(error)),
    };
    let size = file.metadata().map_err(with_file("read", path))?.len();
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    archive
        .append_data(&mut header, name, Exactly { file: file.take(size), missing: size })
        .map_err(with_file("copy", path))
}

/// A reader that fails when the file turns out shorter than its header says, which would spoil all that follows.
struct Exactly {
    file: std::io::Take<File>,
    missing: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.missing -= read as u64;
        if read == 0 && self.missing > 0 && !buffer.is_empty() {
            return Err(std::io::Error::other("it became shorter while it was read"));
        }
        Ok(read)
    }
}
