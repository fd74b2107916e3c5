//! Clients: of a hub through Lark and of a Snek server, of language models and of speech recognition.
//!
//! What travels is of `folkmoot-wire`; what goes wrong comes back as a value that says whether to try again, and
//! neither keys nor addresses with secrets are ever part of it. In reading order: how long to wait ([`backoff`]), a WebSocket
//! ([`websocket`], [`line`]), calls over it ([`calls`]), the protocols ([`lark`], [`snek`]), and any OpenAI-compatible
//! endpoint ([`endpoint`], [`llm`], [`speech`]). [`mcp`] carries lines of an assistant to a hub's MCP door.

pub mod backoff;
pub mod calls;
pub mod endpoint;
pub mod lark;
pub mod line;
pub mod llm;
pub mod mcp;
pub mod snek;
pub mod speech;
pub mod websocket;

pub use backoff::Backoff;
pub use calls::CallFailure;
pub use endpoint::{Endpoint, PeerError};
