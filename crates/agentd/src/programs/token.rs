//! Tokens of programs: random, per program, kept where only the owner reads them.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub fn path(data_dir: &Path, agent: &str) -> PathBuf {
    data_dir.join("agent-tokens").join(as_file_name(agent))
}

/// Names may hold what paths do not like.
pub fn as_file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.to_lowercase().chars().map(safe).collect()
}

/// The token of a program; made when there is none.
pub fn of(data_dir: &Path, agent: &str) -> std::io::Result<String> {
    let path = path(data_dir, agent);
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
        let token = of(folder.path(), "My Agent").unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(of(folder.path(), "My Agent").unwrap(), token);
        assert_ne!(of(folder.path(), "other").unwrap(), token);
        let mode = path(folder.path(), "My Agent").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_a_killed_daemon_left_half_written_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "echo");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path.with_extension("new"), "half").unwrap();
        assert!(!path.exists());
        let token = of(folder.path(), "echo").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
        assert!(!path.with_extension("new").exists());
    }
}
