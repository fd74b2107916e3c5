//! One answer on its way into a channel: shown while it grows, then said once and for all (section 10).

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::error::BotError;
use crate::link::Saying;
use crate::model::Growing;
use crate::names;
use crate::session::Session;
use crate::settings::{Settings, seconds};

/// The longest message that servers take; a longer answer becomes several.
const MAX_CHARS: usize = 10_000;
/// How long the next update waits for a server that does not answer the last one.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(250);
/// How long the whole message waits, so that no update overtakes it.
const FINAL_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Speaker {
    session: Arc<Session>,
    settings: Arc<Settings>,
    channel_uid: String,
    thread_id: Option<String>,
    update: Option<JoinHandle<()>>,
    updated_at: Option<Instant>,
    shown: String,
}

impl Speaker {
    pub fn new(session: Arc<Session>, settings: Arc<Settings>, channel_uid: &str, thread_id: Option<String>) -> Self {
        let channel_uid = channel_uid.to_owned();
        Self { session, settings, channel_uid, thread_id, update: None, updated_at: None, shown: String::new() }
    }

    /// What is shown so far.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Says the whole answer and returns what was said.
    pub async fn finish(&mut self, text: &str) -> Result<String, BotError> {
        if let Some(update) = self.update.take() {
            let _ = tokio::time::timeout(FINAL_TIMEOUT, update).await;
        }
        let text = names::sanitize(text, &self.settings.limits.sanitized_names);
        for piece in pieces(&text, MAX_CHARS) {
            let key = uuid::Uuid::new_v4().to_string();
            let thread_id = self.thread_id.as_deref();
            let channel_uid = self.channel_uid.as_str();
            self.session.say(Saying { channel_uid, thread_id, text: &piece, is_final: true, key: &key }).await?;
        }
        self.shown.clear();
        self.updated_at = None;
        Ok(text)
    }
}

impl Growing for Speaker {
    /// Shows how far the answer has grown, unless the last update was a moment ago or is still on its way.
    async fn grow(&mut self, text: &str) {
        let text = names::sanitize(text, &self.settings.limits.sanitized_names);
        let since = self.updated_at.map(|at| at.elapsed());
        let interval = seconds(self.settings.limits.streaming_update_interval_s);
        let under_way = self.update.as_ref().is_some_and(|update| !update.is_finished());
        let must_wait = since.is_some_and(|since| since < interval || (under_way && since < UPDATE_TIMEOUT));
        if must_wait || text.trim().is_empty() || text == self.shown {
            return;
        }
        let Some(link) = self.session.link() else { return };
        self.shown = text.clone();
        self.updated_at = Some(Instant::now());
        let (channel_uid, thread_id) = (self.channel_uid.clone(), self.thread_id.clone());
        let text = pieces(&text, MAX_CHARS).into_iter().next().unwrap_or_default();
        self.update = Some(tokio::spawn(async move {
            let (thread_id, key) = (thread_id.as_deref(), "");
            let saying = Saying { channel_uid: &channel_uid, thread_id, text: &text, is_final: false, key };
            // Only a glimpse: the whole message comes, and that one is retried.
            let _ = link.say(saying).await;
        }));
    }
}

/// A text in pieces of at most `most` characters, cut at the end of a paragraph, a line or a word where there is one.
fn pieces(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let limit = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
        let end = if limit == rest.len() { limit } else { good_end(&rest[..limit]) };
        pieces.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    pieces
}

/// Where to cut: not in the first half, so that pieces are not many and tiny.
fn good_end(text: &str) -> usize {
    let found = ["\n\n", "\n", " "].iter().find_map(|end| text.rfind(end).filter(|at| *at > text.len() / 2));
    found.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_answer_becomes_several_messages_cut_where_it_is_natural() {
        assert_eq!(pieces("one two three", 100), ["one two three"]);
        assert_eq!(pieces("one two three", 9), ["one two", "three"]);
        assert_eq!(pieces("a b c d\n\ne f g h i", 14), ["a b c d", "e f g h i"]);
        assert_eq!(pieces("abcdef", 2), ["ab", "cd", "ef"]);
        assert!(pieces(" \n", 10).is_empty());
    }

    proptest! {
        #[test]
        fn no_piece_is_too_long_and_no_word_is_lost(text in "[a-zß\n ]{0,300}", most in 1usize..40) {
            let pieces = pieces(&text, most);
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.chars().count() <= most));
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }
}
