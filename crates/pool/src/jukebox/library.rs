//! The folder: every audio file below it with the tags it carries.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use data_encoding::HEXLOWER;
use lofty::file::{AudioFile, TaggedFileExt};
use lofty::tag::Accessor;
use sha2::{Digest, Sha256};

use super::search;
use super::track::{Track, Words, content_type};

/// Folders within folders deeper than this are not music collections.
const MAX_DEPTH: usize = 16;
/// More files than this are left out, with a warning.
const MAX_TRACKS: usize = 100_000;

#[derive(Debug, Default)]
pub struct Library {
    tracks: Vec<Arc<Track>>,
    by_id: HashMap<String, Arc<Track>>,
}

impl Library {
    /// Reads the folder and everything below it. Files that `known` has are not opened again unless they changed.
    pub fn read(folder: &Path, known: Option<&Self>) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(folder, 0, &mut files)?;
        files.sort();
        if files.len() > MAX_TRACKS {
            tracing::warn!(files = files.len(), "only the first {MAX_TRACKS} files are used");
            files.truncate(MAX_TRACKS);
        }
        let mut unreadable = 0_usize;
        let tracks = files.iter().filter_map(|path| {
            let track = read_track(folder, path, known);
            unreadable += usize::from(track.is_none());
            track
        });
        let library = Self::of(tracks.collect());
        if unreadable > 0 {
            tracing::warn!(files = unreadable, "some files cannot be read as audio and are left out");
        }
        Ok(library)
    }

    pub fn of(tracks: Vec<Arc<Track>>) -> Self {
        let by_id = tracks.iter().map(|track| (track.id.clone(), Arc::clone(track))).collect();
        Self { tracks, by_id }
    }

    pub fn tracks(&self) -> &[Arc<Track>] {
        &self.tracks
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Track>> {
        self.by_id.get(id)
    }

    /// What somebody may mean, best first: the words of a title, an artist, an album, or a track's own address.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Arc<Track>> {
        let query = query.trim();
        if let Some(track) = query.strip_prefix(super::track::URI_SCHEME).and_then(|id| self.get(id)) {
            return vec![Arc::clone(track)];
        }
        search::best(&self.tracks, query, limit)
    }
}

/// A folder that cannot be read below the first is left out; a music folder that is not there is an error.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let path = entry.path();
        // Links to folders are not followed: they may lead in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < MAX_DEPTH {
            if let Err(error) = collect(&path, depth + 1, files) {
                tracing::warn!(folder = %path.display(), %error, "a folder cannot be read");
            }
        } else if !kind.is_dir() && extension(&path).and_then(content_type).is_some() {
            files.push(path);
        }
    }
    Ok(())
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn read_track(folder: &Path, path: &Path, known: Option<&Library>) -> Option<Arc<Track>> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let id = id(folder, path, &metadata);
    if let Some(track) = known.and_then(|known| known.get(&id)) {
        return Some(Arc::clone(track));
    }
    let tagged = lofty::read_from_path(path).ok()?;
    let length_ms = u64::try_from(tagged.properties().duration().as_millis()).ok().filter(|length| *length > 0)?;
    let tag = tagged.primary_tag().or_else(|| tagged.first_tag());
    let field = |text: Option<std::borrow::Cow<'_, str>>| text.map(|text| clean(&text)).filter(|text| !text.is_empty());
    let (named_artist, named_title) = from_name(path);
    let title = field(tag.and_then(Accessor::title)).unwrap_or(named_title);
    let artist = field(tag.and_then(Accessor::artist)).or(named_artist).unwrap_or_default();
    let album = field(tag.and_then(Accessor::album)).unwrap_or_default();
    let words = Words::of(&title, &artist, &album);
    let content_type = extension(path).and_then(content_type)?;
    let (path, size) = (path.to_owned(), metadata.len());
    Some(Arc::new(Track { id, path, title, artist, album, length_ms, size, content_type, words }))
}

/// A file without tags is often called `Artist - Title`, sometimes with a number before it.
fn from_name(path: &Path) -> (Option<String>, String) {
    let stem = path.file_stem().map(|stem| clean(&stem.to_string_lossy())).unwrap_or_default();
    let name = stem.trim_start_matches(|letter: char| letter.is_ascii_digit() || " ._-".contains(letter));
    let name = if name.is_empty() { stem.as_str() } else { name };
    match name.split_once(" - ") {
        Some((artist, title)) if !title.trim().is_empty() => (Some(artist.trim().to_owned()), title.trim().to_owned()),
        _ => (None, name.to_owned()),
    }
}

/// Tags come from anywhere: control characters and endless spaces stay out of chats and terminals.
fn clean(text: &str) -> String {
    let letters: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same for the same bytes at the same place, another when either changes; says nothing about where that is.
fn id(folder: &Path, path: &Path, metadata: &fs::Metadata) -> String {
    let place = path.strip_prefix(folder).unwrap_or(path);
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(place.as_os_str().as_encoded_bytes());
    hash.update(metadata.len().to_le_bytes());
    hash.update(modified.as_nanos().to_le_bytes());
    HEXLOWER.encode(&hash.finalize()[..12])
}

/// A part of a track's bytes; none when the file is no longer the one that was found.
pub fn read_part(track: &Track, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut file = fs::File::open(&track.path).ok()?;
    if file.metadata().ok()?.len() != track.size || offset > track.size {
        return None;
    }
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(length as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jukebox::wav;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        fs::write(at("tagged.wav"), wav::tone(2.5, Some(("So What", "Miles Davis", "Kind of Blue")))).unwrap();
        fs::write(at("deep/03 - Nina Simone - Sinnerman.wav"), wav::tone(1.0, None)).unwrap();
        fs::write(at("broken.mp3"), b"this is no music").unwrap();
        fs::write(at("notes.txt"), b"neither is this").unwrap();
        folder
    }

    fn titles(library: &Library) -> Vec<(&str, &str, u64)> {
        library.tracks().iter().map(|track| (&*track.title, &*track.artist, track.length_ms)).collect()
    }

    #[test]
    fn tags_are_read_with_names_as_the_fallback_and_what_is_no_audio_is_left_out() {
        let folder = folder();
        let library = Library::read(folder.path(), None).unwrap();
        assert_eq!(titles(&library), [("Sinnerman", "Nina Simone", 1000), ("So What", "Miles Davis", 2500)]);
        assert_eq!(library.tracks()[1].album, "Kind of Blue");
        assert_eq!(library.tracks()[1].content_type, "audio/wav");
    }

    #[test]
    fn a_file_that_changes_is_another_track_and_one_that_does_not_is_not_read_again() {
        let folder = folder();
        let before = Library::read(folder.path(), None).unwrap();
        fs::write(folder.path().join("tagged.wav"), wav::tone(4.0, None)).unwrap();
        fs::write(folder.path().join("new.wav"), wav::tone(1.0, None)).unwrap();
        let after = Library::read(folder.path(), Some(&before)).unwrap();
        assert_eq!(titles(&after).len(), 3);
        assert!(Arc::ptr_eq(&before.tracks()[0], &after.tracks()[0]));
        assert!(after.get(&before.tracks()[1].id).is_none());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(Library::read(Path::new("/nowhere/at/all"), None).is_err());
    }

    #[test]
    fn control_characters_in_tags_do_not_get_through() {
        assert_eq!(clean("a\u{1b}[31m\n b\0"), "a [31m b");
    }

    #[test]
    fn a_part_is_what_stands_there_and_nothing_once_the_file_is_another() {
        let folder = folder();
        let library = Library::read(folder.path(), None).unwrap();
        let track = &library.tracks()[1];
        assert_eq!(read_part(track, 0, 4).unwrap(), b"RIFF");
        assert_eq!(read_part(track, 8, 4).unwrap(), b"WAVE");
        assert_eq!(read_part(track, track.size, 4).unwrap(), b"");
        assert_eq!(read_part(track, track.size + 1, 4), None);
        fs::write(&track.path, b"short").unwrap();
        assert_eq!(read_part(track, 0, 4), None);
    }
}
