//! Black-box suites: whether a server, or a client, keeps to the document of its protocol.
//!
//! A suite is a list of cases, one per rule of the document that can be seen from outside. It knows nothing of Folkmoot's
//! own types: frames are JSON on a plain WebSocket, so that it cannot agree with the hub by sharing its code. What a
//! document leaves open is taken leniently, and listed in `docs/conformance.md`.
//!
//! To add a case, write a function that takes the suite's stage and returns a [`Verdict`], and give it a line in the
//! suite's list; a test compares the lists with the tables in `conformance/`.

mod case;
mod command;
mod link;
mod listener;
mod report;
mod run;

pub mod chopsticks;
pub mod chopsticks_agent;
pub mod lark;
pub mod smarthole;
pub mod smarthole_client;
pub mod snek;

pub use case::{Case, Errand, Fault, Verdict};
pub use command::{Around, Command, Shown, Wrong};
pub use report::{Hue, Outcome, Report, Row, junit};
pub use run::{Pace, run};

/// What can be checked, by the word that names it.
pub const SUITES: [&str; 6] = ["lark", "snek", "smarthole", "chopsticks", "smarthole-client", "chopsticks-agent"];

/// The published table of a suite: case, section and rule.
pub fn table(suite: &str) -> Option<String> {
    match suite {
        "lark" => Some(report::table(&lark::cases())),
        "snek" => Some(report::table(&snek::cases())),
        "smarthole" => Some(report::table(&smarthole::cases())),
        "smarthole-client" => Some(report::table(&smarthole_client::cases())),
        "chopsticks" => Some(report::table(&chopsticks::cases())),
        "chopsticks-agent" => Some(report::table(&chopsticks_agent::cases())),
        _ => None,
    }
}
