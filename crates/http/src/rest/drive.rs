//! The drive: the same files as `/v1`, at the addresses that Snek's messages link to.
//!
//! What is uploaded here is its uploader's alone until a message links to it; from then on the members of that channel may
//! read it. The rule is the core's (`access::may_see_file`), so `/v1` keeps to it as well.

use axum::extract::Request;
use axum::http::HeaderMap;
use folkmoot_core::ids::FileId;
use folkmoot_core::model::File;
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::{Caller, Path};
use super::files::{self, UploadForm};
use super::reply::{self, Answer};

const LONGEST_EXTENSION: usize = 10;

#[derive(Serialize, ToSchema)]
pub struct DriveFile {
    #[schema(value_type = String)]
    uid: FileId,
    /// Where it is, relative to the hub: what a message links to.
    #[schema(example = "/drive.bin/file_01J….png")]
    url: String,
    /// The link, ready to be put into a message.
    #[schema(example = "[cat.png](/drive.bin/file_01J….png)")]
    markdown: String,
    filename: String,
    content_type: String,
    size: u64,
}

impl DriveFile {
    fn new(file: File) -> Self {
        let url = format!("{}{}{}", folkmoot_core::decide::DRIVE, file.id, extension(&file.filename));
        // A bracket in the name would end the link's text early.
        let label = file.filename.replace(['[', ']'], "_");
        let markdown = format!("[{label}]({url})");
        let File { id, filename, content_type, size, .. } = file;
        Self { uid: id, url, markdown, filename, content_type, size }
    }
}

/// `.png` of `cat.PNG`; nothing when there is none that clients would understand.
fn extension(filename: &str) -> String {
    let fits = |text: &str| {
        (1..=LONGEST_EXTENSION).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match filename.rsplit_once('.') {
        Some((_, extension)) if fits(extension) => format!(".{}", extension.to_ascii_lowercase()),
        _ => String::new(),
    }
}

/// Upload a file to link to.
///
/// Only its uploader may read it until a message links to it; then the members of that channel may.
#[utoipa::path(post, path = "/drive.bin", tag = "files",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 201, body = DriveFile)))]
pub async fn upload(caller: Caller, request: Request) -> Answer {
    let workspace = caller.workspace()?;
    let received = files::receive(&caller, request).await?.restricted();
    let file = files::keep(&caller, workspace, received).await?;
    reply::created(&DriveFile::new(file))
}

/// The bytes of a file, by its id; what follows the first dot is for the reader's eyes.
#[utoipa::path(get, path = "/drive.bin/{name}", tag = "files", responses(
    (status = 200, description = "the whole file", body = Vec<u8>, content_type = "application/octet-stream"),
    (status = 206, description = "the part that was asked for", body = Vec<u8>, content_type = "application/octet-stream"),
    (status = 304, description = "the client has it already"),
    (status = 416, description = "there is no such part")))]
pub async fn download(caller: Caller, Path(name): Path<String>, headers: HeaderMap) -> Answer {
    let id = name.split_once('.').map_or(name.as_str(), |(id, _)| id);
    files::serve(&caller, FileId::parse(id), &headers).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_like_the_file_when_that_is_an_ordinary_ending() {
        for (filename, expected) in [
            ("cat.PNG", ".png"),
            ("archive.tar.gz", ".gz"),
            ("README", ""),
            ("odd.p/g", ""),
            ("odd.", ""),
            ("odd.averylongending", ""),
            ("naïve.jpé", ""),
        ] {
            assert_eq!(extension(filename), expected, "{filename}");
        }
    }
}
