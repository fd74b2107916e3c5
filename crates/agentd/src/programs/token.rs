//! Tokens of programs: random, per program, kept where only the owner reads them.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::file_names;

/// Where the token of a program is; `agents` are all names that there are.
pub fn path<'a>(data_dir: &Path, agent: &str, agents: impl IntoIterator<Item = &'a str>) -> PathBuf {
    file_names::place(&data_dir.join("agent-tokens"), agent, agents)
}

/// The token of a program; made when there is none.
pub fn of<'a>(data_dir: &Path, agent: &str, agents: impl IntoIterator<Item = &'a str>) -> std::io::Result<String> {
    let path = path(data_dir, agent, agents);
    let mut text = String::new();
    if let Ok(mut file) = std::fs::File::open(&path) {
        file.read_to_string(&mut text)?;
    }
    if text.trim().len() >= 32 {
        return Ok(text.trim().to_owned());
    }
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    // Under another name first: whoever finds a token finds the whole of it.
    let unfinished = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, &path)?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let token = of(folder.path(), "My Agent", []).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(of(folder.path(), "My Agent", []).unwrap(), token);
        assert_ne!(of(folder.path(), "other", []).unwrap(), token);
        let mode = path(folder.path(), "My Agent", []).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn agents_whose_names_look_alike_have_tokens_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a.b", "a_b"];
        let [one, two] = names.map(|name| of(folder.path(), name, names).unwrap());
        assert_ne!(one, two);
        std::fs::remove_file(path(folder.path(), "a.b", names)).unwrap();
        assert_eq!(of(folder.path(), "a.b", ["a.b"]).unwrap(), two, "in older versions this was the token of both");
    }

    #[test]
    fn what_a_killed_daemon_left_half_written_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "echo", []);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path.with_extension("new"), "half").unwrap();
        assert!(!path.exists());
        let token = of(folder.path(), "echo", []).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
        assert!(!path.with_extension("new").exists());
    }
}
