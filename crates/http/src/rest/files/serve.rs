//! A download: the bytes as a stream, under headers that keep a browser from running them.

use std::io::SeekFrom;
use std::path::Path;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use folkmoot_core::model::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use folkmoot_hub::request::kind::served;
use folkmoot_hub::request::names::disposition;
use folkmoot_hub::request::range::{Wanted, wanted};
use folkmoot_hub::request::{Answer, ApiError};

/// Few and large enough: the stream holds one of these at a time.
const CHUNK_BYTES: usize = 64 * 1024;

pub async fn response(file: &File, path: &Path, request: &HeaderMap) -> Answer {
    let tag = format!("\"{}\"", file.id);
    if is_known(request, &tag) {
        return Ok(build(file, &tag, StatusCode::NOT_MODIFIED, Body::empty()));
    }
    let mut bytes = tokio::fs::File::open(path).await.map_err(|error| missing(file, &error))?;
    match wanted(range_header(request, &tag), file.size) {
        Wanted::Nothing => {
            let mut response = build(file, &tag, StatusCode::RANGE_NOT_SATISFIABLE, Body::empty());
            set(&mut response, header::CONTENT_RANGE, format!("bytes */{}", file.size));
            Ok(response)
        }
        Wanted::Whole => {
            let body = Body::from_stream(ReaderStream::with_capacity(bytes.take(file.size), CHUNK_BYTES));
            let mut response = build(file, &tag, StatusCode::OK, body);
            set(&mut response, header::CONTENT_LENGTH, file.size.to_string());
            Ok(response)
        }
        Wanted::Part { first, last } => {
            bytes.seek(SeekFrom::Start(first)).await.map_err(|error| missing(file, &error))?;
            let length = last - first + 1;
            let body = Body::from_stream(ReaderStream::with_capacity(bytes.take(length), CHUNK_BYTES));
            let mut response = build(file, &tag, StatusCode::PARTIAL_CONTENT, body);
            set(&mut response, header::CONTENT_LENGTH, length.to_string());
            set(&mut response, header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", file.size));
            Ok(response)
        }
    }
}

fn missing(file: &File, error: &std::io::Error) -> ApiError {
    tracing::error!(file = %file.id, %error, "the bytes of a file cannot be read");
    ApiError::unavailable("the bytes of this file cannot be read")
}

/// The bytes of a file never change, so its id is its tag.
fn is_known(request: &HeaderMap, tag: &str) -> bool {
    let known = request.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

/// The range that is asked for, unless it was meant for another file.
fn range_header<'a>(request: &'a HeaderMap, tag: &str) -> Option<&'a str> {
    let meant = request.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == tag.as_bytes());
    request.get(header::RANGE).filter(|_| meant).and_then(|value| value.to_str().ok())
}

fn build(file: &File, tag: &str, status: StatusCode, body: Body) -> Response {
    let served = served(&file.content_type);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, served.content_type.to_owned());
    set(&mut response, header::CONTENT_DISPOSITION, disposition(served.inline, &file.filename));
    set(&mut response, header::ETAG, tag.to_owned());
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::ACCEPT_RANGES, "bytes"),
        // Kept, but never shown again without asking: who may read a file can change.
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn set(response: &mut Response, name: header::HeaderName, value: String) {
    match HeaderValue::try_from(value) {
        Ok(value) => {
            response.headers_mut().insert(name, value);
        }
        Err(error) => tracing::error!(%name, %error, "a header could not be written"),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::*;

    use super::*;

    fn file(filename: &str, content_type: &str, size: u64) -> File {
        File {
            id: FileId(7),
            workspace: WorkspaceId(1),
            channel: None,
            restricted: false,
            posts: Vec::new(),
            also_in: Vec::new(),
            uploaded_by: MemberId(2),
            filename: filename.to_owned(),
            content_type: content_type.to_owned(),
            size,
            created_at: 0,
        }
    }

    async fn served_with(file: &File, headers: &[(header::HeaderName, &str)]) -> (Response, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, b"0123456789").unwrap();
        let mut request = HeaderMap::new();
        for (name, value) in headers {
            request.insert(name, HeaderValue::from_str(value).unwrap());
        }
        (response(file, &path, &request).await.unwrap(), folder)
    }

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 1024).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_download_is_the_whole_file_under_safe_headers() {
        let (response, _folder) = served_with(&file("a.html", "text/html", 10), &[]).await;
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], "application/octet-stream");
        assert_eq!(headers[header::CONTENT_DISPOSITION], "attachment; filename=\"a.html\"");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY], "sandbox; default-src 'none'");
        assert_eq!(headers[header::CONTENT_LENGTH], "10");
        assert_eq!(text(response).await, "0123456789");
    }

    #[tokio::test]
    async fn a_range_is_a_part_of_the_file() {
        let (response, _folder) = served_with(&file("a.txt", "text/plain", 10), &[(header::RANGE, "bytes=2-4")]).await;
        assert_eq!(response.status(), 206);
        assert_eq!(response.headers()[header::CONTENT_RANGE], "bytes 2-4/10");
        assert_eq!(text(response).await, "234");
    }

    #[tokio::test]
    async fn a_range_beyond_the_end_is_416() {
        let (response, _folder) = served_with(&file("a.txt", "text/plain", 10), &[(header::RANGE, "bytes=10-")]).await;
        assert_eq!(response.status(), 416);
        assert_eq!(response.headers()[header::CONTENT_RANGE], "bytes */10");
    }

    #[tokio::test]
    async fn a_range_for_another_version_gives_the_whole() {
        let headers = [(header::RANGE, "bytes=2-4"), (header::IF_RANGE, "\"other\"")];
        let (response, _folder) = served_with(&file("a.txt", "text/plain", 10), &headers).await;
        assert_eq!(response.status(), 200);
    }

    #[tokio::test]
    async fn a_client_that_has_the_file_is_told_so() {
        let file = file("a.txt", "text/plain", 10);
        let tag = format!("\"{}\"", file.id);
        let (response, _folder) = served_with(&file, &[(header::IF_NONE_MATCH, &tag)]).await;
        assert_eq!(response.status(), 304);
    }
}
