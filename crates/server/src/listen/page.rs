//! The page at `/listen/{guild}/{channel}`: one document, one script, one style, nothing from elsewhere.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The same for every channel; the script reads from the address where it is.
pub async fn html() -> Response {
    served("text/html; charset=utf-8", include_str!("page.html"))
}

pub async fn script() -> Response {
    served("text/javascript; charset=utf-8", include_str!("script.js"))
}

pub async fn style() -> Response {
    served("text/css; charset=utf-8", include_str!("style.css"))
}

fn served(content_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
