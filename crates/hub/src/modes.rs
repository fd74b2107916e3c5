//! Who else on this machine can read what is private: looks at the modes of our files and folders, and mends those that
//! are ours.
//!
//! Only what is known to be made by us is touched, and only where its owner is who runs us: a data folder may lie in a place
//! that is shared for good reasons, and a link may lead anywhere.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What others may do with a file or folder.
const OTHERS: u32 = 0o077;
const WORLD: u32 = 0o007;
const STICKY: u32 = 0o1000;
/// Databases by the beginning of their names: the log and the index of one begin like it.
const DATABASES: [&str; 4] = ["hub.db", "telegram.db", "agentd.db", "bot.db"];
const FILES: [&str; 4] = ["secret.key", "hub.lock", "agentd.pid", "agentd.status.json"];
const FOLDERS: [&str; 8] = ["files", "backups", "logs", "agents", "agent-tokens", "hosting", "listen", "engine-test"];
/// Folders whose files are looked at one by one: they are copied elsewhere, and their modes with them.
const LOOKED_INTO: [&str; 4] = ["backups", "logs", "hosting", "agent-tokens"];

/// What was found about one file or folder that others could read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    pub path: PathBuf,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody else can any more.
    Mended {
        mode: u32,
    },
    /// It belongs to somebody else.
    Foreign {
        owner: u32,
    },
    /// It is ours, and used by others on purpose: `/tmp`, a home folder.
    Shared,
    Failed(String),
}

impl Exposed {
    /// One sentence that says what was, and what is now.
    pub fn sentence(&self) -> String {
        let path = self.path.display();
        match &self.outcome {
            Outcome::Mended { mode } => {
                format!("others could read `{path}`; now only you can (mode {mode:04o})")
            }
            Outcome::Foreign { owner } => format!("others can read `{path}`, which belongs to user {owner}"),
            Outcome::Shared => format!("others can read `{path}`, and it is no folder of the hub's own"),
            Outcome::Failed(error) => format!("others can read `{path}`, and that cannot be mended: {error}"),
        }
    }

    pub fn remedy(&self) -> String {
        let path = self.path.display();
        match &self.outcome {
            Outcome::Mended { .. } => "if others use this machine, change the secrets that were in it".to_owned(),
            Outcome::Shared => "choose a folder for the hub alone with `--data-dir` or `server.data_dir`".to_owned(),
            Outcome::Foreign { .. } | Outcome::Failed(_) => format!("as its owner: chmod go-rwx '{path}'"),
        }
    }
}

/// Looks at a data folder: itself, its databases, secrets, backups and logs.
pub fn tend_data(data_dir: &Path, home: Option<&Path>) -> Vec<Exposed> {
    let mut found = Vec::new();
    let entries: Vec<_> = fs::read_dir(data_dir).into_iter().flatten().flatten().collect();
    let mut is_ours = entries.is_empty();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_folder = FOLDERS.contains(&&*name);
        if !is_folder && !FILES.contains(&&*name) && !DATABASES.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        is_ours = true;
        found.extend(tend(&entry.path()));
        if LOOKED_INTO.contains(&&*name) {
            let inside = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            found.extend(inside.filter_map(|entry| tend(&entry.path())));
        }
    }
    // A folder that holds only what others made may be anybody's.
    if is_ours {
        found.extend(tend_folder(data_dir, home));
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Looks at one file that holds a secret.
pub fn tend(path: &Path) -> Option<Exposed> {
    // Not through a link: what it leads to is looked at under its own name, if it is ours.
    let metadata = fs::symlink_metadata(path).ok().filter(|metadata| !metadata.is_symlink())?;
    look(path, &metadata, || mended(path, &metadata))
}

/// The same for a file that people may keep elsewhere and link to, such as the configuration.
pub fn tend_linked(path: &Path) -> Option<Exposed> {
    tend(&fs::canonicalize(path).ok()?)
}

fn tend_folder(folder: &Path, home: Option<&Path>) -> Option<Exposed> {
    let real = fs::canonicalize(folder).ok()?;
    let metadata = fs::metadata(&real).ok()?;
    let is_home = home.and_then(|home| fs::canonicalize(home).ok()).is_some_and(|home| home == real);
    let is_shared = metadata.mode() & STICKY != 0 || is_home || real.parent().is_none();
    look(&real, &metadata, || if is_shared { Outcome::Shared } else { mended(&real, &metadata) })
}

fn look(path: &Path, metadata: &Metadata, mend: impl FnOnce() -> Outcome) -> Option<Exposed> {
    let owner = metadata.uid();
    let own = owner == rustix::process::geteuid().as_raw();
    // Whose file is somebody else's may reach us through our group; that is how services are given their secrets.
    let exposed = metadata.mode() & if own { OTHERS } else { WORLD };
    if exposed == 0 {
        return None;
    }
    let outcome = if own { mend() } else { Outcome::Foreign { owner } };
    Some(Exposed { path: path.to_owned(), outcome })
}

fn mended(path: &Path, metadata: &Metadata) -> Outcome {
    let mode = metadata.mode() & 0o7777 & !OTHERS;
    match fs::set_permissions(path, fs::Permissions::from_mode(mode)) {
        Ok(()) => Outcome::Mended { mode },
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Makes a folder, and those above it that are missing, for its owner only.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file for its owner only.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<fs::File> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn data_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["hub.db", "hub.db-wal", "secret.key", "notes.txt"] {
            fs::write(folder.path().join(name), "x").unwrap();
            with_mode(&folder.path().join(name), 0o644);
        }
        make_folder(&folder.path().join("backups")).unwrap();
        fs::write(folder.path().join("backups/one.backup"), "x").unwrap();
        with_mode(&folder.path().join("backups/one.backup"), 0o640);
        with_mode(folder.path(), 0o755);
        folder
    }

    #[test]
    fn what_is_ours_is_mended_once_and_what_is_not_made_by_us_is_left_alone() {
        let folder = data_folder();
        let at = |name: &str| folder.path().join(name);
        let found = tend_data(folder.path(), None);
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(found.iter().all(|one| matches!(one.outcome, Outcome::Mended { .. })));
        for name in ["hub.db", "hub.db-wal", "secret.key", "backups/one.backup"] {
            assert_eq!(mode(&at(name)), 0o600, "{name}");
        }
        assert_eq!((mode(folder.path()), mode(&at("notes.txt"))), (0o700, 0o644));
        assert_eq!(tend_data(folder.path(), None), []);
    }

    #[test]
    fn a_home_or_a_shared_folder_is_named_and_not_shut() {
        let folder = data_folder();
        let found = tend_data(folder.path(), Some(folder.path()));
        let itself = found.iter().find(|one| one.path == fs::canonicalize(folder.path()).unwrap()).unwrap();
        assert_eq!((&itself.outcome, mode(folder.path())), (&Outcome::Shared, 0o755));
        assert!(itself.remedy().contains("--data-dir"));
        with_mode(folder.path(), 0o1777);
        assert_eq!(tend_data(folder.path(), None).len(), 1);
        assert_eq!(mode(folder.path()), 0o1777);
    }

    #[test]
    fn a_folder_with_nothing_of_ours_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "x").unwrap();
        with_mode(folder.path(), 0o755);
        assert_eq!(tend_data(folder.path(), None), []);
        assert_eq!(mode(folder.path()), 0o755);
    }

    #[test]
    fn nothing_is_changed_through_a_link_inside_and_a_linked_data_folder_is_mended_where_it_is() {
        let (folder, elsewhere) = (data_folder(), tempfile::tempdir().unwrap());
        let target = elsewhere.path().join("telegram.db");
        fs::write(&target, "x").unwrap();
        with_mode(&target, 0o644);
        std::os::unix::fs::symlink(&target, folder.path().join("telegram.db")).unwrap();
        let link = elsewhere.path().join("data");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        tend_data(&link, None);
        assert_eq!((mode(folder.path()), mode(&target)), (0o700, 0o644));
    }

    #[test]
    fn what_belongs_to_others_is_named_with_the_remedy() {
        // Every machine has a file of root's that all can read; only root owns it.
        let path = Path::new("/etc/passwd");
        let metadata = fs::metadata(path).unwrap();
        if metadata.uid() == rustix::process::geteuid().as_raw() {
            return;
        }
        let found = tend(path).unwrap();
        assert_eq!(found.outcome, Outcome::Foreign { owner: 0 });
        assert!(found.remedy().contains("chmod"));
    }
}
