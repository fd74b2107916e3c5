//! Clients of services the hub does not host: language models, speech recognition, WebSockets, and how to wait for them.
//!
//! Any OpenAI-compatible endpoint will do. What goes wrong comes back as a value that says whether to try again;
//! neither keys nor addresses with secrets are ever part of it.

pub mod backoff;
pub mod endpoint;
pub mod line;
pub mod llm;
pub mod speech;
pub mod websocket;

pub use backoff::Backoff;
pub use endpoint::{Endpoint, PeerError};
