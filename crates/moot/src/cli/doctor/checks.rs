//! The single looks of `moot doctor`.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use folkmoot_runs::process::walls::{self, WallKind};
use rustix::process::{Resource, getrlimit};
use serde_json::Value;

use super::Finding;
use crate::cli::client::{Hub, Session, items, text};
use crate::cli::{output, profile};
use crate::config::{self, Config, Loaded, Walls};
use folkmoot_hub::modes;

const MODES: &str = "private files";
/// Less than this, and the disk is full soon.
const LITTLE_SPACE: u64 = 1_000_000_000;
const NO_SPACE: u64 = 50_000_000;
/// One descriptor per connection, and some for files.
const FEW_FILES: u64 = 4096;

pub fn configuration(loaded: &Loaded) -> Vec<Finding> {
    const SUBJECT: &str = "configuration";
    let file = loaded.file.display();
    let mut findings = vec![match loaded.file_exists {
        true => Finding::ok(SUBJECT, format!("{file} is good")),
        false => Finding::ok(SUBJECT, format!("defaults; there is no {file}")),
    }];
    for note in &loaded.notes {
        findings.push(Finding::warn(SUBJECT, note.to_string(), "unset it, or ignore this"));
    }
    findings
}

/// What others on this machine could read: mended where it is ours, named with the remedy where it is not.
pub fn modes(loaded: &Loaded) -> Vec<Finding> {
    let kept = profile::path().ok().and_then(|path| modes::tend_linked(&path));
    let found: Vec<_> = config::tend_all(loaded).into_iter().chain(kept).collect();
    if found.is_empty() {
        return vec![Finding::ok(MODES, "secrets, database and folders are for you only")];
    }
    found.iter().map(|one| Finding::warn(MODES, one.sentence(), one.remedy())).collect()
}

pub fn data_folder(data_dir: &Path) -> Finding {
    const SUBJECT: &str = "data folder";
    let shown = data_dir.display();
    if data_dir.exists() {
        return match can_write(data_dir) {
            Ok(()) => Finding::ok(SUBJECT, format!("{shown} can be written")),
            Err(error) => {
                Finding::fail(SUBJECT, format!("{shown} cannot be written: {error}"), remedy_for_folder(data_dir))
            }
        };
    }
    // The first start makes the folder: what counts is the nearest one that is there.
    let parent = data_dir.ancestors().find(|folder| folder.is_dir());
    match parent.map(can_write) {
        Some(Ok(())) => Finding::ok(SUBJECT, format!("{shown} will be made at the first start")),
        _ => Finding::fail(SUBJECT, format!("{shown} is not there and cannot be made"), remedy_for_folder(data_dir)),
    }
}

fn can_write(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".moot-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe)?;
    std::fs::remove_file(probe)
}

fn remedy_for_folder(data_dir: &Path) -> String {
    format!(
        "give yourself the rights to {}, or choose another with `--data-dir` or `server.data_dir`",
        data_dir.display()
    )
}

pub fn free_space(data_dir: &Path) -> Option<Finding> {
    const SUBJECT: &str = "disk";
    let folder = data_dir.ancestors().find(|folder| folder.is_dir())?;
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let sentence = format!("{} free", output::size(free));
    Some(if free < NO_SPACE {
        Finding::fail(SUBJECT, sentence, "make room: a hub without space refuses every write")
    } else if free < LITTLE_SPACE {
        Finding::warn(SUBJECT, sentence, "make room before the disk is full")
    } else {
        Finding::ok(SUBJECT, sentence)
    })
}

/// What answers at the address of the hub.
pub enum Answer {
    Nobody,
    Ready {
        version: String,
        /// How the SmartHole door is, as the hub tells.
        smarthole: Value,
    },
    NotReady {
        why: String,
    },
    Somebody,
}

pub async fn hub(config: &Config) -> Answer {
    let Ok(address) = config.server.listen_addr() else { return Answer::Nobody };
    let address = reachable(address);
    if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        return Answer::Nobody;
    }
    let Ok(hub) = Hub::new(&format!("http://{address}"), None) else { return Answer::Somebody };
    if !hub.get("/health", &[]).await.is_ok_and(|health| text(&health, "status") == "ok") {
        return Answer::Somebody;
    }
    match hub.get("/readyz", &[]).await {
        Ok(ready) => {
            Answer::Ready { version: text(&ready, "version").to_owned(), smarthole: door(&ready, "smarthole") }
        }
        Err(error) => Answer::NotReady { why: format!("{error:#}") },
    }
}

fn door(ready: &Value, name: &str) -> Value {
    let found = items(&ready["doors"]).iter().find(|door| text(door, "door") == name);
    found.cloned().unwrap_or_default()
}

/// An address that listens everywhere is reached on loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() });
    }
    address
}

pub fn main_listener(config: &Config, hub: &Answer) -> Finding {
    const SUBJECT: &str = "hub";
    let listen = &config.server.listen;
    match hub {
        Answer::Ready { version, .. } => Finding::ok(SUBJECT, format!("version {version} answers on {listen}")),
        Answer::NotReady { why } => {
            let sentence = format!("a hub answers on {listen}, but it is not ready: {why}");
            Finding::warn(SUBJECT, sentence, "look at its log")
        }
        Answer::Somebody => {
            let sentence = format!("something that is not a hub answers on {listen}");
            Finding::fail(SUBJECT, sentence, "stop it, or choose another port with `server.listen`")
        }
        Answer::Nobody => match config.server.listen_addr().map(TcpListener::bind) {
            Ok(Ok(_)) => Finding::ok(SUBJECT, format!("not running; {listen} is free")),
            Ok(Err(error)) => {
                let sentence = format!("{listen} cannot be listened on: {error}");
                Finding::fail(SUBJECT, sentence, "choose another address or port with `server.listen`")
            }
            Err(error) => Finding::fail(SUBJECT, error.to_string(), "mend `server.listen`"),
        },
    }
}

/// A hub that runs knows best how this door is; without one it is what a start would find.
pub fn smarthole(config: &Config, hub: &Answer) -> Finding {
    const SUBJECT: &str = "smarthole";
    const REMEDY: &str =
        "stop what uses it, choose another port with `smarthole.listen`, or set `smarthole.enabled` to false";
    if let Answer::Ready { smarthole: door, .. } = hub {
        match text(door, "status") {
            "open" => return Finding::ok(SUBJECT, format!("open on {}", text(door, "address"))),
            "off" => return Finding::ok(SUBJECT, "turned off in the hub that runs"),
            "closed" => {
                let sentence = format!("the hub runs without this door: {}", text(door, "error"));
                return Finding::warn(SUBJECT, sentence, format!("{REMEDY}; then start the hub again"));
            }
            _ => {}
        }
    }
    let listen = &config.smarthole.listen;
    if !config.smarthole.enabled {
        return Finding::ok(SUBJECT, "turned off");
    }
    let taken = config.smarthole.listen_addr().map(|address| TcpListener::bind(address).is_err()).unwrap_or(true);
    match (taken, hub) {
        (false, _) => Finding::ok(SUBJECT, format!("{listen} is free")),
        (true, Answer::Ready { .. } | Answer::NotReady { .. }) => {
            Finding::ok(SUBJECT, format!("{listen} is in use, probably by the hub that runs"))
        }
        (true, _) => {
            Finding::warn(SUBJECT, format!("{listen} is taken, so the hub would start without this door"), REMEDY)
        }
    }
}

/// Whether engines are kept from what only the hub and its owner may read.
pub fn walls(config: &Config) -> Finding {
    const SUBJECT: &str = "walls";
    const REMEDY: &str = "allow user name spaces, or use a kernel with Landlock (Linux 5.19 or newer); else host agents on another machine, or as another user, with `moot agentd`";
    const CLOSED: &str = "engines cannot open the hub's own files";
    match (config.engines.walls, walls::possible(None)) {
        (Walls::Off, _) => {
            let sentence = "turned off, so engines can read the hub's data and secrets";
            Finding::warn(SUBJECT, sentence, "set `engines.walls` to auto")
        }
        (Walls::Required, Err(why)) => Finding::fail(SUBJECT, format!("no engine will be started: {why}"), REMEDY),
        (Walls::Auto, Err(why)) => {
            Finding::warn(SUBJECT, format!("engines can read the hub's data and secrets: {why}"), REMEDY)
        }
        (_, Ok(WallKind::Curtain)) => Finding::ok(SUBJECT, CLOSED),
        (_, Ok(WallKind::Landlock)) => match config.data_dir().parent() {
            Some(parent) => {
                let sentence = format!("{CLOSED}, nor make anything new directly in {} or above", parent.display());
                Finding::ok(SUBJECT, sentence)
            }
            None => Finding::ok(SUBJECT, CLOSED),
        },
    }
}

pub fn open_files() -> Finding {
    const SUBJECT: &str = "open files";
    // `moot serve` raises its own limit to the hard one, so only that can hurt.
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if hard < FEW_FILES {
        let sentence = format!("at most {hard} open files, and every connection needs one");
        return Finding::warn(
            SUBJECT,
            sentence,
            "raise the hard limit: limits.conf, or LimitNOFILE= in the service file",
        );
    }
    Finding::ok(SUBJECT, format!("at most {hard}"))
}

pub async fn profile() -> Finding {
    const SUBJECT: &str = "profile";
    let kept = profile::path().and_then(|path| profile::read(&path));
    let profile = match kept {
        Err(error) => return Finding::warn(SUBJECT, format!("{error:#}"), "log in again with `moot login`"),
        Ok(None) => return Finding::ok(SUBJECT, "none; `moot login` makes it"),
        Ok(Some(profile)) => profile,
    };
    let session = match Hub::new(&profile.server, Some(profile.token)) {
        Ok(hub) => Session::of(hub).await,
        Err(error) => Err(error),
    };
    match session {
        Ok(session) => Finding::ok(SUBJECT, format!("{} at {}", session.name, profile.server)),
        Err(error) => Finding::warn(SUBJECT, format!("{error:#}"), "start the hub, or log in again with `moot login`"),
    }
}
