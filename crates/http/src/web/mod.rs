//! The page: what the browser loads, from inside the binary, at every address that nothing else answers.
//!
//! The page finds its own way from the address, so any path that does not look like a file answers with `index.html`.
//! What it does, it does over `/v1` and `/ws` like any other client.

mod assets;
mod document;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use folkmoot_hub::request::ApiError;

pub(crate) use assets::takes;
use assets::{Asset, FILES, Page};

/// No script and no style from anywhere but this hub, and none written into the document; nobody puts the page in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self'; connect-src 'self'; \
                      worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// What the page may ask of the machine: microphone and camera for calls, nothing else.
const PERMISSIONS: &str = "camera=(self), microphone=(self), geolocation=(), payment=(), usb=()";
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Everything that no other router has.
pub fn router() -> Router {
    Router::new().route("/how-to-build.css", get(document::style)).fallback(show)
}

async fn show(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    // Whoever wants to upgrade looks for a door, and there is none here.
    let is_for_people = (method == Method::GET || method == Method::HEAD) && !headers.contains_key(header::UPGRADE);
    if !is_for_people {
        return ApiError::not_found("there is nothing at this address; see /docs").into_response();
    }
    let page = Page(FILES);
    if page.is_missing() && !looks_like_a_file(uri.path()) {
        return document::how_to_build();
    }
    match find(page, uri.path()) {
        Some(asset) => serve(asset, &headers),
        None => ApiError::not_found("there is no such file").into_response(),
    }
}

fn find(page: Page, path: &str) -> Option<&'static Asset> {
    let path = path.trim_start_matches('/');
    page.file(path).or_else(|| page.file("index.html").filter(|_| !looks_like_a_file(path)))
}

/// An address of the page has no dot in its last part; a file that is gone must not be answered with a document.
fn looks_like_a_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.contains('.'))
}

fn serve(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let tag = asset.tag();
    let mut response = match headers.get(header::IF_NONE_MATCH) {
        Some(known) if known.as_bytes() == tag.as_bytes() => StatusCode::NOT_MODIFIED.into_response(),
        _ => content(asset, headers),
    };
    let cached = if asset.is_hashed() { FOR_EVER } else { "no-cache" };
    put(&mut response, header::CACHE_CONTROL, cached);
    put(&mut response, header::VARY, "accept-encoding");
    protect(&mut response);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn content(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let (bytes, encoding) = asset.best_for(headers);
    let mut response = Response::new(Body::from(bytes));
    put(&mut response, header::CONTENT_TYPE, asset.content_type());
    if let Some(encoding) = encoding {
        put(&mut response, header::CONTENT_ENCODING, encoding);
    }
    response
}

fn protect(response: &mut Response) {
    put(response, header::CONTENT_SECURITY_POLICY, POLICY);
    put(response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(response, header::REFERRER_POLICY, "no-referrer");
    put(response, header::X_FRAME_OPTIONS, "DENY");
    put(response, HeaderName::from_static("permissions-policy"), PERMISSIONS);
}

fn put(response: &mut Response, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

#[cfg(test)]
mod tests;
