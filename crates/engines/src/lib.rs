//! Engines and runs: coding agents behind one event model.
//!
//! Read in this order: [`event`] is what everybody speaks, [`engine`] what an engine is, [`engines`] the ones there are;
//! [`contract`] holds all of them to the same rules, [`run`] drives one prompt through one [`process`], [`scheduler`]
//! keeps threads in order, [`progress`] shows what happens.
//!
//! A binary that starts engines calls [`process::supervisor::hook`] first thing in `main`.

pub mod event;
pub mod resume;

pub mod engine;
pub mod engines;
mod json;
pub mod programs;
#[cfg(test)]
mod testing;
mod tools;

pub mod contract;
mod feed;
pub mod locks;
pub mod process;
pub mod run;
mod warm;

pub mod availability;
pub mod files;
pub mod git;
pub mod modes;
pub mod progress;
pub mod router;
pub mod run_queue;
pub mod scheduler;
pub mod worktree;

pub use engine::words;
