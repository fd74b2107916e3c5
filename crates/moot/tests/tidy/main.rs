//! Rules about the tree itself: who may depend on whom ([`walls`]), how large anything gets ([`sizes`]), and documents that must
//! not lie ([`walks`], and the rest below).

mod manifests;
mod sizes;
mod tree;
mod walks;
mod walls;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tree::{read, root};

#[test]
fn every_program_that_is_started_gets_a_chosen_environment() {
    // The supervisor passes on what was chosen for it; `moot agentd start` starts ourselves, with our own settings.
    let known = ["crates/runs/src/process/supervisor.rs", "crates/moot/src/cli/agentd.rs"];
    let mut starting = 0;
    let shipped = |path: &Path| path.components().any(|part| part.as_os_str() == "src") && !path.ends_with("tests.rs");
    // Servers for tests are started by tests.
    let for_tests = |path: &Path| path.starts_with(root().join("crates/testbed"));
    for (path, text) in sources().iter().filter(|(path, _)| shipped(path) && !for_tests(path)) {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        if !text.contains("Command::new(") || text.contains("Command::new(env!") {
            continue;
        }
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        starting += 1;
        assert!(known.contains(&name) || text.contains("environment::clean("), "{name} starts a program");
    }
    assert!(starting >= 6, "{starting} places start programs; the test looks for the wrong word");
}

/// What stands between backticks and looks like a path of the tree.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let tops = ["crates/", "docs/", "bench/", "fuzz/", "web/", ".ci/"];
    let quoted = quoted.map(|word| word.split("::").next().unwrap_or(word));
    quoted.filter(|word| tops.iter().any(|top| word.starts_with(top)) && !word.contains(['*', '{', '<', ' '])).collect()
}

#[test]
fn every_path_that_the_map_names_exists() {
    let text = read("ARCHITECTURE.md");
    let paths = paths(&text);
    assert!(paths.len() >= 5, "ARCHITECTURE.md names hardly any path: {paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

#[test]
fn the_map_names_every_crate_and_every_door() {
    let text = read("ARCHITECTURE.md");
    let folders = |path: &str| -> Vec<String> {
        let entries = std::fs::read_dir(root().join(path)).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| format!("{path}/{}", entry.file_name().to_str().unwrap())).collect()
    };
    for folder in folders("crates").into_iter().chain(folders("crates/doors/src")) {
        assert!(text.contains(&format!("`{folder}")), "ARCHITECTURE.md does not mention `{folder}`");
    }
}

#[test]
fn documents_link_to_what_exists() {
    let mut broken = Vec::new();
    for file in documents() {
        let text = std::fs::read_to_string(&file).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let local = !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:");
            if local && !file.parent().unwrap().join(path).exists() {
                broken.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn documents() -> Vec<PathBuf> {
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let below = |folder: PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_markdown).collect()
    };
    let folders = ["", "docs", "docs/doors", "docs/how-to", "docs/decisions", "bench", "conformance"];
    folders.iter().flat_map(|folder| below(root().join(folder))).collect()
}

#[test]
fn every_door_has_its_page() {
    let entries = std::fs::read_dir(root().join("crates/doors/src")).unwrap().map(Result::unwrap);
    for door in entries.filter(|entry| entry.path().is_dir()) {
        let page = format!("docs/doors/{}.md", door.file_name().to_str().unwrap());
        assert!(root().join(&page).exists(), "there is no {page}");
    }
}

#[test]
fn the_operations_page_names_every_key() {
    let text = read("docs/operations.md");
    for key in folkmoot_config::keys::KEYS {
        assert!(text.contains(&format!("`{}`", key.path)), "docs/operations.md does not mention `{}`", key.path);
    }
}

#[test]
fn the_openapi_file_is_current() {
    let now = folkmoot_moot::rest::openapi_json();
    let same = read("docs/openapi.json").trim_end() == now.trim_end();
    assert!(same, "docs/openapi.json is old; write it again with `make openapi`");
}

#[test]
fn the_asyncapi_file_is_current() {
    let same = read("docs/asyncapi.json").trim_end() == folkmoot_moot::rest::asyncapi_json().trim_end();
    assert!(same, "docs/asyncapi.json is old; write it again with `make openapi`");
}

#[test]
fn every_database_is_opened_in_the_one_way_that_a_backup_finds() {
    // A backup copies into a file that is no database of anybody's; whoever looks only needs no mark.
    let known = ["crates/store/src/archive/backup.rs", "crates/engines/src/engines/opencode/sessions.rs"];
    let shipped = |path: &Path| path.components().any(|part| part.as_os_str() == "src") && !path.ends_with("tests.rs");
    let mut opening = Vec::new();
    // Servers for tests are started by tests.
    let for_tests = |path: &Path| path.starts_with(root().join("crates/testbed"));
    for (path, text) in sources().iter().filter(|(path, _)| shipped(path) && !for_tests(path)) {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if text.contains("rusqlite") && text.contains("Connection::open") && !known.contains(&name) {
            opening.push(name.to_owned());
        }
    }
    assert_eq!(opening, ["crates/database/src/schema.rs"], "open a database with `folkmoot_database::Schema`");
}

/// Every Rust file below `crates`, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("crates")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// Whether a file or folder of this name has that test, or, without one, whether a file of this name has any.
fn is_proven(sources: &[(PathBuf, String)], proof: &str) -> bool {
    let (file, test) = proof.split_once("::").map_or((proof, None), |(file, test)| (file, Some(test)));
    let called = |path: &Path| {
        let stem = path.file_stem().is_some_and(|stem| stem == file);
        stem || path.ends_with(format!("{file}/mod.rs"))
    };
    let tested = |text: &str| match test {
        Some(test) => text.contains(&format!("fn {test}(")),
        None => text.contains("#[tokio::test") || text.contains("#[test]"),
    };
    sources.iter().any(|(path, text)| called(path) && tested(text))
}

#[test]
fn every_test_that_the_threat_table_names_exists() {
    let text = read("docs/security.md");
    let quoted = text.split('`').skip(1).step_by(2);
    let is_proof = |word: &&str| word.contains("::") || word.starts_with("abuse_");
    let proofs: BTreeSet<&str> = quoted.filter(is_proof).filter(|word| *word != "file::test").collect();
    assert!(proofs.len() > 40, "docs/security.md names hardly any test: {proofs:?}");
    let sources = sources();
    let missing: Vec<&&str> = proofs.iter().filter(|proof| !is_proven(&sources, proof)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:#?}");
}
