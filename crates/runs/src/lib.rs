//! Runs: prompts that go through the programs of engines, one at a time in each thread, and what people see of them.
//!
//! Read in this order: [`process`] starts programs and ends all that they start, [`run`] drives one prompt through one
//! of them, [`locks`] and [`scheduler`] keep threads in order, [`run_queue`] paces many, [`progress`] shows what
//! happens, [`keyboard`] hears what people type meanwhile; [`availability`] and [`modes`] know what is installed and
//! what it can, [`install`] gets it, [`git`] and [`worktree`] where it works.
//!
//! A binary that starts engines calls [`process::supervisor::hook`] first thing in `main`.

mod feed;
pub mod locks;
pub mod process;
pub mod run;
mod warm;

pub mod availability;
pub mod engine_list;
pub mod files;
pub mod git;
pub mod install;
pub mod keyboard;
pub mod modes;
pub mod progress;
pub mod router;
pub mod run_queue;
pub mod scheduler;
pub mod worktree;
