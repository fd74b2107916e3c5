//! What an agent wants to do, understood once for every surface: what would run, what would change, how it is shown, what
//! tells it from another action. Pure: a value goes in, a value comes out.
//!
//! `visible` (characters that hide) and `shell` (what a line would run) are the ground; `known` says what kind of thing
//! it is, `danger` what to be warned of, `deny` which pattern it fits, `shown` how people see it, `fingerprint` when two
//! actions are one.

mod danger;
pub mod deny;
mod diff;
mod fingerprint;
mod json;
pub mod known;
pub mod shell;
mod shown;
pub mod visible;

pub use fingerprint::{Identity, lasting};
pub use shown::{Asked, Part, PartKind, Shown, Subject, too_large};
