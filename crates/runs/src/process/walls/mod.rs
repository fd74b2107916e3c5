//! Walls: folders and files that an engine cannot open, although it runs as the same user as we do.
//!
//! The step before the engine puts them up around itself; whatever the engine starts is behind the same walls, and none of
//! them can look into the memory or the environment of a process outside. There are two kinds. A [`curtain`] is a mount name
//! space in which something empty lies over what is closed, and needs user name spaces. [`landlock`] needs nothing but the kernel,
//! but only knows how to allow: the entries beside each folder on the way to a closed one, as they are when the engine starts.
//! `docs/decisions/0103-engine-walls.md` tells why the first is preferred and what each of them costs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::environment;

#[cfg(target_os = "linux")]
mod curtain;
#[cfg(target_os = "linux")]
mod landlock;

/// Elsewhere there is nothing to make walls of.
#[cfg(not(target_os = "linux"))]
mod nothing {
    pub fn hold(_wall: &super::Wall) -> Result<(), String> {
        Err("only Linux has walls".to_owned())
    }

    pub fn draw(_wall: &super::Wall, _outside: super::Outside<'_>) -> Result<(), super::Trouble> {
        Err(super::Trouble { why: "only Linux has walls".to_owned(), half_way: false })
    }

    pub fn map_users(_process: &str) -> bool {
        false
    }

    pub fn map(_process: &str) -> std::process::ExitCode {
        std::process::ExitCode::FAILURE
    }
}
#[cfg(not(target_os = "linux"))]
use nothing as landlock;
#[cfg(not(target_os = "linux"))]
use nothing as curtain;

pub(super) use curtain::{map, map_users};

/// Whoever stays outside and answers, while a process puts up its walls.
type Outside<'a> = Option<&'a mut UnixStream>;

/// Why walls cannot be put up.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub why: String,
    /// What was done cannot be taken back, so another process has to go another way.
    pub half_way: bool,
}

/// What happens where walls cannot be held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// There are none.
    #[default]
    Off,
    /// Engines run without them.
    Auto,
    /// Engines do not run.
    Required,
}

/// The walls of all engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    pub hold: Hold,
    /// What no engine may open: folders with everything in them, and files.
    pub closed: Vec<PathBuf>,
    /// Folders whose folders are places of work, although they lie in something closed.
    pub rooms: Vec<PathBuf>,
    /// Places of work that may lie in something closed.
    pub places: Vec<PathBuf>,
    /// What is open to everybody although it lies in something closed, such as a socket.
    pub shared: Vec<PathBuf>,
    /// Landlock even where a curtain could be had, to try what holds on machines without user name spaces.
    pub no_curtain: bool,
}

impl Walls {
    /// The walls around a program that works in this folder.
    pub(super) fn around(&self, folder: &Path) -> Wall {
        let folder = real(folder).unwrap_or_else(|| folder.to_owned());
        if self.hold == Hold::Off {
            return Wall::default();
        }
        let mut closed: Vec<PathBuf> = self.closed.iter().filter_map(|path| real(path)).collect();
        closed.sort();
        // What lies in something closed is closed with it.
        closed.dedup_by(|path, before| path.starts_with(before));
        let own = |room: &PathBuf| {
            let room = real(room)?;
            let first = folder.strip_prefix(&room).ok()?.components().next()?;
            Some(room.join(first))
        };
        let place = |place: &PathBuf| real(place).filter(|place| folder.starts_with(place));
        let shared = self.shared.iter().filter_map(|path| real(path));
        let open = self.rooms.iter().filter_map(own).chain(self.places.iter().filter_map(place)).chain(shared);
        let inside = |path: &PathBuf| closed.iter().any(|closed| path.starts_with(closed) && path != closed);
        let required = self.hold == Hold::Required;
        let no_curtain = self.no_curtain.then(|| "no curtain is wanted".to_owned());
        Wall { required, no_curtain, open: open.filter(inside).collect(), closed }
    }
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The walls around one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wall {
    required: bool,
    /// Why there is to be no curtain.
    no_curtain: Option<String>,
    closed: Vec<PathBuf>,
    open: Vec<PathBuf>,
}

const CLOSED: &str = "--closed=";
const OPEN: &str = "--open=";
const REQUIRED: &str = "--required";
const NO_CURTAIN: &str = "--no-curtain=";
const END: &str = "--";

impl Wall {
    /// As arguments for the step that puts them up; paths are no secret.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let with = |word: &str, path: &PathBuf| {
            let mut argument = OsString::from(word);
            argument.push(path);
            argument
        };
        let required = self.required.then(|| OsString::from(REQUIRED));
        let flags = required.into_iter().chain(self.no_curtain.as_deref().map(Self::without_curtain));
        let closed = self.closed.iter().map(|path| with(CLOSED, path));
        let open = self.open.iter().map(|path| with(OPEN, path));
        flags.chain(closed).chain(open).chain([OsString::from(END)]).collect()
    }

    /// The argument that there is to be no curtain, and why.
    pub(super) fn without_curtain(why: &str) -> OsString {
        format!("{NO_CURTAIN}{why}").into()
    }

    /// The walls, and what comes behind them on the command line.
    pub(super) fn read(arguments: &[OsString]) -> (Self, &[OsString]) {
        let mut wall = Self::default();
        let after = |argument: &OsStr, word: &str| {
            argument.as_bytes().strip_prefix(word.as_bytes()).map(|path| PathBuf::from(OsStr::from_bytes(path)))
        };
        for (at, argument) in arguments.iter().enumerate() {
            if argument == END {
                return (wall, &arguments[at + 1..]);
            }
            wall.required |= argument == REQUIRED;
            if let Some(why) = argument.as_bytes().strip_prefix(NO_CURTAIN.as_bytes()) {
                wall.no_curtain.get_or_insert_with(|| String::from_utf8_lossy(why).into_owned());
            }
            wall.closed.extend(after(argument, CLOSED));
            wall.open.extend(after(argument, OPEN));
        }
        (wall, &[])
    }

    /// Puts them up around this process, for good; the reason when they cannot be held and have to be.
    pub(super) fn put_up(&self, outside: Outside<'_>) -> Result<(), Trouble> {
        if self.closed.is_empty() {
            return Ok(());
        }
        let no_curtain = match &self.no_curtain {
            Some(why) => why.clone(),
            None => match curtain::draw(self, outside) {
                Err(Trouble { why, half_way: false }) => why,
                drawn => return drawn,
            },
        };
        match landlock::hold(self) {
            Err(why) if self.required => Err(Trouble { why: format!("{no_curtain}; {why}"), half_way: false }),
            _ => Ok(()),
        }
    }
}

const CURTAIN: &str = "curtain";
const LANDLOCK: &str = "landlock";

/// What a child that only tries does; see [`supervisor::hook`](super::supervisor::hook).
pub(super) fn attempt(arguments: &[OsString]) -> ExitCode {
    let Some((kind, arguments)) = arguments.split_first() else { return ExitCode::from(2) };
    let (wall, _) = Wall::read(arguments);
    let held =
        if kind == CURTAIN { curtain::draw(&wall, None).map_err(|trouble| trouble.why) } else { landlock::hold(&wall) };
    match held {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            print!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn try_with(program: &Path, kind: &str, wall: &Wall) -> Result<(), String> {
    let mut command = Command::new(program);
    environment::clean(&mut command, &[""; 0]);
    let tried = command.arg(super::supervisor::TRY).arg(kind).args(wall.arguments()).stdin(Stdio::null()).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// What walls are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallKind {
    Curtain,
    Landlock,
}

/// What walls would be made of here, or why they cannot be held. `program` is one whose `main` calls
/// [`supervisor::hook`](super::supervisor::hook); `None`: this one.
pub fn possible(program: Option<&Path>) -> Result<WallKind, String> {
    let own = super::supervisor::own_program();
    let program = program.unwrap_or(&own);
    let closed = vec![real(&std::env::temp_dir()).unwrap_or_else(|| PathBuf::from("/tmp"))];
    let wall = Wall { required: true, closed, ..Wall::default() };
    match try_with(program, CURTAIN, &wall) {
        Ok(()) => Ok(WallKind::Curtain),
        Err(_) => try_with(program, LANDLOCK, &wall).map(|()| WallKind::Landlock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walls(root: &Path, hold: Hold) -> Walls {
        for folder in ["data/agents/one/sub", "data/agents/two", "data/files", "project", "data/inner"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("moot.toml"), "").unwrap();
        std::fs::write(root.join("project/own.toml"), "").unwrap();
        let closed = vec![root.join("data"), root.join("moot.toml"), root.join("project/own.toml"), root.join("gone")];
        Walls {
            hold,
            closed,
            rooms: vec![root.join("data/agents")],
            places: vec![root.join("data/inner")],
            ..Walls::default()
        }
    }

    #[test]
    fn a_room_in_a_closed_folder_is_open_to_its_own_agent_only() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let walls = walls(&root, Hold::Auto);
        assert_eq!(walls.around(&root.join("data/agents/one/sub")).open, [root.join("data/agents/one")]);
        assert_eq!(walls.around(&root.join("data/inner")).open, [root.join("data/inner")]);
        for outside in ["project", "data/files", "data", "data/agents"] {
            assert_eq!(walls.around(&root.join(outside)).open, Vec::<PathBuf>::new(), "{outside}");
        }
    }

    #[test]
    fn what_is_not_there_needs_no_wall_and_what_is_closed_is_closed_once() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let mut walls = walls(&root, Hold::Auto);
        walls.closed.extend([root.join("data"), root.join("data/files")]);
        let closed = walls.around(&root.join("project")).closed;
        assert_eq!(closed, [root.join("data"), root.join("moot.toml"), root.join("project/own.toml")]);
        assert_eq!(Walls { hold: Hold::Off, ..walls }.around(&root), Wall::default());
    }

    #[test]
    fn walls_go_over_the_command_line_whole() {
        let root = tempfile::tempdir().unwrap();
        let wall = walls(root.path(), Hold::Required).around(&root.path().join("data/agents/one"));
        let mut line = wall.arguments();
        line.extend(["sh", "--", "--open=x"].map(OsString::from));
        let (read, rest) = Wall::read(&line);
        assert_eq!((read, rest), (wall, &["sh", "--", "--open=x"].map(OsString::from)[..]));
    }
}
