//! An upload: streamed into a temporary file beside the others, then kept under its id, or gone without a trace.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::File;
use folkmoot_core::run::{Run, RunCommand};
use folkmoot_core::{Actor, State, access};
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::{Caller, declared_length, drain, drain_body, given, slow_body};
use super::kind::{SNIFFED_BYTES, recorded};
use super::names::sanitized;
use super::unexpected;

/// Where files are until they are complete, below the folder of the files.
const INCOMING: &str = "incoming";
/// The largest file.
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// Room for the boundaries and the small fields around the file.
const MAX_FORM_OVERHEAD: u64 = 64 * 1024;
const MAX_FIELD_BYTES: usize = 1024;
/// After this long without a byte the sender is given up.
const CHUNK_TIME: Duration = Duration::from_secs(20);
/// Whoever needs longer than this must have sent so many bytes per second until then.
const GRACE: Duration = Duration::from_secs(20);
const LEAST_BYTES_PER_SECOND: u64 = 16 * 1024;

/// The form of an upload.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the multipart form; its parts are read one by one as they arrive")]
pub struct UploadForm {
    /// The bytes, at most 32 MB.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// The channel whose members may read it; left out, only the uploader may until it is posted.
    #[schema(value_type = String, required = false)]
    channel_id: Option<String>,
}

/// How long a sender may still take: a trickle that never stops ends all the same.
struct UploadTimeout {
    began: Instant,
    seen: u64,
}

impl UploadTimeout {
    fn new() -> Self {
        Self { began: Instant::now(), seen: 0 }
    }

    fn left(&self) -> Duration {
        time_for(self.seen).saturating_sub(self.began.elapsed()).min(CHUNK_TIME)
    }

    /// Waits for the next piece of a form.
    async fn next<T>(&self, reading: impl Future<Output = Result<T, MultipartError>>) -> Result<T, ApiError> {
        let read = tokio::time::timeout(self.left(), reading).await.map_err(|_| slow_body())?;
        read.map_err(|error| if error.status() == StatusCode::PAYLOAD_TOO_LARGE { too_large() } else { broken_form() })
    }

    async fn chunk(&mut self, field: &mut Field<'_>) -> Result<Option<Bytes>, ApiError> {
        let chunk = self.next(field.chunk()).await?;
        self.seen += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Ok(chunk)
    }
}

/// How long so many bytes may take.
fn time_for(bytes: u64) -> Duration {
    GRACE + Duration::from_millis(bytes * 1000 / LEAST_BYTES_PER_SECOND)
}

/// A file that arrived completely and is not kept yet; dropped, it is gone.
pub struct Received {
    pub content_type: String,
    id: FileId,
    part: Part,
    filename: String,
    size: u64,
    channel: Option<ChannelId>,
    restricted: bool,
}

impl Received {
    /// Only for its uploader until it is posted, and then only for the members of that channel.
    pub fn restricted(self) -> Self {
        Self { restricted: true, ..self }
    }
}

/// A file on disk that is removed with this value, unless it was kept.
struct Part(Option<PathBuf>);

impl Part {
    fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    fn keep(mut self) {
        self.0.take();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // It may be gone already; and a destructor has nobody to tell.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Received {
    /// Its name and its bytes, for whoever needs it once; nothing of it stays on disk.
    pub async fn into_memory(self) -> Result<(String, Bytes), ApiError> {
        let bytes = tokio::fs::read(self.part.path()).await.map_err(|error| not_stored(&error))?;
        Ok((self.filename, bytes.into()))
    }
}

pub fn is_multipart(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Takes the `file` of a multipart form to disk, and the optional `channel_id`.
pub async fn receive(caller: &Caller, request: Request) -> Result<Received, ApiError> {
    if !is_multipart(request.headers()) {
        drain(request).await;
        return Err(ApiError::bad_request("an upload is a multipart form with a part named `file`"));
    }
    if declared_length(request.headers()).is_some_and(|length| length > MAX_FILE_BYTES + MAX_FORM_OVERHEAD) {
        drain(request).await;
        return Err(too_large());
    }
    if let Err(refusal) = caller.hub.quotas().upload(caller.id(), caller.hub.now()) {
        drain(request).await;
        return Err(refusal.into());
    }
    let mut form = Multipart::from_request(request, &caller.hub).await.map_err(|_| broken_form())?;
    let mut timeout = UploadTimeout::new();
    let (mut received, mut channel, mut more) = (None, None, false);
    while let Some(field) = timeout.next(form.next_field()).await? {
        match field.name() {
            Some("file" | "avatar") if received.is_none() => {
                received = Some(take_file(caller, field, &mut timeout).await?);
            }
            Some("file" | "avatar") => {
                discard(field, MAX_FILE_BYTES, &mut timeout).await?;
                more = true;
            }
            Some("channel_id" | "channel_uid") => {
                channel = given(Some(take_text(field, &mut timeout).await?), ChannelId::parse);
            }
            _ => discard(field, MAX_FORM_OVERHEAD, &mut timeout).await?,
        }
    }
    let received = received.ok_or_else(|| ApiError::bad_request("the form has no part named `file`"))?;
    if more {
        return Err(ApiError::bad_request("the form has more than one part named `file`; upload them one by one"));
    }
    Ok(Received { channel, ..received })
}

async fn take_file(caller: &Caller, mut field: Field<'_>, timeout: &mut UploadTimeout) -> Result<Received, ApiError> {
    let filename = sanitized(field.file_name().unwrap_or_default());
    let declared = field.content_type().map(str::to_owned);
    let (id, part, mut target) = begin(caller).await?;
    let mut first_bytes = Vec::new();
    let mut size = 0;
    while let Some(chunk) = timeout.chunk(&mut field).await? {
        size += chunk.len() as u64;
        if size > MAX_FILE_BYTES {
            // The sender sees the answer only when it could send the rest.
            discard(field, MAX_FILE_BYTES, timeout).await.ok();
            return Err(too_large());
        }
        note_first(&mut first_bytes, &chunk);
        if let Err(error) = target.write_all(&chunk).await {
            discard(field, MAX_FILE_BYTES, timeout).await.ok();
            return Err(not_stored(&error));
        }
    }
    finish(target).await?;
    let content_type = recorded(declared.as_deref(), &first_bytes);
    Ok(Received { content_type, id, part, filename, size, channel: None, restricted: false })
}

/// A fresh file below the others, gone again unless it is kept.
async fn begin(caller: &Caller) -> Result<(FileId, Part, tokio::fs::File), ApiError> {
    let id = caller.hub.new_file_id();
    let folder = caller.hub.files_dir().join(INCOMING);
    let part = Part(Some(folder.join(id.to_string())));
    crate::modes::make_folder(&folder).map_err(|error| not_stored(&error))?;
    let target = create_private(part.path()).await.map_err(|error| not_stored(&error))?;
    Ok((id, part, target))
}

async fn finish(mut target: tokio::fs::File) -> Result<(), ApiError> {
    // Flushing first: the last write runs in the background, and only flushing tells how it ended.
    target.flush().await.map_err(|error| not_stored(&error))?;
    target.sync_all().await.map_err(|error| not_stored(&error))
}

/// What is uploaded is for the hub to show, not for other users of the machine.
async fn create_private(path: &Path) -> std::io::Result<tokio::fs::File> {
    tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await
}

fn note_first(first_bytes: &mut Vec<u8>, chunk: &Bytes) {
    let lacking = SNIFFED_BYTES.saturating_sub(first_bytes.len());
    first_bytes.extend(chunk.iter().take(lacking));
}

async fn take_text(mut field: Field<'_>, timeout: &mut UploadTimeout) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = timeout.chunk(&mut field).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_FIELD_BYTES {
            return Err(ApiError::bad_request("`channel_id` is too long"));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Reads a part that nobody wants, up to a bound.
async fn discard(mut field: Field<'_>, at_most: u64, timeout: &mut UploadTimeout) -> Result<(), ApiError> {
    let mut seen = 0;
    while let Some(chunk) = timeout.chunk(&mut field).await? {
        seen += chunk.len() as u64;
        if seen > at_most {
            return Err(too_large());
        }
    }
    Ok(())
}

/// Takes a body that is the file itself, and no longer than this.
pub async fn receive_whole(
    caller: &Caller,
    request: Request,
    content_type: &str,
    at_most: u64,
) -> Result<Received, ApiError> {
    let too_large = || ApiError::too_large(format!("the body is too large (max {at_most} bytes)"));
    if declared_length(request.headers()).is_some_and(|length| length > at_most) {
        drain(request).await;
        return Err(too_large());
    }
    if let Err(refusal) = caller.hub.quotas().upload(caller.id(), caller.hub.now()) {
        drain(request).await;
        return Err(refusal.into());
    }
    let mut body = request.into_body();
    let (id, part, mut target) = begin(caller).await?;
    let (mut size, mut timeout) = (0, UploadTimeout::new());
    while let Some(frame) = tokio::time::timeout(timeout.left(), body.frame()).await.map_err(|_| slow_body())? {
        let frame = frame.map_err(|_| ApiError::bad_request("the body ended early"))?;
        let Some(chunk) = frame.data_ref() else { continue };
        size += chunk.len() as u64;
        timeout.seen = size;
        if size > at_most {
            drain_body(body).await;
            return Err(too_large());
        }
        target.write_all(chunk).await.map_err(|error| not_stored(&error))?;
    }
    finish(target).await?;
    let (content_type, filename) = (content_type.to_owned(), String::new());
    Ok(Received { content_type, id, part, filename, size, channel: None, restricted: false })
}

/// Keeps a file: its bytes under its id, then its record. Without the record the bytes go again.
pub async fn keep(caller: &Caller, workspace: WorkspaceId, received: Received) -> Result<File, ApiError> {
    keep_with(caller, workspace, received, Command::AddFile, |reply| match reply {
        Reply::File(file) => Some(file),
        _ => None,
    })
    .await
}

/// Keeps the diff of a run in the same way. Returns the run, and the file that it had before.
pub async fn keep_diff(
    caller: &Caller,
    run: RunId,
    received: Received,
) -> Result<(Arc<Run>, Option<FileId>), ApiError> {
    let carrier = |state: &State, actor: Actor| access::carrier(state, actor.member).map(|member| member.workspace);
    let workspace = caller.query(carrier)?;
    let command = move |file| Command::Run(RunCommand::Diff { run, file });
    keep_with(caller, workspace, received, command, |reply| match reply {
        Reply::Diff { run, replaced } => Some((run, replaced)),
        _ => None,
    })
    .await
}

async fn keep_with<R: Send + 'static>(
    caller: &Caller,
    workspace: WorkspaceId,
    received: Received,
    command: impl FnOnce(File) -> Command + Send + 'static,
    kept: fn(Reply) -> Option<R>,
) -> Result<R, ApiError> {
    let (hub, actor) = (caller.hub.clone(), caller.actor);
    // On its own task: a client that hangs up now must not part the record from its bytes.
    let keeping = tokio::spawn(async move {
        let target = hub.files_dir().join(received.id.to_string());
        move_durably(received.part.path(), &target).await.map_err(|error| not_stored(&error))?;
        let part = Part(Some(target));
        let file = File {
            id: received.id,
            workspace,
            channel: received.channel,
            restricted: received.restricted,
            also_in: Vec::new(),
            posts: Vec::new(),
            uploaded_by: actor.member,
            filename: received.filename,
            content_type: received.content_type,
            size: received.size,
            created_at: hub.now(),
        };
        let kept = kept(hub.execute(actor, command(file)).await?).ok_or_else(unexpected)?;
        part.keep();
        Ok(kept)
    });
    keeping.await.map_err(|_| unexpected())?
}

/// Removes what uploads left behind that a crash cut off.
pub fn remove_leftovers(files_dir: &Path) {
    match std::fs::remove_dir_all(files_dir.join(INCOMING)) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "unfinished uploads could not be removed"),
    }
}

/// Moves a file so that its new name survives a power cut.
async fn move_durably(from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (from.to_owned(), to.to_owned());
    let moving = tokio::task::spawn_blocking(move || {
        std::fs::rename(&from, &to)?;
        match to.parent() {
            Some(folder) => std::fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    });
    moving.await.map_err(std::io::Error::other)?
}

fn too_large() -> ApiError {
    ApiError::too_large("the file is too large (max 33554432 bytes)")
}

fn broken_form() -> ApiError {
    ApiError::bad_request("the multipart form is broken or ended early")
}

fn not_stored(error: &std::io::Error) -> ApiError {
    tracing::warn!(%error, "an upload could not be stored");
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ApiError::unavailable("the disk is full, nothing was stored")
        }
        _ => ApiError::unavailable("the file could not be stored"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_multipart_form_is_an_upload() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=x", true),
            ("Multipart/Form-Data; boundary=x", true),
            ("application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            assert_eq!(is_multipart(&headers), expected, "{content_type}");
        }
        assert!(!is_multipart(&HeaderMap::new()));
    }

    #[test]
    fn the_largest_file_has_time_enough_and_a_trickle_has_not() {
        assert!(time_for(MAX_FILE_BYTES) > Duration::from_secs(30 * 60));
        assert!(time_for(1024) < GRACE + Duration::from_secs(1));
    }

    #[test]
    fn a_part_that_is_not_kept_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        for kept in [false, true] {
            let path = folder.path().join("x.part");
            std::fs::write(&path, b"half").unwrap();
            let part = Part(Some(path.clone()));
            if kept {
                part.keep();
            } else {
                drop(part);
            }
            assert_eq!(path.exists(), kept);
        }
    }

    #[test]
    fn a_full_disk_is_said_plainly() {
        let error = not_stored(&ErrorKind::StorageFull.into());
        assert_eq!((error.status.as_u16(), error.code), (503, "INTERNAL_ERROR"));
        assert_eq!(error.sentence, "the disk is full, nothing was stored");
    }

    #[test]
    fn what_a_crash_cut_off_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(INCOMING)).unwrap();
        std::fs::write(folder.path().join(INCOMING).join("file_1"), b"half").unwrap();
        std::fs::write(folder.path().join("file_2"), b"whole").unwrap();
        remove_leftovers(folder.path());
        remove_leftovers(folder.path());
        assert!(!folder.path().join(INCOMING).exists());
        assert!(folder.path().join("file_2").exists());
    }

    #[tokio::test]
    async fn a_kept_file_stands_under_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("x.part"), folder.path().join("x"));
        std::fs::write(&from, b"whole").unwrap();
        move_durably(&from, &to).await.unwrap();
        assert!(!from.exists());
        assert_eq!(std::fs::read(&to).unwrap(), b"whole");
    }
}
