//! Pages of the origins that the operator named may use `/v1` from a browser.
//!
//! They prove themselves as every program does, with a token in `Authorization`. Cookies are not shared with them: no answer
//! allows credentials. What a page of any other origin may do is in [`super::foreign`].

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use folkmoot_hub::Hub;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// What an answer has beside its body; a page sees nothing else but what every page sees.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("content-disposition, content-range, accept-ranges, etag, retry-after, www-authenticate");
/// For how many seconds a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

pub async fn share(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path != "/v1" && !path.starts_with("/v1/") {
        return next.run(request).await;
    }
    let origin = hub.origins().named(request.headers()).cloned();
    let mut response = match &origin {
        Some(_) if is_preflight(&request) => preflight(request.headers()),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    // Whatever the answer is: another origin may get another one.
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// A browser asks what a page may send, before it sends it.
fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Which methods and headers a route takes is the route's to say; here is only whether the browser may ask it.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: HeaderValue| drop(headers.insert(name, value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    set(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    set(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        set(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    response
}
