//! A socket that is read all the time: answers are looked up in what was heard, and everything heard is kept for the watch.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::people::{Listener, Watch};
use crate::support::DEADLINE;

pub struct Ear {
    sink: SplitSink<WebSocketStream<MaybeTlsStream<TcpStream>>, Message>,
    heard: Arc<Heard>,
    /// How much of it was looked through for answers.
    looked: usize,
}

#[derive(Default)]
struct Heard {
    frames: Mutex<Vec<String>>,
    more: Notify,
}

impl Ear {
    pub async fn dial(url: &str, listener: Listener, on: &'static str, watch: &Watch) -> Ear {
        let (socket, _) = connect_async(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let (sink, mut stream) = socket.split();
        let heard = Arc::new(Heard::default());
        let (kept, watch) = (heard.clone(), watch.clone());
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                let Message::Text(text) = message else { continue };
                watch.told(listener, on, &text);
                kept.frames.lock().expect("frames").push(text.to_string());
                kept.more.notify_waiters();
            }
        });
        Ear { sink, heard, looked: 0 }
    }

    pub async fn say(&mut self, frame: &Value) {
        self.sink.send(Message::text(frame.to_string())).await.expect("an open socket");
    }

    /// The first frame that fits, of those not looked through yet.
    pub async fn answer(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.answer_within(DEADLINE, fits).await.unwrap_or_else(|| panic!("{what}: no answer"))
    }

    pub async fn answer_within(&mut self, patience: Duration, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let give_up = tokio::time::Instant::now() + patience;
        let heard = self.heard.clone();
        let mut at = self.looked;
        loop {
            let more = heard.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            {
                let frames = heard.frames.lock().expect("frames");
                while at < frames.len() {
                    at += 1;
                    let frame: Value = serde_json::from_str(&frames[at - 1]).expect("JSON");
                    if fits(&frame) {
                        return Some(frame);
                    }
                }
            }
            tokio::time::timeout_at(give_up, more).await.ok()?;
        }
    }

    /// What was heard so far is done with; answers to what is asked from now on come later.
    pub fn forget(&mut self) {
        self.looked = self.heard.frames.lock().expect("frames").len();
    }
}
