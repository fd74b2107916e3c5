//! The agent side of pools: a library for writing agents that a Chopsticks controller leases and asks, and the jukebox.
//!
//! An agent is a name, the guilds it works in, and operations. An operation is an async function of a [`Context`] and a
//! typed request; what it returns becomes the answer. Saying hello, repeating it, coming back after a lost connection
//! and letting go of sessions before the end are done here.
//!
//! ```no_run
//! use folkmoot_pool::{Agent, Config, Context, Kind, OpError, Session};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Play {
//!     guild_id: String,
//!     voice_channel_id: String,
//!     query: String,
//! }
//!
//! #[derive(Serialize)]
//! struct Playing {
//!     action: &'static str,
//!     title: String,
//! }
//!
//! async fn play(context: Context, play: Play) -> Result<Playing, OpError> {
//!     if play.query.is_empty() {
//!         return Err(OpError::new("Track not found"));
//!     }
//!     context.join(&Session::new(Kind::Music, &play.guild_id, &play.voice_channel_id), None);
//!     Ok(Playing { action: "playing", title: play.query })
//! }
//!
//! #[tokio::main]
//! async fn main() {
//!     let config = Config::new("ws://127.0.0.1:8484/agents", "agent-1").guild("main");
//!     let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//!     Agent::new(config).op("play", play).run(stop).await;
//! }
//! ```
//!
//! Reading order: what travels is `folkmoot_wire::chopsticks`; [`agent`] (what an agent is) → [`link`] (what operations may
//! say) → `connection` (one connection) → `life` (one after another) → [`jukebox`] (the built-in player).

pub mod agent;
mod connection;
pub mod error;
pub mod jukebox;
mod life;
pub mod link;

pub use agent::{Agent, Config};
pub use error::OpError;
pub use folkmoot_wire::chopsticks::SessionKind as Kind;
pub use link::{Context, Session};
