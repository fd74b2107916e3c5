//! Buttons, and words in reply to a card: each decision counts once, and only from somebody who may.

use std::sync::Arc;

use folkmoot_engines::event::AskAnswer;
use folkmoot_runs::run_queue::Cancelled;

use super::hub::{NOT_KNOWN, REST};
use super::messages::Incoming;
use super::{Bridge, BridgeEvent};
use crate::api::{CallbackQuery, UpdateId, UserId};
use crate::cards::{self, Question};
use crate::gather;
use crate::ids::{CardId, PromptId};
use crate::journal::{Card, Content, JournalError, Rows};
use crate::permission::Verdict;
use crate::piece::Piece;
use crate::press::{Asker, Choice, Press};
use crate::retry::{self, retrying};
use crate::spot::Spot;

/// What somebody says to a card.
pub(super) struct Note {
    spot: Spot,
    by: UserId,
    name: String,
    card: Card,
    words: String,
}

impl Bridge {
    pub(super) async fn button(&mut self, update: UpdateId, query: CallbackQuery) -> Result<(), JournalError> {
        let press = query.data.as_deref().and_then(Press::of);
        if let Some(Press::Card { asker: Asker::Agent, card, choice }) = press {
            return self.question_button(update, &query, card, choice).await;
        }
        if !self.take(update).await? {
            return Ok(());
        }
        let answer = match self.shared.settings.permission.of_button(&query) {
            Verdict::Serve => self.pressed(&query, press).await?,
            Verdict::NobodyAllowed => "nobody may give orders here: set telegram.allowed_user_ids".to_owned(),
            // A stranger's button stops turning, and that is all.
            Verdict::Ignore => String::new(),
        };
        self.answer_query(query.id, answer);
        Ok(())
    }

    /// Tells the button's owner, beside everything else and before the pace of any chat.
    pub(super) fn answer_query(&self, id: String, text: String) {
        let bot = self.shared.bot.clone();
        tokio::spawn(async move {
            let words = Some(text.as_str()).filter(|text| !text.is_empty());
            let answer = || bot.answer_callback_query(&id, words);
            // A query that has become too old is refused, and then nobody waits for the answer any more.
            let _ = retrying(retry::A_MOMENT, retry::unless_refused, answer).await;
        });
    }

    async fn pressed(&mut self, query: &CallbackQuery, press: Option<Press>) -> Result<String, JournalError> {
        match press {
            Some(Press::Cancel(prompt)) => self.cancel_at(query, prompt).await,
            Some(Press::Card { card, choice, .. }) => self.decide(card, choice, query).await,
            None => Ok(String::new()),
        }
    }

    async fn cancel_at(&mut self, query: &CallbackQuery, prompt: PromptId) -> Result<String, JournalError> {
        let chat = query.message.as_ref().map(|message| message.chat.id);
        let is_here = self.open_prompts().any(|open| open.id == prompt && Some(open.chat) == chat);
        let cancelled = if is_here { self.cancel(prompt).await? } else { Cancelled::Unknown };
        let words = match cancelled {
            Cancelled::Running => "cancelling…",
            Cancelled::Queued => "dropped from the queue",
            Cancelled::Unknown => "nothing is running for this message any more",
        };
        Ok(words.to_owned())
    }

    async fn decide(&mut self, id: CardId, choice: Choice, query: &CallbackQuery) -> Result<String, JournalError> {
        let by = &query.from;
        let Some(chat) = query.message.as_ref().map(|message| message.chat.id) else { return Ok(NOT_KNOWN.to_owned()) };
        let Some(card) = self.shared.journal.transact(move |rows| rows.card_in(chat, id)).await? else {
            return Ok(NOT_KNOWN.to_owned());
        };
        if choice == Choice::Rest {
            return self.show_rest(&card, query).await;
        }
        let Some((answer, how)) = Question::of(&card).and_then(|question| cards::answer(&question.ask, choice)) else {
            return Ok(NOT_KNOWN.to_owned());
        };
        self.settle(card, answer, how, by.id, &by.first_name).await
    }

    /// What did not fit onto the card, where the card is.
    async fn show_rest(&mut self, card: &Card, query: &CallbackQuery) -> Result<String, JournalError> {
        let (Some(question), Some(message)) = (Question::of(card), &query.message) else {
            return Ok(NOT_KNOWN.to_owned());
        };
        let (spot, pages) = (Spot::at(message), question.pages());
        self.shared.journal.transact(move |rows| cards::post_rest(rows, spot, pages)).await?;
        Ok(REST.to_owned())
    }

    /// A reply to a card. What is spoken has to be written down first and files to be fetched; the card is open meanwhile, and
    /// when the bridge ends, so does the engine that asked.
    pub(super) async fn note(&mut self, incoming: Incoming, card: Card, piece: Piece) -> Result<(), JournalError> {
        if !self.take(incoming.update).await? {
            return Ok(());
        }
        let spot = Spot::at(&incoming.message);
        if Question::of(&card).is_none() {
            return self.shared.say(spot, "reply to this one in written words").await;
        }
        let name = incoming.message.from.as_ref().map(|from| from.first_name.clone()).unwrap_or_default();
        let mut note = Note { spot, by: incoming.sender, name, card, words: piece.text.clone() };
        let folder = note.card.prompt.and_then(|prompt| self.live.get(&prompt)?.prompt.plan.folder.clone());
        let Some(folder) = folder.filter(|_| piece.file.is_some()) else { return self.noted(note).await };
        let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
        tokio::spawn(async move {
            match gather::note(&shared, &piece, &folder).await {
                Ok(words) => {
                    note.words = words;
                    let _ = events.send(BridgeEvent::Noted(Box::new(note)));
                }
                Err(refusal) => {
                    if let Err(error) = shared.say(spot, refusal).await {
                        tracing::error!(%error, "the answer to a note could not be stored");
                    }
                }
            }
        });
        Ok(())
    }

    /// The words of a note are there: they decide.
    pub(super) async fn noted(&mut self, note: Note) -> Result<(), JournalError> {
        let Some(question) = Question::of(&note.card) else { return Ok(()) };
        let (answer, how) = cards::note(&question.ask, note.words.trim());
        let said = self.settle(note.card, answer, how, note.by, &note.name).await?;
        self.shared.say(note.spot, said).await
    }

    /// Decides a card once: first in the journal, then for the engine, as long as that waits.
    async fn settle(
        &mut self,
        card: Card,
        answer: AskAnswer,
        how: String,
        by: UserId,
        name: &str,
    ) -> Result<String, JournalError> {
        let by_name = if name.trim().is_empty() { how.clone() } else { format!("{how} by {}", name.trim()) };
        let (question, decision) = (Question::of(&card), how.clone());
        let store = move |rows: &mut Rows<'_>| {
            if !rows.decide_card(card.id, &decision, by)? {
                return Ok(false);
            }
            if let (Some(outgoing), Some(question)) = (card.outgoing, question) {
                rows.revise(outgoing, &Content::new(question.closed(&by_name)))?;
            }
            Ok(true)
        };
        let (prompt, ask) = (card.prompt, card.ask.clone());
        if !self.shared.journal.transact(store).await? {
            return Ok("this question is no longer open".to_owned());
        }
        let Some(prompt) = prompt else { return Ok(how) };
        // The engine reads it in its own time; whoever pressed the button need not wait for that.
        let waits = self.live.get(&prompt).is_some_and(|live| live.runs);
        if !waits {
            return Ok("the engine that asked is gone".to_owned());
        }
        let desk = self.desk.clone();
        tokio::spawn(async move {
            if desk.answer(prompt, ask, answer).await.is_err() {
                tracing::info!("an answer came when the engine no longer waited for it");
            }
        });
        Ok(how)
    }
}
