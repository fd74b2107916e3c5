//! What comes along with the words of a prompt: files are stored in the project, what is spoken is written down.

use std::path::{Path, PathBuf};

use folkmoot_runs::files;

use crate::api;
use crate::context::Context;
use crate::piece::{self, FileRef, Piece};
use crate::retry::{self, retrying};
use crate::shared::Shared;

/// Why something cannot be had, in words for the chat.
pub type Refusal = String;

pub fn words(error: impl std::fmt::Display) -> Refusal {
    error.to_string()
}

/// What came along with the words.
#[derive(Default)]
pub struct Gathered {
    spoken: Vec<String>,
    /// Paths within the project, with their sizes.
    files: Vec<(PathBuf, usize)>,
    /// Why something is not among them.
    pub missing: Vec<String>,
}

impl Gathered {
    pub fn complete(&self, written: &str) -> String {
        let spoken = self.spoken.iter().map(|words| format!("(voice transcribed) {words}"));
        let files: Vec<String> = self.files.iter().map(|(path, _)| path.display().to_string()).collect();
        let files = match &files[..] {
            [] => None,
            [one] => Some(format!("[uploaded file: {one}]")),
            more => Some(format!("[uploaded files]\n{}", more.join("\n"))),
        };
        let missing = self.missing.iter().map(|why| format!("[missing: {}]", first_line(why)));
        let written = Some(written.to_owned()).filter(|text| !text.trim().is_empty());
        written.into_iter().chain(spoken).chain(files).chain(missing).collect::<Vec<_>>().join("\n\n")
    }

    /// Whether nothing is left that says what to do.
    pub fn is_all_missing(&self, written: &str) -> bool {
        !self.missing.is_empty() && self.spoken.is_empty() && written.trim().is_empty()
    }

    /// What is said where nothing is run.
    pub fn report(&self, context: Option<&Context>) -> String {
        let saved = self.files.iter().map(|(path, bytes)| {
            let place = context.map_or_else(String::new, |context| format!(" in `{}`", context.name()));
            format!("saved `{}`{place} ({})", path.display(), files::size(*bytes))
        });
        saved.chain(self.missing.iter().cloned()).collect::<Vec<_>>().join("\n\n")
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Fetches every file of the pieces: what is spoken is written down, the rest is stored in the folder.
pub async fn gather(shared: &Shared, pieces: &[Piece], folder: &Path) -> Gathered {
    let mut gathered = Gathered::default();
    for file in piece::files(pieces) {
        let fetched = match file.spoken {
            true => shared.written_down(file).await.map(|said| gathered.spoken.push(said)),
            false => store(shared, file, folder).await.map(|stored| gathered.files.push(stored)),
        };
        gathered.missing.extend(fetched.err());
    }
    gathered
}

/// The words of a reply to a card, with what came along.
pub async fn note(shared: &Shared, piece: &Piece, folder: &Path) -> Result<String, Refusal> {
    let gathered = gather(shared, std::slice::from_ref(piece), folder).await;
    match gathered.is_all_missing(&piece.text) {
        true => Err(gathered.report(None)),
        false => Ok(gathered.complete(&piece.text)),
    }
}

async fn store(shared: &Shared, file: &FileRef, folder: &Path) -> Result<(PathBuf, usize), Refusal> {
    let content = shared.fetch(file).await?;
    let size = content.len();
    let (folder, uploads, name) = (folder.to_owned(), shared.settings.uploads.clone(), file.name.clone());
    let stored = tokio::task::spawn_blocking(move || files::store_upload(&folder, &uploads, &name, &content));
    Ok((stored.await.map_err(words)?.map_err(words)?, size))
}

impl Shared {
    /// The content of a file at Telegram.
    pub async fn fetch(&self, file: &FileRef) -> Result<Vec<u8>, Refusal> {
        let too_large = || format!("`{}` is too large: Telegram gives bots at most 20 MB", file.name);
        if file.size.is_some_and(|size| size > api::MAX_DOWNLOAD) {
            return Err(too_large());
        }
        let fetched = retrying(retry::MINUTES, retry::unless_refused, || async {
            // Where a file is may have changed since the last attempt.
            match self.bot.get_file(&file.id).await?.file_path {
                Some(path) => self.bot.download(&path, api::MAX_DOWNLOAD).await.map(Some),
                None => Ok(None),
            }
        });
        match fetched.await {
            Ok(content) => content.ok_or_else(too_large),
            Err(error) => Err(format!("`{}` could not be fetched: {error}", file.name)),
        }
    }

    /// What was said in a voice note.
    async fn written_down(&self, file: &FileRef) -> Result<String, Refusal> {
        let Some(speech) = &self.settings.speech else {
            return Err("voice notes cannot be written down here\n\nhint: set `stt.api_key`, or `stt.base_url` to an \
                        endpoint that needs none"
                .to_owned());
        };
        let content = self.fetch(file).await?;
        let listen = || speech.transcribe(&file.name, content.clone().into());
        let said = retrying(retry::MINUTES, retry::unless_hopeless, listen).await;
        let said = said.map_err(|error| format!("the voice note could not be written down: {error}"))?;
        if said.text.trim().is_empty() {
            return Err("nothing was understood in the voice note".to_owned());
        }
        Ok(said.text)
    }
}
