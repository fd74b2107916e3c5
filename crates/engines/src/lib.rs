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
pub mod json;
pub mod programs;
#[cfg(test)]
mod testing;
mod tools;

pub mod contract;

pub use engine::words;
