//! Notes that the model makes for itself, per channel.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, cut};
use crate::error::BotError;

const MAX_NOTE_CHARS: usize = 2000;

/// The scratchpads of all channels. The newest notes stay when one is full.
pub struct Scratchpads {
    pads: Mutex<HashMap<String, VecDeque<String>>>,
    size: usize,
}

impl Scratchpads {
    pub fn new(size: usize) -> Self {
        Self { pads: Mutex::default(), size: size.max(1) }
    }

    fn write(&self, channel_uid: &str, note: String) -> usize {
        let mut pads = self.pads.lock();
        let pad = pads.entry(channel_uid.to_owned()).or_default();
        pad.push_back(cut(note, MAX_NOTE_CHARS));
        while pad.len() > self.size {
            pad.pop_front();
        }
        pad.len()
    }

    fn read(&self, channel_uid: &str) -> Vec<String> {
        self.pads.lock().get(channel_uid).map(|pad| pad.iter().cloned().collect()).unwrap_or_default()
    }

    fn clear(&self, channel_uid: &str) {
        self.pads.lock().remove(channel_uid);
    }
}

/// Write a note on your scratchpad for this conversation.
#[derive(Deserialize, JsonSchema)]
pub struct Write {
    /// The note.
    note: String,
}

pub async fn write(desk: Desk, args: Write) -> Result<Value, BotError> {
    Ok(json!({"notes": desk.means.scratchpads.write(&desk.channel_uid, args.note)}))
}

/// Read your scratchpad for this conversation, oldest note first.
#[derive(Deserialize, JsonSchema)]
pub struct Read {}

pub async fn read(desk: Desk, _: Read) -> Result<Vec<String>, BotError> {
    Ok(desk.means.scratchpads.read(&desk.channel_uid))
}

/// Clear your scratchpad for this conversation.
#[derive(Deserialize, JsonSchema)]
pub struct Clear {}

pub async fn clear(desk: Desk, _: Clear) -> Result<&'static str, BotError> {
    desk.means.scratchpads.clear(&desk.channel_uid);
    Ok("cleared")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_50_notes_and_drops_the_oldest() {
        let pads = Scratchpads::new(50);
        for number in 0..51 {
            pads.write("ch1", number.to_string());
        }
        let notes = pads.read("ch1");
        assert_eq!((notes.len(), notes[0].as_str(), notes[49].as_str()), (50, "1", "50"));
    }

    #[test]
    fn each_channel_has_its_own() {
        let pads = Scratchpads::new(50);
        pads.write("ch1", "a".into());
        assert!(pads.read("ch2").is_empty());
        pads.clear("ch2");
        assert_eq!(pads.read("ch1"), ["a"]);
        pads.clear("ch1");
        assert!(pads.read("ch1").is_empty());
    }
}
