//! Rules about `Cargo.toml`: what is named there is used, and nothing is compiled twice because two commands ask for other features.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use super::{read, root};

/// The folder of every member of the workspace, and of the fuzz targets.
fn packages() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let all = crates.chain([root().join("bench"), root().join("fuzz")]);
    all.filter(|folder| folder.join("Cargo.toml").exists()).collect()
}

fn manifest(folder: &Path) -> Table {
    std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// The Rust text below these parts of a package. Whatever is not a test folder counts as shipped.
fn text(folder: &Path, with_tests: bool) -> String {
    let is_test = |name: &str| ["tests", "benches", "examples"].contains(&name);
    let mut found = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(&below).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && (with_tests || below != folder || !is_test(&name)) && name != "target" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found += &std::fs::read_to_string(&path).unwrap();
            }
        }
    }
    found
}

/// Whether the text says this name as a word.
fn names(text: &str, crate_name: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(crate_name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + crate_name.len()..].chars().next());
        !is_letter(before) && !is_letter(after)
    })
}

/// The names in this table, and in the tables of the same name for single targets.
fn listed(manifest: &Table, table: &str) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = targets.filter_map(|target| target.get(table)).chain(manifest.get(table));
    tables.filter_map(Value::as_table).flat_map(Table::keys).map(|name| name.replace('-', "_")).collect()
}

#[test]
fn every_dependency_is_named_in_the_sources_of_its_crate() {
    let mut unused = Vec::new();
    for folder in packages() {
        let manifest = manifest(&folder);
        for (table, with_tests) in [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let text = text(&folder, with_tests);
            let missing = listed(&manifest, table).into_iter().filter(|name| !names(&text, name));
            unused.extend(missing.map(|name| format!("{}: {table}: {name}", folder.display())));
        }
    }
    assert!(unused.is_empty(), "nobody uses these: {unused:#?}");
}

#[test]
fn every_shared_version_is_asked_for_by_a_member() {
    let workspace: Table = read("Cargo.toml").parse().unwrap();
    let known = workspace["workspace"]["dependencies"].as_table().unwrap();
    let asked: BTreeSet<String> = packages()
        .iter()
        .map(|folder| manifest(folder))
        .flat_map(|manifest| {
            ["dependencies", "build-dependencies", "dev-dependencies"].map(|table| listed(&manifest, table)).concat()
        })
        .collect();
    let unused: Vec<&String> = known.keys().filter(|name| !asked.contains(&name.replace('-', "_"))).collect();
    assert!(unused.is_empty(), "no member asks for these: {unused:?}");
}

/// Every foreign package with the features that this command builds it with. Those for build scripts are left out: a build has them
/// apart.
fn features(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "-f", "{p} {f}"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn running_the_hub_and_testing_it_build_the_same() {
    let makefile = read("Makefile");
    let shared = makefile.lines().find_map(|line| line.strip_prefix("SHARED := ")).expect("`SHARED` in the Makefile");
    let mut run: Vec<&str> = vec!["-p", "folkmoot-moot", "-e", "normal"];
    run.extend(shared.split_whitespace());
    let all = features(&["--workspace", "-e", "normal,dev"]);
    for one in [features(&run), features(&["-p", "folkmoot-moot", "-e", "normal,dev"])] {
        assert!(one.len() > 100, "cargo tree says hardly anything: {one:?}");
        let other: Vec<_> = one.difference(&all).collect();
        assert!(other.is_empty(), "`make test` builds these with other features: {other:#?}");
    }
}
