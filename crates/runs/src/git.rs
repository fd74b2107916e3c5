//! Git as the hub calls it: in repositories that agents can write to, so nothing that a repository says is ever run.
//!
//! A repository's own configuration can name programs: hooks, filters, a file system monitor, drivers for diffs, helpers for
//! logging in. So there are two ways to call git. [`Place::git`] works in the repository itself and is for what reads and writes
//! refs and configuration only; hooks and all else that such calls could start are pinned off. Whatever looks at files or writes them
//! (adding, diffing, checking out) goes through [`Glass`]: a git folder of our own, with our own configuration, that
//! shares nothing with the repository but its objects. Drivers cannot be named there, whatever they are called.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::process::environment;

#[cfg(test)]
mod tests;

/// How long git may take; a big checkout on a slow disk needs its time.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// The most that is taken of what git says.
const MAX_OUTPUT: u64 = 16 << 20;
/// The most that is read of a small file.
const MAX_SMALL: u64 = 1 << 20;
/// What is said to every call, against what the repository may say.
const PINS: [&str; 19] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=false",
    // A file beyond this is told to be changed, and no more.
    "core.bigFileThreshold=8m",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "advice.addEmbeddedRepo=false",
];

/// Where a repository is: found by looking, so that nothing but the folders themselves decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `.git`, or that of a work tree.
    pub git_dir: PathBuf,
    /// What all work trees share.
    pub common: PathBuf,
    /// Where the files are.
    pub top: PathBuf,
}

impl Place {
    /// The repository that a folder is in.
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        folder.ancestors().find_map(Self::at)
    }

    /// The repository whose files begin in exactly this folder.
    pub fn at(top: &Path) -> Option<Self> {
        let dot = top.join(".git");
        let git_dir = if dot.is_file() { named(&dot, "gitdir: ", top)? } else { dot };
        let git_dir = git_dir.canonicalize().ok().filter(|folder| folder.join("HEAD").is_file())?;
        let common = named(&git_dir.join("commondir"), "", &git_dir).and_then(|folder| folder.canonicalize().ok());
        Some(Self { common: common.unwrap_or_else(|| git_dir.clone()), git_dir, top: top.to_owned() })
    }

    /// Where its configuration says that hooks are, if it says so.
    pub fn hooks(&self) -> Option<PathBuf> {
        let files = [self.common.join("config"), self.git_dir.join("config.worktree")];
        let text: String = files.iter().filter_map(|file| small(file)).collect();
        let of_line = |line: &str| {
            let (key, value) = line.split_once('=')?;
            let value = value.split(['#', ';']).next()?.trim().trim_matches('"').to_owned();
            key.trim().eq_ignore_ascii_case("hookspath").then_some(value)
        };
        text.lines().rev().find_map(of_line).map(|hooks| self.top.join(hooks))
    }

    /// A call in the repository itself: refs and configuration, no files.
    pub async fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = bare(&self.top);
        command.arg("--git-dir").arg(&self.git_dir).arg("--work-tree").arg(&self.top).args(arguments);
        said(command).await
    }
}

/// The path that stands in a small file of git's.
fn named(file: &Path, prefix: &str, from: &Path) -> Option<PathBuf> {
    let text = small(file)?;
    Some(from.join(text.trim_end_matches(['\n', '\r']).strip_prefix(prefix)?)).filter(|path| path != from)
}

/// A small file of a repository. Whoever writes there may have put something else in its place, even something that would keep
/// a reader waiting.
pub fn small(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    let is_file = file.metadata().ok()?.is_file();
    is_file.then(|| file.take(MAX_SMALL).read_to_string(&mut text).ok()).flatten()?;
    Some(text)
}

/// A call that lets git find the repository itself, as people do; for tests that make one.
pub async fn plainly(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = bare(folder);
    command.args(arguments);
    said(command).await
}

/// Every call of git begins here.
fn bare(folder: &Path) -> Command {
    let mut command = Command::new("git");
    environment::clean(command.as_std_mut(), &[""; 0]);
    let fixed = [
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "false"),
        ("GIT_SSH_COMMAND", "false"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "false"),
        // No object is fetched, and none is shown for another.
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
    ];
    command.envs(fixed).current_dir(folder).arg("--no-pager");
    command.args(PINS.iter().flat_map(|pin| ["-c", pin]));
    command
}

/// What git says, or why it does not.
async fn said(mut command: Command) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    match timeout(GIT_TIMEOUT, heard(command)).await {
        Err(_) => Err(format!("no answer within {} s", GIT_TIMEOUT.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(said)) => said,
    }
}

async fn heard(mut command: Command) -> std::io::Result<Result<String, String>> {
    let mut child = command.spawn()?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let stdout = child.stdout.take().expect("standard output is piped");
    let stderr = child.stderr.take().expect("standard error is piped");
    let (mut stdout, mut stderr) = (stdout.take(MAX_OUTPUT), stderr.take(MAX_OUTPUT));
    tokio::try_join!(stdout.read_to_end(&mut out), stderr.read_to_end(&mut err))?;
    // Whatever else it has to say is not taken, and git ends at the closed pipe.
    drop((stdout, stderr));
    let is_cut = out.len() as u64 == MAX_OUTPUT;
    if child.wait().await?.success() || is_cut {
        return Ok(Ok(String::from_utf8_lossy(&out).into_owned()));
    }
    let words = String::from_utf8_lossy(&err);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Ok(Err(last.trim_start_matches("fatal: ").to_owned()))
}

/// Whether this is the name of an object and nothing else.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A git folder of our own to look at a repository's files through; gone with the value.
pub struct Glass {
    folder: PathBuf,
    top: PathBuf,
}

impl Glass {
    /// What is added through it stays in it.
    pub async fn over(place: &Place) -> Result<Self, String> {
        let format = place.git(&["rev-parse", "--show-object-format"]).await?;
        let folder = std::env::temp_dir().join(format!("moot-git-{}", uuid::Uuid::new_v4().simple()));
        let glass = Self { folder, top: place.top.clone() };
        glass.make(place, format.trim()).map_err(|error| format!("`{}`: {error}", glass.folder.display()))?;
        Ok(glass)
    }

    fn make(&self, place: &Place, format: &str) -> std::io::Result<()> {
        std::fs::DirBuilder::new().mode(0o700).create(&self.folder)?;
        ["objects/info", "refs", "info"].iter().try_for_each(|name| std::fs::create_dir_all(self.folder.join(name)))?;
        let version = if format == "sha256" { 1 } else { 0 };
        let mut config = format!("[core]\nrepositoryformatversion = {version}\nbare = false\n");
        if version == 1 {
            config.push_str("[extensions]\nobjectformat = sha256\n");
        }
        if cfg!(target_os = "macos") {
            config.push_str("[core]\nignorecase = true\nprecomposeunicode = true\n");
        }
        std::fs::write(self.folder.join("config"), config)?;
        std::fs::write(self.folder.join("HEAD"), "ref: refs/heads/none\n")?;
        let mut shared = std::fs::File::create(self.folder.join("objects/info/alternates"))?;
        shared.write_all(place.common.join("objects").as_os_str().as_encoded_bytes())?;
        shared.write_all(b"\n")?;
        // Patterns of names that people do not want to see; nothing in it is run.
        let excluded = small(&place.common.join("info/exclude")).unwrap_or_default();
        std::fs::write(self.folder.join("info/exclude"), excluded)
    }

    pub async fn git(&self, arguments: &[&str]) -> Result<String, String> {
        said(self.command(arguments)).await
    }

    /// The same, with another index than that of the glass.
    pub async fn git_with_index(&self, index: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command(arguments);
        command.env("GIT_INDEX_FILE", index);
        said(command).await
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(&self.top);
        let folders: [&OsStr; 4] =
            ["--git-dir".as_ref(), self.folder.as_ref(), "--work-tree".as_ref(), self.top.as_ref()];
        command.args(folders).args(arguments);
        command
    }

    /// Takes the files as they lie in the folder into its index. Other repositories inside are left alone: git would start
    /// itself in them, under their configuration.
    pub async fn add_all(&self) -> Result<(), String> {
        let entries = self.git(&["ls-files", "--stage", "-z"]).await?;
        let link = |entry: &str| entry.strip_prefix("160000 ")?.split_once('\t').map(|(_, path)| path.to_owned());
        let links = entries.split('\0').filter_map(link);
        let without: Vec<String> = links.map(|path| format!(":(top,exclude,literal){path}")).collect();
        let add = ["add", "--all", "--ignore-errors", "--", ":(top)"].into_iter();
        // One file that cannot be read does not hide the others.
        let _ = self.git(&add.chain(without.iter().map(String::as_str)).collect::<Vec<_>>()).await;
        Ok(())
    }
}

impl Drop for Glass {
    fn drop(&mut self) {
        // It is ours alone, and empty of meaning once it was looked through.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
