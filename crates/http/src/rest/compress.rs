//! JSON on its way out: compressed for whoever takes that, and not sent again to whoever has it already.
//!
//! An answer is tagged by its content after the handler has made it, so nothing is said here that the caller may not see.

use std::io::Write;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::web::takes;

/// Below this the head of an answer is longer than what is saved.
const WORTH_IT: u64 = 1_400;
/// From here on another thread does the work.
const LONG: usize = 32 * 1024;
/// Lists compress well at once; more effort would save little and hold up whoever waits.
const EFFORT: Compression = Compression::new(4);
/// What an answer of a handler never exceeds.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

pub async fn answers(request: Request, next: Next) -> Response {
    let is_read = request.method() == Method::GET;
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let zips = takes(request.headers(), "gzip");
    let response = next.run(request).await;
    if !is_read || !is_long_json(&response) || !(zips || known.is_some()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_ANSWER).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let Some(tag) = tag_of(&bytes) else { return Response::from_parts(parts, Body::from(bytes)) };
    let is_known = known.as_ref() == Some(&tag);
    parts.headers.insert(header::ETAG, tag);
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    let body = if zips { zipped(&mut parts.headers, bytes).await } else { bytes };
    Response::from_parts(parts, Body::from(body))
}

fn is_long_json(response: &Response) -> bool {
    let headers = response.headers();
    response.status() == StatusCode::OK
        && headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
        && !headers.contains_key(header::CONTENT_ENCODING)
        && !headers.contains_key(header::ETAG)
        && response.body().size_hint().exact().is_some_and(|length| length >= WORTH_IT)
}

fn tag_of(bytes: &[u8]) -> Option<HeaderValue> {
    let digest = Sha256::digest(bytes);
    HeaderValue::from_str(&format!("W/\"{}\"", HEXLOWER.encode(&digest[..12]))).ok()
}

/// As it was where it cannot be compressed.
async fn zipped(headers: &mut HeaderMap, bytes: Bytes) -> Bytes {
    let plain = bytes.clone();
    let zipped = match bytes.len() < LONG {
        true => zip(&bytes),
        false => tokio::task::spawn_blocking(move || zip(&bytes)).await.unwrap_or_default(),
    };
    match zipped {
        Some(zipped) => {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.remove(header::CONTENT_LENGTH);
            zipped
        }
        None => plain,
    }
}

fn zip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), EFFORT);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use flate2::read::GzDecoder;
    use folkmoot_hub::request::reply;
    use tower::ServiceExt;

    use super::*;

    fn list(items: usize) -> Vec<String> {
        vec!["a channel like any other".to_owned(); items]
    }

    async fn asked(path: &str, headers: &[(header::HeaderName, &str)]) -> Response {
        let router = Router::new()
            .route("/long", get(async || reply::ok(&list(5_000))))
            .route("/short", get(async || reply::ok(&list(1))))
            .route("/text", get(async || "x".repeat(9_000)))
            .layer(from_fn(answers));
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    async fn body(response: Response) -> Bytes {
        to_bytes(response.into_body(), MAX_ANSWER).await.unwrap()
    }

    #[tokio::test]
    async fn long_json_is_compressed_for_whoever_takes_it() {
        let plain = asked("/long", &[]).await;
        assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
        let plain = body(plain).await;
        let zipped = asked("/long", &[(header::ACCEPT_ENCODING, "gzip, deflate, br")]).await;
        assert_eq!(zipped.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(zipped.headers()[header::VARY], "accept-encoding");
        let zipped = body(zipped).await;
        assert!(zipped.len() * 10 < plain.len(), "{} of {}", zipped.len(), plain.len());
        let mut text = Vec::new();
        GzDecoder::new(&*zipped).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain);
    }

    #[tokio::test]
    async fn short_answers_and_other_kinds_stay_as_they_are() {
        for path in ["/short", "/text"] {
            let response = asked(path, &[(header::ACCEPT_ENCODING, "gzip")]).await;
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{path}");
        }
    }

    #[tokio::test]
    async fn what_is_known_is_not_sent_again() {
        let first = asked("/long", &[(header::ACCEPT_ENCODING, "gzip")]).await;
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        let again = asked("/long", &[(header::IF_NONE_MATCH, &tag)]).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(body(again).await.is_empty());
        let other = asked("/long", &[(header::IF_NONE_MATCH, "W/\"another\"")]).await;
        assert_eq!(other.status(), StatusCode::OK);
    }
}
