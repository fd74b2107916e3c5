//! The main listener: one TCP port for REST, health and the doors' WebSockets.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, Uri, header};
use folkmoot_doors::Protocol;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::doors::DoorStatus;
use crate::hub::Hub;
use crate::peer::Peer;
use crate::settings::Limits;
use crate::ws::upgrade::upgrade;

const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// HTTP requests that are under way at a stop get this long.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How many HTTP connections there may be at a time, in all and from one address. Those that became WebSockets do not count.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub total: usize,
    pub per_address: usize,
}

impl Bounds {
    fn of(limits: &Limits) -> Self {
        Self { total: limits.http_connections as usize, per_address: limits.http_connections_per_address as usize }
    }
}

/// Who is connected now, on one listener.
#[derive(Default)]
struct Guests(Mutex<HashMap<IpAddr, usize>>);

/// One of them, until it leaves.
struct Admitted {
    guests: Arc<Guests>,
    address: IpAddr,
}

impl Guests {
    /// None when there are too many already; 0 is no bound.
    fn admit(self: &Arc<Self>, address: IpAddr, bounds: Bounds, is_proxy: bool) -> Option<Admitted> {
        let mut counts = self.0.lock();
        let full = |count: usize, bound: usize| bound > 0 && count >= bound;
        if full(counts.values().sum(), bounds.total) {
            return None;
        }
        let count = counts.entry(address).or_default();
        if full(*count, bounds.per_address) && !is_proxy {
            return None;
        }
        *count += 1;
        Some(Admitted { guests: Arc::clone(self), address })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.guests.0.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// Accepts connections until told to stop, then lets requests under way finish.
pub async fn serve(listener: TcpListener, hub: Hub, router: Router, stop: watch::Receiver<bool>) {
    let answering = hub.clone();
    let respond = move |address, request| respond(answering.clone(), router.clone(), address, request);
    serve_with(listener, &hub, stop, respond).await;
}

/// The same for a door with a listener of its own, which answers requests in its own way.
pub async fn serve_with<Answer>(
    listener: TcpListener,
    hub: &Hub,
    mut stop: watch::Receiver<bool>,
    respond: impl Fn(SocketAddr, Request<Incoming>) -> Answer + Clone + Send + 'static,
) where
    Answer: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
{
    let (bounds, guests) = (Bounds::of(&hub.settings().limits), Arc::new(Guests::default()));
    let header_timeout = hub.settings().server.header_timeout();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    // Whoever is one too many is closed at once: an answer would cost what the bound is to save.
                    if let Some(admitted) = guests.admit(address.ip(), bounds, hub.is_trusted_proxy(address.ip())) {
                        let serving = serve_one(stream, address, header_timeout, respond.clone(), stop.clone());
                        connections.spawn(async move {
                            serving.await;
                            drop(admitted);
                        });
                    }
                }
                Err(error) => {
                    // Out of file descriptors, most likely: those who are connected go on.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = stop.changed() => break,
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(STOP_TIMEOUT, rest).await;
}

async fn serve_one<Answer>(
    stream: TcpStream,
    address: SocketAddr,
    header_timeout: Duration,
    respond: impl Fn(SocketAddr, Request<Incoming>) -> Answer + Send + 'static,
    mut stop: watch::Receiver<bool>,
) where
    Answer: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
{
    // Small frames must not wait for each other.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| respond(address, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn respond(
    hub: Hub,
    router: Router,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut request = request.map(Body::new);
    // Doors first: a connect storm should not pay for the REST router.
    let peer = Peer(hub.peer_of(address, request.headers()));
    let door = door_at(&hub, request.uri()).filter(|_| !is_navigation(&request));
    if let Some(door) = door {
        let flow = match hub.doors().host(door.door()) {
            Some(host) => host.upgrade(address, request),
            None => ControlFlow::Continue(request),
        };
        return Ok(match flow {
            ControlFlow::Break(response) => response,
            ControlFlow::Continue(request) => upgrade(&hub, door, peer.0.ip(), request),
        });
    }
    request.extensions_mut().insert(peer);
    router.oneshot(request).await
}

/// Somebody typed the address into a browser: the page may have a view of the same name as a door.
fn is_navigation<B>(request: &Request<B>) -> bool {
    let accepts = request.headers().get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok()).unwrap_or_default();
    accepts.contains("text/html") && !request.headers().contains_key(header::UPGRADE)
}

/// The door at an address; `events` in the query picks one of its dialects, unless the dialect has the address for itself.
fn door_at(hub: &Hub, uri: &Uri) -> Option<&'static dyn Protocol> {
    let is_open = |door: &dyn Protocol| hub.doors().status(door.door()) != DoorStatus::Off;
    let mut own = hub.doors().protocols().iter().filter(|door| door.own_path() == Some(uri.path()));
    if let Some(door) = own.next() {
        return Some(*door).filter(|door| is_open(*door));
    }
    let is_here = |door: &&&'static dyn Protocol| {
        !door.door().facts().has_own_listener && door.path() == uri.path() && is_open(**door)
    };
    let mut doors = hub.doors().protocols().iter().filter(is_here);
    let first = doors.clone().next()?;
    let query = uri.query().unwrap_or_default();
    let dialect = query.split('&').find_map(|pair| pair.strip_prefix("events=")).unwrap_or_default();
    Some(*doors.find(|door| door.dialect() == dialect).unwrap_or(first))
}
