//! The hub seen from a terminal: an ordinary client of `/v1` with the profile's token.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use reqwest::{Method, StatusCode, Url, header};
use serde_json::Value;

use crate::profile::{self, Profile};
use crate::{Fault, Settings};
use folkmoot_config::Secret;

/// How every command that talks to a hub says which one.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HubArgs {
    /// The hub to talk to, instead of the one of the profile.
    #[arg(long, value_name = "URL", help_heading = "Hub")]
    pub server: Option<String>,
    /// The token or API key to use, instead of the one of the profile.
    #[arg(long, value_name = "TOKEN", help_heading = "Hub")]
    pub token: Option<String>,
}

/// What a command takes that only shows what there is.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub hub: HubArgs,
}

/// Runs one command of a client; one thread is plenty for it.
pub fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)?;
    Ok(ExitCode::SUCCESS)
}

/// A hub, and who we are there.
pub struct Session {
    pub hub: Hub,
    pub member_id: String,
    pub workspace_id: String,
    pub name: String,
    pub is_agent: bool,
}

impl Session {
    /// Takes server and token from the flags, else from the profile, and asks the hub who that is.
    pub async fn open(settings: &Settings, args: &HubArgs) -> anyhow::Result<Self> {
        let profile = profile::read(&profile::path()?)?;
        let hub = Hub::find(settings, args, profile.as_ref()).await?;
        Self::of(hub).await
    }

    /// Asks the hub who its token belongs to.
    pub async fn of(hub: Hub) -> anyhow::Result<Self> {
        let me = hub.get("/v1/members/me", &[]).await?;
        let field = |name: &str| text(&me, name).to_owned();
        let session = Self {
            member_id: field("id"),
            workspace_id: field("workspace_id"),
            name: field("name"),
            is_agent: text(&me, "type") == "agent",
            hub,
        };
        if session.member_id.is_empty() || session.workspace_id.is_empty() {
            return Err(session.hub.strange("it does not say who this token belongs to").into());
        }
        Ok(session)
    }

    /// `/v1/workspaces/{id}` followed by `rest`.
    pub fn workspace_path(&self, rest: &str) -> String {
        format!("/v1/workspaces/{}{rest}", self.workspace_id)
    }
}

/// The address of a hub, with or without a token for it.
pub struct Hub {
    base: Url,
    token: Option<Secret>,
    /// Shown at a log-in.
    device: Option<Secret>,
    http: reqwest::Client,
}

impl Hub {
    pub fn new(server: &str, token: Option<Secret>) -> anyhow::Result<Self> {
        let base = parse_server(server)?;
        let mut builder = reqwest::Client::builder()
            .http1_only()
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("moot/", env!("CARGO_PKG_VERSION")))
            // A redirect to another host must not carry the token there.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&base) {
            // A proxy cannot reach the loopback of this machine.
            builder = builder.no_proxy();
        }
        Ok(Self { base, token, device: None, http: builder.build()? })
    }

    /// The same, showing what an earlier log-in gave this device.
    pub fn with_device(self, device: Option<Secret>) -> Self {
        Self { device, ..self }
    }

    async fn find(settings: &Settings, args: &HubArgs, profile: Option<&Profile>) -> anyhow::Result<Self> {
        let server = match (&args.server, profile) {
            (Some(server), _) => server.clone(),
            (None, Some(profile)) => profile.server.clone(),
            (None, None) => settings.load()?.config.server.public_url,
        };
        let base = parse_server(&server)?;
        // The profile's token is for the profile's hub only.
        let kept = profile.filter(|profile| parse_server(&profile.server).is_ok_and(|own| own == base));
        let token = args.token.clone().map(Secret::new).or_else(|| kept.map(|profile| profile.token.clone()));
        let Some(token) = token else {
            let fault = Fault::failed(format!("you are not logged in to {}", shown(&base)));
            let is_new = Self::new(&server, None)?.waits_for_owner().await;
            return Err(fault.hint(if is_new { register_hint(&base) } else { login_hint(&base) }).into());
        };
        Self::new(&server, Some(token))
    }

    /// Whether nobody has an account there yet, as far as that can be found out quickly.
    async fn waits_for_owner(&self) -> bool {
        let asked = tokio::time::timeout(Duration::from_secs(2), self.get("/v1/setup", &[])).await;
        asked.is_ok_and(|setup| setup.is_ok_and(|setup| setup["needs_owner"] == true))
    }

    pub fn address(&self) -> String {
        shown(&self.base)
    }

    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The address of a path of this hub.
    pub fn url(&self, path: &str) -> anyhow::Result<Url> {
        let base = self.base.as_str().trim_end_matches('/');
        Ok(Url::parse(&format!("{base}{path}"))?)
    }

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Value> {
        let mut url = self.url(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query.iter().map(|(name, value)| (*name, value.as_str())));
        }
        self.read(self.request(Method::GET, url).send().await).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(Method::POST, self.url(path)?).json(body).send().await).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(Method::PUT, self.url(path)?).json(body).send().await).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(Method::PATCH, self.url(path)?).json(body).send().await).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.read(self.request(Method::DELETE, self.url(path)?).send().await).await
    }

    /// Posts something that must happen once: the same key lets us try again after a lost answer.
    pub async fn post_once(&self, path: &str, body: &Value, key: &str) -> anyhow::Result<Value> {
        let send = || async {
            let request = self.request(Method::POST, self.url(path)?).header("Idempotency-Key", key).json(body);
            anyhow::Ok(request.send().await)
        };
        let mut answer = send().await?;
        for pause in [200, 1000] {
            // Only a hub that was reached and then lost is worth another try.
            if !answer.as_ref().is_err_and(|error| !error.is_connect() && !error.is_timeout()) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
            answer = send().await?;
        }
        self.read(answer).await
    }

    /// Uploads one file as the part `file` of a form.
    pub async fn upload(&self, path: &str, name: String, bytes: Vec<u8>) -> anyhow::Result<Value> {
        let form = reqwest::multipart::Form::new().part("file", reqwest::multipart::Part::bytes(bytes).file_name(name));
        self.read(self.request(Method::POST, self.url(path)?).multipart(form).send().await).await
    }

    fn request(&self, method: Method, url: Url) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, url).timeout(Duration::from_secs(60));
        if let Some(device) = &self.device {
            request = request.header("X-Moot-Device", device.expose());
        }
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// What is no JSON, as it is.
    pub async fn get_text(&self, path: &str) -> anyhow::Result<String> {
        let body = self.body(self.request(Method::GET, self.url(path)?).send().await).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn read(&self, answer: reqwest::Result<reqwest::Response>) -> anyhow::Result<Value> {
        let body = self.body(answer).await?;
        serde_json::from_slice(&body).map_err(|_| self.strange("its answer is not JSON").into())
    }

    async fn body(&self, answer: reqwest::Result<reqwest::Response>) -> anyhow::Result<bytes::Bytes> {
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let retry_after =
            answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        if !status.is_success() {
            let value: Option<Value> = serde_json::from_slice(&body).ok();
            return Err(self.refused(status, value.as_ref(), retry_after.as_deref()).into());
        }
        Ok(body)
    }

    fn refused(&self, status: StatusCode, body: Option<&Value>, retry_after: Option<&str>) -> Fault {
        let said = body.map(|body| [text(body, "message"), text(body, "error")]);
        let said = said.and_then(|words| words.into_iter().find(|word| !word.is_empty()));
        let Some(said) = said else {
            return self.strange(&format!("it answered {status}"));
        };
        let fault = Fault::failed(format!("the hub refused: {}", crate::output::printable(said)));
        match (status, retry_after) {
            (StatusCode::UNAUTHORIZED, _) if self.token.is_some() => {
                fault.hint(format!("the login may have expired; {}", login_hint(&self.base)))
            }
            (StatusCode::TOO_MANY_REQUESTS, Some(seconds)) => fault.hint(format!("try again in {seconds} s")),
            _ => fault,
        }
    }

    pub fn unreachable(&self, error: &reqwest::Error) -> Fault {
        let cause = root_cause(error);
        let fault = Fault::failed(format!("the hub at {} cannot be reached: {cause}", self.address()));
        if error.is_connect() && is_loopback(&self.base) {
            return fault.hint("start it with `moot serve`, or name another one with `--server URL`");
        }
        if error.is_connect() {
            return fault.hint(format!("check the address: {ADDRESS_FORM}"));
        }
        fault
    }

    /// Something answers there, but not the way a hub does.
    pub fn strange(&self, what: &str) -> Fault {
        let fault = Fault::failed(format!("{} does not answer like a Folkmoot hub: {what}", self.address()));
        fault.hint("check the address given by `--server` or at `moot login`")
    }
}

/// A field that should be text; empty when it is not there.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A field as it is shown in a table: text or number.
pub fn cell(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The items of an answer that should be a list.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads a server address as people type it: without a scheme means http on loopback and https elsewhere.
pub fn parse_server(text: &str) -> Result<Url, Fault> {
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        let guess = Url::parse(&format!("http://{text}"));
        let scheme = if guess.as_ref().is_ok_and(is_loopback) { "http" } else { "https" };
        format!("{scheme}://{text}")
    };
    let url = Url::parse(&with_scheme).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    url.ok_or_else(|| Fault::usage(format!("`{text}` is not the address of a hub")).hint(ADDRESS_FORM))
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str().map(|host| host.trim_matches(['[', ']'])) {
        Some("localhost") => true,
        Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

fn shown(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

const ADDRESS_FORM: &str = "write it like `http://127.0.0.1:8484` or `https://hub.example`";

fn register_hint(base: &Url) -> String {
    let server = shown(base);
    format!(
        "nobody has an account there yet; make the first with `moot login --server {server} --register --name YOU --email EMAIL`"
    )
}

fn login_hint(base: &Url) -> String {
    format!("log in with `moot login --server {} --email YOU`", shown(base))
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_scheme_is_http_on_loopback_and_https_elsewhere() {
        for (given, expected) in [
            ("127.0.0.1:8484", "http://127.0.0.1:8484/"),
            ("localhost:1", "http://localhost:1/"),
            ("[::1]:1", "http://[::1]:1/"),
            ("hub.example", "https://hub.example/"),
            ("http://hub.example/", "http://hub.example/"),
        ] {
            assert_eq!(parse_server(given).unwrap().as_str(), expected);
        }
        for bad in ["", "ws://x", "http://", "http://x/?q=1"] {
            assert!(parse_server(bad).unwrap_err().usage, "{bad}");
        }
    }

    #[test]
    fn paths_are_put_behind_the_address() {
        let hub = Hub::new("https://hub.example/moot/", None).unwrap();
        assert_eq!(hub.url("/v1/status").unwrap().as_str(), "https://hub.example/moot/v1/status");
    }

    #[test]
    fn a_refusal_keeps_the_words_of_the_hub_and_adds_the_remedy() {
        let hub = Hub::new("http://127.0.0.1:1", Some(Secret::new("t"))).unwrap();
        let body = serde_json::json!({"error": "slow down", "code": "RATE_LIMITED", "message": "slow down"});
        let fault = hub.refused(StatusCode::TOO_MANY_REQUESTS, Some(&body), Some("7"));
        assert_eq!(fault, Fault::failed("the hub refused: slow down").hint("try again in 7 s"));
        let fault = hub.refused(StatusCode::UNAUTHORIZED, Some(&body), None);
        assert!(fault.hint.unwrap().contains("moot login --server http://127.0.0.1:1"));
        assert!(hub.refused(StatusCode::BAD_GATEWAY, None, None).sentence.contains("502"));
    }
}
