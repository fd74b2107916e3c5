//! The runner contract against every engine, with fake command lines that are real processes.

mod modes;
mod parallel;
mod processes;
mod rules;
mod serialization;
mod support;
mod walls;
mod warm;
