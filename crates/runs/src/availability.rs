//! Which engines can be used here: where they are, which version, whether somebody is logged in, and why not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tokio::time::timeout;

use crate::process::lines::Line;
use crate::process::{Host, Process, environment, find_program};
use folkmoot_engines::engine::settings::check_settings;
use folkmoot_engines::engine::{
    Engine, EngineError, EngineSettings, Exit, Launch, LocalServer, Mode, Order, Source, WarmProbe, passed,
};
use folkmoot_engines::event::EngineId;
use folkmoot_engines::programs;

mod login;

pub use login::Login;

/// How long an engine may take to say its version.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Variables by which a login finds a browser, beside those of a desktop.
const OF_BROWSER: &[&str] = &["BROWSER", "SSH_CONNECTION", "SSH_TTY", "WSL_DISTRO_NAME"];
/// How a yes is kept.
const YES: &str = "yes";

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
    pub login: Login,
    /// What else is to be known, such as that nobody has tried this version.
    pub notes: Vec<String>,
}

impl Availability {
    /// Whether it can be started. Whether a run would get an answer is another question: see [`Self::trouble`].
    pub fn is_usable(&self) -> bool {
        self.problem.is_none()
    }

    /// Why a run would get no answer.
    pub fn trouble(&self) -> Option<&EngineError> {
        match (&self.problem, &self.login) {
            (Some(problem), _) | (None, Login::Out(problem)) => Some(problem),
            _ => None,
        }
    }
}

/// Looks at one engine. Starts its program to ask for the version and the login, never a session.
pub async fn look(engine: &'static dyn Engine, settings: &EngineSettings, host: &Host) -> Availability {
    let mut found = Availability {
        engine: engine.id().to_string(),
        path: None,
        version: None,
        warm: None,
        problem: None,
        login: Login::Unknown,
        notes: Vec::new(),
    };
    if let Err(problem) = check_settings(engine, settings) {
        found.problem = Some(problem);
        return found;
    }
    if !engine.needs_program() {
        found.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        return found;
    }
    match find_program(&launch(engine, settings)) {
        Err(mut problem) => {
            if problem.hint.is_some() {
                problem.hint = Some(not_installed(&engine.id(), settings));
            }
            found.problem = Some(problem);
        }
        Ok(path) => {
            ask_program(engine, settings, host, &path, &mut found).await;
            found.path = Some(path);
        }
    }
    found
}

fn not_installed(engine: &EngineId, settings: &EngineSettings) -> String {
    match settings.command.is_empty() || engine == settings.command.as_str() {
        true => format!("`moot engines install {engine}`, or set `engines.{engine}.command` to where it is"),
        false => format!("install it, or set `engines.{engine}.command` to where it is"),
    }
}

/// The version, whether it is a new one, and the login; asked now, because whoever looks wants to know how it is now.
async fn ask_program(
    engine: &'static dyn Engine,
    settings: &EngineSettings,
    host: &Host,
    path: &Path,
    found: &mut Availability,
) {
    let version = match said(launch(engine, settings), &["--version"], host).await {
        Ok(text) => version_in(&text),
        Err(reason) => {
            let sentence = format!("`{} --version`: {reason}", path.display());
            found.problem = Some(EngineError { sentence, hint: None });
            return;
        }
    };
    if let Some(program) = programs::of(&found.engine) {
        found.notes.extend(program.note(&version));
        if program.can_say_status(&version)
            && let Some(launch) = launch_of_run(engine, settings)
        {
            found.login = login::look(program, launch, settings, host).await;
        }
    }
    if found.login == Login::Free {
        found.notes.push(format!(
            "nobody is logged in, so it has only its free models; `moot engines login {}`",
            found.engine
        ));
    }
    found.version = Some(version);
}

/// Whether there is a program to start, without starting it.
pub fn is_installed(engine: &'static dyn Engine, settings: &EngineSettings) -> bool {
    !engine.needs_program() || find_program(&launch(engine, settings)).is_ok()
}

/// What is known without asking anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Yes,
    No,
    NotAsked,
}

/// Whether the program knows the warm mode, if it was asked before and is the same one; one that is not there knows nothing.
pub fn known_warm(engine: &'static dyn Engine, settings: &EngineSettings, host: &Host) -> Known {
    if !engine.needs_program() {
        // It is in here, and takes answers.
        return Known::Yes;
    }
    let Some(probe) = engine.warm_probe() else { return Known::No };
    let Ok(program) = find_program(&launch(engine, settings)) else { return Known::No };
    match host.answers.get(&program, &question(&probe), SystemTime::now()) {
        Some(known) if known == YES => Known::Yes,
        Some(_) => Known::No,
        None => Known::NotAsked,
    }
}

fn question(probe: &WarmProbe) -> String {
    format!("{} says {}", probe.args.join(" "), probe.says)
}

/// Whether the program knows the warm mode. It is asked once; the answer holds for as long as it is the same program.
pub async fn has_warm(engine: &'static dyn Engine, settings: &EngineSettings, host: &Host) -> bool {
    match known_warm(engine, settings, host) {
        Known::Yes => return true,
        Known::No => return false,
        Known::NotAsked => {}
    }
    let (Some(probe), launch) = (engine.warm_probe(), launch(engine, settings)) else { return false };
    let Ok(program) = find_program(&launch) else { return false };
    // A program that could not answer may do so the next time.
    let Ok(text) = said(launch, probe.args, host).await else { return false };
    let knows = text.contains(probe.says);
    host.answers.put(&program, &question(&probe), if knows { YES } else { "no" }, SystemTime::now());
    knows
}

/// Whether an engine with these settings, driven this way, puts to people what it is about to do.
pub fn asks(engine: &str, settings: &EngineSettings, mode: Mode) -> bool {
    let bypassed = settings.own.keys().any(|key| key.starts_with("dangerously_") && settings.own_flag(key));
    programs::asks(engine, mode) && !bypassed
}

fn launch(engine: &'static dyn Engine, settings: &EngineSettings) -> Launch {
    let program = if settings.command.is_empty() { engine.id().to_string() } else { settings.command.clone() };
    let env = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    Launch { program, env, pass: passed(&engine.variables(), settings), folder, ..Launch::default() }
}

/// The program in the environment that its runs have, to log in to it at this terminal: arguments are still to come.
pub fn login_command(engine: &'static dyn Engine, settings: &EngineSettings) -> Result<Command, EngineError> {
    let launch = launch_of_run(engine, settings).unwrap_or_else(|| launch(engine, settings));
    let mut command = Command::new(find_program(&launch)?);
    let pass = launch.pass.iter().map(String::as_str).chain(OF_BROWSER.iter().copied());
    environment::clean(&mut command, &pass.chain(environment::OF_DESKTOP.iter().copied()).collect::<Vec<_>>());
    for (name, value) in &launch.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // People see colours and are asked; it is only a run that is not at a terminal.
    command.env_remove("NO_COLOR").env_remove("CI");
    Ok(command)
}

/// The command line of a run without its arguments: a program is asked in the environment that it works in.
fn launch_of_run(engine: &'static dyn Engine, settings: &EngineSettings) -> Option<Launch> {
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let order = Order { settings, prompt: "", resume: None, folder: &folder, mode: Mode::Plain, now: 0 };
    match engine.prepare(&order).ok()?.source {
        Source::Process(launch) | Source::Server(LocalServer { launch, .. }) => {
            Some(Launch { args: Vec::new(), ..launch })
        }
        Source::Script(_) => None,
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
struct Heard {
    output: String,
    /// All that it wrote to standard error; an exit holds only the end of it.
    errors: String,
    exit: Exit,
}

impl Heard {
    /// Some write to standard error what others write to standard output.
    fn all(&self) -> String {
        format!("{}{}", self.output, self.errors)
    }
}

/// What the program says of itself.
async fn said(launch: Launch, args: &[&str], host: &Host) -> Result<String, String> {
    let heard = heard(launch, args, host).await?;
    match heard.exit.is_success() {
        true => Ok(heard.all()),
        false => Err(heard.exit.failure("it").lines().next().unwrap_or_default().to_owned()),
    }
}

/// Starts the program like for a run: an engine may have changed its own program.
async fn heard(mut launch: Launch, args: &[&str], host: &Host) -> Result<Heard, String> {
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
    let errors = process.stderr();
    process.end().await;
    match told {
        Err(_) => Err(format!("did not answer within {} s", ANSWER_TIMEOUT.as_secs())),
        Ok(exit) => Ok(Heard { output: String::from_utf8_lossy(&said).into_owned(), errors, exit }),
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
    use folkmoot_engines::engines;

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
    fn an_engine_that_was_told_not_to_ask_does_not_ask() {
        let mut settings = EngineSettings::default();
        assert!(asks("claude", &settings, Mode::Warm) && !asks("claude", &settings, Mode::Plain));
        settings.own.insert("dangerously_skip_permissions".into(), false.into());
        assert!(asks("claude", &settings, Mode::Warm));
        settings.own.insert("dangerously_skip_permissions".into(), true.into());
        assert!(!asks("claude", &settings, Mode::Warm));
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
