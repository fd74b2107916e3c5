//! The Lark client against a scripted hub on loopback: whatever a hub may do to it, once.

#[path = "support/script.rs"]
mod script;

use std::sync::Arc;
use std::time::Duration;

use folkmoot_clients::Backoff;
use folkmoot_clients::calls::{Bounds, CallFailure};
use folkmoot_clients::lark::{
    CallError, Client, Connection, Heard, LoginError, MAX_REFUSALS, Outside, Settings, Timing, login,
};
use folkmoot_wire::lark::{AgentThinking, ChannelJoin, Frame, Message, MessageSend, RunProgress};
use script::{Peer, Server, http, soon};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

const AT_ONCE: Duration = Duration::from_millis(1);
const SLOW: Duration = Duration::from_secs(60);
/// For what is to run out; long enough for a log-in on a busy machine.
const SHORT: Duration = Duration::from_secs(3);

fn settings(server: &Server, timing: Timing) -> Settings {
    Settings {
        timing,
        backoff: Backoff::new(AT_ONCE, AT_ONCE),
        outside: Outside { chance: || 0.5, ..Outside::REAL },
        ..Settings::new(http(), server.url("/ws"), Arc::new(|| "lm_key".to_owned()))
    }
}

fn start(server: &Server) -> (Client, mpsc::Receiver<Heard>) {
    start_with(server, Timing { heartbeat: SLOW, timeout: SLOW })
}

fn start_with(server: &Server, timing: Timing) -> (Client, mpsc::Receiver<Heard>) {
    let (sender, heard) = mpsc::channel(64);
    (Client::start(settings(server, timing), sender), heard)
}

fn welcome() -> Value {
    json!({"type": "auth.success", "reply_to": "login",
        "data": {"member_id": "mem_1", "workspace_id": "ws_1", "name": "daemon", "type": "agent"}})
}

/// The next connection, logged in.
async fn logged_in(server: &Server) -> Peer {
    let mut peer = server.accept().await;
    assert_eq!(peer.next().await["type"], "auth.login");
    peer.say(&welcome()).await;
    peer
}

async fn is_in(heard: &mut mpsc::Receiver<Heard>) {
    let told = soon(heard.recv()).await;
    assert!(matches!(told, Some(Heard::LoggedIn(_))), "{told:?}");
}

async fn is_lost(heard: &mut mpsc::Receiver<Heard>) {
    let told = soon(heard.recv()).await;
    assert!(matches!(told, Some(Heard::Lost)), "{told:?}");
}

fn thinking(channel: &str) -> AgentThinking {
    AgentThinking { channel_id: channel.into() }
}

#[tokio::test]
async fn it_logs_in_with_its_key_for_plain_frames_and_learns_who_it_is() {
    let server = Server::new().await;
    let (_client, mut heard) = start(&server);
    let mut peer = server.accept().await;
    let asked = peer.next().await;
    assert_eq!((&asked["v"], &asked["type"]), (&json!(1), &json!("auth.login")));
    assert_eq!(asked["data"], json!({"token": "lm_key", "frames": "plain"}));
    peer.say(&welcome()).await;
    let Some(Heard::LoggedIn(identity)) = soon(heard.recv()).await else { panic!("not logged in") };
    assert_eq!((&*identity.member_id, &*identity.workspace_id), ("mem_1", "ws_1"));
}

#[tokio::test]
async fn a_refused_key_is_told_and_tried_again() {
    let server = Server::new().await;
    let (_client, mut heard) = start(&server);
    let mut peer = server.accept().await;
    peer.next().await;
    peer.say(&json!({"type": "auth.fail", "data": {"error": "invalid credentials"}})).await;
    drop(peer);
    let told = soon(heard.recv()).await;
    assert!(matches!(&told, Some(Heard::Refused(why)) if why == "invalid credentials"), "{told:?}");
    let _peer = logged_in(&server).await;
    is_in(&mut heard).await;
}

/// A hub that does not know the key any more, at its next connection.
async fn refuse(server: &Server) {
    let mut peer = server.accept().await;
    peer.next().await;
    peer.say(&json!({"type": "auth.fail", "data": {"error": "invalid credentials"}})).await;
}

#[tokio::test]
async fn a_key_that_stays_refused_is_given_up_and_that_is_told_once() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    drop(logged_in(&server).await);
    is_in(&mut heard).await;
    is_lost(&mut heard).await;
    for _ in 1..MAX_REFUSALS {
        refuse(&server).await;
        let told = soon(heard.recv()).await;
        assert!(matches!(told, Some(Heard::Refused(_))), "{told:?}");
    }
    refuse(&server).await;
    let told = soon(heard.recv()).await;
    assert!(matches!(&told, Some(Heard::GivenUp(why)) if why == "invalid credentials"), "{told:?}");
    assert!(soon(heard.recv()).await.is_none(), "nobody knocks any more");
    assert_eq!(client.call(&ChannelJoin { channel_id: "ch_1".into() }).await.unwrap_err(), CallError::Lost);
}

#[tokio::test]
async fn a_hub_that_refuses_for_a_moment_does_not_lose_whom_it_knew() {
    let server = Server::new().await;
    let (_client, mut heard) = start(&server);
    for _ in 0..2 {
        for _ in 1..MAX_REFUSALS {
            refuse(&server).await;
            let told = soon(heard.recv()).await;
            assert!(matches!(told, Some(Heard::Refused(_))), "{told:?}");
        }
        drop(logged_in(&server).await);
        is_in(&mut heard).await;
        is_lost(&mut heard).await;
    }
}

#[tokio::test]
async fn nothing_goes_out_before_it_is_ready_but_what_must_be_first() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    for channel in ["ch_1", "ch_2"] {
        assert!(client.send(&thinking(channel)));
    }
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.first(&ChannelJoin { channel_id: "ch_0".into() }).await }
    });
    let asked = peer.next().await;
    assert_eq!(asked["type"], "channel.join");
    peer.say(&json!({"type": "channel.join", "reply_to": asked["id"], "data": {"channel_id": "ch_0"}})).await;
    assert_eq!(&*soon(first).await.unwrap().unwrap().channel_id, "ch_0");
    client.ready();
    for channel in ["ch_1", "ch_2"] {
        assert_eq!(peer.next().await["data"]["channel_id"], channel);
    }
}

#[tokio::test]
async fn after_a_drop_it_comes_back_and_whoever_waited_hears_that_it_is_lost() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    client.ready();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.call(&ChannelJoin { channel_id: "ch_1".into() }).await }
    });
    peer.next().await;
    drop(peer);
    is_lost(&mut heard).await;
    assert_eq!(soon(waiting).await.unwrap().unwrap_err(), CallError::Lost);
    let away = client.call(&ChannelJoin { channel_id: "ch_1".into() }).await;
    assert_eq!(away.unwrap_err(), CallError::Lost, "a call does not wait for a hub that is away");
    let _peer = logged_in(&server).await;
    is_in(&mut heard).await;
}

#[tokio::test]
async fn what_was_kept_is_sent_again_under_its_name() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    let data = json!({"run_id": "run_1", "text": "half way"});
    for _ in 0..2 {
        let mut peer = logged_in(&server).await;
        is_in(&mut heard).await;
        client.ready();
        let answer = client.begin("kept-1", "run.complete", &data);
        let asked = peer.next().await;
        assert_eq!((&asked["id"], &asked["type"]), (&json!("kept-1"), &json!("run.complete")));
        assert_eq!(asked["data"], data);
        drop(peer);
        assert_eq!(soon(answer).await.unwrap_err(), CallError::Lost);
        is_lost(&mut heard).await;
    }
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order_and_a_refusal_keeps_its_code() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    client.ready();
    let call = |channel: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.call(&ChannelJoin { channel_id: channel.into() }).await })
    };
    let one = call("ch_1");
    let first = peer.next().await;
    let two = call("ch_2");
    let second = peer.next().await;
    let refusal = json!({"error": "not a channel member", "code": "FORBIDDEN"});
    peer.say(&json!({"type": "error", "reply_to": second["id"], "data": refusal})).await;
    peer.say(&json!({"type": "channel.join", "reply_to": first["id"], "data": {"channel_id": "ch_1"}})).await;
    assert_eq!(&*soon(one).await.unwrap().unwrap().channel_id, "ch_1");
    let refused = soon(two).await.unwrap().unwrap_err();
    assert!(refused.is("forbidden"), "{refused:?}");
    assert_eq!(refused.to_string(), "not a channel member");
}

#[tokio::test]
async fn an_answer_of_another_shape_is_a_refusal_and_not_a_success() {
    let server = Server::new().await;
    let (client, mut heard) = start(&server);
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    client.ready();
    let asked = tokio::spawn(async move { client.call(&ChannelJoin { channel_id: "ch_1".into() }).await });
    let id = peer.next().await["id"].clone();
    peer.say(&json!({"type": "channel.join", "reply_to": id, "data": {"channel_id": 7}})).await;
    let outcome = soon(asked).await.unwrap();
    assert!(matches!(outcome, Err(CallError::Refused { .. })), "{outcome:?}");
}

#[tokio::test]
async fn what_is_no_envelope_is_skipped_and_the_rest_is_heard_in_order() {
    let server = Server::new().await;
    let (_client, mut heard) = start(&server);
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    for text in
        ["nonsense", "[1,2]", "{\"type\":7}", "{}", "{\"type\":\"a\"}", "\"x\"", "{\"type\":\"b\",\"reply_to\":7}"]
    {
        peer.say_text(text).await;
    }
    for kind in ["a", "b"] {
        let Some(Heard::Frame(frame)) = soon(heard.recv()).await else { panic!("no frame") };
        assert_eq!(frame.kind, kind);
    }
}

#[tokio::test]
async fn a_call_that_is_not_answered_in_time_is_lost_and_the_connection_stays() {
    let server = Server::new().await;
    let (client, mut heard) = start_with(&server, Timing { heartbeat: SLOW, timeout: SHORT });
    let mut peer = logged_in(&server).await;
    is_in(&mut heard).await;
    client.ready();
    let unanswered = client.call(&ChannelJoin { channel_id: "ch_1".into() }).await;
    assert_eq!(unanswered.unwrap_err(), CallError::Lost);
    peer.next().await;
    assert!(client.send(&thinking("ch_2")));
    assert_eq!(peer.next().await["data"]["channel_id"], "ch_2");
}

#[tokio::test]
async fn a_hub_that_gives_no_sign_of_life_is_left_and_looked_for_again() {
    let server = Server::new().await;
    let timing = Timing { heartbeat: SHORT, timeout: SLOW };
    let (_client, mut heard) = start_with(&server, timing);
    // It is kept open and never read again, so that no ping is answered.
    let _silent = logged_in(&server).await;
    is_in(&mut heard).await;
    is_lost(&mut heard).await;
    let _peer = logged_in(&server).await;
    is_in(&mut heard).await;
}

#[tokio::test]
async fn a_frame_that_the_hub_would_not_read_is_not_sent() {
    let server = Server::new().await;
    let (client, _heard) = start(&server);
    assert!(!client.send(&RunProgress { run_id: "run_1".into(), text: "x".repeat(70_000) }));
}

// One connection.

async fn connect(server: &Server, incoming: mpsc::Sender<Message>) -> Result<Connection, LoginError> {
    let bounds = Bounds { places: Arc::new(Semaphore::new(1)), timeout: SLOW };
    let calm = (Timing { heartbeat: SLOW, timeout: SLOW }, bounds, Outside::REAL);
    let told = |frame: Frame| if frame.kind == "message.new" { frame.read() } else { None };
    Connection::open(&http(), &server.url("/ws"), &login("key".to_owned(), None), calm, incoming, told).await
}

#[tokio::test]
async fn a_connection_passes_events_on_and_keeps_answers_for_their_calls() {
    let server = Server::new().await;
    let (incoming, mut messages) = mpsc::channel(8);
    let (connection, mut peer) = tokio::join!(connect(&server, incoming), logged_in(&server));
    let connection = connection.unwrap();
    let send = MessageSend { channel_id: "ch_1".into(), content: "hi".to_owned(), ..MessageSend::default() };
    let hub = async {
        let asked = peer.next().await;
        assert_eq!(asked["data"], json!({"channel_id": "ch_1", "content": "hi"}));
        let told = json!({"id": "msg_1", "channel_id": "ch_1", "sender_id": "mem_1", "content": "hi", "seq": 1});
        peer.say(&json!({"type": "message.new", "data": told})).await;
        let ack = json!({"message_id": "msg_1", "id": "msg_1", "channel_id": "ch_1", "seq": 1, "created_at": 5});
        peer.say(&json!({"type": "message.ack", "reply_to": "key-1", "data": ack})).await;
    };
    let (ack, ()) = tokio::join!(soon(connection.call("key-1", &send)), hub);
    assert_eq!(ack.unwrap().seq, 1);
    assert_eq!(soon(messages.recv()).await.unwrap().content, "hi");
    drop(peer);
    let lost = soon(connection.ask(&send)).await.unwrap_err();
    assert!(matches!(lost, CallFailure::Closed | CallFailure::Broken(_)), "{lost:?}");
}

#[tokio::test]
async fn a_refusal_that_is_followed_by_the_end_is_a_refusal() {
    let server = Server::new().await;
    let refuse = async {
        let mut peer = server.accept().await;
        peer.next().await;
        peer.say(&json!({"type": "auth.fail", "data": {"error": "member not found"}})).await;
    };
    let (incoming, _messages) = mpsc::channel(8);
    let (refused, ()) = tokio::join!(connect(&server, incoming), refuse);
    let refused = refused.err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("member not found"));
}
