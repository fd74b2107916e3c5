//! The suite's end of a load generator process.

use std::net::SocketAddr;
use std::process::Command as Process;

use anyhow::{Context, Result, bail};

use crate::dialect::Dialect;
use crate::load::protocol::{Command, Drive, Open, Report};
use crate::process::{LOAD_CORE, Managed};

pub struct LoadProcess {
    process: Managed,
}

impl LoadProcess {
    pub fn start(dialect: Dialect, address: SocketAddr, server_pid: u32) -> Result<Self> {
        let mut command = Process::new(std::env::current_exe()?);
        command.arg("load").arg(dialect.name()).arg(address.to_string()).arg(server_pid.to_string());
        Ok(Self { process: Managed::start("the load generator", &mut command, LOAD_CORE)? })
    }

    pub fn open(&mut self, open: Open) -> Result<Report> {
        self.ask(&Command::Open(open))
    }

    /// Every message must have arrived everywhere: a number for lost messages would be worth nothing.
    pub fn drive(&mut self, drive: Drive) -> Result<Report> {
        let report = self.ask(&Command::Drive(drive))?;
        if report.delivered != report.expected {
            bail!(
                "{} deliveries arrived where {} were expected; other frames: {:?}",
                report.delivered,
                report.expected,
                report.others
            );
        }
        Ok(report)
    }

    pub fn settle(&mut self, quiet_ms: u64) -> Result<Report> {
        self.ask(&Command::Settle { quiet_ms })
    }

    pub fn close(&mut self) -> Result<Report> {
        self.ask(&Command::Close)
    }

    fn ask(&mut self, command: &Command) -> Result<Report> {
        self.process.write_line(&serde_json::to_string(command)?)?;
        let line = self.process.read_line()?;
        let report: Report = serde_json::from_str(&line).context("unreadable answer of the load generator")?;
        match report.error {
            Some(error) => bail!("{error}"),
            None => Ok(report),
        }
    }
}
