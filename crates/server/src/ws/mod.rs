//! WebSocket connections: bytes framed once and shared, one small task per connection.
//!
//! Reading and the protocol's own rules (masking, fragments, control frames, close codes) are tungstenite's. Writing is
//! ours, because a broadcast must cost one frame for all its readers: outgoing frames are made once as bytes, every
//! connection queues a reference to them, and whoever queues also writes as long as the socket takes it. The task of
//! a connection wakes for writing only when the socket was full. See `docs/decisions/0002-one-writer-thread.md`.

pub mod connection;
pub mod frame;
pub mod run;
pub mod upgrade;
