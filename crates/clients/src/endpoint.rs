//! One OpenAI-compatible endpoint: where it is, the key for it, and what can go wrong with it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, RequestBuilder, Response, StatusCode};

/// Answers longer than this are not read to their end.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How much of a refusal's own words is passed on.
const MAX_REASON_CHARS: usize = 300;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Endpoint {
    base_url: String,
    api_key: String,
    pub model: String,
    client: Client,
    timeout: Duration,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endpoint").field("base_url", &self.base_url).field("model", &self.model).finish()
    }
}

/// Why there is no answer, and so whether it is worth asking again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeerError {
    #[error("the endpoint cannot be reached: {0}")]
    Unreachable(String),
    #[error("the endpoint did not answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the endpoint asks to slow down")]
    RateLimited { retry_after: Option<Duration> },
    #[error("the endpoint does not accept the key: {0}")]
    Unauthorized(String),
    #[error("the endpoint refused the request ({status}): {reason}")]
    Refused { status: u16, reason: String },
    #[error("the endpoint failed ({status}): {reason}")]
    Failed { status: u16, reason: String },
    #[error("the endpoint's answer cannot be understood: {0}")]
    Malformed(String),
    /// A stream that ended before its end.
    #[error("the endpoint's answer broke off")]
    Cut,
}

impl PeerError {
    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::TimedOut(_) | Self::RateLimited { .. } | Self::Failed { .. } | Self::Cut => {
                true
            }
            Self::Unauthorized(_) | Self::Refused { .. } | Self::Malformed(_) => false,
        }
    }
}

impl Endpoint {
    /// `timeout` is how long a whole answer may take; a stream may go on longer as long as something comes.
    pub fn new(base_url: &str, api_key: &str, model: &str, timeout: Duration) -> Result<Self, PeerError> {
        Ok(Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_key: api_key.to_owned(),
            model: model.to_owned(),
            client: client(CONNECT_TIMEOUT, timeout)?,
            timeout,
        })
    }

    /// The same endpoint, with another time in which a connection must open.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Result<Self, PeerError> {
        Ok(Self { client: client(connect_timeout, self.timeout)?, ..self })
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.base_url));
        if self.api_key.is_empty() { request } else { request.bearer_auth(&self.api_key) }
    }

    /// The headers of a good answer; anything else is an error with the endpoint's own reason.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, PeerError> {
        let response = match tokio::time::timeout(self.timeout, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.fault(error))?,
            Err(_) => return Err(PeerError::TimedOut(self.timeout)),
        };
        if response.status().is_success() { Ok(response) } else { Err(self.refusal(response).await) }
    }

    /// The whole answer, in its time and within its size.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> Result<Bytes, PeerError> {
        let whole = async {
            let response = self.send(request).await?;
            self.body(response).await
        };
        tokio::time::timeout(self.timeout, whole).await.unwrap_or(Err(PeerError::TimedOut(self.timeout)))
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, PeerError> {
        self.rest(&mut response).await
    }

    /// Everything that is still to come.
    pub(crate) async fn rest(&self, response: &mut Response) -> Result<Bytes, PeerError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk(response).await? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(PeerError::Malformed(format!("longer than {MAX_ANSWER_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// The next piece of an answer that arrives over time.
    pub(crate) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, PeerError> {
        response.chunk().await.map_err(|error| if error.is_timeout() { self.fault(error) } else { PeerError::Cut })
    }

    fn fault(&self, error: reqwest::Error) -> PeerError {
        if error.is_timeout() { PeerError::TimedOut(self.timeout) } else { PeerError::Unreachable(cause(error)) }
    }

    async fn refusal(&self, response: Response) -> PeerError {
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
        let reason = self.body(response).await.map(|body| reason_in(&body)).unwrap_or_default();
        match status {
            StatusCode::TOO_MANY_REQUESTS => PeerError::RateLimited { retry_after },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => PeerError::Unauthorized(reason),
            StatusCode::REQUEST_TIMEOUT => PeerError::Failed { status: status.as_u16(), reason },
            other if other.is_server_error() => PeerError::Failed { status: other.as_u16(), reason },
            other => PeerError::Refused { status: other.as_u16(), reason },
        }
    }
}

fn client(connect_timeout: Duration, timeout: Duration) -> Result<Client, PeerError> {
    let client = Client::builder().connect_timeout(connect_timeout).read_timeout(timeout).build();
    client.map_err(|error| PeerError::Unreachable(cause(error)))
}

/// The innermost cause without the address, which may carry a secret.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The sentence in an error body: `{"error":{"message":…}}`, `{"error":…}`, or the text itself.
fn reason_in(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => {
            let error = value.get("error").unwrap_or(&value);
            let message = error.get("message").unwrap_or(error);
            message.as_str().map_or_else(|| message.to_string(), str::to_owned)
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    text.chars().take(MAX_REASON_CHARS).collect()
}
