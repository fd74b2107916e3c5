//! The recorded streams of the real programs, played through our adapters: every one obeys the contract and gives its answer.
//!
//! `make record-engines` makes them. A file is JSON lines: first what it is and what must come of it, then what was said, each
//! with its moment in milliseconds: `prompt`, `sent` and `got` (to and from the program), `text` (no JSON), `answer`, `words`,
//! `interrupt`, `cancel` (from people), `exit`.

#[path = "../models/mod.rs"]
mod models;

mod replay;

use std::path::{Path, PathBuf};

use replay::{Played, Recording};

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recorded");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

#[test]
fn every_recorded_stream_obeys_the_contract_and_gives_its_answer() {
    let files = recordings();
    assert!(files.len() > 50, "{} recordings", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let recording = Recording::read(file);
        let faults = std::panic::catch_unwind(|| recording.play().faults(&recording));
        let faults = faults.unwrap_or_else(|_| vec!["the adapter panicked".to_owned()]);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        wrong.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_recording_says_what_made_it_and_how_to_make_it_again() {
    for file in recordings() {
        let recording = Recording::read(&file);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        for key in ["program", "version", "engine", "mode", "case"] {
            assert!(recording.header[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {key}");
        }
        assert_eq!(recording.header["again"], format!("make record-engines RECORD={name}"));
        let text = std::fs::read_to_string(&file).unwrap();
        for private in ["/root/", "real-engines"] {
            assert!(!text.contains(private), "{name} names {private}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_before_its_answer_does_not_pass() {
    for file in recordings().iter().filter(|file| file.to_string_lossy().ends_with("-hello.jsonl")) {
        let mut recording = Recording::read(file);
        let end = recording.lines.iter().position(|line| line["got"].to_string().contains("Hello from")).unwrap();
        recording.lines.truncate(end);
        let played: Played = recording.play();
        assert!(!played.faults(&recording).is_empty(), "{}", file.display());
    }
}
