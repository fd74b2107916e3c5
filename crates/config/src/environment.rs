//! The environment as a value, so that tests need not change the one of the process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Environment variables by name.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// The variables of this process; names that are not text are none of ours.
    pub fn of_process() -> Self {
        let named = std::env::vars_os();
        Self(named.filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect())
    }

    /// Variables given one by one.
    pub fn from_pairs<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str)
    }

    /// A variable that names a folder; the XDG rules say that a relative one is ignored.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The files that `MOOT_…_FILE` names: each holds a secret.
    pub fn secret_files(&self) -> impl Iterator<Item = PathBuf> {
        let named = self.iter().filter(|(name, _)| name.starts_with("MOOT_") && name.ends_with("_FILE"));
        named.map(|(_, value)| PathBuf::from(value)).collect::<Vec<_>>().into_iter()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_os_str()))
    }
}
