//! The door's own port, on loopback only, for programs of this machine and for no web page.

use std::future::ready;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use folkmoot_doors::Protocol;
use folkmoot_doors::smarthole::SmartHole;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use super::clients;
use crate::app::App;
use crate::net;
use crate::ws::upgrade::{hand_over, refuse};

/// Whether the door is open, for whoever asks how the hub does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listening {
    Off,
    On(SocketAddr),
    Failed { address: SocketAddr, cause: String },
}

/// Opens the door if it is turned on. A port that is taken closes this door and nothing else.
pub async fn open(app: &App) -> anyhow::Result<()> {
    let smarthole = &app.config().smarthole;
    if !smarthole.enabled {
        return Ok(());
    }
    let address = smarthole.listen_addr()?;
    let listening = match TcpListener::bind(address).await {
        Ok(listener) => {
            let address = listener.local_addr()?;
            serve(app, listener);
            // Where the machine has no such address, there is nobody to miss it.
            if let Ok(other) = TcpListener::bind(twin(address)).await {
                serve(app, other);
            }
            tracing::info!(door = "smarthole", %address, "listening");
            Listening::On(address)
        }
        Err(error) => {
            tracing::warn!(
                "the door smarthole stays closed: {address} cannot be listened on ({error}); stop the program that uses port \
                 {}, or set `smarthole.listen` to a free port, and start the hub again",
                address.port()
            );
            Listening::Failed { address, cause: error.to_string() }
        }
    };
    *app.router().listening.lock() = listening;
    Ok(())
}

pub fn listening(app: &App) -> Listening {
    app.router().listening.lock().clone()
}

/// The same port on the other kind of loopback.
fn twin(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}

fn serve(app: &App, listener: TcpListener) {
    let hub = app.clone();
    let respond = move |peer, request: Request<Incoming>| ready(Ok(respond(&hub, peer, request.map(Body::new))));
    let app = app.clone();
    tokio::spawn(async move { net::serve_with(listener, &app, app.stop(), respond).await });
}

fn respond(app: &App, peer: SocketAddr, request: Request<Body>) -> Response<Body> {
    if !net::is_of_this_machine(peer.ip(), request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "Forbidden: Non-localhost connections not allowed");
    }
    if !app.origins().are_ours(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "Forbidden: web pages may not connect");
    }
    let Ok(place) = Arc::clone(&app.router().places).try_acquire_owned() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: Max connections reached");
    };
    let app = app.clone();
    hand_over(request, true, move |stream, already_read| {
        app.spawn_connection(serve_one(app.clone(), peer.ip(), stream, already_read, place));
    })
}

/// A connection from its first moment to its last; then its place is free.
async fn serve_one(app: App, peer: IpAddr, stream: TcpStream, already_read: Bytes, place: OwnedSemaphorePermit) {
    let (connection, reading) = app.new_connection(&SmartHole, peer, stream);
    let id = connection.id;
    app.run_connection(connection, SmartHole.open(app.now()), reading, already_read).await;
    clients::left(&app, id);
    drop(place);
}
