//! The databases of the data folder: the version of the hub's own, and whether every page of all of them is sound.

use std::path::{Path, PathBuf};

use folkmoot_store::StoreError;

use super::Finding;
use crate::cli::output;

const SUBJECT: &str = "database";
const RESTORE: &str = "restore a backup with `moot restore FILE --force`";

pub fn check(data_dir: &Path) -> Finding {
    match folkmoot_store::inspect(data_dir) {
        Ok(None) => Finding::ok(SUBJECT, "none yet; the first start makes it"),
        Ok(Some(found)) if found.version < found.known => Finding::ok(
            SUBJECT,
            format!("version {}, sound; the next start brings it to {}", found.version, found.known),
        ),
        Ok(Some(found)) => {
            Finding::ok(SUBJECT, format!("version {}, sound, {}", found.version, size(&data_dir.join("hub.db"))))
        }
        Err(error @ StoreError::Newer { .. }) => {
            Finding::fail(SUBJECT, error.to_string(), "use the version of moot that wrote it, or a newer one")
        }
        Err(error @ StoreError::LogLost { .. }) => Finding::fail(
            SUBJECT,
            error.to_string(),
            "bring the log back, or restore a backup with `moot restore FILE --force`; to go on with what is there, remove \
             `hub.db-mark` beside it",
        ),
        Err(error) => Finding::fail(SUBJECT, error.to_string(), RESTORE),
    }
}

/// Those that parts of the hub keep beside its own.
pub fn check_others(data_dir: &Path) -> Vec<Finding> {
    let others = match folkmoot_store::inspect_others(data_dir) {
        Ok(others) => others,
        Err(error) => return vec![Finding::fail(SUBJECT, error.to_string(), "check who may read the folder")],
    };
    let finding = |(name, problem): (PathBuf, Option<StoreError>)| match problem {
        None => Finding::ok(SUBJECT, format!("{} is sound, {}", name.display(), size(&data_dir.join(&name)))),
        Some(error) => Finding::fail(SUBJECT, error.to_string(), RESTORE),
    };
    others.into_iter().map(finding).collect()
}

fn size(database: &Path) -> String {
    output::size(std::fs::metadata(database).map_or(0, |metadata| metadata.len()))
}
