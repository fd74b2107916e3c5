//! A member on a connection of its own.

use serde_json::{Value, json};

use crate::case::{Fault, Verdict};
use crate::link::{Link, short, text, word};

pub struct Member {
    pub link: Link,
    pub id: String,
    pub name: String,
    pub identity: Value,
}

/// An envelope as the document writes it.
pub fn envelope(kind: &str, data: Value) -> Value {
    let id = uuid::Uuid::new_v4().to_string();
    json!({ "v": 1, "id": id, "type": kind, "ts": 1_716_849_600_000_i64, "data": data })
}

impl Member {
    pub async fn log_in(url: &str, key: &str) -> Verdict<Self> {
        let mut link = Link::dial(url).await?;
        link.send(envelope("auth.login", json!({ "token": key }))).await?;
        let frame = link.find("`auth.success`", |frame| is(frame, "auth.success") || is(frame, "auth.fail")).await?;
        if is(&frame, "auth.fail") {
            return Err(Fault::broken(format!("the log-in was refused: {}", short(&frame))));
        }
        let identity = frame["data"].clone();
        let (id, name) = (text(&identity, "member_id")?.to_owned(), text(&identity, "name")?.to_owned());
        Ok(Self { link, id, name, identity })
    }

    pub async fn send(&mut self, kind: &str, data: Value) -> Verdict {
        self.link.send(envelope(kind, data)).await
    }

    /// Asks, and returns the data of the answer, which must be of this type.
    pub async fn ask(&mut self, kind: &str, data: Value, answer: &str) -> Verdict<Value> {
        self.send(kind, data).await?;
        let what = format!("`{answer}` as answer to `{kind}`");
        let frame = self.link.find(&what, |frame| is(frame, answer) || is(frame, "error")).await?;
        if is(&frame, "error") {
            return Err(Fault::broken(format!("`{kind}` was refused: {}", short(&frame))));
        }
        Ok(frame["data"].clone())
    }

    /// Asks for what must be refused, and returns the error.
    pub async fn refused(&mut self, kind: &str, data: Value) -> Verdict<String> {
        self.send(kind, data).await?;
        let frame = self.link.find(&format!("an `error` as answer to `{kind}`"), |frame| is(frame, "error")).await?;
        Ok(text(&frame["data"], "error")?.to_owned())
    }

    /// Says something and returns its id.
    pub async fn say(&mut self, channel: &str, content: &str) -> Verdict<String> {
        let ack = self.ask("message.send", json!({ "channel_id": channel, "content": content }), "message.ack").await?;
        id_of(&ack)
    }

    /// The message with this content, as the channel is told of it.
    pub async fn hears(&mut self, content: &str) -> Verdict<Value> {
        self.hears_as("message.new", content).await
    }

    pub async fn hears_as(&mut self, kind: &str, content: &str) -> Verdict<Value> {
        let what = format!("`{kind}` with the content {content:.40}");
        let frame = self.link.find(&what, |frame| is(frame, kind) && message(frame)["content"] == content).await?;
        Ok(message(&frame).clone())
    }

    /// The next frame of this type about this member.
    pub async fn expect_about(&mut self, kind: &str, member: &str) -> Verdict<Value> {
        let what = format!("`{kind}` of {member}");
        let frame = self.link.find(&what, |frame| is(frame, kind) && frame["data"]["member_id"] == member).await?;
        Ok(frame["data"].clone())
    }

    /// The next wake whose messages hold this word.
    pub async fn woken(&mut self, about: &str) -> Verdict<Value> {
        let frame = self.link.find(&format!("`agent.wake` about {about}"), |frame| is_wake_about(frame, about)).await?;
        Ok(frame["data"].clone())
    }

    /// An agent introduces itself.
    pub async fn hello(&mut self) -> Verdict<Value> {
        let data = json!({
            "name": self.name,
            "role_card": { "system_prompt": "You are a conformance suite.", "capabilities": ["testing"] },
            "runtime": { "type": "script", "provider": "none", "model": "none" },
        });
        self.ask("agent.hello", data, "agent.welcome").await
    }

    /// An agent answers what woke it, so that nothing is open for the next case.
    pub async fn answer(&mut self, channel: &str, thread: Option<&str>) -> Verdict {
        let mut data = json!({ "channel_id": channel, "content": format!("done {}", word()) });
        if let Some(thread) = thread {
            data["thread_id"] = json!(thread);
        }
        self.ask("message.send", data, "message.ack").await.map(drop)
    }
}

pub fn is(frame: &Value, kind: &str) -> bool {
    frame["type"] == kind
}

/// Servers put the message's fields into `data`, or under `data.message`; the document shows neither.
pub fn message(frame: &Value) -> &Value {
    let data = &frame["data"];
    if data["content"].is_null() && data["message"].is_object() { &data["message"] } else { data }
}

/// The id of a message in a frame about it; the document names the field for edits only.
pub fn id_of(data: &Value) -> Verdict<String> {
    let found = ["message_id", "id"].iter().find_map(|key| data[*key].as_str());
    found.map(str::to_owned).ok_or_else(|| Fault::broken(format!("no message id in {}", short(data))))
}

fn is_wake_about(frame: &Value, about: &str) -> bool {
    let recent = frame["data"]["context"]["recent_messages"].as_array();
    is(frame, "agent.wake") && recent.is_some_and(|recent| recent.iter().any(|message| says(message, about)))
}

pub fn says(message: &Value, word: &str) -> bool {
    message["content"].as_str().is_some_and(|content| content.contains(word))
}
