//! Which engines can be used here: where they are, which version, and why not.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::{Engine, EngineError, EngineSettings, Launch, Mode, Order, passed};
use crate::process::lines::Line;
use crate::process::{Host, Process, find_program};

/// How long an engine may take to say its version.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// What is known about an engine on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub engine: String,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
    /// Whether it can be steered and asks for permission; `None`: it has no such mode.
    pub warm: Option<bool>,
    /// Why it cannot be used.
    pub problem: Option<EngineError>,
}

impl Availability {
    pub fn is_usable(&self) -> bool {
        self.problem.is_none()
    }
}

/// Looks at one engine. Starts its program to ask for the version, never a session.
pub async fn look(engine: &'static dyn Engine, settings: &EngineSettings, host: &Host) -> Availability {
    let mut found =
        Availability { engine: engine.id().to_string(), path: None, version: None, warm: None, problem: None };
    if let Err(problem) = check_settings(engine, settings) {
        found.problem = Some(problem);
        return found;
    }
    if !engine.needs_program() {
        found.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        return found;
    }
    let launch = launch(engine, settings);
    match find_program(&launch) {
        Err(mut problem) => {
            if problem.hint.is_some() {
                problem.hint = Some(format!("install it, or set `engines.{}.command` to where it is", engine.id()));
            }
            found.problem = Some(problem);
        }
        Ok(path) => {
            match said(launch, &["--version"], host).await {
                Ok(text) => found.version = Some(version_in(&text)),
                Err(reason) => {
                    found.problem =
                        Some(EngineError { sentence: format!("`{} --version`: {reason}", path.display()), hint: None });
                }
            }
            found.path = Some(path);
        }
    }
    found
}

/// Whether there is a program to start, without starting it.
pub fn is_installed(engine: &'static dyn Engine, settings: &EngineSettings) -> bool {
    !engine.needs_program() || find_program(&launch(engine, settings)).is_ok()
}

/// Whether the program knows the warm mode.
pub async fn has_warm(engine: &'static dyn Engine, settings: &EngineSettings, host: &Host) -> bool {
    let Some(probe) = engine.warm_probe() else { return false };
    said(launch(engine, settings), probe.args, host).await.is_ok_and(|text| text.contains(probe.says))
}

/// Refuses keys that the engine does not know and settings that it would refuse to plan with.
pub fn check_settings(engine: &'static dyn Engine, settings: &EngineSettings) -> Result<(), EngineError> {
    let known = || engine.own_keys().iter().map(|(key, _)| *key).chain(COMMON_KEYS);
    if let Some(key) = settings.own.keys().find(|key| !known().any(|known| known == *key)) {
        let sentence = format!("unknown key `engines.{}.{key}`", engine.id());
        return Err(EngineError::new(sentence, format!("it knows {}", known().collect::<Vec<_>>().join(", "))));
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let order = Order { settings, prompt: "", resume: None, folder: &folder, mode: Mode::Plain, now: 0 };
    engine.prepare(&order).map(|_| ())
}

/// Keys that every engine takes beside `command`, `extra_args`, `model`, `env` and `pass_env`.
pub const COMMON_KEYS: [&str; 2] = ["mode", "keep_warm_s"];

fn launch(engine: &'static dyn Engine, settings: &EngineSettings) -> Launch {
    let program = if settings.command.is_empty() { engine.id().to_string() } else { settings.command.clone() };
    let env = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    Launch { program, env, pass: passed(&engine.variables(), settings), folder, ..Launch::default() }
}

/// What the program says of itself, started like for a run: an engine may have changed its own program.
async fn said(mut launch: Launch, args: &[&str], host: &Host) -> Result<String, String> {
    launch.args(args);
    let mut process = Process::start(&launch, host).map_err(|error| error.sentence)?;
    process.close_stdin();
    let mut said = Vec::new();
    let told = timeout(ANSWER_TIMEOUT, async {
        while let Some(line) = process.line().await {
            if let Line::Text(text) = line {
                said.extend(text);
                said.push(b'\n');
            }
        }
        process.exit().await
    });
    let told = told.await;
    process.end().await;
    match told {
        Err(_) => Err(format!("did not answer within {} s", ANSWER_TIMEOUT.as_secs())),
        Ok(exit) if !exit.is_success() => Err(exit.failure("it").lines().next().unwrap_or_default().to_owned()),
        // Some write their help to standard error.
        Ok(exit) => Ok(format!("{}{}", String::from_utf8_lossy(&said), exit.stderr)),
    }
}

/// The first word with a digit and a dot, else the first line.
fn version_in(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let like =
        |word: &&str| word.contains('.') && word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let word = line.split_whitespace().find(like).unwrap_or(line);
    word.trim_start_matches('v').chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        assert_eq!(version_in("codex-cli 0.166.0\n"), "0.166.0");
        assert_eq!(version_in("2.1.197 (Claude Code)"), "2.1.197");
        assert_eq!(version_in("\nv1.18.33\n"), "1.18.33");
        assert_eq!(version_in("unreleased"), "unreleased");
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones() {
        let mut settings = EngineSettings::default();
        settings.own.insert("use_api_biling".into(), true.into());
        let error = check_settings(engines::find("claude").unwrap(), &settings).unwrap_err();
        assert!(error.sentence.contains("engines.claude.use_api_biling"));
        assert!(error.hint.unwrap().contains("use_api_billing"));
    }

    #[test]
    fn no_engine_starts_in_a_bypass_mode_without_words_that_name_the_danger() {
        let sneaky = [
            ("codex", vec!["--yolo"]),
            ("codex", vec!["--dangerously-bypass-approvals-and-sandbox"]),
            ("claude", vec!["--permission-mode", "bypassPermissions"]),
            ("claude", vec!["--dangerously-skip-permissions"]),
            ("opencode", vec!["--auto"]),
        ];
        for (engine, args) in sneaky {
            let extra_args = args.iter().map(|&argument| argument.to_owned()).collect();
            let settings = EngineSettings { extra_args, ..EngineSettings::default() };
            let error = check_settings(engines::find(engine).unwrap(), &settings).unwrap_err();
            assert!(error.hint.unwrap().contains("dangerously"), "{engine} {args:?}");
        }
        let mut settings = EngineSettings::default();
        settings.own.insert("permission_mode".into(), "bypassPermissions".into());
        assert!(check_settings(engines::find("claude").unwrap(), &settings).is_err());
    }
}
