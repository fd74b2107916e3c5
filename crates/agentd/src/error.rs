//! Why a daemon cannot begin, or has to end.

use std::path::PathBuf;

use crate::journal::JournalError;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the hub does not know the key of this daemon: {0}")]
    Refused(String),
    #[error("the socket `{}` cannot be opened: {cause}", path.display())]
    Socket { path: PathBuf, cause: std::io::Error },
}
