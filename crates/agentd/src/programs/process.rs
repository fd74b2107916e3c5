//! One program over time: started, its output kept in a log, started again when it ends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use folkmoot_clients::Backoff;
use folkmoot_engines::engine::Launch;
use folkmoot_runs::process::lines::Line;
use folkmoot_runs::process::{Host, Process};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::file_names;
use crate::settings::ProgramAgent;

/// Where the logs of programs are, in the data folder.
pub const LOGS: &str = "logs/agents";
/// A log that is longer than this is put aside at the next start.
const MAX_LOG_BYTES: u64 = 8 << 20;
/// A program that ran this long was well; its restarts are counted anew.
const WELL: Duration = Duration::from_secs(60);

/// What programs write and say is their owner's business alone.
fn private_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub fn log_file(data_dir: &Path, agent: &str) -> PathBuf {
    data_dir.join(LOGS).join(format!("{}.log", file_names::of(agent)))
}

pub struct Watched {
    pub name: String,
    pub spec: ProgramAgent,
    /// What the program needs to find us.
    pub env: Vec<(String, String)>,
    pub data_dir: PathBuf,
    /// Where it works.
    pub folder: PathBuf,
    /// How it is started, and what it must not open.
    pub host: Host,
}

/// Why a program no longer runs.
enum Ended {
    ByItself(String),
    Restart,
    Stop,
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Nobody who could want it any more is the same.
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Watched {
    /// Runs the program until it is to stop, or until it ended too often.
    pub async fn keep(
        self,
        mut stop: watch::Receiver<bool>,
        mut restarts: mpsc::UnboundedReceiver<()>,
        state: watch::Sender<&'static str>,
    ) {
        let mut backoff = Backoff::for_reconnecting();
        loop {
            let begun = Instant::now();
            state.send_replace("running");
            match self.once(&mut stop, &mut restarts).await {
                Ended::Stop => {
                    state.send_replace("stopped");
                    return;
                }
                Ended::Restart => {
                    backoff.reset();
                    continue;
                }
                Ended::ByItself(how) => {
                    if begun.elapsed() >= WELL {
                        backoff.reset();
                    }
                    let again = self.spec.restart && backoff.attempts() < self.spec.max_restarts;
                    tracing::warn!(agent = self.name, how, again, "the program has ended");
                    self.note(&format!("-- ended: {how}"));
                    state.send_replace(if again { "waiting" } else { "failed" });
                    let pause = backoff.next(rand::random());
                    let paused = async {
                        match again {
                            true => tokio::time::sleep(pause).await,
                            false => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = paused => {}
                        Some(()) = restarts.recv() => backoff.reset(),
                        () = stopped(&mut stop) => {
                            state.send_replace("stopped");
                            return;
                        }
                    }
                }
            }
        }
    }

    async fn once(&self, stop: &mut watch::Receiver<bool>, restarts: &mut mpsc::UnboundedReceiver<()>) -> Ended {
        let mut log = match self.open_log() {
            Ok(log) => log,
            Err(error) => return Ended::ByItself(format!("its log cannot be written: {error}")),
        };
        let mut process = match Process::start(&self.launch(), &self.host) {
            Ok(process) => process,
            Err(error) => return Ended::ByItself(error.sentence),
        };
        process.close_stdin();
        let ended = loop {
            tokio::select! {
                line = process.line() => match line {
                    Some(Line::Text(mut text)) => {
                        text.push(b'\n');
                        let _ = log.write_all(&text);
                    }
                    Some(Line::TooLong(length)) => drop(writeln!(log, "-- a line of {length} bytes was skipped")),
                    None => {
                        let exit = process.exit().await;
                        let how = match (exit.code, exit.signal) {
                            (Some(code), _) => format!("exit code {code}"),
                            (None, Some(signal)) => format!("signal {signal}"),
                            (None, None) => "it vanished".to_owned(),
                        };
                        break Ended::ByItself(how);
                    }
                },
                Some(()) = restarts.recv() => break Ended::Restart,
                () = stopped(stop) => break Ended::Stop,
            }
        };
        process.end().await;
        ended
    }

    /// Through a shell, for one thing only: errors go where the output goes.
    fn launch(&self) -> Launch {
        let mut args: Vec<String> = ["-c", "exec \"$@\" 2>&1", "sh"].map(str::to_owned).to_vec();
        args.extend(self.spec.command.iter().cloned());
        let set = self.spec.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let set = set.chain(self.env.iter().cloned()).map(|(name, value)| (name, Some(value)));
        let folder = self.folder.clone();
        if let Err(error) = private_folder(&folder) {
            tracing::warn!(agent = self.name, %error, "the folder of a program cannot be made");
        }
        Launch { program: "sh".to_owned(), args, env: set.collect(), folder, ..Launch::default() }
    }

    fn open_log(&self) -> std::io::Result<File> {
        let path = log_file(&self.data_dir, &self.name);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        if path.metadata().is_ok_and(|data| data.len() > MAX_LOG_BYTES) {
            std::fs::rename(&path, path.with_extension("log.1"))?;
        }
        let mut log = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        writeln!(log, "-- started: {}", self.spec.command.first().map_or("", String::as_str))?;
        Ok(log)
    }

    fn note(&self, line: &str) {
        if let Ok(mut log) = OpenOptions::new().append(true).open(log_file(&self.data_dir, &self.name)) {
            let _ = writeln!(log, "{line}");
        }
    }
}
