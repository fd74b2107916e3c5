//! The hub from a terminal: the commands that only talk to a hub, over REST and its sockets, and what every command
//! shares: settings, profiles, questions, tables, colours, and how a failure is shown.

pub mod fault;
pub mod settings;

pub mod output;
pub mod prompt;
pub mod report;

pub mod profile;

pub mod client;
pub mod names;

pub mod account;
pub mod approvals;
pub mod channel;
pub mod echo;
pub mod login;
pub mod machine;
pub mod mcp;
pub mod member;
pub mod pool_listen;
pub mod runs;
pub mod say;
pub mod send;
pub mod tail;

pub use fault::Fault;
pub use settings::{Settings, data_dir_override};
