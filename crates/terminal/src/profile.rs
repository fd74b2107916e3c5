//! The profile: which hub `moot login` logged in to, and the token for it.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Fault;
use folkmoot_config::{Environment, Secret, paths};
use folkmoot_hub::modes;

/// What is kept between two commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub server: String,
    pub token: Secret,
    pub name: String,
    pub member_id: String,
    pub workspace_id: String,
    /// What the last log-in gave this device, so that the next one is told from those who guess.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Secret>,
}

/// `profile.json` in the configuration folder.
pub fn path() -> anyhow::Result<PathBuf> {
    let folder = paths::config_dir(&Environment::of_process()).ok_or_else(|| {
        Fault::failed("there is no home folder to keep a profile in").hint("set HOME, or use `--server` and `--token`")
    })?;
    Ok(folder.join("profile.json"))
}

/// The profile, if somebody has logged in.
pub fn read(path: &Path) -> anyhow::Result<Option<Profile>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => {
            other.map_err(|error| Fault::failed(format!("the profile {} cannot be read: {error}", path.display())))?
        }
    };
    let profile = serde_json::from_str(&text).map_err(|error| {
        Fault::failed(format!("the profile {} is damaged: {error}", path.display()))
            .hint("log in again with `moot login`")
    })?;
    Ok(Some(profile))
}

/// Keeps the profile for the owner's eyes only.
pub fn write(path: &Path, profile: &Profile) -> anyhow::Result<()> {
    let stored = serde_json::to_string_pretty(profile)
        .map_err(std::io::Error::from)
        .and_then(|text| write_for_owner(path, &text));
    stored.map_err(|error| Fault::failed(format!("the profile {} cannot be written: {error}", path.display())).into())
}

/// Replaces a file, which nobody but its owner can read at any moment.
pub fn write_for_owner(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    modes::make_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile {
            server: "http://127.0.0.1:8484".into(),
            token: Secret::new("t"),
            name: "ann".into(),
            member_id: "mem_1".into(),
            workspace_id: "ws_1".into(),
            device: None,
        }
    }

    #[test]
    fn a_profile_is_kept_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folkmoot/profile.json");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, &profile()).unwrap();
        assert_eq!(read(&path).unwrap(), Some(profile()));
        assert_eq!(modes::tend(&path), None, "nobody else can read it");
    }

    #[test]
    fn a_damaged_profile_says_how_to_mend_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        std::fs::write(&path, "{").unwrap();
        let error = read(&path).unwrap_err();
        let fault = error.downcast_ref::<Fault>().unwrap();
        assert_eq!(fault.hint.as_deref(), Some("log in again with `moot login`"));
    }
}
