//! Small documents that are part of the program text: no script, nothing from elsewhere.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;

const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A document with its content type and what it may load.
pub fn document(content_type: &'static str, policy: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What a binary shows that was built without the page.
pub fn how_to_build() -> Response {
    document("text/html; charset=utf-8", POLICY, include_str!("how-to-build.html"))
}

pub async fn style() -> Response {
    document("text/css; charset=utf-8", POLICY, include_str!("how-to-build.css"))
}
