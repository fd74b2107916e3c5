//! The databases of the data folder: the version of the hub's own, and whether every page of all of them is sound.

use std::path::{Path, PathBuf};

use folkmoot_store::{Location, StoreError};

use super::Finding;
use crate::cli::output;

const SUBJECT: &str = "database";
const RESTORE: &str = "restore a backup with `moot restore FILE --force`";

pub fn check(store: &str, data_dir: &Path) -> Finding {
    let file = data_dir.join("hub.db");
    match Location::parse(store).and_then(|location| folkmoot_store::describe(&location, data_dir)) {
        Ok(sentence) if store == "sqlite" && file.exists() => {
            Finding::ok(SUBJECT, format!("{sentence}, {}", size(&file)))
        }
        Ok(sentence) => Finding::ok(SUBJECT, sentence),
        Err(error) => Finding::fail(SUBJECT, error.to_string(), error.hint().unwrap_or(RESTORE)),
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
