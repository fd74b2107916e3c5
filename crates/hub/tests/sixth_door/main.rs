//! The door seam, proven by a door that the hub has never heard of: one folder ([`echo`]) and one registration.

mod echo;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use folkmoot_core::command::{Command, Register, Registration, Reply, Standing};
use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Channel, ChannelKind, Door, Member};
use folkmoot_core::{Actor, Millis};
use folkmoot_doors::{DOORS, Protocol, Ticket};
use folkmoot_hub::connection::Connection;
use folkmoot_hub::doors::{DoorHost, Doors, HostAnswer};
use folkmoot_hub::start::Running;
use folkmoot_hub::{Hub, HubSettings};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use echo::Echo;
use echo::session::Whisper;

/// Time stands still: what is said is said then.
const NOW: Millis = 1_700_000_000_000;
const DEADLINE: Duration = Duration::from_secs(30);

struct World {
    hub: Hub,
    address: String,
    whispers: mpsc::UnboundedReceiver<String>,
    owner: Arc<Member>,
    channel: Channel,
    _folder: tempfile::TempDir,
}

struct Whispers(mpsc::UnboundedSender<String>);

impl DoorHost for Whispers {
    fn asked<'a>(&'a self, _: &'a Arc<Connection>, what: Box<dyn Any + Send>, _: Ticket) -> HostAnswer<'a> {
        let Whisper(text) = *what.downcast().expect("what the sessions of this door ask");
        self.0.send(text).expect("somebody listens");
        HostAnswer::Taken
    }
}

async fn start() -> World {
    let folder = tempfile::tempdir().unwrap();
    let settings = HubSettings { data_dir: folder.path().to_owned(), ..HubSettings::default() };
    let store = folkmoot_store::open(folder.path()).unwrap();
    let doors = Doors::new(DOORS.iter().copied().chain([&Echo as &dyn Protocol]));
    let running = Running::start(settings, store, doors, Arc::new(|| NOW)).unwrap();
    let hub = running.hub.clone();
    let (sender, whispers) = mpsc::unbounded_channel();
    hub.doors().set_host(Echo.door(), Whispers(sender));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(running.serve(listener, Router::new(), Vec::new(), std::future::pending()));
    let (owner, channel) = people(&hub).await;
    World { hub, address, whispers, owner, channel, _folder: folder }
}

async fn people(hub: &Hub) -> (Arc<Member>, Channel) {
    let register = Register {
        policy: Registration::First,
        standing: Standing::Proven,
        email: "ann@example.org".to_owned(),
        name: "ann".to_owned(),
        workspace_name: None,
        password_hash: String::new(),
    };
    let registered = hub.execute(Actor::nobody(Door::Rest), Command::Register(register)).await;
    let Ok(Reply::Registered { member, .. }) = registered else { panic!("{registered:?}") };
    let create = Command::CreateChannel {
        workspace: None,
        name: "general".to_owned(),
        kind: ChannelKind::Channel,
        topic: String::new(),
    };
    let created = hub.execute(Actor::new(member.id, Door::Rest), create).await;
    let Ok(Reply::Channel { channel, .. }) = created else { panic!("{created:?}") };
    (member, channel)
}

impl World {
    async fn connect(&self, path: &str) -> Result<Client, tokio_tungstenite::tungstenite::Error> {
        let (socket, _) = tokio_tungstenite::connect_async(format!("ws://{}{path}", self.address)).await?;
        Ok(Client(socket))
    }

    async fn joined(&self) -> Client {
        let mut client = self.connect("/echo").await.unwrap();
        let token = self.hub.auth().issue(&self.owner, self.hub.now(), None).token;
        client.send(&format!("join {token}")).await;
        assert_eq!(client.next().await, "join ok");
        assert_eq!(client.next().await, "welcome true");
        client
    }

    async fn newest_in(&self, channel: ChannelId) -> folkmoot_core::model::Message {
        self.hub.read(move |reader| reader.newest_messages(channel, 1)).await.unwrap().pop().expect("a message")
    }
}

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    async fn next(&mut self) -> String {
        let frame = tokio::time::timeout(DEADLINE, self.0.next()).await.expect("a frame in time");
        frame.expect("an open socket").unwrap().into_text().unwrap().to_string()
    }
}

#[tokio::test]
async fn a_registered_door_is_found_at_its_path_and_answers() {
    let world = start().await;
    let mut client = world.connect("/echo").await.unwrap();
    client.send("is anybody there").await;
    assert_eq!(client.next().await, "is anybody there");
    assert!(world.connect("/echoes").await.is_err(), "nothing is registered there");
}

#[tokio::test]
async fn what_is_said_through_a_new_door_is_heard_and_stored_as_its_own() {
    let mut world = start().await;
    let mut client = world.joined().await;
    client.send(&format!("say {} hello", world.channel.id)).await;
    let heard = [client.next().await, client.next().await];
    assert!(heard.contains(&"ann: hello".to_owned()) && heard.contains(&"say ok".to_owned()), "{heard:?}");
    let stored = world.newest_in(world.channel.id).await;
    assert_eq!((stored.content.as_str(), stored.door), ("hello", Echo.door()));
    assert_ne!(stored.door, Door::Lark);
    assert_eq!(stored.created_at, NOW, "the clock is the one that the hub was given");
    assert_eq!(world.whispers.recv().await.as_deref(), Some("joined"), "what follows a log-in is asked too");
}

#[tokio::test]
async fn what_is_said_through_other_doors_arrives_at_a_new_one() {
    let world = start().await;
    let mut client = world.joined().await;
    let send = folkmoot_core::command::Send {
        channel: world.channel.id,
        content: "from elsewhere".to_owned(),
        ..folkmoot_core::command::Send::default()
    };
    world.hub.execute(Actor::new(world.owner.id, Door::Rest), Command::Send(send)).await.unwrap();
    assert_eq!(client.next().await, "ann: from elsewhere");
}

#[tokio::test]
async fn what_only_a_door_knows_goes_to_its_host() {
    let mut world = start().await;
    let mut client = world.connect("/echo").await.unwrap();
    client.send("whisper to the host").await;
    assert_eq!(world.whispers.recv().await.as_deref(), Some("whisper to the host"));
}
