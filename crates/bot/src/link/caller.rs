//! Calls over a connection: at most so many at once, each answered within its time or failed.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_peers::line::{self, Line};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::calls::Calls;
use super::{Incoming, Means};
use crate::error::{BotError, RpcFailure};
use crate::settings::seconds;

pub struct Caller {
    pub line: Line,
    calls: Arc<Calls>,
    operations: Arc<Semaphore>,
    patience: Duration,
}

impl Caller {
    /// Opens the WebSocket and starts to read. `read` hands answers to the calls and returns what the bot should hear of.
    pub async fn open(means: &Means, read: fn(&str, &Calls) -> Option<Incoming>) -> Result<Self, BotError> {
        let limits = &means.settings.limits;
        let patience = seconds(limits.request_timeout_s);
        let opened = timeout(patience, line::open(&means.client, &means.settings.url)).await;
        let opened = opened.map_err(|_| BotError::Connection("the server does not answer".to_owned()))?;
        let socket = opened.map_err(BotError::Connection)?;
        let calls = Arc::new(Calls::default());
        let answered = calls.clone();
        let on_text = move |text: &str| read(text, &answered);
        let line = Line::start(socket, seconds(limits.ws_heartbeat_s), means.incoming.clone(), on_text);
        Ok(Self { line, calls, operations: means.operations.clone(), patience })
    }

    /// Sends a frame and waits for the answer with its id.
    pub async fn call(&self, method: &str, id: &str, frame: String) -> Result<Value, BotError> {
        let _place = self.operations.acquire().await.expect("nobody closes the semaphore");
        let mut waiting = self.calls.begin(id);
        let done = async {
            self.line.write(frame).await?;
            tokio::select! {
                biased;
                answer = waiting.answer() => answer.ok_or(RpcFailure::Closed)?.map_err(RpcFailure::Refused),
                why = self.line.ended() => Err(why.into()),
            }
        };
        let result = timeout(self.patience, done).await.unwrap_or(Err(RpcFailure::Timeout(self.patience)));
        result.map_err(|why| BotError::rpc(method, why))
    }
}
