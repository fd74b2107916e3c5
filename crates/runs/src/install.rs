//! Getting an engine's program from npm: what would be done, and the command that does it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use folkmoot_engines::engine::{EngineError, Launch};
use folkmoot_engines::programs::{Program, Release};

use crate::process::{environment, find_program};

/// Variables in which people tell npm where its registry is and how to reach it.
const OF_NPM: &[&str] = &["NPM_CONFIG_*", "npm_config_*", "NODE_OPTIONS"];

/// What is to be done: a version that was tried, for the user alone.
#[derive(Debug)]
pub struct Install {
    npm: PathBuf,
    prefix: PathBuf,
    pub program: &'static Program,
    pub release: Release,
}

impl Install {
    /// Below the home folder, in the newest version that the Node here can run.
    pub fn plan(program: &'static Program) -> Result<Self, EngineError> {
        let (npm, node) = (tool("npm")?, tool("node")?);
        let version = version_of(&node)?;
        let release = program.release_for(&version).ok_or_else(|| {
            let least = program.releases.last().map_or("", |release| release.node);
            let sentence = format!("{} needs Node {least} or later, and this is {version}", program.engine);
            EngineError::new(sentence, "update Node.js, then try again")
        })?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or_else(|| {
            EngineError::new("`HOME` is not set, so there is no place to install to", "set it to your home folder")
        })?;
        Ok(Self { npm, prefix: PathBuf::from(home).join(".local"), program, release })
    }

    /// What npm is told.
    pub fn arguments(&self) -> Vec<String> {
        let prefix = self.prefix.to_string_lossy().into_owned();
        let mut words: Vec<String> =
            ["install", "--global", "--prefix", &prefix, "--no-audit", "--no-fund"].map(str::to_owned).to_vec();
        words.extend(self.program.has_scripts.then(|| format!("--allow-scripts={}", self.program.package)));
        words.push(format!("{}@{}", self.program.package, self.release.version));
        words
    }

    /// Where the program will be.
    pub fn target(&self) -> PathBuf {
        self.prefix.join("bin").join(self.program.engine)
    }

    /// Whether something is there that npm did not put there, and will not replace.
    pub fn is_taken(&self) -> bool {
        let target = self.target();
        let from_npm =
            std::fs::read_link(&target).is_ok_and(|path| path.to_string_lossy().contains(self.program.package));
        target.symlink_metadata().is_ok() && !from_npm
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.npm);
        command.args(self.arguments()).stdin(Stdio::null());
        environment::clean(&mut command, OF_NPM);
        command
    }
}

fn tool(name: &str) -> Result<PathBuf, EngineError> {
    let launch = Launch { program: name.to_owned(), ..Launch::default() };
    find_program(&launch).map_err(|error| {
        let hint = "install Node.js, which brings npm: from your system's packages, or nodejs.org; then try again";
        EngineError::new(error.sentence, hint)
    })
}

/// What `node --version` says.
fn version_of(node: &Path) -> Result<String, EngineError> {
    let mut command = Command::new(node);
    command.arg("--version").stdin(Stdio::null());
    environment::clean(&mut command, OF_NPM);
    let said = command.output().map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    match said {
        Ok(version) if version.starts_with('v') => Ok(version),
        _ => Err(EngineError::new("`node --version` names no version", "check that Node.js works")),
    }
}
