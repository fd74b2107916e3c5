//! A Snek client made from an ordinary WebSocket client and the document.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};
use uuid::Uuid;

use super::socket::Socket;

pub struct Snek(Socket);

impl Deref for Snek {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.0
    }
}

impl DerefMut for Snek {
    fn deref_mut(&mut self) -> &mut Socket {
        &mut self.0
    }
}

impl Snek {
    pub async fn connect(address: SocketAddr) -> Snek {
        Snek::dial(address, "/rpc.ws").await
    }

    pub async fn dial(address: SocketAddr, path: &str) -> Snek {
        Snek(Socket::dial(address, path, None).await.expect("the upgrade"))
    }

    pub async fn narrow(address: SocketAddr) -> Snek {
        Snek(Socket::narrow(address, "/rpc.ws").await)
    }

    /// Logs in and returns the own user.
    pub async fn login(&mut self, username: &str, password: &str) -> Value {
        self.call("login", json!([username, password])).await
    }

    /// Sends a call of the document and returns its id.
    pub async fn send(&mut self, method: &str, args: Value) -> String {
        let id = Uuid::new_v4().simple().to_string();
        self.send_as(&json!(id[..16]), method, args).await;
        id[..16].to_owned()
    }

    pub async fn send_as(&mut self, id: &Value, method: &str, args: Value) {
        let call = json!({ "method": method, "args": args, "kwargs": {}, "callId": id });
        self.send_text(call.to_string()).await;
    }

    /// Calls, waits for the answer to exactly this call, and returns the whole of it.
    pub async fn answer(&mut self, method: &str, args: Value) -> Value {
        let id = self.send(method, args.clone()).await;
        self.answer_to(&json!(id), &format!("{method} {args}")).await
    }

    pub async fn answer_to(&mut self, id: &Value, what: &str) -> Value {
        self.find(&format!("the answer to {what}"), |frame| frame.get("callId") == Some(id)).await
    }

    /// Calls, and returns the data of the answer, which must be a success.
    pub async fn call(&mut self, method: &str, args: Value) -> Value {
        let answer = self.answer(method, args.clone()).await;
        assert_eq!(answer["success"], true, "{method} {args} → {answer}");
        answer["data"].clone()
    }

    /// Calls for something that must be refused, and returns the sentence.
    pub async fn refused(&mut self, method: &str, args: Value) -> String {
        let answer = self.answer(method, args.clone()).await;
        refusal(&answer, &format!("{method} {args}"))
    }

    /// Says something whole and returns its uid.
    pub async fn say(&mut self, channel: &str, text: &str) -> String {
        let data = self.call("send_message", json!([channel, text, true])).await;
        super::text(&data, "uid").to_owned()
    }

    /// The next event of this kind; other frames are kept.
    pub async fn expect(&mut self, event: &str) -> Value {
        self.expect_where(event, |_| true).await
    }

    pub async fn expect_where(&mut self, event: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.find(event, |frame| frame["event"] == event && fits(frame)).await
    }

    /// The next message event with this text.
    pub async fn hears(&mut self, text: &str) -> Value {
        self.expect_where("message", |frame| frame["message"] == text).await
    }

    /// Ends the connection the polite way.
    pub async fn close(self) {
        self.0.close().await;
    }
}

/// The sentence of a refused call, which carries a stable code beside it.
#[track_caller]
pub fn refusal(answer: &Value, what: &str) -> String {
    assert_eq!(answer["success"], false, "{what} → {answer}");
    let code = answer["data"]["code"].as_str().unwrap_or_default();
    assert!(!code.is_empty(), "{what} → a refusal without `code`: {answer}");
    assert_eq!(answer["data"]["exception"], answer["data"]["error"], "{what}");
    super::text(&answer["data"], "error").to_owned()
}
