//! The database: its version, and whether every page of it is sound.

use std::path::Path;

use folkmoot_store::StoreError;

use super::Finding;
use crate::cli::output;

const SUBJECT: &str = "database";

pub fn check(data_dir: &Path) -> Finding {
    match folkmoot_store::inspect(data_dir) {
        Ok(None) => Finding::ok(SUBJECT, "none yet; the first start makes it"),
        Ok(Some(found)) if found.version < found.known => Finding::ok(
            SUBJECT,
            format!("version {}, sound; the next start brings it to {}", found.version, found.known),
        ),
        Ok(Some(found)) => Finding::ok(SUBJECT, format!("version {}, sound, {}", found.version, size(data_dir))),
        Err(error @ StoreError::Newer { .. }) => {
            Finding::fail(SUBJECT, error.to_string(), "use the version of moot that wrote it, or a newer one")
        }
        Err(error @ StoreError::LogLost { .. }) => Finding::fail(
            SUBJECT,
            error.to_string(),
            "bring the log back, or restore a backup with `moot restore FILE --force`; to go on with what is there, remove \
             `hub.db-mark` beside it",
        ),
        Err(error) => Finding::fail(SUBJECT, error.to_string(), "restore a backup with `moot restore FILE --force`"),
    }
}

fn size(data_dir: &Path) -> String {
    output::size(std::fs::metadata(data_dir.join("hub.db")).map_or(0, |metadata| metadata.len()))
}
