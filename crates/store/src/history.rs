//! Which history a data folder belongs to: uploaded files and secrets of one hub must not meet the messages of another.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use folkmoot_database::create_private_file;

use crate::StoreError;

/// The id of the history that is in the database, once the folder was used with one.
const FILE: &str = "hub.history";

/// Refuses a folder that was used with another history; one that was used with none belongs to this one from now on.
pub fn check(data_dir: &Path, history: &str, shown: &str) -> Result<(), StoreError> {
    match std::fs::read_to_string(path(data_dir)) {
        Ok(known) if known.trim() == history => Ok(()),
        Ok(_) => Err(StoreError::setup(
            format!("the data folder `{}` belongs to another hub than the database at {shown}", data_dir.display()),
            format!(
                "name the right ones in `server.data_dir` and `store.url`; if they belong together, remove `{FILE}` there"
            ),
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => write(data_dir, history),
        Err(error) => Err(problem(data_dir, &error)),
    }
}

pub fn write(data_dir: &Path, history: &str) -> Result<(), StoreError> {
    let partial = data_dir.join("hub.history.partial");
    let _ = std::fs::remove_file(&partial);
    let written = create_private_file(&partial)
        .and_then(|mut file| std::io::Write::write_all(&mut file, format!("{history}\n").as_bytes()))
        .and_then(|()| std::fs::rename(&partial, path(data_dir)));
    written.map_err(|error| problem(data_dir, &error))
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

fn problem(data_dir: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Folder { path: data_dir.display().to_string(), cause: error.to_string() }
}
