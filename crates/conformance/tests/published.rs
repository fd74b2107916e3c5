//! The tables in `conformance/` are the suites.

use std::path::PathBuf;

use folkmoot_conformance::{SUITES, table};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

#[test]
fn every_published_table_is_the_list_of_its_suite() {
    for suite in SUITES {
        let page = std::fs::read_to_string(folder().join(format!("{suite}.md"))).expect(suite);
        let table = table(suite).expect("a suite");
        assert!(
            page.contains(&table),
            "conformance/{suite}.md is old; write it again with `moot conformance list {suite}`"
        );
    }
    assert!(table("telegram").is_none());
}

#[test]
fn every_suite_has_its_page_and_every_page_its_suite() {
    let entries = std::fs::read_dir(folder()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<String> =
        entries.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    pages.sort();
    let mut suites = SUITES.map(str::to_owned).to_vec();
    suites.sort();
    assert_eq!(pages, suites);
}

#[test]
fn a_case_has_a_number_of_its_own_and_says_a_rule_on_one_line() {
    for suite in SUITES {
        let table = table(suite).expect("a suite");
        let rows: Vec<Vec<&str>> =
            table.lines().skip(2).map(|row| row.trim_matches('|').split(" | ").collect()).collect();
        let mut ids: Vec<&str> = rows.iter().map(|row| row[0].trim()).collect();
        assert!(rows.len() >= 10 && rows.iter().all(|row| row.len() == 3 && !row[2].trim().is_empty()), "{suite}");
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rows.len(), "{suite} has two cases of one number");
    }
}
