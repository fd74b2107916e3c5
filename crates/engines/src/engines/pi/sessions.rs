//! pi's sessions on disk: which one is meant, and whose folder it is.
//!
//! pi takes the beginning of an id for the whole, and its ids begin with the time: sessions of the same minute share it, and
//! the first one found is continued. A session of another folder it wants to fork, and asks on a terminal that nobody sees;
//! named by its file, it works in that other folder. So we look ourselves, before it starts.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::ID;
use crate::engine::{EngineError, Order};
use crate::json::words;

/// The first line of a session is short; more of it is not read.
const MAX_HEADER_BYTES: u64 = 64 * 1024;

/// A session as pi is told of it, and as it is known afterwards.
#[derive(Debug, PartialEq)]
pub struct Session {
    pub argument: String,
    pub token: String,
}

/// What the first line of a session's file says.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    id: String,
    folder: PathBuf,
    file: PathBuf,
}

/// The session that a token means; what is not on this disk is left to pi, which says so.
pub fn known(order: &Order<'_>, value: &str) -> Result<Session, EngineError> {
    let places = places(order);
    let header = if value.contains(['/', '\\']) || value == "~" || value.ends_with(".jsonl") {
        header(own_file(&places, value)?)
    } else {
        the_one(headers(&places), value)?
    };
    let Some(Header { id, folder, file }) = header else {
        return Ok(Session { argument: value.to_owned(), token: value.to_owned() });
    };
    if !is_same(&folder, order.folder) {
        let (here, there) = (order.folder.display(), folder.display());
        let hint = "go on in that folder, or begin a new session here";
        return Err(EngineError::new(format!("the session {id} of {ID} belongs to {there}, not to {here}"), hint));
    }
    Ok(Session { argument: file.to_string_lossy().into_owned(), token: id })
}

/// The file of a new session, where pi itself would put it.
pub fn new(order: &Order<'_>) -> Session {
    let place = order.folder.to_string_lossy();
    let place = place.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
    let name = format!("{}_{}.jsonl", super::file_time(order.now), uuid::Uuid::new_v4().simple());
    let file = match chosen_place(order) {
        Some(folder) => folder.join(name),
        None => usual_place(order).join(format!("--{place}--")).join(name),
    };
    let file = file.to_string_lossy().into_owned();
    Session { argument: file.clone(), token: file }
}

/// A file that is none of pi's own would be read, and written to.
fn own_file<'a>(places: &[PathBuf], value: &'a str) -> Result<&'a Path, EngineError> {
    let path = Path::new(value);
    let is_own = places.iter().any(|place| path.starts_with(place));
    if is_own && path.components().all(|part| part != Component::ParentDir) && value.ends_with(".jsonl") {
        return Ok(path);
    }
    let hint = format!("{ID} keeps its sessions in {}", places[0].display());
    Err(EngineError::new(format!("`{value}` is not a session of {ID}"), hint))
}

/// The session with this id, or the only one that begins so.
fn the_one(mut headers: Vec<Header>, value: &str) -> Result<Option<Header>, EngineError> {
    headers.retain(|header| header.id.starts_with(value));
    if let Some(at) = headers.iter().position(|header| header.id == value) {
        return Ok(Some(headers.swap_remove(at)));
    }
    if headers.len() < 2 {
        return Ok(headers.pop());
    }
    headers.sort_by(|one, other| other.id.cmp(&one.id));
    let named: Vec<String> =
        headers.iter().take(3).map(|header| format!("{} ({})", header.id, header.folder.display())).collect();
    let sentence = format!("`{value}` is the beginning of {} sessions of {ID}", headers.len());
    Err(EngineError::new(sentence, format!("say which one, with its whole id: {}", named.join(", "))))
}

fn headers(places: &[PathBuf]) -> Vec<Header> {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let folders = places.iter().flat_map(|place| inside(place).filter(|path| path.is_dir()).chain([place.clone()]));
    folders
        .flat_map(|folder| inside(&folder).filter(is_session).collect::<Vec<_>>())
        .filter_map(|file| header(&file))
        .collect()
}

fn header(file: &Path) -> Option<Header> {
    let mut line = String::new();
    BufReader::new(File::open(file).ok()?.take(MAX_HEADER_BYTES)).read_line(&mut line).ok()?;
    let said: Value = serde_json::from_str(&line).ok()?;
    words(&said, "type").filter(|kind| *kind == "session")?;
    Some(Header { id: words(&said, "id")?.to_owned(), folder: words(&said, "cwd")?.into(), file: file.to_owned() })
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

/// Where sessions can be: where it was told to keep them, and where it keeps them otherwise.
fn places(order: &Order<'_>) -> Vec<PathBuf> {
    chosen_place(order).into_iter().chain([usual_place(order)]).collect()
}

fn chosen_place(order: &Order<'_>) -> Option<PathBuf> {
    let args = &order.settings.extra_args;
    let next = args.iter().position(|argument| argument == "--session-dir").and_then(|at| args.get(at + 1)).cloned();
    next.or_else(|| order.settings.variable("PI_CODING_AGENT_SESSION_DIR")).map(|place| at_home(order, &place))
}

fn usual_place(order: &Order<'_>) -> PathBuf {
    let agent = order.settings.variable("PI_CODING_AGENT_DIR").map(|place| at_home(order, &place));
    agent.unwrap_or_else(|| at_home(order, "~/.pi/agent")).join("sessions")
}

fn at_home(order: &Order<'_>, place: &str) -> PathBuf {
    let home = || PathBuf::from(order.settings.variable("HOME").unwrap_or_default());
    match place.strip_prefix("~/") {
        Some(rest) => home().join(rest),
        None => place.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineSettings, Mode};

    /// Ids as pi 0.74.2 gave them to two sessions that were begun within a minute, and one of another folder.
    const ONE: &str = "01a1e509-d373-762d-ad6d-50ba15f2ff5b";
    const OTHER: &str = "01a1e509-07ae-7a2b-9896-cf7cb2f522c5";
    const ELSEWHERE: &str = "01a1e50a-d9da-74f5-9fe5-324a50960293";

    struct Disk {
        agent: tempfile::TempDir,
    }

    impl Disk {
        fn new() -> Self {
            let disk = Self { agent: tempfile::tempdir().unwrap() };
            disk.keep("--r--/a", ONE, "/r");
            disk.keep("--r--/b", OTHER, "/r");
            disk.keep("--elsewhere--/c", ELSEWHERE, "/elsewhere");
            disk
        }

        fn file(&self, name: &str) -> PathBuf {
            self.agent.path().join("sessions").join(format!("{name}.jsonl"))
        }

        fn keep(&self, name: &str, id: &str, folder: &str) {
            let file = self.file(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let line = serde_json::json!({"type": "session", "version": 3, "id": id, "cwd": folder});
            std::fs::write(file, format!("{line}\n{{\"type\":\"message\"}}\n")).unwrap();
        }

        fn known(&self, value: &str) -> Result<Session, EngineError> {
            let mut settings = EngineSettings::default();
            settings.env.insert("PI_CODING_AGENT_DIR".into(), self.agent.path().to_string_lossy().into_owned());
            let (folder, mode) = (Path::new("/r"), Mode::Plain);
            known(&Order { settings: &settings, prompt: "hi", resume: None, folder, mode, now: 0 }, value)
        }
    }

    #[test]
    fn sessions_of_the_same_minute_are_told_apart_by_their_whole_ids() {
        let disk = Disk::new();
        for (id, file) in [(ONE, "--r--/a"), (OTHER, "--r--/b")] {
            let file = disk.file(file).to_string_lossy().into_owned();
            assert_eq!(disk.known(id), Ok(Session { argument: file, token: id.to_owned() }));
        }
    }

    #[test]
    fn the_beginning_of_an_id_is_enough_for_one_session_and_refused_in_words_for_several() {
        let disk = Disk::new();
        assert_eq!(disk.known("01a1e509-d").unwrap().token, ONE);
        let error = disk.known("01a1e509").unwrap_err();
        assert_eq!(error.sentence, "`01a1e509` is the beginning of 2 sessions of pi");
        assert!(error.hint.unwrap().contains(&format!("{ONE} (/r), {OTHER} (/r)")));
    }

    #[test]
    fn a_session_of_another_folder_is_refused_in_words_by_its_id_and_by_its_file() {
        let disk = Disk::new();
        let file = disk.file("--elsewhere--/c").to_string_lossy().into_owned();
        for value in [ELSEWHERE, "01a1e50a", &file] {
            let error = disk.known(value).unwrap_err();
            assert_eq!(error.sentence, format!("the session {ELSEWHERE} of pi belongs to /elsewhere, not to /r"));
        }
    }

    #[test]
    fn a_file_is_known_by_the_id_in_it_and_one_that_is_not_pis_own_is_refused() {
        let disk = Disk::new();
        assert_eq!(disk.known(&disk.file("--r--/b").to_string_lossy()).unwrap().token, OTHER);
        let later = disk.file("--r--/not-yet").to_string_lossy().into_owned();
        assert_eq!(disk.known(&later), Ok(Session { argument: later.clone(), token: later }));
        for value in ["/etc/passwd", "~", "x.jsonl", &disk.file("../x").to_string_lossy()] {
            assert!(disk.known(value).unwrap_err().sentence.contains("is not a session of pi"), "{value}");
        }
    }

    #[test]
    fn what_is_not_on_this_disk_is_left_to_pi() {
        let disk = Disk::new();
        assert_eq!(disk.known("ccd569e0").unwrap().argument, "ccd569e0");
    }
}
