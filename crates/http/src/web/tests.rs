use axum::http::Request;
use tower::ServiceExt;

use super::*;

static FILES_OF_A_PAGE: [Asset; 3] = [
    Asset { path: "assets/main-4f3a.js", plain: b"the script", brotli: Some(b"br"), gzip: Some(b"gz") },
    Asset { path: "index.html", plain: b"<!doctype html>", brotli: None, gzip: None },
    Asset { path: "manifest.webmanifest", plain: b"{}", brotli: None, gzip: None },
];

fn found(path: &str) -> Option<&'static str> {
    find(Page(&FILES_OF_A_PAGE), path).map(|asset| asset.path)
}

#[test]
fn an_address_of_the_page_is_answered_with_the_document() {
    for path in ["/", "/c/ch_1", "/c/ch_1/t/msg_2", "/join/abc", "/team", "/anything/else/"] {
        assert_eq!(found(path), Some("index.html"), "{path}");
    }
}

#[test]
fn a_file_is_itself_and_a_missing_file_is_nothing() {
    assert_eq!(found("/assets/main-4f3a.js"), Some("assets/main-4f3a.js"));
    assert_eq!(found("/manifest.webmanifest"), Some("manifest.webmanifest"));
    for path in ["/assets/main-0000.js", "/favicon.ico", "/../Cargo.toml", "/.env"] {
        assert_eq!(found(path), None, "{path}");
    }
}

fn served(path: &str, headers: &HeaderMap) -> Response {
    serve(Page(&FILES_OF_A_PAGE).file(path).unwrap(), headers)
}

#[test]
fn hashed_names_are_kept_for_ever_and_the_document_never() {
    let none = HeaderMap::new();
    assert_eq!(served("assets/main-4f3a.js", &none).headers()[header::CACHE_CONTROL], FOR_EVER);
    for path in ["index.html", "manifest.webmanifest"] {
        assert_eq!(served(path, &none).headers()[header::CACHE_CONTROL], "no-cache", "{path}");
    }
}

#[test]
fn a_compressed_copy_says_so_and_a_known_one_is_not_sent_again() {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"));
    let first = served("assets/main-4f3a.js", &headers);
    assert_eq!(first.headers()[header::CONTENT_ENCODING], "br");
    assert_eq!(first.headers()[header::VARY], "accept-encoding");
    assert_eq!(first.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
    headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
    let second = served("assets/main-4f3a.js", &headers);
    assert_eq!(second.status(), StatusCode::NOT_MODIFIED);
    assert!(second.headers().get(header::CONTENT_ENCODING).is_none());
}

#[test]
fn the_policy_lets_no_script_stand_in_the_document_and_no_frame_hold_it() {
    let response = served("index.html", &HeaderMap::new());
    let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    let directive = |name: &str| policy.split("; ").find_map(|rule| rule.strip_prefix(name)).unwrap_or_default();
    assert_eq!(directive("default-src "), "'none'");
    assert_eq!(directive("script-src "), "'self'");
    assert_eq!(directive("connect-src "), "'self'");
    assert_eq!(directive("frame-ancestors "), "'none'");
    assert!(!policy.contains("http"), "no other host: {policy}");
    assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(response.headers()[header::REFERRER_POLICY], "no-referrer");
}

async fn status_of(method: Method, path: &str) -> StatusCode {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    router().oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn the_page_is_there_with_or_without_having_been_built() {
    assert_eq!(status_of(Method::GET, "/").await, StatusCode::OK);
    assert_eq!(status_of(Method::GET, "/c/ch_1").await, StatusCode::OK);
    assert_eq!(status_of(Method::HEAD, "/").await, StatusCode::OK);
    assert_eq!(status_of(Method::GET, "/no-such-file.js").await, StatusCode::NOT_FOUND);
    assert_eq!(status_of(Method::POST, "/").await, StatusCode::NOT_FOUND);
}
