//! The domain of Folkmoot: who is there, what was said, what waits for whom, and who may do what.
//!
//! Commands come in, events go out. [`decide::decide`] is a pure function of state, history, actor, command and time; every
//! permission check is in it or in [`access`], which it shares with the readers. Nothing here knows a socket, a
//! database, a clock or a runtime: time, ids and history arrive as arguments.
//!
//! Reading order: [`model`] (the things), [`command`] (what can be asked), [`event`] (what happened), [`decide`] (the
//! rules), [`state`] (what is kept in memory), [`route`] (sentences that are handed on), [`delivery`] (wakes and what came of
//! them), [`record`] (how things are kept elsewhere). No two of these modules lean on each other: who is told of an event
//! takes the state, so it is not in [`event`] but in `audience`.

pub mod access;
mod audience;
pub mod command;
pub mod decide;
pub mod delivery;
pub mod event;
mod hash;
pub mod hosting;
pub mod ids;
pub mod lookup;
pub mod mention;
pub mod model;
pub mod moment;
pub mod names;
pub mod pools;
pub mod quota;
pub mod rank;
pub mod record;
pub mod refusal;
pub mod repeat;
pub mod route;
pub mod run;
pub mod state;

pub use access::Actor;
pub use command::{Command, Reply};
pub use decide::{Context, Decision, decide};
pub use event::Event;
pub use lookup::{Lookup, Unavailable};
pub use record::{Record, RecordKind};
pub use refusal::{Code, Refusal};
pub use state::State;

/// Milliseconds since the Unix epoch, as on the wire.
pub type Millis = i64;
