//! `moot serve`: the hub in this terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::{Settings, data_dir_override, output};
use crate::config::{self, Override};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot serve                                       on 127.0.0.1:8484, data in the XDG data folder
  moot serve --listen 0.0.0.0:8484                 reachable from other machines; put TLS in front of it
  moot serve --data-dir ./try --listen 127.0.0.1:0 a throw-away hub on a free port
  MOOT_SERVER__REGISTRATION=open moot serve        anybody may create a workspace

It stops on Ctrl-C or SIGTERM: sockets are closed, what was acknowledged is on disk.")]
pub struct Args {
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Folder for the database and the uploads.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let listen = args.listen.map(|value| Override { flag: "--listen", key: "server.listen", value });
    let overrides = listen.into_iter().chain(data_dir_override(args.data_dir)).collect();
    let loaded = settings.load_with(overrides)?;
    for note in &loaded.notes {
        output::note(&format!("note: {note}"));
    }
    output::exposed(&config::tend_all(&loaded));
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(crate::serve::run(loaded.config, &loaded.file))?;
    Ok(ExitCode::SUCCESS)
}

/// Every connection needs a file descriptor, and shells give a program few of those it may have.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum.or(Some(1 << 20));
    // A smaller limit than hoped for is no reason not to start; `moot doctor` tells of it.
    let _ = setrlimit(Resource::Nofile, limit);
}
