//! Opening a WebSocket through the HTTP client, so that TLS, proxies and time-outs are those of every other request.

use reqwest::{Client, StatusCode, Url, header};
use tokio_tungstenite::WebSocketStream;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};

pub type Socket = WebSocketStream<reqwest::Upgraded>;

/// Why there is no WebSocket.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// Something answered, but not with a WebSocket.
    #[error("the server answered {0} instead of a WebSocket")]
    Refused(StatusCode),
}

/// Opens a WebSocket; `url` may begin with `ws`, `wss`, `http` or `https`.
pub async fn open(client: &Client, url: Url, config: Option<WebSocketConfig>) -> Result<Socket, OpenError> {
    let key = generate_key();
    let request = client
        .get(as_http(url))
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key);
    let answer = request.send().await.map_err(|error| OpenError::Unreachable(error.without_url()))?;
    let accept = answer.headers().get(header::SEC_WEBSOCKET_ACCEPT).and_then(|value| value.to_str().ok());
    if accept != Some(derive_accept_key(key.as_bytes()).as_str()) {
        return Err(OpenError::Refused(answer.status()));
    }
    let stream = answer.upgrade().await.map_err(|error| OpenError::Unreachable(error.without_url()))?;
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, config).await)
}

fn as_http(mut url: Url) -> Url {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return url,
    };
    // Both are schemes of the same kind, so the change cannot be refused.
    let _ = url.set_scheme(scheme);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_websocket_address_is_asked_for_over_http() {
        let asked = |url: &str| as_http(Url::parse(url).expect("an address")).to_string();
        assert_eq!(asked("ws://host:8/rpc.ws"), "http://host:8/rpc.ws");
        assert_eq!(asked("wss://host/rpc.ws?x=1"), "https://host/rpc.ws?x=1");
        assert_eq!(asked("http://host/ws"), "http://host/ws");
    }
}
