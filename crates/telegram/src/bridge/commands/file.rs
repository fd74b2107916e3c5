//! `/file put` and `/file get`: single files between a chat and its project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folkmoot_runs::files;

use super::{Call, CommandAnswer, context_here, later, said, zip};
use crate::api::{Document, MAX_UPLOAD};
use crate::bridge::Bridge;
use crate::journal::Scope;
use crate::piece::{FileRef, Piece};
use crate::retry::{self, retrying};
use crate::shared::Shared;
use crate::spot::Spot;
use crate::worktree::{self, Missing};

const USAGE: &str = "send a file with `/file put PATH [--force]`, or say `/file get PATH`";

pub fn file(bridge: &Bridge, call: Call) -> CommandAnswer {
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
    let sent = retrying(retry::MINUTES, retry::unless_done, || shared.bot.send_document(document.clone())).await;
    sent.map(drop).map_err(|error| format!("`{path}` could not be sent: {error}"))
}

/// The file, or the folder packed into one.
fn content(project: &Path, target: &Path) -> std::io::Result<(String, Vec<u8>)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let too_large = || std::io::Error::other("more than 50 MB, which Telegram does not take from bots");
    if target.is_dir() {
        let packed = zip::pack(project, target, MAX_UPLOAD)?.ok_or_else(too_large)?;
        return Ok((format!("{name}.zip"), packed));
    }
    if std::fs::metadata(target)?.len() > MAX_UPLOAD {
        return Err(too_large());
    }
    Ok((name, std::fs::read(target)?))
}
