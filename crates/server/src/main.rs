//! The `moot` binary: parse the command line, run it, turn the outcome into an exit code.

use std::process::ExitCode;

use folkmoot_server::cli;

fn main() -> ExitCode {
    match cli::parse().and_then(cli::run) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}
