//! One audio file: what its tags say, and how it is described to others.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::search::words;

/// A name longer than this is cut: a queue of a hundred has to fit into one frame.
const SHOWN_CHARS: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Changes when the file does.
    pub id: String,
    pub path: PathBuf,
    pub title: String,
    pub artist: String,
    pub album: String,
    pub length_ms: u64,
    pub size: u64,
    pub content_type: &'static str,
    /// The words of title, artist and album, as the search compares them.
    pub words: Words,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    pub title: Vec<String>,
    pub artist: Vec<String>,
    pub album: Vec<String>,
}

impl Words {
    pub fn of(title: &str, artist: &str, album: &str) -> Self {
        Self { title: words(title), artist: words(artist), album: words(album) }
    }
}

impl Track {
    pub fn uri(&self) -> String {
        format!("{URI_SCHEME}{}", self.id)
    }

    /// The track as the protocol shows it; `length` is the runners' word, `duration` the document's.
    pub fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "title": cut(&self.title),
            "author": cut(&self.artist),
            "album": cut(&self.album),
            "uri": self.uri(),
            "length": self.length_ms,
            "duration": self.length_ms,
            "sourceName": "jukebox",
            "size": self.size,
            "contentType": self.content_type,
        })
    }
}

/// What a track's address begins with.
pub const URI_SCHEME: &str = "jukebox:";

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARS {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS - 1).chain(['…']).collect()
}

/// The media type of a file that is music to us, by the end of its name.
pub fn content_type(extension: &str) -> Option<&'static str> {
    Some(match extension.to_ascii_lowercase().as_str() {
        "mp3" => "audio/mpeg",
        "flac" => "audio/flac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "m4a" | "mp4" => "audio/mp4",
        "aac" => "audio/aac",
        "wav" => "audio/wav",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_carries_both_length_and_duration() {
        let track = super::super::player::tests::track("a", 213_000);
        let shown = track.shown();
        assert_eq!((&shown["length"], &shown["duration"]), (&json!(213_000), &json!(213_000)));
        for key in ["title", "uri", "author", "sourceName"] {
            assert!(shown[key].is_string(), "{key} in {shown}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        assert_eq!(cut(&"ä".repeat(300)).chars().count(), SHOWN_CHARS);
        assert_eq!(cut("short"), "short");
    }
}
