//! `moot pool`: workers that are leased, and the hub's view of them.

use std::process::ExitCode;

use super::{Settings, pool_agent};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run an agent for pools, with a folder of music as its jukebox.
    Agent(pool_agent::Args),
}

pub fn run(settings: &Settings, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Agent(args) => pool_agent::run(settings, args),
    }
}
