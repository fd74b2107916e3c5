//! The Snek client against a scripted server on loopback.

#[path = "support/script.rs"]
mod script;

use std::sync::Arc;
use std::time::Duration;

use folkmoot_clients::calls::{Bounds, CallFailure};
use folkmoot_clients::snek::{Connection, Login, LoginError};
use folkmoot_wire::snek::Received;
use script::{Peer, Server, http, soon};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

const SLOW: Duration = Duration::from_secs(60);
/// For what is to run out; long enough for a log-in on a busy machine.
const SHORT: Duration = Duration::from_secs(3);

async fn connect(
    server: &Server,
    incoming: mpsc::Sender<Received>,
    timeout: Duration,
) -> Result<Connection, LoginError> {
    let bounds = Bounds { places: Arc::new(Semaphore::new(4)), timeout };
    let login = Login { username: "bot", password: "secret" };
    let calm = (SLOW, bounds, folkmoot_clients::snek::call_id as fn() -> String);
    Connection::open((&http(), &server.url("/rpc.ws")), login, calm, incoming, Some).await
}

/// Answers the next call, which must be of this method.
async fn answer(peer: &mut Peer, method: &str, data: Value) -> Value {
    let call = peer.next().await;
    assert_eq!(call["method"], method);
    peer.say(&json!({"callId": call["callId"], "success": true, "data": data})).await;
    call
}

async fn logged_in(server: &Server) -> Peer {
    let mut peer = server.accept().await;
    let login = answer(&mut peer, "login", json!({"uid": "mem_1"})).await;
    assert_eq!(login["args"], json!(["bot", "secret"]));
    answer(&mut peer, "get_user", json!({"username": "bot", "nick": "Bot"})).await;
    peer
}

#[tokio::test]
async fn it_logs_in_learns_who_it_is_and_calls() {
    let server = Server::new().await;
    let (incoming, mut told) = mpsc::channel(8);
    let (connection, mut peer) = tokio::join!(connect(&server, incoming, SLOW), logged_in(&server));
    let connection = connection.unwrap();
    assert_eq!((&*connection.user.username, &*connection.user.nick), ("bot", "Bot"));
    let hub = async {
        peer.say_text("no JSON").await;
        peer.say(&json!({"event": "join", "data": {"channel_uid": "ch1"}})).await;
        answer(&mut peer, "get_channels", json!([{"uid": "ch1", "name": "general", "tag": "public"}])).await;
        answer(&mut peer, "send_message", json!({"uid": "msg_1"})).await
    };
    let client = async {
        let channels = soon(connection.channels()).await.unwrap();
        soon(connection.send_message(&channels[0].uid, "hi", true)).await.unwrap();
        channels.len()
    };
    let (sent, listed) = tokio::join!(hub, client);
    assert_eq!((listed, &sent["args"]), (1, &json!(["ch1", "hi", true])));
    assert_eq!(soon(told.recv()).await, Some(Received::Join("ch1".into())));
}

#[tokio::test]
async fn a_wrong_password_is_a_refusal_however_the_server_says_it() {
    for (success, data) in [(true, Value::Null), (true, json!({"error": "no"})), (false, json!({"exception": "no"}))] {
        let server = Server::new().await;
        let refuse = async {
            let mut peer = server.accept().await;
            let call = peer.next().await;
            peer.say(&json!({"callId": call["callId"], "success": success, "data": data})).await;
        };
        let (incoming, _told) = mpsc::channel(8);
        let (refused, ()) = tokio::join!(connect(&server, incoming, SLOW), refuse);
        assert!(matches!(refused, Err(LoginError::Refused(_))), "{data}");
    }
}

#[tokio::test]
async fn a_call_ends_with_the_connection_or_in_its_time() {
    let server = Server::new().await;
    let (incoming, _told) = mpsc::channel(8);
    let (connection, peer) = tokio::join!(connect(&server, incoming, SHORT), logged_in(&server));
    let connection = connection.unwrap();
    let slow = connection.send_message("ch1", "hi", true).await;
    assert_eq!(slow, Err(CallFailure::Timeout(SHORT)));
    drop(peer);
    let lost = soon(connection.send_message("ch1", "hi", true)).await.unwrap_err();
    assert!(matches!(lost, CallFailure::Closed | CallFailure::Broken(_)), "{lost:?}");
}
