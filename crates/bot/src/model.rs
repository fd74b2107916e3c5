//! The language model, asked with patience: what may pass is tried again.

use std::time::Duration;

use folkmoot_clients::llm::{Completion, Message, Request};
use folkmoot_clients::{Endpoint, PeerError};

use crate::error::BotError;
use crate::reconnect::Reconnect;
use crate::settings::Limits;
use crate::web::Web;

/// However long an endpoint asks to be left alone, nobody in a channel waits longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Model {
    endpoint: Endpoint,
    web: Web,
    attempts: u32,
    pauses: Reconnect,
}

impl Model {
    pub fn new(endpoint: Endpoint, web: Web, limits: &Limits) -> Self {
        Self { endpoint, web, attempts: limits.max_retry_attempts.max(1), pauses: Reconnect::new(limits) }
    }

    /// One question, one answer in words.
    pub async fn ask(&self, order: &str, question: &str) -> Result<String, BotError> {
        let messages = vec![Message::system(order), Message::user(question)];
        let request = Request { messages, ..Request::default() };
        let completion = self.complete(&request).await;
        let completion =
            completion.map_err(|error| BotError::Tool(format!("no help from the model: {}", excuse(&error))))?;
        completion.content.ok_or_else(|| BotError::Tool("the model answered nothing".to_owned()))
    }

    async fn complete(&self, request: &Request) -> Result<Completion, PeerError> {
        let mut attempt = 0;
        loop {
            let turn = self.web.turn().await;
            let result = self.endpoint.complete(request).await;
            drop(turn);
            match result {
                Ok(completion) => return Ok(completion),
                Err(error) => self.pause(&mut attempt, error).await?,
            }
        }
    }

    /// An answer as it grows. An attempt that breaks off starts over.
    pub async fn stream(&self, request: &Request, growing: &mut impl Growing) -> Result<Completion, PeerError> {
        let mut attempt = 0;
        loop {
            match self.stream_once(request, growing).await {
                Ok(completion) => return Ok(completion),
                Err(error) => self.pause(&mut attempt, error).await?,
            }
        }
    }

    async fn stream_once(&self, request: &Request, growing: &mut impl Growing) -> Result<Completion, PeerError> {
        let _turn = self.web.turn().await;
        let mut stream = self.endpoint.stream(request).await?;
        while stream.next().await?.is_some() {
            growing.grow(stream.completion().content.as_deref().unwrap_or_default()).await;
        }
        Ok(stream.into_completion())
    }

    /// Waits before the next attempt, or gives the error back when there is none.
    async fn pause(&self, attempt: &mut u32, error: PeerError) -> Result<(), PeerError> {
        *attempt += 1;
        if *attempt >= self.attempts || !error.is_transient() {
            return Err(error);
        }
        let own = self.pauses.delay(*attempt - 1);
        let asked = match error {
            PeerError::RateLimited { retry_after } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        tokio::time::sleep(own.max(asked).min(LONGEST_PAUSE)).await;
        Ok(())
    }
}

/// Whoever shows an answer while it grows; it gets the whole text so far.
pub trait Growing: Send {
    fn grow(&mut self, text: &str) -> impl Future<Output = ()> + Send;
}

/// Why there is no answer, in words that may stand in a channel and in a log: no reason of the endpoint's own, which
/// could repeat a key or a prompt.
pub fn excuse(error: &PeerError) -> String {
    match error {
        PeerError::Unreachable(_) => "the model cannot be reached".to_owned(),
        PeerError::TimedOut(patience) => format!("the model did not answer within {} s", patience.as_secs_f64()),
        PeerError::RateLimited { .. } => "the model asks me to slow down; please try again in a minute".to_owned(),
        PeerError::Unauthorized(_) => "the model does not accept my key".to_owned(),
        PeerError::Refused { status, .. } => format!("the model refused the question (HTTP {status})"),
        PeerError::Failed { status, .. } => format!("the model failed (HTTP {status})"),
        PeerError::Malformed(_) => "the model's answer could not be understood".to_owned(),
        PeerError::Cut => "the model's answer broke off".to_owned(),
    }
}
