//! The sources as the rules about them see them: one crate, its files, each without its tests.

use std::path::{Path, PathBuf};

/// The whole repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The folders below `crates`.
pub fn crates() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("crates")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// One file of a crate's `src`.
pub struct Source {
    /// From `src` on, as in `ws/run.rs`.
    pub path: String,
    /// Without the tests at its end.
    pub text: String,
}

impl Source {
    /// Where it stands in the tree of modules: `ws`, `run`. The crate's own root has no part.
    pub fn module(&self) -> Vec<&str> {
        let path = self.path.trim_end_matches(".rs");
        let parts = path.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main"));
        parts.collect()
    }
}

/// The files of a crate that are not tests.
pub fn sources(name: &str) -> Vec<Source> {
    let folder = root().join("crates").join(name).join("src");
    let mut found = Vec::new();
    collect(&folder, &folder, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(top: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "testing");
        if is_test {
            continue;
        }
        if path.is_dir() {
            collect(top, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = without_tests(&std::fs::read_to_string(&path).unwrap()).to_owned();
            found.push(Source { path: path.strip_prefix(top).unwrap().to_str().unwrap().to_owned(), text });
        }
    }
}

/// Tests that stand in the file stand at its end.
fn without_tests(text: &str) -> &str {
    let begins = text.match_indices("#[cfg(test)]\n").find(|(at, start)| {
        let line = text[at + start.len()..].lines().next().unwrap_or_default();
        line.contains("mod ") && line.ends_with('{')
    });
    begins.map_or(text, |(at, _)| &text[..at])
}
