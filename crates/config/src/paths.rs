//! Where files live: the XDG folders, each with `folkmoot/` below it.

use std::path::PathBuf;

use super::Environment;

const FOLDER: &str = "folkmoot";

/// `$XDG_CONFIG_HOME/folkmoot`, else `~/.config/folkmoot`.
pub fn config_dir(environment: &Environment) -> Option<PathBuf> {
    let base = environment.folder("XDG_CONFIG_HOME").or_else(|| Some(home(environment)?.join(".config")));
    Some(base?.join(FOLDER))
}

/// `$XDG_DATA_HOME/folkmoot`, else `~/.local/share/folkmoot`.
pub fn data_dir(environment: &Environment) -> Option<PathBuf> {
    let base = environment.folder("XDG_DATA_HOME").or_else(|| Some(home(environment)?.join(".local/share")));
    Some(base?.join(FOLDER))
}

/// `$XDG_STATE_HOME/folkmoot`, else `~/.local/state/folkmoot`.
pub fn state_dir(environment: &Environment) -> Option<PathBuf> {
    let base = environment.folder("XDG_STATE_HOME").or_else(|| Some(home(environment)?.join(".local/state")));
    Some(base?.join(FOLDER))
}

/// `$XDG_RUNTIME_DIR/folkmoot`; there is no fallback, because other folders are not cleared at logout.
pub fn runtime_dir(environment: &Environment) -> Option<PathBuf> {
    Some(environment.folder("XDG_RUNTIME_DIR")?.join(FOLDER))
}

/// Replaces a leading `~` by the home folder.
pub fn expand_home(text: &str, environment: &Environment) -> PathBuf {
    match (text.strip_prefix('~'), home(environment)) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

fn home(environment: &Environment) -> Option<PathBuf> {
    environment.folder("HOME")
}
