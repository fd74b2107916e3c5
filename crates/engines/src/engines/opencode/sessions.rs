//! Where opencode keeps its sessions: each belongs to a folder.
//!
//! Told to go on with the session of another folder, opencode does so, but unseen: what it does there is told to nobody, and
//! its end is waited for in vain. So the folder is looked up before it is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::ID;
use crate::engine::{EngineError, EngineSettings, Order};

/// How long a busy database may keep us waiting.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Refuses to go on with a session that is known to belong to another folder.
pub fn refuse_foreign(order: &Order<'_>) -> Result<(), EngineError> {
    let Some(token) = order.resume else { return Ok(()) };
    match data_folder(order.settings).and_then(|data| folder_of(&data, &token.value)) {
        Some(folder) if is_other(&folder, order.folder) => Err(foreign(&token.value, &folder)),
        _ => Ok(()),
    }
}

pub fn foreign(session: &str, folder: &str) -> EngineError {
    let sentence = format!("the session {session} of {ID} belongs to the folder `{folder}`");
    EngineError::new(sentence, "go on with it there, or begin a new one here")
}

/// Whether these are two folders; opencode writes them without symbolic links.
pub fn is_other(theirs: &str, ours: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(Path::new(theirs)) != real(ours)
}

/// What opencode itself looks for: the configuration's environment goes before ours.
fn data_folder(settings: &EngineSettings) -> Option<PathBuf> {
    let variable = |name: &str| settings.variable(name).map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")))?;
    Some(data.join("opencode"))
}

/// The folder of a session; `None` when nobody knows it.
fn folder_of(data: &Path, session: &str) -> Option<String> {
    let file = data.join("opencode.db");
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    database.busy_timeout(BUSY_TIMEOUT).ok()?;
    database.query_row("SELECT directory FROM session WHERE id = ?1", [session], |row| row.get(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Mode;
    use crate::event::ResumeToken;

    #[test]
    fn a_session_of_another_folder_is_refused_before_anything_is_started() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("opencode")).unwrap();
        let database = Connection::open(home.path().join("opencode/opencode.db")).unwrap();
        database.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE session (id TEXT, directory TEXT)").unwrap();
        database.execute("INSERT INTO session VALUES ('ses_1', '/elsewhere'), ('ses_2', '/r')", []).unwrap();
        let mut settings = EngineSettings::default();
        settings.env.insert("XDG_DATA_HOME".into(), home.path().to_string_lossy().into_owned());
        let asked = |session: &str| {
            let token = ResumeToken::new(ID, session);
            let (settings, resume, folder) = (&settings, Some(&token), Path::new("/r"));
            refuse_foreign(&Order { settings, prompt: "hi", resume, folder, mode: Mode::Plain, now: 0 })
        };
        assert!(asked("ses_1").unwrap_err().sentence.contains("belongs to the folder `/elsewhere`"));
        assert!(asked("ses_2").is_ok() && asked("ses_unknown").is_ok());
    }
}
