//! A look at a data folder that changes nothing, for whoever wants to know whether all is well.

use std::path::{Path, PathBuf};
use std::time::Duration;

use folkmoot_database::{ours_below, soundness};

use crate::sqlite::schema::SCHEMA;
use crate::sqlite::{DATABASE, mark};
use crate::{Location, StoreError, postgres};

/// What a sound database tells about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    pub version: u32,
    /// The version that this binary writes; an older database is brought up to it at the next start.
    pub known: u32,
}

/// Checks version and integrity of the database in a data folder; none when there is none yet. A hub may be running.
pub fn inspect(data_dir: &Path) -> Result<Option<Inspection>, StoreError> {
    let path = data_dir.join(DATABASE);
    if !path.exists() {
        return Ok(None);
    }
    SCHEMA.refuse_newer_file(&path)?;
    mark::check_files(&path)?;
    let found = soundness(&path).map_err(|cause| damaged(&path, &cause))?;
    if found.application_id != SCHEMA.application_id() {
        return Err(StoreError::Other(format!("`{}` is not a database of a hub", path.display())));
    }
    SCHEMA.refuse_newer(&path, found.version)?;
    Ok(Some(Inspection { version: found.version, known: SCHEMA.version() }))
}

/// What the database of a hub tells about itself, in words. A hub may be running.
pub fn describe(location: &Location, data_dir: &Path) -> Result<String, StoreError> {
    let found = match location {
        Location::Folder => inspect(data_dir)?,
        Location::Server(place) => {
            let version = postgres::inspect(place)?;
            version.map(|version| Inspection { version, known: postgres::VERSION })
        }
    };
    let words = match (location, found) {
        (Location::Folder, None) => "none yet; the first start makes it".to_owned(),
        (Location::Folder, Some(found)) => format!("version {}, sound{}", found.version, found.next()),
        (Location::Server(place), None) => format!("{} answers and is empty; the first start fills it", place.shown()),
        (Location::Server(place), Some(found)) => {
            format!("{} answers, version {}{}", place.shown(), found.version, found.next())
        }
    };
    Ok(words)
}

impl Inspection {
    fn next(self) -> String {
        match self.version < self.known {
            true => format!(" (the next start brings it to {})", self.known),
            false => String::new(),
        }
    }
}

/// The databases that parts of the hub keep beside its own, and what is wrong with each. A hub may be running.
pub fn inspect_others(data_dir: &Path) -> Result<Vec<(PathBuf, Option<StoreError>)>, StoreError> {
    let found = ours_below(data_dir)
        .map_err(|error| StoreError::Folder { path: data_dir.display().to_string(), cause: error.to_string() })?;
    let others = found.into_iter().filter(|name| name != Path::new(DATABASE));
    let look = |name: PathBuf| {
        let path = data_dir.join(&name);
        (name, soundness(&path).err().map(|cause| damaged(&path, &cause)))
    };
    Ok(others.map(look).collect())
}

/// Looks through the hub's database for damage for at most this long, and says what it found. A hub may be running.
pub fn find_damage(data_dir: &Path, at_most: Duration) -> Option<String> {
    folkmoot_database::find_damage(&data_dir.join(DATABASE), at_most)
}

fn damaged(path: &Path, cause: &str) -> StoreError {
    StoreError::Other(format!("`{}` is damaged: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_database_is_not_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(inspect(folder.path()).unwrap(), None);
    }

    #[test]
    fn a_sound_database_tells_its_version_also_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::open(folder.path()).unwrap();
        let expected = Inspection { version: SCHEMA.version(), known: SCHEMA.version() };
        assert_eq!(inspect(folder.path()).unwrap(), Some(expected));
        drop(store);
        assert_eq!(inspect(folder.path()).unwrap(), Some(expected));
    }

    #[test]
    fn damage_and_foreign_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(DATABASE), "not a database at all".repeat(100)).unwrap();
        assert!(inspect(folder.path()).unwrap_err().to_string().contains("is damaged"));
    }
}
