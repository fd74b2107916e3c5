//! What tests of several machines need on this one: real servers, and a network that can be broken.
//!
//! [`postgres()`] is one server for the whole test binary, [`Postgres::start`] one of its own; [`Database`] is a place in it for one
//! test. [`nats()`] and [`Nats::start`] are the same for NATS. [`Proxy`] stands between anybody and a server and can be cut.
//! Where a program is not installed a test is passed over and says so, with the remedy; where `CI` is set it fails.

mod certificates;
mod database;
mod guard;
mod nats;
mod postgres;
mod programs;
mod proxy;

pub use certificates::certificates;
pub use database::Database;
pub use nats::{Nats, nats};
pub use postgres::{Options, Postgres, postgres};
pub use proxy::{Direction, Proxy};
