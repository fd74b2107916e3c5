//! From an HTTP request to a WebSocket connection: headers, origin, the raw socket.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use folkmoot_doors::Protocol;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tungstenite::handshake::derive_accept_key;

use crate::hub::Hub;

/// Answers an upgrade request for a door; the connection's task starts when the socket is handed over.
pub fn upgrade(hub: &Hub, protocol: &'static dyn Protocol, address: IpAddr, request: Request<Body>) -> Response<Body> {
    let may_connect = hub.origins().allow(request.headers());
    let hub = hub.clone();
    hand_over(request, may_connect, move |stream, already_read| {
        super::serve(&hub, protocol, address, stream, already_read);
    })
}

/// Answers an upgrade request, and hands the raw socket to `serve` with what was read of it beyond the request.
pub fn hand_over(
    request: Request<Body>,
    may_connect: bool,
    serve: impl FnOnce(TcpStream, Bytes) + Send + 'static,
) -> Response<Body> {
    if request.method() != Method::GET {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "a WebSocket begins with GET");
    }
    let Some(accept) = accept_key(request.headers()) else {
        return refuse(StatusCode::UPGRADE_REQUIRED, "this address speaks WebSocket version 13");
    };
    if !may_connect {
        return refuse(StatusCode::FORBIDDEN, "this origin may not connect");
    }
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(request).await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
        let (stream, already_read) = (parts.io.into_inner(), parts.read_buf);
        // The buffer belongs to the HTTP parser and is large; keep only what is in it.
        let already_read = Bytes::copy_from_slice(&already_read);
        serve(stream, already_read);
    });
    switching(&accept)
}

fn accept_key(headers: &HeaderMap) -> Option<String> {
    let says = |name: header::HeaderName, word: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    let is_upgrade = says(header::CONNECTION, "upgrade") && says(header::UPGRADE, "websocket");
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    let version_fits = headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    (is_upgrade && version_fits).then(|| derive_accept_key(key.as_bytes()))
}

fn switching(accept: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

pub fn refuse(status: StatusCode, sentence: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(sentence));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if status == StatusCode::UPGRADE_REQUIRED {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        // RFC 6455, 4.4: what this side speaks, so that a client of another version can tell.
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, version: &str) -> Response<Body> {
        let request = Request::builder().method(method).header("connection", "keep-alive, Upgrade");
        let request = request.header("upgrade", "websocket").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let request = request.header("sec-websocket-version", version).body(Body::empty()).unwrap();
        hand_over(request, true, |_, _| {})
    }

    #[tokio::test]
    async fn another_version_is_told_which_one_is_spoken() {
        for version in ["8", "12", "14", "13, 8", ""] {
            let answer = asked(Method::GET, version);
            assert_eq!(answer.status(), StatusCode::UPGRADE_REQUIRED, "{version}");
            assert_eq!(answer.headers()[header::SEC_WEBSOCKET_VERSION], "13");
            assert_eq!(answer.headers()[header::UPGRADE], "websocket");
        }
        assert_eq!(asked(Method::GET, "13").status(), StatusCode::SWITCHING_PROTOCOLS);
    }

    #[tokio::test]
    async fn only_get_upgrades() {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS, Method::PATCH] {
            let answer = asked(method.clone(), "13");
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
            assert_eq!(answer.headers()[header::ALLOW], "GET");
        }
    }
}
