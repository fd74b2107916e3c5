//! `moot agentd`: the daemon in this terminal, in the background, its state and its log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use folkmoot_agentd::programs::log_file;
use folkmoot_hub::modes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{Fault, Settings, carrier, data_dir_override, output};
use crate::{agentd, config, log, memory, runner, serve};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Args {
    /// Folder for the daemon's journal and logs.
    #[arg(long, value_name = "FOLDER", global = true)]
    data_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run the daemon in the background.
    Start,
    /// Stop the daemon that runs in the background.
    Stop,
    /// Show whether it runs, and its agents.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the end of its log, or of a program's.
    Logs {
        /// The agent whose log to show; the daemon's own when left out.
        agent: Option<String>,
        /// How many lines.
        #[arg(short = 'n', long, default_value_t = 50)]
        lines: usize,
    },
}

const AFTER_HELP: &str = "\
The daemon hosts agents on this machine and carries them to a hub: coding agents (claude, codex,
…) that work in a folder, and programs in any language. Mention one in a channel, and it works on
your machine and answers in the thread. `moot serve` hosts the agents of its own configuration by
itself; then you need no daemon.

Examples:
  moot login                                                    once; the daemon makes its key with it
  moot agent add claude --engine claude --project ~/src/site    an agent
  moot agentd start                                             now `@claude fix it` works
  moot agentd status
  moot agentd logs
  moot agentd                                                   here; Ctrl-C stops it";

const PID_FILE: &str = "agentd.pid";
const STATUS_FILE: &str = "agentd.status.json";
const LOG: &str = "logs/agentd.log";
/// How long a start or a stop may take.
const DAEMON_TIMEOUT: Duration = Duration::from_secs(10);

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let loaded = settings.load_with(data_dir_override(args.data_dir.clone()).into_iter().collect())?;
    let folder = loaded.config.data_dir();
    match args.command {
        None => foreground(settings, args.data_dir),
        Some(Command::Start) => start(settings, &folder),
        Some(Command::Stop) => stop(&folder),
        Some(Command::Status { json }) => status(&folder, json),
        Some(Command::Logs { agent, lines }) => {
            let path = agent.map_or_else(|| folder.join(LOG), |agent| log_file(&folder, &agent));
            logs(&path, lines)
        }
    }
}

fn foreground(settings: &Settings, data_dir: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let loaded = settings.load_with(data_dir_override(data_dir.clone()).into_iter().collect())?;
    output::exposed(&config::tend_all(&loaded));
    let config = loaded.config;
    let folder = config.data_dir();
    modes::make_folder(&folder).map_err(|error| {
        Fault::failed(format!("the data folder `{}` cannot be made: {error}", folder.display()))
            .hint("choose another one with --data-dir")
    })?;
    let lock = Lock::take(&folder)?;
    log::init(&config);
    memory::give_back();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let login = runtime.block_on(carrier::find(&config, &folder))?;
    let mut daemon = agentd::alone(&config, folder.clone(), login.key.clone())?;
    daemon.agents.retain(|agent| login.carries(&agent.name));
    let reload = || {
        let overrides = data_dir_override(data_dir.clone()).into_iter().collect();
        let mut agents = agentd::configured(&settings.load_with(overrides)?.config);
        agents.retain(|agent| login.carries(&agent.name));
        Ok(agents)
    };
    let ended = runtime.block_on(async {
        let (tell, told) = tokio::sync::oneshot::channel();
        let run =
            folkmoot_agentd::run(daemon, runner::runner(&config), until_signal(), |handle| drop(tell.send(handle)));
        let follow = async {
            let Ok(handle) = told.await else { return };
            output::note("The daemon runs. Ctrl-C stops it.");
            follow(&folder, &handle, reload).await;
        };
        tokio::pin!(run, follow);
        tokio::select! {
            ended = &mut run => ended,
            () = &mut follow => run.await,
        }
    });
    runtime.shutdown_background();
    let _ = std::fs::remove_file(folder.join(STATUS_FILE));
    drop(lock);
    ended.map_err(|error| agentd::fault(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn until_signal() -> impl Future<Output = ()> + Send {
    let asked_to_stop = serve::asked_to_stop();
    async move {
        asked_to_stop.await;
        tracing::info!("stopping");
    }
}

/// Keeps the file for `status`, and reads the configuration again on SIGHUP.
async fn follow(
    folder: &Path,
    handle: &folkmoot_agentd::Handle,
    reload: impl Fn() -> anyhow::Result<Vec<folkmoot_agentd::AgentSpec>>,
) {
    let mut status = handle.status();
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else { return };
    loop {
        let now = serde_json::to_string(&*status.borrow_and_update()).unwrap_or_default();
        let _ = modes::write_file(&folder.join(STATUS_FILE), now.as_bytes());
        tokio::select! {
            changed = status.changed() => if changed.is_err() { return },
            _ = hang_up.recv() => match reload() {
                Ok(agents) => {
                    tracing::info!(agents = agents.len(), "the configuration was read again");
                    handle.host(agents);
                }
                Err(error) => tracing::error!("the configuration was not taken: {error:#}"),
            },
        }
    }
}

/// Held while a daemon runs; its file names the process.
struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    fn take(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(PID_FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let fault = Fault::failed("a daemon runs already with this data folder");
            return Err(fault.hint("`moot agentd status` shows it, `moot agentd stop` ends it").into());
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file, path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The process of the daemon that runs with this data folder.
pub fn running(folder: &Path) -> Option<Pid> {
    let mut file = OpenOptions::new().read(true).write(true).open(folder.join(PID_FILE)).ok()?;
    // Nobody holds it: whoever wrote it is dead, whatever lives under its number.
    if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

fn start(settings: &Settings, folder: &Path) -> anyhow::Result<ExitCode> {
    if let Some(pid) = running(folder) {
        output::note(&format!("The daemon runs already (process {}).", pid.as_raw_nonzero()));
        return Ok(ExitCode::SUCCESS);
    }
    let path = folder.join(LOG);
    if let Some(logs) = path.parent() {
        modes::make_folder(logs)?;
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("agentd").arg("--data-dir").arg(folder);
    if let Some(file) = &settings.file {
        command.arg("--config").arg(file);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    let mut child = command.spawn()?;
    let until = Instant::now() + DAEMON_TIMEOUT;
    while Instant::now() < until {
        if let Some(ended) = child.try_wait()? {
            let fault = Fault::failed(format!("the daemon ended at once ({ended})"));
            return Err(fault.hint(last_line(&path).unwrap_or_else(|| "see `moot agentd logs`".to_owned())).into());
        }
        if running(folder).is_some() && folder.join(STATUS_FILE).exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    output::note(&format!("The daemon runs (process {}); its log is {}.", child.id(), path.display()));
    Ok(ExitCode::SUCCESS)
}

fn stop(folder: &Path) -> anyhow::Result<ExitCode> {
    let Some(pid) = running(folder) else {
        return Err(Fault::failed("no daemon runs with this data folder")
            .hint("`moot agentd start` starts one")
            .into());
    };
    kill_process(pid, Signal::TERM).map_err(|error| Fault::failed(format!("the daemon cannot be stopped: {error}")))?;
    let until = Instant::now() + DAEMON_TIMEOUT;
    while running(folder).is_some() {
        if Instant::now() > until {
            return Err(Fault::failed("the daemon does not end").hint("see `moot agentd logs`").into());
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    output::note("The daemon has stopped.");
    Ok(ExitCode::SUCCESS)
}

fn status(folder: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let pid = running(folder);
    let text = std::fs::read_to_string(folder.join(STATUS_FILE)).unwrap_or_default();
    let kept: Value = serde_json::from_str(&text).ok().filter(|_| pid.is_some()).unwrap_or_else(|| json!({}));
    if as_json {
        let shown = json!({
            "running": pid.is_some(),
            "pid": pid.map(|pid| pid.as_raw_nonzero().get()),
            "connected": kept["connected"].as_bool().unwrap_or(false),
            "runs": kept["runs"].as_u64().unwrap_or(0),
            "agents": kept["agents"].as_array().cloned().unwrap_or_default(),
        });
        output::json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(pid) = pid else {
        output::note("No daemon runs. `moot agentd start` starts one.");
        return Ok(ExitCode::SUCCESS);
    };
    let connected = if kept["connected"] == true { "connected to the hub" } else { "not connected to the hub" };
    output::note(&format!("The daemon runs (process {}), {connected}.", pid.as_raw_nonzero()));
    let cell = |agent: &Value, key: &str| agent[key].as_str().unwrap_or("-").to_owned();
    let agents = kept["agents"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Vec<String>> =
        agents.iter().map(|agent| ["name", "kind", "state"].map(|key| cell(agent, key)).to_vec()).collect();
    output::table(&["AGENT", "KIND", "STATE"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn logs(path: &Path, lines: usize) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Fault::failed(format!("there is no log at {}: {error}", path.display()))
            .hint("a daemon in a terminal writes to it; `moot agentd start` writes this file")
    })?;
    let all: Vec<&str> = text.lines().collect();
    let from = all.len().saturating_sub(lines);
    output::text(&format!("{}\n", all[from..].join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

fn last_line(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
}
