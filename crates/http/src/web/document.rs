//! What a binary shows that was built without the page.

use axum::response::Response;
use folkmoot_hub::request::document;

const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Says how to build the page.
pub fn how_to_build() -> Response {
    document("text/html; charset=utf-8", POLICY, include_str!("how-to-build.html"))
}

pub async fn style() -> Response {
    document("text/css; charset=utf-8", POLICY, include_str!("how-to-build.css"))
}
