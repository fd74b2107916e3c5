//! One bridge per bot: a file beside the configuration says who runs, and the operating system knows whether that is true.
//!
//! The file is that of section 10 of the document: `config.toml` → `config.lock`, JSON with `pid` and
//! `token_fingerprint`. A pid alone proves nothing, because numbers are used again; so whoever runs also holds a lock of
//! the operating system on the file. Nobody holds it: whoever wrote the file is dead, whatever lives under its number.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Beside the journal.
const FOLDER_LOCK: &str = "telegram.db.lock";
/// Stands for the token where it does not matter.
const ANY_BOT: &str = "";

/// How often we try again when somebody replaces the file under our hands.
const ATTEMPTS: usize = 20;

#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: i32,
    token_fingerprint: String,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another bridge serves this bot already (process {pid})")]
    Held { pid: i32, path: PathBuf },
    #[error("another bridge works in the data folder `{}` already (process {pid})", folder.display())]
    FolderHeld { pid: i32, folder: PathBuf },
    #[error("the lock file `{}` cannot be written: {cause}", path.display())]
    Io { path: PathBuf, cause: std::io::Error },
}

/// Held while the bridge runs; letting go of it removes the file.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// Where the lock of a configuration file is.
pub fn path_for(config: &Path) -> PathBuf {
    config.with_extension("lock")
}

/// The first ten hex digits of the token's SHA-256: enough to tell bots apart, nothing to log in with.
pub fn fingerprint(token: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(token)[..5])
}

impl Lock {
    /// The journal in a folder is for one bridge, whichever configuration it has and whichever bot it serves.
    pub fn of_folder(folder: &Path) -> Result<Self, LockError> {
        Self::acquire(&folder.join(FOLDER_LOCK), ANY_BOT).map_err(|error| match error {
            LockError::Held { pid, .. } => LockError::FolderHeld { pid, folder: folder.to_owned() },
            other => other,
        })
    }

    pub fn acquire(path: &Path, token: &str) -> Result<Self, LockError> {
        let io = |cause: std::io::Error| LockError::Io { path: path.to_owned(), cause };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let fingerprint = fingerprint(token);
        for _ in 0..ATTEMPTS {
            let file = open(path).map_err(io)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    match read(&file) {
                        // Another bot's bridge keeps its lock on the old file; ours goes into its place.
                        Some(holder) if holder.token_fingerprint != fingerprint => {
                            std::fs::remove_file(path).map_err(io)?;
                            continue;
                        }
                        Some(holder) => return Err(LockError::Held { pid: holder.pid, path: path.to_owned() }),
                        // It holds the file and is about to write it, or to remove it.
                        None => {
                            std::thread::sleep(std::time::Duration::from_millis(10));
                            continue;
                        }
                    }
                }
                // Without locks of the operating system the number in the file has to do.
                Err(TryLockError::Error(_)) => {
                    if let Some(holder) = read(&file).filter(|holder| holder.token_fingerprint == fingerprint)
                        && is_alive(holder.pid)
                    {
                        return Err(LockError::Held { pid: holder.pid, path: path.to_owned() });
                    }
                }
            }
            // Whoever stopped meanwhile removed the file that we locked; then it is nobody's.
            if is_same(&file, path) {
                write(&file, &fingerprint).map_err(io)?;
                return Ok(Self { file, path: path.to_owned() });
            }
        }
        Err(io(std::io::Error::other("it changes all the time")))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only our own: another bot's bridge may have put its file in this place.
        if is_same(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn read(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(mut file: &File, fingerprint: &str) -> std::io::Result<()> {
    let holder = Holder { pid: std::process::id().cast_signed(), token_fingerprint: fingerprint.to_owned() };
    file.set_len(0)?;
    std::io::Seek::rewind(&mut file)?;
    writeln!(file, "{}", serde_json::to_string_pretty(&holder).expect("two plain fields"))
}

fn is_same(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => identity(ours) == identity(there),
        _ => false,
    }
}

fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "1:AA";

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = path_for(&folder.path().join("below/config.toml"));
        (folder, path)
    }

    fn put(path: &Path, pid: i32, token: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let holder = Holder { pid, token_fingerprint: fingerprint(token) };
        std::fs::write(path, serde_json::to_string(&holder).unwrap()).unwrap();
    }

    #[test]
    fn the_lock_file_is_the_configuration_path_with_its_suffix_replaced() {
        assert_eq!(path_for(Path::new("/a/config.toml")), Path::new("/a/config.lock"));
    }

    #[test]
    fn it_holds_json_with_pid_and_the_first_ten_digits_of_the_tokens_sha256() {
        let (_folder, path) = place();
        let _lock = Lock::acquire(&path, TOKEN).unwrap();
        let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(value["pid"], std::process::id());
        assert_eq!(value["token_fingerprint"], fingerprint(TOKEN));
        assert_eq!(fingerprint("abc"), "ba7816bf8f");
    }

    #[test]
    fn a_second_bridge_of_the_same_bot_is_refused_and_told_who_runs() {
        let (_folder, path) = place();
        let lock = Lock::acquire(&path, TOKEN).unwrap();
        let error = Lock::acquire(&path, TOKEN).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        Lock::acquire(&path, TOKEN).unwrap();
    }

    #[test]
    fn a_second_bridge_in_the_same_data_folder_is_refused_and_told_which() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::of_folder(folder.path()).unwrap();
        let error = Lock::of_folder(folder.path()).unwrap_err();
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
        drop(lock);
        Lock::of_folder(folder.path()).unwrap();
    }

    #[test]
    fn a_dead_pid_is_replaced() {
        let (_folder, path) = place();
        put(&path, i32::MAX, TOKEN);
        Lock::acquire(&path, TOKEN).unwrap();
    }

    #[test]
    fn pid_reuse_does_not_matter() {
        let (_folder, path) = place();
        put(&path, std::process::id().cast_signed(), TOKEN);
        Lock::acquire(&path, TOKEN).unwrap();
    }

    #[test]
    fn another_bots_lock_is_replaced_even_if_it_lives_and_its_end_does_not_take_ours_away() {
        let (_folder, path) = place();
        let other = Lock::acquire(&path, "2:BB").unwrap();
        let ours = Lock::acquire(&path, TOKEN).unwrap();
        drop(other);
        assert!(path.exists(), "our file stays");
        assert!(Lock::acquire(&path, TOKEN).is_err());
        drop(ours);
    }

    #[test]
    fn it_is_removed_on_clean_shutdown() {
        let (_folder, path) = place();
        drop(Lock::acquire(&path, TOKEN).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn rubbish_in_the_file_is_no_reason_not_to_start() {
        let (_folder, path) = place();
        put(&path, 1, TOKEN);
        std::fs::write(&path, "not json").unwrap();
        Lock::acquire(&path, TOKEN).unwrap();
    }
}
