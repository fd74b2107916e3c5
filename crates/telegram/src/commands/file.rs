//! `/file put` and `/file get`: single files between a chat and its project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folkmoot_peers::backoff::Backoff;

use super::{Answer, Call, context_here, later, said, zip};
use crate::api::{ApiError, Document, MOST_UPLOAD};
use crate::bridge::{Bridge, Spot};
use crate::files;
use crate::journal::Scope;
use crate::piece::{FileRef, Piece};
use crate::shared::Shared;
use crate::worktree::{self, Missing};

/// How often a file is sent before that is given up.
const ATTEMPTS: usize = 5;

const USAGE: &str = "send a file with `/file put PATH [--force]`, or say `/file get PATH`";

pub fn file(bridge: &Bridge, call: Call) -> Answer {
    let words: Vec<String> = call.arguments().iter().map(|&word| word.to_owned()).collect();
    let force = words.iter().any(|word| word == "--force");
    let (shared, place, spot) = (Arc::clone(bridge.shared()), call.place, call.spot);
    let path = words.iter().skip(1).filter(|word| *word != "--force").cloned().collect::<Vec<_>>().join(" ");
    match (words.first().map(String::as_str), path.is_empty()) {
        (Some("put"), false) => {
            let Some(file) = attached(&call) else { return said(USAGE) };
            later(
                bridge,
                spot,
                async move { Some(put(&shared, place, &file, path, force).await.unwrap_or_else(|e| e)) },
            )
        }
        (Some("get"), false) => later(bridge, spot, async move { get(&shared, place, spot, path).await.err() }),
        _ => said(USAGE),
    }
}

/// The file of the message itself, or of the one it replies to.
fn attached(call: &Call) -> Option<FileRef> {
    let own = Piece::of(&call.message).and_then(|piece| piece.file);
    own.or_else(|| Piece::of(call.message.replied_to()?)?.file)
}

/// The folder that prompts of this place work in.
async fn folder(shared: &Arc<Shared>, place: Scope) -> Result<PathBuf, String> {
    let for_rows = Arc::clone(shared);
    let context = shared.journal.transact(move |rows| context_here(rows, &for_rows, place)).await;
    match context.map_err(|error| error.to_string())? {
        None => Ok(shared.settings.start_folder.clone()),
        Some(context) => {
            let found = worktree::folder(&shared.settings.projects, &context, Missing::Refuse).await;
            found.map_err(|error| error.to_string())
        }
    }
}

async fn put(
    shared: &Arc<Shared>,
    place: Scope,
    file: &FileRef,
    mut path: String,
    force: bool,
) -> Result<String, String> {
    let folder = folder(shared, place).await?;
    if path.ends_with('/') {
        path.push_str(&file.name);
    }
    files::inside(&folder, &path).map_err(|error| error.to_string())?;
    let content = shared.fetch(file).await?;
    let size = files::size(content.len());
    let target = path.clone();
    let stored = tokio::task::spawn_blocking(move || files::put(&folder, &target, &content, force)).await;
    stored.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    Ok(format!("saved `{path}` ({size})"))
}

async fn get(shared: &Arc<Shared>, place: Scope, spot: Spot, path: String) -> Result<(), String> {
    let folder = folder(shared, place).await?;
    let target = files::inside(&folder, &path).map_err(|error| error.to_string())?;
    let read = tokio::task::spawn_blocking(move || content(&folder, &target)).await;
    let (name, content) = read.map_err(|error| error.to_string())?.map_err(|error| format!("`{path}`: {error}"))?;
    let document =
        Document { chat: spot.chat, topic: spot.topic, reply_to: spot.reply_to, name: &name, content, caption: None };
    let sent = patiently(|| shared.bot.send_document(document.clone())).await;
    sent.map(drop).map_err(|error| format!("`{path}` could not be sent: {error}"))
}

/// Makes a call that the outbox does not make: a few times, as slowly as the server asks. What may have had its effect is
/// not done twice.
async fn patiently<T, F>(mut call: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut backoff = Backoff::for_reconnecting();
    for _ in 1..ATTEMPTS {
        match call().await {
            Err(ApiError::RateLimited { retry_after }) => tokio::time::sleep(retry_after).await,
            Err(ApiError::Unreachable { perhaps_done: false, .. }) => {
                tokio::time::sleep(backoff.next(rand::random())).await;
            }
            answer => return answer,
        }
    }
    call().await
}

/// The file, or the folder packed into one.
fn content(project: &Path, target: &Path) -> std::io::Result<(String, Vec<u8>)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let too_large = || std::io::Error::other("more than 50 MB, which Telegram does not take from bots");
    if target.is_dir() {
        let packed = zip::pack(project, target, MOST_UPLOAD)?.ok_or_else(too_large)?;
        return Ok((format!("{name}.zip"), packed));
    }
    if std::fs::metadata(target)?.len() > MOST_UPLOAD {
        return Err(too_large());
    }
    Ok((name, std::fs::read(target)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    /// The answers in turn, and how often and how long it took.
    async fn tried(mut answers: Vec<Result<(), ApiError>>) -> (Result<(), ApiError>, usize, Duration) {
        let (began, all) = (Instant::now(), answers.len());
        let answer = patiently(|| std::future::ready(answers.remove(0))).await;
        (answer, all - answers.len(), began.elapsed())
    }

    fn unreachable(perhaps_done: bool) -> ApiError {
        ApiError::Unreachable { cause: "502".into(), perhaps_done }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_sent_again_after_a_429_and_a_502() {
        let wait = Err(ApiError::RateLimited { retry_after: Duration::from_secs(40) });
        let (answer, times, took) = tried(vec![wait, Err(unreachable(false)), Ok(())]).await;
        assert_eq!((answer, times), (Ok(()), 3));
        assert!(took >= Duration::from_secs(40), "as long as the server asked: {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_arrived_is_not_sent_twice_and_a_refusal_is_final() {
        let refused = ApiError::Rejected { code: 400, description: "no".into(), moved_to: None };
        for error in [unreachable(true), refused] {
            let (answer, times, _) = tried(vec![Err(error.clone()), Ok(())]).await;
            assert_eq!((answer, times), (Err(error), 1));
        }
        let (answer, times, _) = tried(vec![Err(unreachable(false)); 9]).await;
        assert_eq!((answer, times), (Err(unreachable(false)), ATTEMPTS), "it comes to an end");
    }
}
