//! Putting an archive back into a data folder.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folkmoot_database::{SIDE_FILES, create_private_file, make_private_folder, ours_below, soundness, with_suffix};

use super::{FILES, SECRET, is_known, sync_folder, with_file};
use crate::postgres::Place;
use crate::sqlite::schema::SCHEMA;
use crate::sqlite::{DATABASE, LOCK, take_folder};
use crate::transfer::{self, FromSqlite, IntoPostgres};
use crate::{Location, StoreError, history};

/// Puts the hub of an archive into a data folder.
///
/// Refuses a folder that holds a hub, unless forced, and one that a hub is using, always. The archive is unpacked and
/// its databases are checked beside the old content first; until they proved sound, nothing that was there is touched.
pub fn restore(source: &Path, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    restore_at(source, &Location::Folder, data_dir, force)
}

/// The same for a hub wherever it keeps its messages.
pub fn restore_at(source: &Path, location: &Location, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    let archive = File::open(source).map_err(with_file("read", source))?;
    look_at_beginning(source)?;
    let had_folder = data_dir.exists();
    let lock_file = data_dir.join(LOCK);
    let had_lock = lock_file.exists();
    let lock = take_folder(data_dir)?;
    let restored = fill(archive, source, location, data_dir, force);
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

fn fill(archive: File, source: &Path, location: &Location, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    let is_in_folder = matches!(location, Location::Folder);
    if is_in_folder && !force && data_dir.join(DATABASE).exists() {
        return Err(StoreError::setup(
            format!("there is a hub in `{}` already", data_dir.display()),
            "choose another folder with `--data-dir`, or replace it with `--force`",
        ));
    }
    let staging = Staging::new(data_dir)?;
    let unpacked = unpack(archive, source, &staging.folder)?;
    for name in unpacked.iter().filter(|name| folkmoot_database::is_our_name(name)) {
        check_database(&staging.folder, name, source)?;
    }
    match location {
        Location::Folder => put_in_place(&staging.folder, data_dir),
        Location::Server(place) => fill_database(&staging.folder, place, data_dir, force),
    }
}

/// Here too the hub's own database comes last: it is in the server's hands, unseen by anybody, until everything else is in place.
fn fill_database(staging: &Path, place: &Arc<Place>, data_dir: &Path, force: bool) -> Result<(), StoreError> {
    let mut target = IntoPostgres::open(place, force)?;
    let mut source = FromSqlite::take(staging)?;
    transfer::copy(&mut source, &mut target, &mut |_| {})?;
    drop(source);
    remove_side_files(&staging.join(DATABASE))?;
    remove_file(&staging.join(DATABASE))?;
    put_in_place(staging, data_dir)?;
    history::write(data_dir, &target.finish()?)
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

/// Unpacks everything, and says what there is.
fn unpack(archive: File, source: &Path, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut unpacked = Vec::new();
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
            unpacked.push(name);
        }
    }
    if folder.join(DATABASE).is_file() {
        return Ok(unpacked);
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

/// Every database of an archive is sound and known to be ours, and that of the hub of a version that we know.
fn check_database(folder: &Path, name: &Path, source: &Path) -> Result<(), StoreError> {
    let is_hub = name == Path::new(DATABASE);
    if is_hub {
        SCHEMA.refuse_newer_file(&folder.join(name))?;
    }
    let found = soundness(&folder.join(name)).map_err(|cause| {
        StoreError::Other(format!("the database in `{}` is damaged: {cause}\n{ANOTHER}", source.display()))
    })?;
    let is_ours = match is_hub {
        true => found.application_id == SCHEMA.application_id(),
        false => ours_below(folder).map_err(with_file("read", folder))?.iter().any(|known| known == name),
    };
    match is_ours {
        true => Ok(()),
        false => Err(StoreError::Other(format!("the database in `{}` is not one of a hub", source.display()))),
    }
}

/// The database comes last: as long as it is the old one, running the restore again is all it takes.
fn put_in_place(staging: &Path, data_dir: &Path) -> Result<(), StoreError> {
    let replaced = data_dir.join("restore.replaced");
    remove_folder(&replaced)?;
    move_if_there(&data_dir.join(FILES), &replaced)?;
    move_if_there(&staging.join(FILES), &data_dir.join(FILES))?;
    move_if_there(&staging.join(SECRET), &data_dir.join(SECRET))?;
    replace_databases(staging, data_dir)?;
    remove_side_files(&data_dir.join(DATABASE))?;
    move_if_there(&staging.join(DATABASE), &data_dir.join(DATABASE))?;
    sync_folder(data_dir).map_err(with_file("write", data_dir))?;
    remove_folder(&replaced)
}

/// Takes the databases of parts away that are there, and puts those of the archive into their places.
fn replace_databases(staging: &Path, data_dir: &Path) -> Result<(), StoreError> {
    let others = |folder: &Path| -> Result<Vec<PathBuf>, StoreError> {
        let found = ours_below(folder).map_err(with_file("read", folder))?;
        Ok(found.into_iter().filter(|name| name != Path::new(DATABASE)).collect())
    };
    for name in others(data_dir)? {
        remove_side_files(&data_dir.join(&name))?;
        remove_file(&data_dir.join(&name))?;
    }
    for name in others(staging)? {
        let target = data_dir.join(&name);
        remove_side_files(&target)?;
        let folder = target.parent().unwrap_or(data_dir);
        make_private_folder(folder).map_err(with_file("make", folder))?;
        move_if_there(&staging.join(&name), &target)?;
        sync_folder(folder).map_err(with_file("write", folder))?;
    }
    Ok(())
}

/// A log of the old database beside the new one would be taken for the new one's.
fn remove_side_files(database: &Path) -> Result<(), StoreError> {
    SIDE_FILES.iter().chain(&["-mark"]).try_for_each(|suffix| remove_file(&with_suffix(database, suffix)))
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
