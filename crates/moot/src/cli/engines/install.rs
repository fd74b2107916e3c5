//! `moot engines install`: an engine's program from npm, in a version that was tried, for the user alone.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use folkmoot_engines::availability::{self, Availability};
use folkmoot_engines::engine::Launch;
use folkmoot_engines::process::{self, environment};
use folkmoot_engines::programs::{self, Program, Release};
use folkmoot_engines::run::Runner;

use crate::cli::{Fault, output, prompt};

/// Variables in which people tell npm where its registry is and how to reach it.
const OF_NPM: &[&str] = &["NPM_CONFIG_*", "npm_config_*", "NODE_OPTIONS"];

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It goes to ~/.local (the program to ~/.local/bin), so no other user is touched and no root is needed; npm must be there.
The version is the newest one that was tried and that the Node here can run; see docs/engines.md.

Examples:
  moot engines install claude
  moot engines install pi --yes")]
pub struct Args {
    /// claude, codex, opencode or pi.
    engine: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

/// What is to be done.
struct Plan {
    npm: PathBuf,
    prefix: PathBuf,
    program: &'static Program,
    release: Release,
}

pub async fn run(runner: &Runner, args: Args) -> anyhow::Result<()> {
    let (engine, program) = super::find_program(&args.engine)?;
    let settings = runner.settings(&engine.id());
    if !settings.command.is_empty() && settings.command != args.engine {
        let sentence = format!("`engines.{}.command` names another program: {}", engine.id(), settings.command);
        return Err(Fault::usage(sentence).hint("take that key out of the configuration first").into());
    }
    let plan = Plan::of(program)?;
    let found = availability::look(engine, &settings, &runner.host()).await;
    if is_there(&found, &plan)? {
        return done(&found);
    }
    plan.show();
    if !args.yes && !agreed()? {
        output::note("Nothing was installed.");
        return Ok(());
    }
    plan.carry_out()?;
    let found = availability::look(engine, &settings, &runner.host()).await;
    match &found.problem {
        Some(problem) => {
            Err(Fault { sentence: problem.sentence.clone(), hint: problem.hint.clone(), usage: false }.into())
        }
        None => done(&found),
    }
}

fn agreed() -> anyhow::Result<bool> {
    if !prompt::is_possible() {
        let fault = Fault::usage("there is no terminal to ask whether to go on");
        return Err(fault.hint("`--yes` installs without asking").into());
    }
    prompt::confirm("Go on?")
}

/// Whether there is nothing to do. One that came another way is not replaced: the search path would still find it first.
fn is_there(found: &Availability, plan: &Plan) -> Result<bool, Fault> {
    let (Some(path), Some(version)) = (&found.path, &found.version) else { return Ok(false) };
    if programs::order(version, plan.release.version).is_ge() {
        return Ok(true);
    }
    if *path == plan.target() {
        return Ok(false);
    }
    let fault = Fault::failed(format!("{} {version} is installed already, at {}", found.engine, path.display()));
    Err(fault.hint("update it the way it was installed, or remove it first; it runs as it is"))
}

/// What is there now, and what is left to do.
fn done(found: &Availability) -> anyhow::Result<()> {
    let version = found.version.as_deref().unwrap_or_default();
    let path = found.path.as_deref().unwrap_or(Path::new("?"));
    output::line(&format!("{} {version} is installed: {}", found.engine, path.display()))?;
    if !is_in_search_path(path) {
        let folder = path.parent().unwrap_or(path).display();
        output::note(&format!("moot finds it there; for your shell, add {folder} to PATH."));
    }
    if let Some(hint) = found.trouble().and_then(|trouble| trouble.hint.as_ref()) {
        output::note(&format!("Log in next: {hint}"));
    }
    Ok(())
}

fn is_in_search_path(program: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Some(folder.as_path()) == program.parent())
}

impl Plan {
    fn of(program: &'static Program) -> anyhow::Result<Self> {
        let missing = |name: &str| {
            let hint = "install Node.js, which brings npm: from your system's packages, or nodejs.org; then try again";
            Fault::failed(format!("`{name}` is not installed, or not in the search path")).hint(hint)
        };
        let find = |name: &str| {
            let launch = Launch { program: name.to_owned(), ..Launch::default() };
            process::find_program(&launch).map_err(|_| missing(name))
        };
        let (npm, node) = (find("npm")?, find("node")?);
        let version = version_of(&node)?;
        let release = program.release_for(&version).ok_or_else(|| {
            let least = program.releases.last().map_or("", |release| release.node);
            Fault::failed(format!("{} needs Node {least} or later, and this is {version}", program.engine))
                .hint("update Node.js, then try again")
        })?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        let home = home.ok_or_else(|| Fault::failed("`HOME` is not set, so there is no place to install to"))?;
        Ok(Self { npm, prefix: PathBuf::from(home).join(".local"), program, release })
    }

    fn arguments(&self) -> Vec<String> {
        let what = format!("{}@{}", self.program.package, self.release.version);
        let prefix = self.prefix.to_string_lossy().into_owned();
        ["install", "--global", "--prefix", &prefix, "--no-audit", "--no-fund", &what].map(str::to_owned).to_vec()
    }

    /// Where the program will be.
    fn target(&self) -> PathBuf {
        self.prefix.join("bin").join(self.program.engine)
    }

    fn show(&self) {
        let Self { program, release, .. } = self;
        output::note(&format!(
            "This installs {} {} for you alone, as {}:",
            program.engine,
            release.version,
            self.target().display()
        ));
        output::note(&format!("  npm {}", self.arguments().join(" ")));
        if release.version != program.releases[0].version {
            let newest = program.releases[0];
            output::note(&format!("({} is newer, but needs Node {}.)", newest.version, newest.node));
        }
        output::note("npm also runs what the package does after it is unpacked.");
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.npm);
        command.args(self.arguments());
        environment::clean(&mut command, OF_NPM);
        // Standard output is for what we say ourselves.
        command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?)).stdin(Stdio::null());
        let status = command.status().map_err(|error| Fault::failed(format!("npm cannot be started: {error}")))?;
        if status.success() {
            return Ok(());
        }
        let fault = Fault::failed(format!("npm did not install {} ({status})", self.program.engine));
        let taken = self.target().symlink_metadata().is_ok();
        let hint = match taken {
            true => format!("{} is there already, and npm replaces only what it installed", self.target().display()),
            false => "what npm said above tells why; nothing else was changed".to_owned(),
        };
        Err(fault.hint(hint).into())
    }
}

/// What `node --version` says.
fn version_of(node: &Path) -> Result<String, Fault> {
    let mut command = Command::new(node);
    command.arg("--version").stdin(Stdio::null());
    environment::clean(&mut command, OF_NPM);
    let said = command.output().map_err(|error| Fault::failed(format!("node cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    match text.starts_with('v') {
        true => Ok(text),
        false => Err(Fault::failed("`node --version` names no version").hint("check that Node.js works")),
    }
}
