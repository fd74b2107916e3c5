//! The suite: runs the scenarios one after the other, prints the table, writes `RESULTS.md`.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::peer::Peer;
use crate::process::{self, LOAD_CORE};
use crate::report::{Results, Row, table, verdict};
use crate::scenario::{self, Suite};
use crate::{USAGE, facts, hub};

#[derive(Debug, Default, PartialEq)]
pub struct Options {
    quick: bool,
    /// Names of scenarios; empty means all.
    only: Vec<String>,
    moot: Option<String>,
}

impl Options {
    pub fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(&arg) = rest.next() {
            match arg {
                "--quick" => options.quick = true,
                "--only" => {
                    let names = rest.next().context(USAGE)?;
                    options.only.extend(names.split(',').map(str::to_owned));
                }
                "--moot" => options.moot = Some((*rest.next().context(USAGE)?).to_owned()),
                unknown => bail!("unknown option `{unknown}`\n{USAGE}"),
            }
        }
        let known: Vec<&str> = scenario::ALL.iter().map(|(name, _)| *name).collect();
        match options.only.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => bail!("unknown scenario `{name}`\nhint: the scenarios are {}", known.join(", ")),
            None => Ok(options),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

pub fn suite(options: &Options) -> Result<()> {
    let bench_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let moot = hub::find_binary(options.moot.as_deref())?;
    process::raise_file_limit();
    process::pin_this_thread(LOAD_CORE)?;
    // Beside the sources rather than in a folder for temporary files, which may be memory and not disk.
    let target = bench_folder.join("target");
    std::fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("run-").tempdir_in(&target)?;
    let peer = Peer::find(bench_folder);
    let facts = facts::gather(&peer, scratch.path());
    let mut suite = Suite {
        moot,
        peer,
        scratch: scratch.path().to_owned(),
        quick: options.quick,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    let start = Instant::now();
    let failures = run_scenarios(&mut suite, options);
    let Suite { rows, mut notes, .. } = suite;
    notes.push(format!("the run took {:.0} s", start.elapsed().as_secs_f64()));
    let results = Results { quick: options.quick, facts, rows, notes, failures };
    finish(&results, options, bench_folder)
}

/// A scenario that fails leaves a gap, and the others still run.
fn run_scenarios(suite: &mut Suite, options: &Options) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, scenario) in scenario::ALL.into_iter().filter(|(name, _)| options.wants(name)) {
        eprintln!("{name} …");
        if let Err(error) = scenario(suite) {
            eprintln!("  failed: {error:#}");
            failures.push(format!("{name}: {error:#}"));
        }
        // A million messages are not kept while the next scenario runs.
        if let Err(error) = suite.clear_scratch() {
            failures.push(format!("{name}: cannot clear its folder: {error:#}"));
        }
    }
    failures
}

fn finish(results: &Results, options: &Options, bench_folder: &Path) -> Result<()> {
    if options.quick {
        println!("QUICK RUN: short measurements and a smaller database");
    }
    print_rows(&results.rows);
    results.notes.iter().for_each(|note| println!("- {note}"));
    if options.only.is_empty() {
        std::fs::write(bench_folder.join("RESULTS.md"), results.markdown()).context("cannot write RESULTS.md")?;
        println!("\nwritten to bench/RESULTS.md");
    } else {
        println!("\nRESULTS.md is left as it was, because this was not the whole suite");
    }
    match results.failures.as_slice() {
        [] => Ok(()),
        failures => bail!("some scenarios failed\n{}", failures.join("\n")),
    }
}

fn print_rows(rows: &[Row]) {
    println!("\n{}\n{}", table(rows), verdict(rows));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_scenarios_and_the_binary() {
        let options = Options::parse(&["--quick", "--only", "idle,storm", "--moot", "x"]).expect("options");
        assert!(options.quick && options.wants("idle") && options.wants("storm") && !options.wants("growth"));
        assert_eq!(options.moot.as_deref(), Some("x"));
        assert!(Options::parse(&[]).expect("options").wants("growth"));
    }

    #[test]
    fn unknown_scenarios_and_options_are_named() {
        let complaint = |args: &[&str]| Options::parse(args).expect_err("an error").to_string();
        assert!(complaint(&["--only", "idel"]).contains("`idel`"));
        assert!(complaint(&["--fast"]).contains("`--fast`"));
        assert!(complaint(&["--moot"]).contains("usage"));
    }
}
