//! The `moot` binary: parse the command line, run it, turn the outcome into an exit code.

use std::process::ExitCode;

use folkmoot_server::cli;

fn main() -> ExitCode {
    // This binary also watches over the engines that it starts.
    if let Some(code) = folkmoot_engines::process::keeper::hook() {
        return code;
    }
    match cli::parse().and_then(cli::run) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}
