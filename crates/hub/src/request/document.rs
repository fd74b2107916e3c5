//! Small documents that are part of the program text: no script, nothing from elsewhere.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;

/// A document with its content type and what it may load.
pub fn document(content_type: &'static str, policy: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
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
