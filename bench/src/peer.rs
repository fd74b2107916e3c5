//! The public peer: socket.io from the npm registry, run by node.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::bare::listening_port;
use crate::process::{Managed, SERVER_CORE};

/// The peer, installed, or why it cannot be measured. Its absence is a gap in the table, not a failure.
pub enum Peer {
    Installed { folder: PathBuf, version: String },
    Missing(String),
}

impl Peer {
    /// Installs the peer when its modules are not there yet.
    pub fn find(bench_folder: &Path) -> Self {
        let folder = bench_folder.join("peer");
        match install(&folder) {
            Ok(version) => Self::Installed { folder, version },
            Err(error) => Self::Missing(format!("{error:#}")),
        }
    }

    pub fn start(&self) -> Result<Option<(Managed, u16)>> {
        let Self::Installed { folder, .. } = self else {
            return Ok(None);
        };
        let mut command = Command::new("node");
        command.arg("server.js").current_dir(folder).env("NODE_ENV", "production");
        let mut process = Managed::start("the peer", &mut command, SERVER_CORE)?;
        let port = listening_port(&mut process)?;
        Ok(Some((process, port)))
    }
}

fn install(folder: &Path) -> Result<String> {
    let modules = folder.join("node_modules/socket.io/package.json");
    if !modules.exists() {
        let status = Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("npm cannot be started")?;
        if !status.success() {
            bail!("npm could not install socket.io");
        }
    }
    let package: serde_json::Value = serde_json::from_slice(&std::fs::read(modules)?)?;
    let node = Command::new("node").arg("--version").output().context("node cannot be started")?;
    let node = String::from_utf8_lossy(&node.stdout).trim().to_owned();
    Ok(format!("socket.io {} on node {node}", package["version"].as_str().unwrap_or("?")))
}
