//! WebSocket connections: bytes framed once and shared, one small task per connection.
//!
//! Reading and the protocol's own rules (masking, fragments, control frames, close codes) are tungstenite's. Writing is
//! ours, because a broadcast must cost one frame for all its readers: outgoing frames are made once as bytes, every
//! connection queues a reference to them, and whoever queues also writes as long as the socket takes it. The task of
//! a connection wakes for writing only when the socket was full. See `docs/decisions/0002-one-writer-thread.md`.

mod run;
pub mod upgrade;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use folkmoot_doors::{Protocol, Session};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

use crate::connection::Connection;
use crate::hub::Hub;

/// Starts the task of a new connection.
pub fn serve(hub: &Hub, protocol: &'static dyn Protocol, address: IpAddr, stream: TcpStream, already_read: Bytes) {
    let (connection, reading) = hub.new_connection(protocol, address, stream);
    hub.spawn_connection(serve_to_its_end(hub, connection, protocol.open(hub.now()), reading, already_read));
}

/// Serves a connection that somebody else made, such as the host of a door.
pub fn serve_to_its_end(
    hub: &Hub,
    connection: Arc<Connection>,
    session: Box<dyn Session>,
    reading: OwnedReadHalf,
    already_read: Bytes,
) -> impl Future<Output = ()> + Send + use<> {
    run::run(hub.clone(), connection, session, reading, already_read, hub.stop())
}
