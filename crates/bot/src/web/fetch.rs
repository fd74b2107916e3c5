//! Fetching from the web within bounds: guarded addresses, few redirects, so many bytes, so much time.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Method, Response, Url, redirect};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::guard::{PublicOnly, Way, way};
use crate::error::BotError;
use crate::settings::{Limits, seconds};

const REDIRECTS: usize = 5;
const USER_AGENT: &str = concat!("folkmoot-bot/", env!("CARGO_PKG_VERSION"));

/// The bot's way into the web.
#[derive(Clone)]
pub struct Web {
    own: Client,
    outside: Client,
    own_origin: String,
    /// An API key of the bot's own server; nobody else gets it.
    own_key: Option<String>,
    requests: Arc<Semaphore>,
}

/// What was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// The media type without its parameters, in small letters; empty when the server named none.
    pub kind: String,
    pub bytes: Vec<u8>,
    /// There was more, or it took too long.
    pub is_cut: bool,
}

/// What to do with more bytes than wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    Cut,
    Refuse,
}

impl Web {
    /// `password` is shown to the own server when it is an API key.
    pub fn new(limits: &Limits, own_origin: &str, password: &str) -> Result<Self, BotError> {
        let builder = || {
            Client::builder()
                .user_agent(USER_AGENT)
                .redirect(redirect::Policy::none())
                .connect_timeout(seconds(limits.http_connect_timeout_s))
                .pool_max_idle_per_host(limits.max_concurrent_requests as usize)
        };
        let built = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| BotError::Connection(format!("no HTTP client: {error}")))
        };
        Ok(Self {
            own: built(builder())?,
            // A proxy would look names up by itself, behind the guard's back.
            outside: built(builder().no_proxy().dns_resolver(PublicOnly))?,
            own_origin: own_origin.to_owned(),
            own_key: Some(password.to_owned()).filter(|key| key.starts_with("lr_")),
            requests: Arc::new(Semaphore::new(limits.max_concurrent_requests.max(1) as usize)),
        })
    }

    /// The client for services that the operator has named; no guard, because nobody else chooses the address.
    pub fn trusted(&self) -> &Client {
        &self.own
    }

    /// A place among the requests that may be under way at once.
    pub async fn turn(&self) -> tokio::sync::OwnedSemaphorePermit {
        self.requests.clone().acquire_owned().await.expect("nobody closes the semaphore")
    }

    /// The headers of an address: its media type and, when the server tells, its length.
    pub async fn head(&self, url: &Url, patience: Duration) -> Result<(String, Option<u64>), BotError> {
        let _turn = self.turn().await;
        let response = self.ask(Method::HEAD, url, Instant::now() + patience).await?;
        let length = response.headers().get(reqwest::header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        Ok((kind_of(&response), length))
    }

    /// The first `most` bytes of an address.
    pub async fn get(&self, url: &Url, most: usize, beyond: Beyond, patience: Duration) -> Result<Fetched, BotError> {
        let _turn = self.turn().await;
        let deadline = Instant::now() + patience;
        let mut response = self.ask(Method::GET, url, deadline).await?;
        let kind = kind_of(&response);
        if beyond == Beyond::Refuse && response.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_large(most));
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(Fetched { kind, bytes, is_cut: false }),
                Ok(Err(error)) => return Err(failed(&error)),
                // A page that trickles for ever has perhaps said enough.
                Err(_) if beyond == Beyond::Cut && !bytes.is_empty() => {
                    return Ok(Fetched { kind, bytes, is_cut: true });
                }
                Err(_) => return Err(late(patience)),
            };
            let room = most - bytes.len();
            if chunk.len() > room {
                if beyond == Beyond::Refuse {
                    return Err(too_large(most));
                }
                bytes.extend_from_slice(&chunk[..room]);
                return Ok(Fetched { kind, bytes, is_cut: true });
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    /// Asks, follows redirects, and takes only a good answer.
    async fn ask(&self, method: Method, url: &Url, deadline: Instant) -> Result<Response, BotError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let way = way(&url, &self.own_origin).map_err(|why| BotError::Validation(format!("{url}: {why}")))?;
            let request = match (way, &self.own_key) {
                (Way::Own, Some(key)) => self.own.request(method.clone(), url.clone()).bearer_auth(key),
                (Way::Own, None) => self.own.request(method.clone(), url.clone()),
                (Way::Outside, _) => self.outside.request(method.clone(), url.clone()),
            };
            let answer = timeout_at(deadline, request.send()).await;
            let response = answer.map_err(|_| late(Duration::ZERO))?.map_err(|error| failed(&error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            match target.filter(|_| status.is_redirection()).and_then(|target| url.join(target).ok()) {
                Some(target) => url = target,
                None => return Err(BotError::Tool(format!("the server answered {status}"))),
            }
        }
        Err(BotError::Tool(format!("more than {REDIRECTS} redirects")))
    }
}

fn kind_of(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn too_large(most: usize) -> BotError {
    BotError::Tool(format!("it is larger than {most} bytes"))
}

fn late(patience: Duration) -> BotError {
    if patience.is_zero() {
        return BotError::Tool("the server did not answer in time".to_owned());
    }
    BotError::Tool(format!("it did not arrive within {} s", patience.as_secs_f64()))
}

/// The innermost cause; it says more than the layers around it.
fn failed(error: &reqwest::Error) -> BotError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    BotError::Tool(format!("the server cannot be reached: {cause}"))
}
