//! Fetching from the web within bounds: guarded addresses, few redirects, so many bytes, so much time.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Method, Response, Url, redirect};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::guard::{PublicOnly, Purpose, Way, way};
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
    /// An API key of the bot's own server; nothing but its drive gets it.
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
    pub async fn head(
        &self,
        url: &Url,
        purpose: Purpose,
        patience: Duration,
    ) -> Result<(String, Option<u64>), BotError> {
        let _turn = self.turn().await;
        let response = self.ask(Method::HEAD, url, purpose, Instant::now() + patience).await?;
        let length = response.headers().get(reqwest::header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        Ok((kind_of(&response), length))
    }

    /// The first `most` bytes of an address.
    pub async fn get(
        &self,
        url: &Url,
        purpose: Purpose,
        most: usize,
        beyond: Beyond,
        patience: Duration,
    ) -> Result<Fetched, BotError> {
        let _turn = self.turn().await;
        let deadline = Instant::now() + patience;
        let mut response = self.ask(Method::GET, url, purpose, deadline).await?;
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

    /// Asks, follows redirects, and takes only a good answer. A redirect never brings the key along, and none leads from
    /// outside to the bot's own server.
    async fn ask(&self, method: Method, url: &Url, purpose: Purpose, deadline: Instant) -> Result<Response, BotError> {
        let mut url = url.clone();
        let mut came_by = None;
        for _ in 0..=REDIRECTS {
            let refused = |why: &str| BotError::Validation(format!("{url}: {why}"));
            let way = way(&url, &self.own_origin, purpose).map_err(|why| refused(&why))?;
            if came_by == Some(Way::Outside) && way != Way::Outside {
                return Err(refused("another server led to the bot's own"));
            }
            let request = match (way, &self.own_key) {
                (Way::Drive, Some(key)) if came_by.is_none() => {
                    self.own.request(method.clone(), url.clone()).bearer_auth(key)
                }
                (Way::Drive | Way::Own, _) => self.own.request(method.clone(), url.clone()),
                (Way::Outside, _) => self.outside.request(method.clone(), url.clone()),
            };
            came_by = Some(way);
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers each path with what `answer` makes of it, and notes what it was asked.
    async fn server(answer: fn(&str) -> String) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).to_ascii_lowercase();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                notes.lock().unwrap().push(request);
                let _ = stream.write_all(answer(&path).as_bytes()).await;
            }
        });
        (origin, asked)
    }

    fn web(origin: &str) -> Web {
        Web::new(&Limits::default(), origin, "lr_secret").unwrap()
    }

    const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

    async fn image(web: &Web, url: String) -> Result<Fetched, BotError> {
        web.get(&Url::parse(&url).unwrap(), Purpose::Image, 8, Beyond::Cut, FETCH_TIMEOUT).await
    }

    fn plain(_: &str) -> String {
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\nconnection: close\r\n\r\n0123456789"
            .to_owned()
    }

    #[tokio::test]
    async fn the_drive_gets_the_key_and_nothing_else_of_the_server_does() {
        let (origin, asked) = server(plain).await;
        let web = web(&origin);
        let fetched = image(&web, format!("{origin}/drive.bin/a.png")).await.unwrap();
        assert_eq!((fetched.bytes.as_slice(), fetched.is_cut), (&b"01234567"[..], true));
        image(&web, format!("{origin}/v1/members/me?a.png")).await.unwrap();
        let asked = asked.lock().unwrap();
        assert!(asked[0].contains("authorization: bearer lr_secret"));
        assert!(!asked[1].contains("authorization"), "{}", asked[1]);
    }

    fn redirects(path: &str) -> String {
        match path {
            "/drive.bin/away.png" => moved("/v1/members/me"),
            "/drive.bin/round.png" => moved("/drive.bin/a.png"),
            _ => plain(path),
        }
    }

    fn moved(to: &str) -> String {
        format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    }

    #[tokio::test]
    async fn no_redirect_brings_the_key_along() {
        let (origin, asked) = server(redirects).await;
        let web = web(&origin);
        for name in ["away", "round"] {
            image(&web, format!("{origin}/drive.bin/{name}.png")).await.unwrap();
        }
        let asked = asked.lock().unwrap();
        let with_key: Vec<bool> = asked.iter().map(|request| request.contains("authorization")).collect();
        assert_eq!(with_key, [true, false, true, false]);
    }

    #[tokio::test]
    async fn a_page_of_the_own_server_is_not_asked_for() {
        let (origin, asked) = server(plain).await;
        for path in ["/", "/v1/members/me", "/drive.bin/a.png"] {
            let url = Url::parse(&format!("{origin}{path}")).unwrap();
            let refused = web(&origin).get(&url, Purpose::Page, 8, Beyond::Cut, FETCH_TIMEOUT).await;
            assert!(refused.is_err_and(|error| error.to_string().contains("own server")), "{path}");
        }
        assert!(asked.lock().unwrap().is_empty());
    }
}
