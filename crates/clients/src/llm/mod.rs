//! Chat completions: messages and tools in, a text or tool calls out, at once or as it grows.

pub(crate) mod sse;
pub mod wire;

use reqwest::Response;

pub use wire::{Completion, Content, FunctionCall, ImageUrl, Message, Part, Request, Tool, ToolCall, Usage};

use crate::{Endpoint, PeerError};
use sse::Events;
use wire::{Answer, Body, Chunk};

const PATH: &str = "/chat/completions";

impl Endpoint {
    /// One answer, whole.
    pub async fn complete(&self, request: &Request) -> Result<Completion, PeerError> {
        let body = Body { model: &self.model, stream: false, request };
        let answer = self.answer(self.post(PATH).json(&body)).await?;
        self.completion(&answer)
    }

    /// One answer, as it grows.
    pub async fn stream(&self, request: &Request) -> Result<Stream, PeerError> {
        let body = Body { model: &self.model, stream: true, request };
        let response = self.send(self.post(PATH).json(&body)).await?;
        let endpoint = self.clone();
        let whole = is_json(&response);
        let (events, completion) = (Events::default(), Completion::default());
        Ok(Stream { endpoint, response, events, completion, ended: false, whole })
    }

    /// The one choice of an answer that came whole.
    fn completion(&self, answer: &[u8]) -> Result<Completion, PeerError> {
        let answer: Answer = serde_json::from_slice(answer).map_err(malformed)?;
        answer.into_completion().ok_or_else(|| PeerError::Malformed("it has no choice".to_owned()))
    }
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

fn malformed(error: serde_json::Error) -> PeerError {
    PeerError::Malformed(error.to_string())
}

/// An answer that is still growing.
pub struct Stream {
    endpoint: Endpoint,
    response: Response,
    events: Events,
    completion: Completion,
    ended: bool,
    /// The endpoint does not stream: its answer comes in one piece.
    whole: bool,
}

impl Stream {
    /// The next piece of text; none at the end. Tool calls gather silently.
    pub async fn next(&mut self) -> Result<Option<String>, PeerError> {
        if std::mem::take(&mut self.whole) {
            let answer = self.endpoint.rest(&mut self.response).await?;
            self.completion = self.endpoint.completion(&answer)?;
            self.ended = true;
            return Ok(self.completion.content.clone().filter(|text| !text.is_empty()));
        }
        loop {
            while let Some(data) = self.events.pop() {
                if data == "[DONE]" {
                    self.ended = true;
                    return Ok(None);
                }
                if let Some(text) = self.take(&data)? {
                    return Ok(Some(text));
                }
            }
            match self.endpoint.chunk(&mut self.response).await? {
                Some(chunk) => self.events.push(&chunk).map_err(|long| PeerError::Malformed(long.to_string()))?,
                // Some endpoints end without the last marker; what they said last tells whether it was the end.
                None if self.ended || self.completion.finish_reason.is_some() => return Ok(None),
                None => return Err(PeerError::Cut),
            }
        }
    }

    /// What has come so far; after the last piece, the whole.
    pub fn completion(&self) -> &Completion {
        &self.completion
    }

    pub fn into_completion(self) -> Completion {
        self.completion
    }

    fn take(&mut self, data: &str) -> Result<Option<String>, PeerError> {
        let chunk: Chunk = serde_json::from_str(data).map_err(malformed)?;
        if let Some(error) = chunk.error {
            let reason = error.get("message").and_then(|message| message.as_str()).unwrap_or("no reason given");
            return Err(PeerError::Failed { status: 200, reason: reason.to_owned() });
        }
        self.completion.usage = chunk.usage.or(self.completion.usage.take());
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(None) };
        self.completion.finish_reason = choice.finish_reason.or(self.completion.finish_reason.take());
        for piece in choice.delta.tool_calls {
            self.completion.add(piece);
        }
        let text = choice.delta.content.filter(|text| !text.is_empty());
        if let Some(text) = &text {
            self.completion.content.get_or_insert_default().push_str(text);
        }
        Ok(text)
    }
}
