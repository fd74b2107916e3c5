//! The door's own port, on loopback only, for programs of this machine and for no web page.

use std::future::ready;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use folkmoot_doors::Protocol;
use folkmoot_doors::smarthole::SmartHole;
use folkmoot_hub::ws::upgrade::{hand_over, refuse};
use folkmoot_hub::{DoorStatus, net, peer, ws};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use super::{Routing, clients};

/// Opens the door if it is turned on. A port that is taken closes this door and nothing else.
pub async fn open(routing: &Routing) -> anyhow::Result<()> {
    if !routing.settings.enabled {
        return Ok(());
    }
    let address = routing.settings.listen_addr()?;
    let status = match TcpListener::bind(address).await {
        Ok(listener) => {
            let address = listener.local_addr()?;
            serve(routing, listener);
            // Where the machine has no such address, there is nobody to miss it.
            if let Ok(other) = TcpListener::bind(twin(address)).await {
                serve(routing, other);
            }
            tracing::info!(door = "smarthole", %address, "listening");
            DoorStatus::Listening(address)
        }
        Err(error) => {
            tracing::warn!(
                "the door smarthole stays closed: {address} cannot be listened on ({error}); stop the program that uses port \
                 {}, or set `smarthole.listen` to a free port, and start the hub again",
                address.port()
            );
            DoorStatus::Failed { address, cause: error.to_string() }
        }
    };
    *routing.status.lock() = status;
    Ok(())
}

/// The same port on the other kind of loopback.
fn twin(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}

fn serve(routing: &Routing, listener: TcpListener) {
    let answering = routing.clone();
    let respond = move |peer, request: Request<Incoming>| ready(Ok(respond(&answering, peer, request.map(Body::new))));
    let routing = routing.clone();
    tokio::spawn(async move { net::serve_with(listener, &routing.hub, routing.hub.stop(), respond).await });
}

fn respond(routing: &Routing, peer: SocketAddr, request: Request<Body>) -> Response<Body> {
    if !peer::is_of_this_machine(peer.ip(), request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "Forbidden: Non-localhost connections not allowed");
    }
    if !routing.hub.origins().are_ours(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "Forbidden: web pages may not connect");
    }
    let Ok(place) = Arc::clone(&routing.places).try_acquire_owned() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: Max connections reached");
    };
    let routing = routing.clone();
    hand_over(request, true, move |stream, already_read| {
        routing.hub.spawn_connection(serve_one(routing.clone(), peer.ip(), stream, already_read, place));
    })
}

/// A connection from its first moment to its last; then its place is free.
async fn serve_one(
    routing: Routing,
    peer: IpAddr,
    stream: TcpStream,
    already_read: Bytes,
    place: OwnedSemaphorePermit,
) {
    let (connection, reading) = routing.hub.new_connection(&SmartHole, peer, stream);
    let id = connection.id;
    ws::serve_to_its_end(&routing.hub, connection, SmartHole.open(routing.hub.now()), reading, already_read).await;
    clients::left(&routing, id);
    drop(place);
}
