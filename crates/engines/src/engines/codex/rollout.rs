//! What a conversation cost before a run, from the file that codex keeps of it: `codex exec` counts from its beginning, and
//! says only the sum.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use super::profile;
use crate::engine::EngineSettings;
use crate::json::field;

/// The last count is near the end of the file.
const MAX_TAIL_BYTES: u64 = 512 * 1024;

/// The counts at the end of the conversation; `None` when they cannot be found.
pub fn spent(settings: &EngineSettings, session: &str) -> Option<Value> {
    let file = file(&profile::home(settings).join("sessions"), session)?;
    let tail = tail(&file).ok()?;
    let last = tail.lines().rev().find(|line| line.contains("\"total_token_usage\""))?;
    let line: Value = serde_json::from_str(last).ok()?;
    let usage = field(field(field(&line, "payload"), "info"), "total_token_usage");
    usage.is_object().then(|| usage.clone())
}

/// It lies under the day on which it was begun, and its id begins with that time; the day is one of the machine's own zone.
fn file(sessions: &Path, session: &str) -> Option<PathBuf> {
    let (seconds, _) = uuid::Uuid::parse_str(session).ok()?.get_timestamp()?.to_unix();
    let begun = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    let end = format!("-{session}.jsonl");
    [0, -24, 24].into_iter().find_map(|hours| {
        let day = begun.checked_add(hours.hours()).ok()?.strftime("%Y/%m/%d").to_string();
        let files = std::fs::read_dir(sessions.join(day)).ok()?.flatten().map(|entry| entry.path());
        files.into_iter().find(|file| file.to_string_lossy().ends_with(&end))
    })
}

fn tail(file: &Path) -> std::io::Result<String> {
    let mut file = File::open(file)?;
    let from = file.metadata()?.len().saturating_sub(MAX_TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
