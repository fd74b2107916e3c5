//! `moot backup` and `moot restore`: the whole hub as one file.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use folkmoot_store::{Location, StoreError};

use super::{Fault, Settings, data_dir_override, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot backup hub.backup                           also while the hub runs
  moot backup /mnt/backups/hub-$(date +%F).backup --data-dir /srv/folkmoot

The file holds everything that was acknowledged before the command began, and the hub's secret:
keep it as carefully as the data folder.")]
pub struct BackupArgs {
    /// The file to write.
    file: PathBuf,
    /// The data folder of the hub.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot restore hub.backup --data-dir /srv/folkmoot
  moot restore hub.backup --force                  replaces the data that is there

Stop the hub first; a running one keeps its data folder to itself.")]
pub struct RestoreArgs {
    /// The backup to read.
    file: PathBuf,
    /// The data folder to fill.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Replace the data that is there.
    #[arg(long)]
    force: bool,
}

pub fn backup(settings: &Settings, args: BackupArgs) -> anyhow::Result<ExitCode> {
    let (location, source) = place(settings, args.data_dir)?;
    let file = std::path::absolute(args.file)?;
    if file.exists() && !args.force {
        let fault = Fault::failed(format!("`{}` is already there", file.display()));
        return Err(fault.hint("choose another name, or replace it with `--force`").into());
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) {
        let fault = Fault::failed(format!("there is no folder `{}`", folder.display()));
        return Err(fault.hint("make it first, or write the backup somewhere else").into());
    }
    let started = Instant::now();
    let target = file.clone();
    let growing = PathBuf::from(format!("{}.partial", file.display()));
    with_progress("backing up", &growing, move || folkmoot_store::backup_at(&location, &source, &target))?;
    let size = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
    let time = started.elapsed().as_secs_f64();
    output::line(&format!("wrote {} ({}) in {time:.1} s", file.display(), output::size(size)))?;
    Ok(ExitCode::SUCCESS)
}

pub fn restore(settings: &Settings, args: RestoreArgs) -> anyhow::Result<ExitCode> {
    let RestoreArgs { file, force, .. } = args;
    let (location, folder) = place(settings, args.data_dir)?;
    if !file.is_file() {
        return Err(Fault::failed(format!("there is no backup `{}`", file.display())).into());
    }
    let started = Instant::now();
    let (source, target) = (file.clone(), folder.clone());
    let growing = folder.join("restore.partial/hub.db");
    with_progress("restoring", &growing, move || folkmoot_store::restore_at(&source, &location, &target, force))?;
    let time = started.elapsed().as_secs_f64();
    output::line(&format!("restored {} into {} in {time:.1} s", file.display(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the hub keeps its messages, and its data folder.
pub fn place(settings: &Settings, flag: Option<PathBuf>) -> anyhow::Result<(Location, PathBuf)> {
    let loaded = settings.load_with(data_dir_override(flag).into_iter().collect())?;
    let location = Location::parse(loaded.config.store.url.expose()).map_err(Fault::from)?;
    Ok((location, loaded.config.data_dir()))
}

/// Does the work beside a line that shows how much of `file` is written, where somebody looks.
fn with_progress<W>(what: &str, file: &Path, work: W) -> anyhow::Result<()>
where
    W: FnOnce() -> Result<(), StoreError> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()));
    let shown = std::io::stderr().is_terminal();
    let outcome = loop {
        match receiver.recv_timeout(Duration::from_millis(200)) {
            Err(RecvTimeoutError::Timeout) if shown => {
                let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
                eprint!("\r\u{1b}[K{what}: {}", output::size(size));
                let _ = std::io::stderr().flush();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                break Err(Fault::failed(format!("{what} ended without a result")).into());
            }
            Ok(result) => break result.map_err(|error| Fault::from(error).into()),
        }
    };
    if shown {
        eprint!("\r\u{1b}[K");
    }
    let _ = worker.join();
    outcome
}
