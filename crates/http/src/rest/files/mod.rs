//! Files: uploaded in a stream, listed, downloaded so that no browser runs them, deleted with their bytes.

mod serve;

use axum::extract::Request;
use axum::http::HeaderMap;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::File;
use folkmoot_core::record::Filter;
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::FileObject;
use serde::Deserialize;
use utoipa::IntoParams;

use super::bounds::{GivenChannel, GivenFile, Limit};
use super::extract::{Caller, Path, Query};
use super::reply::{self, Answer, Done};
use super::{query, unexpected};

pub use folkmoot_hub::request::kind::is_picture;
pub use folkmoot_hub::request::upload::{
    UploadForm, is_multipart, keep, keep_diff, receive, receive_whole, remove_leftovers,
};

/// Upload a file.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/files", tag = "files",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 201, body = FileObject)))]
pub async fn upload(caller: Caller, Path(workspace): Path<WorkspaceId>, request: Request) -> Answer {
    caller.within(workspace)?;
    let received = receive(&caller, request).await?;
    let file = keep(&caller, workspace, received).await?;
    reply::created(&FileObject::from(&file))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FileQuery {
    /// Only files of this channel.
    #[serde(default)]
    #[param(inline)]
    channel_id: GivenChannel,
    /// At most 200; 100 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<100, 200>,
    /// Only files older than this one.
    #[serde(default)]
    #[param(inline)]
    before: GivenFile,
}

/// The files the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/files", tag = "files", params(FileQuery),
    responses((status = 200, body = [FileObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<FileQuery>) -> Answer {
    caller.within(workspace)?;
    let channel = query.channel_id.get();
    let filter = Filter { scope: channel.map(|channel| channel.0), ..Filter::workspace(workspace) };
    let filter = filter.before(query.before.get().map(|file| file.0));
    let files = query::visible(&caller, filter, query.limit.get(), access::may_see_file).await?;
    reply::ok(&files.iter().map(FileObject::from).collect::<Vec<_>>())
}

/// What is known of a file.
#[utoipa::path(get, path = "/v1/files/{file}", tag = "files", responses((status = 200, body = FileObject)))]
pub async fn get(caller: Caller, Path(id): Path<FileId>) -> Answer {
    let file = visible(&caller, id).await?;
    reply::ok(&FileObject::from(&file))
}

/// Delete a file and its bytes (who uploaded it, or an admin).
#[utoipa::path(delete, path = "/v1/files/{file}", tag = "files", responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path(id): Path<FileId>) -> Answer {
    // On its own task: a client that hangs up must not leave the bytes without their record.
    let removal = tokio::spawn(async move {
        let Reply::File(_) = caller.execute(Command::RemoveFile { file: id }).await? else { return Err(unexpected()) };
        forget(&caller, id).await;
        reply::deleted(id)
    });
    removal.await.map_err(|_| unexpected())?
}

/// Removes the bytes of a file whose record is gone.
pub async fn forget(caller: &Caller, id: FileId) {
    if let Err(error) = tokio::fs::remove_file(caller.hub.files_dir().join(id.to_string())).await {
        tracing::warn!(file = %id, %error, "the bytes of a deleted file could not be removed");
    }
}

/// The bytes. Ranges are supported.
///
/// Images and plain text may be shown by a browser; everything else comes as an attachment, active content as
/// `application/octet-stream`.
#[utoipa::path(get, path = "/v1/files/{file}/download", tag = "files", responses(
    (status = 200, description = "the whole file", body = Vec<u8>, content_type = "application/octet-stream"),
    (status = 206, description = "the part that was asked for", body = Vec<u8>, content_type = "application/octet-stream"),
    (status = 304, description = "the client has it already"),
    (status = 416, description = "there is no such part")))]
pub async fn download(caller: Caller, Path(id): Path<FileId>, headers: HeaderMap) -> Answer {
    serve(&caller, id, &headers).await
}

/// The bytes of a file that the caller may see.
pub async fn serve(caller: &Caller, id: FileId, headers: &HeaderMap) -> Answer {
    let file = visible(caller, id).await?;
    serve::response(&file, &caller.hub.files_dir().join(file.id.to_string()), headers).await
}

async fn visible(caller: &Caller, id: FileId) -> Result<File, super::error::ApiError> {
    query::one(caller, id, refusal::FILE_NOT_FOUND, access::may_see_file).await
}
