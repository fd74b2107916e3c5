//! Making the database of a data folder anew, beside the place where it will be.

use std::path::{Path, PathBuf};

use folkmoot_core::event::Write;
use folkmoot_database::{SIDE_FILES, make_private_folder, with_suffix};

use super::{FromSqlite, Item, Source, Table, Take, Target};
use crate::StoreError;
use crate::sqlite::{self, DATABASE, Sqlite};

pub struct IntoSqlite {
    /// None once it is finished.
    store: Option<Sqlite>,
    /// Where it is made; gone when this is.
    made_in: PathBuf,
    folder: PathBuf,
    _lock: Option<std::fs::File>,
}

impl IntoSqlite {
    /// In a data folder that no hub is using; one that holds a hub already is refused unless forced.
    pub fn beside(folder: &Path, force: bool) -> Result<Self, StoreError> {
        let lock = sqlite::take_folder(folder)?;
        if !force && folder.join(DATABASE).exists() {
            return Err(StoreError::setup(
                format!("there is a hub in `{}` already", folder.display()),
                "name another folder, or replace it with --force",
            ));
        }
        let mut target = Self::at(&folder.join("migrate.partial"))?;
        target.folder = folder.to_owned();
        target._lock = Some(lock);
        Ok(target)
    }

    /// In a folder of its own, where it stays to be fetched.
    pub fn at(folder: &Path) -> Result<Self, StoreError> {
        let _ = std::fs::remove_dir_all(folder);
        make_private_folder(folder).map_err(|error| problem(folder, &error))?;
        let store = Sqlite::open(folder)?;
        Ok(Self { store: Some(store), made_in: folder.to_owned(), folder: folder.to_owned(), _lock: None })
    }

    fn store(&mut self) -> Result<&mut Sqlite, StoreError> {
        self.store.as_mut().ok_or_else(|| StoreError::Other("the database is finished already".to_owned()))
    }

    /// Closes the database and leaves it where it was made: a file with everything in it.
    pub fn close(&mut self) -> PathBuf {
        self.store = None;
        self.made_in.join(DATABASE)
    }

    /// Puts the database into its place, in one step.
    pub fn finish(mut self) -> Result<(), StoreError> {
        let made = self.close();
        let place = self.folder.join(DATABASE);
        let replaced = (|| {
            std::fs::File::open(&made)?.sync_all()?;
            for suffix in SIDE_FILES.iter().chain(&["-mark"]) {
                match std::fs::remove_file(with_suffix(&place, suffix)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            std::fs::rename(&made, &place)?;
            std::fs::File::open(&self.folder)?.sync_all()
        })();
        replaced.map_err(|error| problem(&place, &error))
    }
}

impl Drop for IntoSqlite {
    fn drop(&mut self) {
        self.store = None;
        let _ = std::fs::remove_dir_all(&self.made_in);
    }
}

impl Target for IntoSqlite {
    fn put(&mut self, _: Table, items: Vec<Item>) -> Result<(), StoreError> {
        self.store()?.import(items.iter().map(|item| match item {
            Item::Record(record) => Write::Put(record),
            Item::Message(message) => Write::InsertMessage(message),
            Item::Change(change) => Write::Log(change),
            Item::Forgotten(channel) => Write::ForgetChannel(*channel),
        }))
    }
}

impl Source for IntoSqlite {
    fn count(&mut self, table: Table) -> Result<u64, StoreError> {
        self.reading()?.count(table)
    }

    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError> {
        self.reading()?.each(table, take)
    }
}

impl IntoSqlite {
    fn reading(&self) -> Result<FromSqlite, StoreError> {
        Ok(FromSqlite::of(sqlite::open_for_reading(&self.made_in.join(DATABASE))?))
    }
}

fn problem(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Folder { path: path.display().to_string(), cause: error.to_string() }
}
