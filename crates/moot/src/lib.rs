//! The `moot` binary: the command line, and what puts a hub together with its services and the machine it runs on.

pub mod agentd;
pub mod cli;
mod desktop;
pub mod hosting;
pub mod log;
mod memory;
pub mod rest;
mod routing;
pub mod runner;
pub mod serve;
pub mod telegram;

pub use folkmoot_config as config;
