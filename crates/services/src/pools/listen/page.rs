//! The page at `/listen/{guild}/{channel}`: one document, one script, one style, nothing from elsewhere.

use axum::response::Response;

use folkmoot_hub::request::document;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The same for every channel; the script reads from the address where it is.
pub async fn html() -> Response {
    document("text/html; charset=utf-8", POLICY, include_str!("page.html"))
}

pub async fn script() -> Response {
    document("text/javascript; charset=utf-8", POLICY, include_str!("script.js"))
}

pub async fn style() -> Response {
    document("text/css; charset=utf-8", POLICY, include_str!("style.css"))
}
