//! The doors of one hub, as they were registered when it was put together, and who answers what only one of them asks.

use std::any::Any;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::{Request, Response};
use folkmoot_core::Refusal;
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::Door;
use folkmoot_doors::{Protocol, Ticket};

use crate::connection::Connection;

pub type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a door needs of the hub's surroundings beyond its protocol. Most doors need none; every part has a default.
pub trait DoorHost: Send + Sync {
    /// Whether it can be used now, for those who look after the hub. A door that is off is not found at its address.
    fn status(&self) -> DoorStatus {
        DoorStatus::Open
    }

    /// Takes a request to its address in its own way; otherwise it becomes a connection like any other. `socket` is who is at
    /// the other end of the wire, whatever a proxy says.
    fn upgrade(&self, _socket: SocketAddr, request: Request<Body>) -> ControlFlow<Response<Body>, Request<Body>> {
        ControlFlow::Continue(request)
    }

    /// What a session asked that only this door knows, in the order in which it was asked.
    fn asked<'a>(
        &'a self,
        connection: &'a Arc<Connection>,
        what: Box<dyn Any + Send>,
        ticket: Ticket,
    ) -> HostAnswer<'a>;

    /// Somebody looks at the figures: those that are counted only then are set now.
    fn refresh_metrics(&self) {}
}

/// What becomes of what a session asked.
pub enum HostAnswer<'a> {
    /// It is taken; an answer, if there is one, finds its own way.
    Taken,
    /// It is a log-in of the door's own kind: the session waits for its outcome.
    LogIn(Boxed<'a, Result<MemberId, Refusal>>),
}

/// How a door is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorStatus {
    Open,
    Off,
    /// It has a listener of its own, here.
    Listening(SocketAddr),
    /// Its own listener could not be opened.
    Failed {
        address: SocketAddr,
        cause: String,
    },
}

/// Every door of a hub.
pub struct Doors {
    protocols: Vec<&'static dyn Protocol>,
    hosts: HashMap<Door, OnceLock<Box<dyn DoorHost>>>,
}

impl Doors {
    /// A door may speak in several dialects, each of which is a protocol here.
    pub fn new(protocols: impl IntoIterator<Item = &'static dyn Protocol>) -> Self {
        let protocols: Vec<_> = protocols.into_iter().collect();
        let hosts = protocols.iter().map(|protocol| (protocol.door(), OnceLock::new())).collect();
        Self { protocols, hosts }
    }

    pub fn protocols(&self) -> &[&'static dyn Protocol] {
        &self.protocols
    }

    /// The protocol of a door's dialect.
    pub fn dialect(&self, door: Door, name: &str) -> Option<&'static dyn Protocol> {
        self.protocols.iter().copied().find(|protocol| (protocol.door(), protocol.dialect()) == (door, name))
    }

    /// Gives a door its host, before the first connection comes; a host usually holds on to the hub, which must be there first.
    pub fn set_host(&self, door: Door, host: impl DoorHost + 'static) {
        if self.hosts.get(&door).is_none_or(|place| place.set(Box::new(host)).is_err()) {
            tracing::error!(?door, "the door is not there, or has a host already");
        }
    }

    pub fn host(&self, door: Door) -> Option<&dyn DoorHost> {
        self.hosts.get(&door)?.get().map(|host| &**host)
    }

    pub fn status(&self, door: Door) -> DoorStatus {
        self.host(door).map_or(DoorStatus::Open, DoorHost::status)
    }

    /// Every host, for what concerns them all.
    pub fn hosts(&self) -> impl Iterator<Item = &dyn DoorHost> {
        self.hosts.values().filter_map(|place| place.get().map(|host| &**host))
    }
}
