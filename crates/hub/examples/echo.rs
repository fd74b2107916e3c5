//! An echo server over the hub's own WebSocket layer, for `make autobahn`: the listener, the upgrade, the connection and its
//! task are those of the hub; the door says back whatever comes.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Door, DoorFacts};
use folkmoot_core::{Millis, Refusal};
use folkmoot_doors::{Ask, Events, Limits, Protocol, Session, Step, Ticket};
use folkmoot_hub::HubSettings;
use folkmoot_hub::connection::{Chunk, Connection};
use folkmoot_hub::doors::{DoorHost, Doors, HostAnswer};
use folkmoot_hub::start::Running;
use tokio::net::TcpListener;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};

struct Echo;

static FACTS: DoorFacts = DoorFacts::plain(200, "echo");

impl Protocol for Echo {
    fn door(&self) -> Door {
        Door::new(&FACTS)
    }

    fn path(&self) -> &'static str {
        "/echo"
    }

    fn limits(&self) -> Limits {
        Limits { frame_bytes: 16 << 20, queued_frames: 4096, subscriptions: 1 }
    }

    fn open(&self, _now: Millis) -> Box<dyn Session> {
        Box::new(EchoSession)
    }
}

impl Events for Echo {}

struct EchoSession;

impl Session for EchoSession {
    fn on_text(&mut self, text: &str, _now: Millis) -> Vec<Step> {
        vec![Step::Send(text.to_owned())]
    }

    /// No door of the hub sends binary frames, so no step does; the host of this one does.
    fn on_binary(&mut self, data: &[u8], _now: Millis) -> Vec<Step> {
        vec![Step::Ask(Ask::Host(Box::new(data.to_vec())), Ticket::default())]
    }

    fn on_sign_of_life(&mut self, _now: Millis) {}

    fn on_login(&mut self, _outcome: Result<MemberId, Refusal>, _now: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn on_deadline(&mut self, _now: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn deadline(&self) -> Millis {
        Millis::MAX / 2
    }

    fn member(&self) -> Option<MemberId> {
        None
    }
}

struct Host;

impl DoorHost for Host {
    fn asked<'a>(&'a self, connection: &'a Arc<Connection>, what: Box<dyn Any + Send>, _: Ticket) -> HostAnswer<'a> {
        let data: Vec<u8> = *what.downcast().expect("what the sessions of this door ask");
        let mut bytes = Vec::new();
        let frame = Frame::message(data, OpCode::Data(Data::Binary), true);
        frame.format(&mut bytes).expect("a vector takes everything");
        connection.send(Chunk::answer(Bytes::from(bytes)));
        HostAnswer::Taken
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut settings = HubSettings { data_dir: folder.path().to_owned(), ..HubSettings::default() };
    settings.limits.requests_per_second = 0;
    let store = folkmoot_store::open(folder.path())?;
    let clock = Arc::new(folkmoot_hub::clock::wall_clock);
    let running = Running::start(settings, store, Doors::new([&Echo as &dyn Protocol]), clock)?;
    running.hub.doors().set_host(Echo.door(), Host);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ws://{}/echo", listener.local_addr()?);
    let stopped = running.serve(listener, Router::new(), Vec::new(), std::future::pending()).await;
    stopped.map_err(|_| anyhow::anyhow!("the hub's thread has ended"))
}
