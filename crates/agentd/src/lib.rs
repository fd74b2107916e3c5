//! The daemon: hosts agents on this machine and carries them to a hub.
//!
//! To the hub it is one more client of the Lark door that registers agents; what it hosts are engines, driven through
//! the desk, and programs in any language, which speak to it over a Unix socket. Read in this order: [`settings`] (whom it
//! hosts), the client of `folkmoot-clients` (the connection to the hub), [`journal`] (what survives a crash), [`wake`], [`prompt`],
//! [`command`], [`policy`] and `inside` (what is wanted, as values), [`daemon`] (one task, one enum of events), [`programs`].

pub mod command;
pub mod daemon;
mod error;
pub mod file_names;
pub mod hub;
mod inside;
pub mod journal;
pub mod policy;
pub mod programs;
pub mod prompt;
pub mod settings;
pub mod wake;

pub use daemon::{Handle, run};
pub use error::DaemonError;
pub use settings::{AgentSpec, DaemonSettings, EngineAgent, Kind, Policy, ProgramAgent};
