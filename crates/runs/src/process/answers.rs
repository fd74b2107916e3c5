//! What programs said about themselves, kept for as long as the program is the same: asking takes up to a second, and nothing
//! but another program answers differently.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// How long an answer holds at most: a program behind a launcher can change without the launcher changing.
const MAX_AGE: Duration = Duration::from_secs(86_400);
/// Who asks about more programs than this at a time is not there.
const MAX_PROGRAMS: usize = 64;

/// The answers that are known; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    known: Arc<Mutex<Option<Known>>>,
    /// Where they outlive the process; a folder that engines cannot write to.
    file: Option<PathBuf>,
}

type Known = BTreeMap<String, Kept>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    stamp: String,
    /// Unix time in seconds.
    asked_at: u64,
    answers: BTreeMap<String, String>,
}

impl Kept {
    /// A clock that went back makes nothing younger.
    fn is_young(&self, now: SystemTime) -> bool {
        seconds(now).checked_sub(self.asked_at).is_some_and(|age| age < MAX_AGE.as_secs())
    }
}

impl Answers {
    pub fn kept_in(file: PathBuf) -> Self {
        Self { file: Some(file), ..Self::default() }
    }

    /// What the program answered, if it is still the same one.
    pub fn get(&self, program: &Path, question: &str, now: SystemTime) -> Option<String> {
        let (path, stamp) = stamp(program)?;
        let mut known = self.known.lock();
        let kept = known.get_or_insert_with(|| self.read()).get(&path)?;
        let holds = kept.stamp == stamp && kept.is_young(now);
        holds.then(|| kept.answers.get(question).cloned()).flatten()
    }

    /// Keeps an answer. That it cannot be written is no trouble: somebody asks again.
    pub fn put(&self, program: &Path, question: &str, answer: &str, now: SystemTime) {
        let Some((path, stamp)) = stamp(program) else { return };
        let mut known = self.known.lock();
        // Another process may have learned more meanwhile.
        let mut all = if self.file.is_some() { self.read() } else { known.take().unwrap_or_default() };
        let fresh = Kept { stamp: stamp.clone(), asked_at: seconds(now), ..Kept::default() };
        let kept = all.entry(path).or_insert_with(|| fresh.clone());
        if kept.stamp != stamp || !kept.is_young(now) {
            *kept = fresh;
        }
        kept.answers.insert(question.to_owned(), answer.to_owned());
        while all.len() > MAX_PROGRAMS {
            all.pop_first();
        }
        self.write(&all);
        *known = Some(all);
    }

    fn read(&self) -> Known {
        let text = self.file.as_ref().and_then(|file| std::fs::read(file).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn write(&self, known: &Known) {
        let Some((file, folder)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else { return };
        // Readers see the old file or the new one, never half of it.
        let fresh = folder.join(format!(".programs-{}", std::process::id()));
        let private = |path: &Path| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
            file.write_all(&serde_json::to_vec(known).unwrap_or_default())
        };
        let _ =
            std::fs::create_dir_all(folder).and_then(|()| private(&fresh)).and_then(|()| std::fs::rename(&fresh, file));
    }
}

/// The program behind all links, and what changes with every version of it.
fn stamp(program: &Path) -> Option<(String, String)> {
    let path = program.canonicalize().ok()?;
    let data = path.metadata().ok()?;
    let times = [data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()];
    let stamp = format!("{} {} {} {times:?}", data.dev(), data.ino(), data.size());
    Some((path.to_string_lossy().into_owned(), stamp))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn an_answer_holds_until_the_program_is_another_and_at_most_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let (program, file) = (folder.path().join("engine"), folder.path().join("kept/programs.json"));
        std::fs::write(&program, "one").unwrap();
        Answers::kept_in(file.clone()).put(&program, "--help", "yes", at(1000));
        let later = Answers::kept_in(file);
        assert_eq!(later.get(&program, "--help", at(2000)).as_deref(), Some("yes"), "another process finds it");
        assert_eq!(later.get(&program, "--version", at(2000)), None);
        assert_eq!(later.get(&program, "--help", at(1000 + 86_400)), None, "a day later somebody asks again");
        assert_eq!(later.get(&program, "--help", at(10)), None, "nor does a clock that went back keep it for ever");
        std::fs::write(&program, "another").unwrap();
        assert_eq!(later.get(&program, "--help", at(2000)), None);
        later.put(&program, "--version", "2", at(2000));
        assert_eq!(later.get(&program, "--help", at(2000)), None, "what the old program said is gone");
    }

    #[test]
    fn a_link_that_leads_to_another_program_is_another_program() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, link] = ["1", "2", "link"].map(|name| folder.path().join(name));
        [&one, &two].into_iter().for_each(|path| std::fs::write(path, "same").unwrap());
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let answers = Answers::default();
        answers.put(&link, "--help", "yes", at(0));
        assert_eq!(answers.get(&one, "--help", at(0)).as_deref(), Some("yes"));
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&two, &link).unwrap();
        assert_eq!(answers.get(&link, "--help", at(0)), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_or_written_only_costs_the_asking() {
        let folder = tempfile::tempdir().unwrap();
        let (program, file) = (folder.path().join("engine"), folder.path().join("engine/no/folder"));
        std::fs::write(&program, "one").unwrap();
        let answers = Answers::kept_in(file);
        answers.put(&program, "--help", "yes", at(0));
        assert_eq!(answers.get(&program, "--help", at(0)).as_deref(), Some("yes"));
        std::fs::write(folder.path().join("bad.json"), "{not json").unwrap();
        assert_eq!(Answers::kept_in(folder.path().join("bad.json")).get(&program, "--help", at(0)), None);
    }
}
