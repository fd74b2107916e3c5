//! The hub itself: connections, deciding, committing, telling, proving who somebody is, and reading.
//!
//! A message's way: [`ws`] reads a frame, a door's session turns it into a command, the [`executor`] decides, commits and
//! tells it, and [`connection`] writes the shared bytes to every socket that hears it. Everything beyond that (REST, pools,
//! routing) is built over the one handle [`Hub`] and brings its own routes ([`request`]) and its own doors ([`doors`]).

pub mod auth;
pub mod clock;
pub mod connection;
pub mod doors;
pub mod executor;
pub mod hub;
pub mod login;
pub mod metrics;
pub mod modes;
pub mod net;
pub mod origin;
pub mod peer;
pub mod quotas;
pub mod readings;
pub mod request;
pub mod settings;
mod setup;
pub mod start;
pub mod ws;

pub use self::doors::{DoorHost, DoorStatus, Doors};
pub use folkmoot_store::Page;

pub use self::executor::{CommandOutcome, Sighting};
pub use self::hub::Hub;
pub use self::settings::HubSettings;

// What `surface!` expands to.
#[doc(hidden)]
pub use {pastey, utoipa_axum};
