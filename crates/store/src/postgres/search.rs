//! Searching: all words, newest first, only in given channels.
//!
//! The index holds the words of a message as hashes, the channel among them, and so says which messages may match; whether they do,
//! and whether words that must stand side by side do, is seen in the message itself. Often-said words match far more than anybody
//! wants to read: the newest messages are looked through first, then ever more of the older ones, until enough are found.

use folkmoot_core::ids::ChannelId;
use folkmoot_core::lookup::Found;
use folkmoot_core::model::Message;

use super::read::Rows;
use super::rows::{self, Id, MESSAGE_COLUMNS, limit, select_messages};
use crate::words::{holds, phrases, words};

/// How many of the newest messages are looked through first, and how many times more each time after that.
const WINDOW: i64 = 4096;
const WIDER: i64 = 16;

pub fn search(source: &impl Rows, query: &str, channels: &[ChannelId], at_most: usize) -> Found<Vec<Message>> {
    let phrases = phrases(query);
    if phrases.is_empty() || channels.is_empty() || at_most == 0 {
        return Ok(Vec::new());
    }
    let wanted = Wanted {
        words: phrases.iter().flatten().map(|word| word_hash(word)).collect(),
        ids: channels.iter().map(|channel| Id(channel.0)).collect(),
        channels: channels.iter().map(|channel| channel_hash(*channel)).collect(),
        phrases,
        at_most,
    };
    let (mut found, mut before, mut window) = (Vec::new(), newest(source)? + 1, WINDOW);
    while before > 0 && found.len() < at_most {
        let from = if window >= before { 0 } else { before - window };
        wanted.look(source, from, before, &mut found)?;
        (before, window) = (from, window.saturating_mul(WIDER));
    }
    Ok(found)
}

struct Wanted {
    phrases: Vec<Vec<String>>,
    words: Vec<i64>,
    ids: Vec<Id>,
    channels: Vec<i64>,
    at_most: usize,
}

impl Wanted {
    /// Collects what matches between two numbers.
    fn look(&self, source: &impl Rows, from: i64, mut before: i64, found: &mut Vec<Message>) -> Found<()> {
        const SQL: &str = select_messages!(
            ", m.n FROM search s JOIN live m ON m.n = s.n WHERE s.n >= $1 AND s.n < $2 AND s.words @> $3 AND s.words && $4 \
                AND m.channel = ANY($5) AND NOT m.deleted ORDER BY s.n DESC LIMIT $6"
        );
        loop {
            let missing = limit(self.at_most - found.len());
            let rows = source.rows(SQL, &[&from, &before, &self.words, &self.channels, &self.ids, &missing])?;
            for row in &rows {
                let message = rows::message(row)?;
                before = row.try_get(MESSAGE_COLUMNS).map_err(rows::Unreadable::from)?;
                if holds(&message.content, &self.phrases) {
                    found.push(message);
                }
            }
            if found.len() == self.at_most || limit(rows.len()) < missing {
                return Ok(());
            }
        }
    }
}

/// The newest message that the index holds.
fn newest(source: &impl Rows) -> Found<i64> {
    let rows = source.rows("SELECT value FROM meta WHERE name = 'indexed'", &[])?;
    Ok(rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(rows::Unreadable::from)?)
}

/// What the index holds of a message: each word once, and the channel.
pub fn entry(channel: ChannelId, content: &str) -> Vec<i64> {
    let mut entry: Vec<i64> = words(content).iter().map(|word| word_hash(word)).collect();
    entry.push(channel_hash(channel));
    entry.sort_unstable();
    entry.dedup();
    entry
}

fn word_hash(word: &str) -> i64 {
    hash(word.as_bytes())
}

/// A byte that is in no word keeps a channel from being taken for one.
fn channel_hash(channel: ChannelId) -> i64 {
    hash(&[&[0][..], &channel.0.to_be_bytes()].concat())
}

/// FNV-1a. On disk, so it never changes; two words that share one cost a look at a message and nothing else.
fn hash(bytes: &[u8]) -> i64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    i64::from_ne_bytes(hash.to_ne_bytes())
}
