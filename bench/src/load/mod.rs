//! The load generator: a process of its own, one thread, raw sockets, epoll.
//!
//! It takes one command per line on standard input and answers each with one line. Between commands it
//! keeps its connections alive.

pub mod protocol;

mod books;
mod client;
mod connection;
mod engine;
mod room;

pub use client::LoadProcess;

use std::io::{BufRead, Write};
use std::net::SocketAddr;

use anyhow::Result;

use crate::dialect::Dialect;
use crate::load::engine::Engine;
use crate::load::protocol::{Command, Report};
use crate::process;

/// Serves commands until standard input ends.
pub fn serve(dialect: Dialect, address: SocketAddr, server_pid: u32) -> Result<()> {
    process::raise_file_limit();
    let mut engine = Engine::new(dialect, address, server_pid)?;
    let mut line = String::new();
    loop {
        engine.idle_until_command()?;
        line.clear();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(());
        }
        let report = answer(&mut engine, &line);
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer(&mut stdout, &report)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
}

fn answer(engine: &mut Engine, line: &str) -> Report {
    let result = serde_json::from_str(line).map_err(anyhow::Error::from).and_then(|command| match command {
        Command::Open(open) => engine.open(open),
        Command::Drive(drive) => engine.drive(&drive),
        Command::Settle { quiet_ms } => engine.settle(quiet_ms),
        Command::Close => engine.close(),
    });
    result.unwrap_or_else(|error| Report { error: Some(format!("{error:#}")), ..Report::default() })
}
