//! The `moot` binary: parse the command line, run it, turn the outcome into an exit code.

use std::process::ExitCode;

use folkmoot_moot::cli;
use tikv_jemallocator::Jemalloc;

/// It gives back what a burst used; see `docs/decisions/0006-memory-comes-back.md`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    // This binary also watches over the engines that it starts.
    if let Some(code) = folkmoot_runs::process::supervisor::hook() {
        return code;
    }
    keep_to_ourselves();
    match cli::parse().and_then(cli::run) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}

/// Our memory and our environment hold secrets, and engines run as the same user: no other process of that user may look
/// into this one.
fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where it cannot be had, the walls around engines still hold.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
