//! Which databases a data folder holds: told by what is in the files, so that a new one cannot be forgotten.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// What SQLite puts beside a database.
pub const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Folders whose content is not the hub's own: uploads are kept as they are, and agents keep what they like.
const FOREIGN: [&str; 6] = ["files", "backups", "agents", "engine-test", "restore.partial", "restore.replaced"];
/// Files that were made before every file had its mark.
const UNMARKED: [&str; 2] = ["agentd.db", "bot.db"];
/// A folder below that has one is the data folder of another hub.
const HUB_LOCK: &str = "hub.lock";

/// The beginning of a SQLite file, as far as it concerns us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub version: u32,
    pub application_id: i32,
}

impl Header {
    /// `None` for what is no SQLite file, or none yet.
    pub fn read(path: &Path) -> Option<Self> {
        let mut bytes = [0; 72];
        File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let is_sqlite = bytes.starts_with(b"SQLite format 3\0");
        is_sqlite.then(|| Self { version: number(60), application_id: number(68).cast_signed() })
    }

    fn is_ours(self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.application_id.to_be_bytes()[0] == b'F' || self.application_id == 0 && UNMARKED.contains(&name)
    }
}

/// The databases of a data folder, as paths within it, in order: those in the folder itself and in the folders of its
/// parts, such as `hosting`.
pub fn ours_below(data_dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = ours_in(data_dir, Path::new(""))?;
    for entry in entries(data_dir)? {
        let folder = PathBuf::from(entry.file_name());
        let is_part = entry.file_type()?.is_dir() && !FOREIGN.iter().any(|foreign| folder == Path::new(foreign));
        if is_part && !data_dir.join(&folder).join(HUB_LOCK).exists() {
            found.extend(ours_in(data_dir, &folder)?);
        }
    }
    found.sort();
    Ok(found)
}

fn ours_in(data_dir: &Path, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(&data_dir.join(folder))? {
        let name = folder.join(entry.file_name());
        // Not through a link: what it leads to is somebody else's to keep.
        let is_ours = || Header::read(&entry.path()).is_some_and(|header| header.is_ours(&name));
        if entry.file_type()?.is_file() && is_our_name(&name) && is_ours() {
            found.push(name);
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> std::io::Result<Vec<std::fs::DirEntry>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether a path within a data folder can be that of a database of ours: `x.db`, or `part/x.db`.
pub fn is_our_name(name: &Path) -> bool {
    let parts: Vec<Component<'_>> = name.components().collect();
    let is_plain = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    let is_part = |part: &Component<'_>| !FOREIGN.iter().any(|foreign| part.as_os_str() == *foreign);
    let below = match parts.split_last() {
        Some((_, [])) => true,
        Some((_, [part])) => is_part(part),
        _ => false,
    };
    is_plain && below && name.extension().is_some_and(|extension| extension == "db")
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::Schema;

    const ANY: Schema = Schema { mark: *b"Any", migrations: &["CREATE TABLE t (a)"], pragmas: &[], statements: 1 };

    fn make(folder: &Path, name: &str, application_id: i32) {
        let connection = ANY.open(&folder.join(name)).unwrap();
        connection.pragma_update(None, "application_id", application_id).unwrap();
    }

    fn found_in(folder: &Path) -> Vec<String> {
        ours_below(folder).unwrap().iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn whatever_was_opened_in_our_way_is_found_also_in_the_folder_of_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let _in_use = ANY.open(&folder.path().join("new.db")).unwrap();
        drop(ANY.open(&folder.path().join("part/own.db")).unwrap());
        assert_eq!(found_in(folder.path()), ["new.db", "part/own.db"]);
    }

    #[test]
    fn files_of_older_versions_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        ["hosting/agentd.db", "bot.db", "other.db"].iter().for_each(|name| make(folder.path(), name, 0));
        assert_eq!(found_in(folder.path()), ["bot.db", "hosting/agentd.db"]);
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make(folder.path(), "agents/mine.db", ANY.application_id());
        make(folder.path(), "files/upload.db", ANY.application_id());
        make(folder.path(), "other/hub.db", ANY.application_id());
        std::fs::write(at("other/hub.lock"), "").unwrap();
        Connection::open(at("foreign.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        std::fs::write(at("text.db"), "nothing of the kind".repeat(20)).unwrap();
        drop(ANY.open(&at("real.db")).unwrap());
        std::os::unix::fs::symlink(at("real.db"), at("link.db")).unwrap();
        assert_eq!(found_in(folder.path()), ["real.db"]);
    }

    #[test]
    fn a_name_stays_within_the_folder() {
        for good in ["hub.db", "hosting/agentd.db"] {
            assert!(is_our_name(Path::new(good)), "{good}");
        }
        for bad in ["../hub.db", "/tmp/hub.db", "a/b/c.db", "files/x.db", "hub.db/evil", "hub.db-wal", "", "a/../b.db"]
        {
            assert!(!is_our_name(Path::new(bad)), "{bad}");
        }
    }
}
