//! Which messages belong together: several of one sender within a short window are one prompt, and none replaces another.
//!
//! It keeps no texts, only which prompt is open for whom and until when. Time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::api::{ChatId, MessageId, TopicId, UserId};
use crate::ids::PromptId;
use crate::piece::{self, Piece};

/// The rest of a text that a client cut follows at once, but a slow line needs its time.
const WINDOW_AFTER_CUT: Duration = Duration::from_secs(1);
const WINDOW_IN_ALBUM: Duration = Duration::from_millis(700);
/// Whoever never stops writing is answered nevertheless.
const LONGEST: Duration = Duration::from_secs(10);

/// Whose messages, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub user: UserId,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    prompt: PromptId,
    begun: Instant,
    until: Instant,
    reply: Option<MessageId>,
    /// When the last message was written, and how much later the next may have been; `None`: any time.
    written: Option<(i64, i64)>,
    /// Whether somebody said already what to do.
    has_words: bool,
}

#[derive(Debug)]
pub struct Joining {
    window: Duration,
    open: HashMap<Sender, Open>,
}

impl Joining {
    pub fn new(window: Duration) -> Self {
        Self { window, open: HashMap::new() }
    }

    /// The prompt that a message joins. One that replies to something else, or that begins with words about where it
    /// goes, is a prompt of its own, unless it is the first to say what to do with a file or something forwarded.
    pub fn prompt_for(&self, sender: Sender, piece: &Piece, has_directives: bool) -> Option<PromptId> {
        let open = self.open.get(&sender)?;
        let reply = piece.reply.as_ref().map(|reply| reply.message);
        let same_target = reply.is_none() || reply == open.reply || (open.reply.is_none() && !open.has_words);
        // After a pause of ours, or of the network, messages arrive together that were not written together.
        let together = open.written.is_none_or(|(date, gap)| (piece.date - date).abs() <= gap);
        (same_target && together && !(has_directives && open.has_words)).then_some(open.prompt)
    }

    /// Whether a message is the rest of what its sender began just now: of a long text, an album, or a comment with what
    /// it is about.
    pub fn continues(&self, sender: Sender, piece: &Piece) -> bool {
        !self.is_held(sender) && self.prompt_for(sender, piece, false).is_some()
    }

    /// Whether something without words waits for what to do with it.
    pub fn is_held(&self, sender: Sender) -> bool {
        self.open.get(&sender).is_some_and(|open| open.written.is_none())
    }

    /// Notes that a message was put into a prompt, and waits for more.
    pub fn joined(&mut self, sender: Sender, prompt: PromptId, piece: &Piece, now: Instant) {
        let window = match piece {
            piece if piece.is_cut_by_client() => WINDOW_AFTER_CUT.max(self.window),
            piece if piece.album.is_some() => WINDOW_IN_ALBUM.max(self.window),
            _ => self.window,
        };
        let reply = piece.reply.as_ref().map(|reply| reply.message);
        // Telegram tells whole seconds, so two moments within the window may seem one second apart.
        let written = Some((piece.date, 1 + i64::try_from(window.as_secs()).unwrap_or(0)));
        let fresh = Open { prompt, begun: now, until: now, reply, written, has_words: false };
        let open = self.open.entry(sender).or_insert(fresh);
        if open.prompt != prompt {
            *open = fresh;
        }
        open.until = (now + window).min(open.begun + LONGEST);
        open.reply = open.reply.or(reply);
        open.written = written;
        open.has_words |= piece::says_something(std::slice::from_ref(piece));
    }

    /// Waits longer for a prompt that has nothing to say yet.
    pub fn hold(&mut self, sender: Sender, prompt: PromptId, now: Instant, wait: Duration) {
        // What comes next is not late, so the longest window begins with it.
        let until = now + wait;
        let open = Open { prompt, begun: until, until, reply: None, written: None, has_words: false };
        self.open.insert(sender, open);
    }

    /// Ends the window of a sender before its time.
    pub fn close(&mut self, sender: Sender) -> Option<(Sender, PromptId)> {
        self.open.remove(&sender).map(|open| (sender, open.prompt))
    }

    /// When the next window ends.
    pub fn next(&self) -> Option<Instant> {
        self.open.values().map(|open| open.until).min()
    }

    /// The prompts whose windows have ended, oldest first.
    pub fn due(&mut self, now: Instant) -> Vec<(Sender, PromptId)> {
        let over = self.open.extract_if(|_, open| open.until <= now);
        let mut due: Vec<(Sender, PromptId)> = over.map(|(sender, open)| (sender, open.prompt)).collect();
        due.sort_by_key(|(_, prompt)| *prompt);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::Reply;

    const ANN: Sender = Sender { chat: ChatId(1), topic: None, user: UserId(1) };
    const BOB: Sender = Sender { chat: ChatId(1), topic: None, user: UserId(2) };
    const WINDOW: Duration = Duration::from_millis(350);

    fn piece(text: &str, reply: Option<i64>) -> Piece {
        let reply = reply.map(|message| Reply {
            message: MessageId(message),
            text: String::new(),
            prompt: None,
            theirs: String::new(),
            file: None,
        });
        let (message, text) = (MessageId(1), text.into());
        Piece { message, date: 100, text, forwarded: false, album: None, file: None, reply }
    }

    #[test]
    fn messages_within_the_window_join_and_each_extends_it() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        assert_eq!(joining.prompt_for(ANN, &piece("a", None), false), None);
        joining.joined(ANN, PromptId(1), &piece("a", None), now);
        let later = now + Duration::from_millis(300);
        assert_eq!(joining.prompt_for(ANN, &piece("b", None), false), Some(PromptId(1)));
        joining.joined(ANN, PromptId(1), &piece("b", None), later);
        assert!(joining.due(now + WINDOW).is_empty());
        assert_eq!(joining.next(), Some(later + WINDOW));
        assert_eq!(joining.due(later + WINDOW), [(ANN, PromptId(1))]);
        assert_eq!(joining.next(), None);
    }

    #[test]
    fn other_senders_have_windows_of_their_own() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.joined(ANN, PromptId(1), &piece("a", None), now);
        assert_eq!(joining.prompt_for(BOB, &piece("b", None), false), None);
        joining.joined(BOB, PromptId(2), &piece("b", None), now);
        assert_eq!(joining.due(now + WINDOW), [(ANN, PromptId(1)), (BOB, PromptId(2))]);
    }

    #[test]
    fn a_reply_to_something_else_is_a_prompt_of_its_own_and_so_is_one_with_directives() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.joined(ANN, PromptId(1), &piece("a", Some(7)), now);
        assert_eq!(joining.prompt_for(ANN, &piece("b", Some(7)), false), Some(PromptId(1)));
        assert_eq!(joining.prompt_for(ANN, &piece("b", None), false), Some(PromptId(1)));
        assert_eq!(joining.prompt_for(ANN, &piece("b", Some(8)), false), None);
        assert_eq!(joining.prompt_for(ANN, &piece("/claude b", None), true), None);
    }

    #[test]
    fn the_first_words_about_a_file_or_something_forwarded_join_it_also_with_directives_or_as_a_reply() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.joined(ANN, PromptId(1), &Piece { forwarded: true, ..piece("theirs", None) }, now);
        assert_eq!(joining.prompt_for(ANN, &piece("/claude what is this?", None), true), Some(PromptId(1)));
        assert_eq!(joining.prompt_for(ANN, &piece("what is this?", Some(7)), false), Some(PromptId(1)));
        joining.joined(ANN, PromptId(1), &piece("/claude what is this?", None), now);
        assert_eq!(joining.prompt_for(ANN, &piece("/codex and this?", None), true), None);
        assert_eq!(joining.prompt_for(ANN, &piece("and this?", Some(7)), false), None);
    }

    #[test]
    fn the_rest_of_what_was_just_begun_needs_no_mention_and_something_held_does() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        assert!(!joining.continues(ANN, &piece("rest", None)));
        joining.joined(ANN, PromptId(1), &piece("@bot begin", None), now);
        assert!(joining.continues(ANN, &piece("rest", None)));
        assert!(!joining.continues(BOB, &piece("something else", None)));
        joining.hold(ANN, PromptId(1), now, Duration::from_secs(600));
        assert!(joining.is_held(ANN) && !joining.continues(ANN, &piece("to somebody else", None)));
    }

    #[test]
    fn a_text_that_the_client_cut_gets_more_time_for_its_rest() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.joined(ANN, PromptId(1), &piece(&"x".repeat(4096), None), now);
        assert_eq!(joining.next(), Some(now + WINDOW_AFTER_CUT));
    }

    #[test]
    fn messages_that_arrive_together_but_were_written_at_different_times_do_not_join() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.joined(ANN, PromptId(1), &piece("a", None), now);
        let written = |date| Piece { date, ..piece("b", None) };
        assert_eq!(joining.prompt_for(ANN, &written(101), false), Some(PromptId(1)));
        assert_eq!(joining.prompt_for(ANN, &written(102), false), None);
    }

    #[test]
    fn a_sender_who_never_stops_is_answered_nevertheless() {
        let (mut joining, mut now) = (Joining::new(WINDOW), Instant::now());
        let begun = now;
        while joining.due(now).is_empty() {
            joining.joined(ANN, PromptId(1), &piece("more", None), now);
            now += Duration::from_millis(300);
            assert!(now < begun + 2 * LONGEST);
        }
    }

    #[test]
    fn something_held_waits_for_words_and_then_only_for_the_window() {
        let (mut joining, now) = (Joining::new(WINDOW), Instant::now());
        joining.hold(ANN, PromptId(1), now, Duration::from_secs(600));
        let later = now + Duration::from_secs(60);
        assert!(joining.due(later).is_empty());
        assert_eq!(joining.prompt_for(ANN, &piece("this", None), false), Some(PromptId(1)));
        joining.joined(ANN, PromptId(1), &piece("this", None), later);
        assert_eq!(joining.next(), Some(later + WINDOW));
        assert_eq!(joining.close(ANN), Some((ANN, PromptId(1))));
    }
}
