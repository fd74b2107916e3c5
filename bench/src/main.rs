//! The bench: what the hub costs, beside the least that any server must cost and beside one public peer.
//!
//! `run` is the suite. The other subcommands are the processes it starts: the load generator and the bare server.

mod bare;
mod dialect;
mod facts;
mod frame;
mod http;
mod hub;
mod load;
mod peer;
mod poller;
mod process;
mod report;
mod run;
mod scenario;
mod socket;
mod sqlite;
mod stats;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: folkmoot-bench run [--quick] [--only NAME,…] [--moot PATH]";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Err(error) = dispatch(&args) {
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn dispatch(args: &[&str]) -> Result<()> {
    match args {
        ["run", options @ ..] => run::suite(&run::Options::parse(options)?),
        ["load", dialect, address, pid] => load::serve(
            dialect::Dialect::from_name(dialect)?,
            address.parse().context("the address is no socket address")?,
            pid.parse().context("the process id is no number")?,
        ),
        ["bare", bytes, coalesce, database @ ..] => bare::serve(
            bytes.parse().context("the payload size is no number")?,
            *coalesce == "true",
            database.first().map(std::path::Path::new),
        ),
        _ => bail!("{USAGE}"),
    }
}
