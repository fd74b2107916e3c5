//! What is known about the programs behind the engines: where they come from, which versions were tried, how people log in,
//! and what they can be told. A newer version than those here runs too; people are told that nobody has tried it.

use std::cmp::Ordering;

use crate::engine::Mode;

/// One engine's program.
#[derive(Debug)]
pub struct Program {
    pub engine: &'static str,
    /// Its package in the registry of npm.
    pub package: &'static str,
    /// Whether it has to do something after it is unpacked, which newer versions of npm do only when they are told.
    pub has_scripts: bool,
    /// What `moot engines install` takes: the first one that the Node here can run.
    pub releases: &'static [Release],
    /// Versions that were tried, the oldest first.
    pub tried: &'static [&'static str],
    /// Arguments that open its own login.
    pub login: &'static [&'static str],
    /// What to do in there, where it does not say so itself.
    pub login_words: Option<&'static str>,
    /// Arguments with which it says whether it is logged in, and variables that keep it off the network meanwhile.
    pub status: &'static [&'static str],
    pub status_env: &'static [(&'static str, &'static str)],
    /// How long it can be told to think; empty: the words depend on the model.
    pub levels: &'static [&'static str],
    /// Whether it asks before it acts, in its warm mode. In the plain one nobody could answer.
    pub asks: bool,
}

/// A version, and the oldest Node that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    pub version: &'static str,
    pub node: &'static str,
}

pub static ALL: [Program; 4] = [
    Program {
        engine: "claude",
        package: "@anthropic-ai/claude-code",
        has_scripts: true,
        releases: &[Release { version: "2.1.325", node: "22.0" }, Release { version: "2.1.197", node: "18.0" }],
        tried: &["2.1.197", "2.1.325"],
        login: &["auth", "login"],
        login_words: None,
        status: &["auth", "status"],
        status_env: &[("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        levels: &["low", "medium", "high", "xhigh", "max"],
        asks: true,
    },
    Program {
        engine: "codex",
        package: "@openai/codex",
        has_scripts: false,
        releases: &[Release { version: "0.166.0", node: "16.0" }],
        tried: &["0.166.0"],
        login: &["login"],
        login_words: None,
        status: &["login", "status"],
        status_env: &[],
        levels: &["none", "minimal", "low", "medium", "high", "xhigh"],
        asks: true,
    },
    Program {
        engine: "opencode",
        package: "opencode-ai",
        has_scripts: true,
        releases: &[Release { version: "1.18.33", node: "18.0" }],
        tried: &["1.18.33"],
        login: &["auth", "login"],
        login_words: None,
        // Its list of credentials does not know providers of the configuration; its models do.
        status: &["models"],
        status_env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        levels: &[],
        asks: true,
    },
    Program {
        engine: "pi",
        package: "@earendil-works/pi-coding-agent",
        has_scripts: false,
        releases: &[Release { version: "0.87.1", node: "22.19" }, Release { version: "0.74.2", node: "20.6" }],
        tried: &["0.73.1", "0.74.2", "0.87.1"],
        login: &[],
        login_words: Some("type /login there, and /quit when it is done"),
        status: &["--list-models"],
        status_env: &[("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")],
        levels: &["off", "minimal", "low", "medium", "high", "xhigh"],
        asks: false,
    },
];

/// The program of that engine; a script has none.
pub fn of(engine: &str) -> Option<&'static Program> {
    ALL.iter().find(|program| program.engine == engine)
}

/// Whether an engine that is driven this way puts to people what it is about to do. A script asks what is written in it.
pub fn asks(engine: &str, mode: Mode) -> bool {
    of(engine).is_none_or(|program| program.asks && mode == Mode::Warm)
}

impl Program {
    /// What to install where this Node is.
    pub fn release_for(&self, node: &str) -> Option<Release> {
        self.releases.iter().copied().find(|release| order(node, release.node).is_ge())
    }

    /// A word on a version that nobody has tried.
    pub fn note(&self, version: &str) -> Option<String> {
        let newest = self.tried.last()?;
        let known = version.starts_with(|first: char| first.is_ascii_digit());
        (known && order(version, newest).is_gt()).then(|| format!("newer than {newest}, the last one that was tried"))
    }

    /// Whether it is one of those that can say whether they are logged in; older ones may take the words for a prompt.
    pub fn can_say_status(&self, version: &str) -> bool {
        self.tried.first().is_some_and(|oldest| order(version, oldest).is_ge())
    }
}

/// How two versions compare, number by number; what is missing counts as 0.
pub fn order(one: &str, other: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        let text = text.trim_start_matches('v');
        text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    let (mut one, mut other) = (numbers(one), numbers(other));
    let length = one.len().max(other.len());
    one.resize(length, 0);
    other.resize(length, 0);
    one.cmp(&other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;

    #[test]
    fn every_engine_that_needs_a_program_has_a_row_with_what_is_tried() {
        for engine in engines::ALL {
            let row = of(engine.id().as_str());
            assert_eq!(row.is_some(), engine.needs_program(), "{}", engine.id());
            let Some(row) = row else { continue };
            let rises = |pair: &[&str]| order(pair[0], pair[1]).is_lt();
            assert!(row.tried.windows(2).all(rises), "{:?}", row.tried);
            assert!(
                row.releases.iter().all(|release| row.tried.contains(&release.version)),
                "what is installed was tried"
            );
            assert_eq!(row.releases[0].version, *row.tried.last().unwrap(), "the newest that was tried goes first");
        }
    }

    #[test]
    fn the_table_in_the_documents_is_this_one() {
        let page = include_str!("../../../docs/engines.md");
        for program in &ALL {
            let begins = format!("| {} | `{}` |", program.engine, program.package);
            let row = page.lines().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("no row {begins}"));
            assert!(program.tried.iter().all(|version| row.contains(version)), "{row}");
            let node = |release: &Release| release.node.strip_suffix(".0").unwrap_or(release.node).to_owned();
            assert!(program.releases.iter().all(|release| row.contains(&format!("Node {}", node(release)))), "{row}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(order("2.1.325", "2.1.4"), Ordering::Greater);
        assert_eq!(order("v20.20.2", "20.6"), Ordering::Greater);
        assert_eq!(order("1.5", "1.5.0"), Ordering::Equal);
        assert_eq!(order("0.166.0-beta.1", "0.166.0"), Ordering::Equal);
        assert_eq!(order("22.18.9", "22.19"), Ordering::Less);
    }

    #[test]
    fn an_older_node_gets_the_newest_version_that_it_can_run() {
        let pi = of("pi").unwrap();
        assert_eq!(pi.release_for("v22.19.0").unwrap().version, "0.87.1");
        assert_eq!(pi.release_for("v20.20.2").unwrap().version, "0.74.2");
        assert_eq!(pi.release_for("v18.0.0"), None);
    }

    #[test]
    fn an_unknown_newer_version_is_noted_and_a_known_or_older_one_is_not() {
        let codex = of("codex").unwrap();
        assert!(codex.note("0.167.0").unwrap().contains("0.166.0"));
        assert_eq!((codex.note("0.166.0"), codex.note("0.99.0"), codex.note("unreleased")), (None, None, None));
    }

    #[test]
    fn nobody_asks_in_the_plain_mode_and_pi_never_does() {
        for engine in ["claude", "codex", "opencode"] {
            assert!(asks(engine, Mode::Warm) && !asks(engine, Mode::Plain), "{engine}");
        }
        assert!(!asks("pi", Mode::Warm) && !asks("pi", Mode::Plain));
        assert!(asks("script", Mode::Plain), "a script asks what is written in it");
    }
}
