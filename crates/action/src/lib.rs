//! What an agent wants to do, understood once for every surface: what would run, what would change, how it is shown, what
//! tells it from another action. Pure: a value goes in, a value comes out.
//!
//! `visible` (characters that hide) and `shell` (what a line would run) are the ground; `subject` is what an action is, as the
//! asker says, and `guess` what it seems to be where nobody says; `danger` says what to be warned of, `deny` which pattern it
//! fits, `shown` how people see it, `payload` how it is stored, `fingerprint` when two actions are one.

mod changes;
mod danger;
pub mod deny;
mod diff;
mod fingerprint;
mod guess;
mod json;
mod known;
mod payload;
pub mod shell;
mod shown;
mod subject;
pub mod visible;

pub use changes::{FileDiff, of_files as changed_files, take as take_changes};
pub use fingerprint::{Identity, Place, lasting};
pub use guess::guessed;
pub use known::paths as named_paths;
pub use payload::Payload;
pub use shell::CommandLine;
pub use shown::{LocalQuestion, Part, PartKind, Shown, too_large};
pub use subject::{AskKind, Proposal, Subject};
