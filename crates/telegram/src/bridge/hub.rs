//! Questions of the hub's agents: cards for everybody who may decide, kept in step with the hub, and decisions passed on to it.
//!
//! What should be shown is worked out from what the hub says is open, never from what happened: a restart of either side, a
//! link that ended and a question decided elsewhere are all the same case, and a card is neither lost nor doubled.

use std::sync::Arc;

use tokio::time::sleep;

use super::{Bridge, RETRY};
use crate::api::{CallbackQuery, ChatId, Message, UpdateId, User, UserId};
use crate::cards;
use crate::hub::{Asked, Decision, Hub};
use crate::ids::CardId;
use crate::journal::{Card, CardState, Journal, JournalError, NewCard, Rows};
use crate::press::{Choice, Press};
use crate::questions::Sheet;
use crate::spot::{self, Spot};

const NO_HUB: &str =
    "this bot runs without a hub\nhint: set `telegram.bot_token` for `moot serve`, which runs the bot too";
pub(super) const REST: &str = "the rest follows";
pub(super) const NOT_KNOWN: &str = "this question is not known any more";

/// Shows what is asked for as long as the hub is there.
pub(super) async fn follow(hub: Arc<dyn Hub>, journal: Journal) {
    let mut changes = hub.changes();
    loop {
        changes.mark_unchanged();
        match bring_up_to_date(&*hub, &journal).await {
            Ok(true) => {}
            Ok(false) => {
                sleep(RETRY).await;
                continue;
            }
            Err(error) => {
                tracing::error!(%error, "questions of agents could not be stored; trying again");
                sleep(RETRY).await;
                continue;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Puts up the cards that are missing and closes those that are no longer open; false when the hub could not say.
async fn bring_up_to_date(hub: &dyn Hub, journal: &Journal) -> Result<bool, JournalError> {
    let Some(wanted) = hub.open_questions().await else { return Ok(false) };
    let shown = journal.transact(|rows| rows.open_questions()).await?;
    let shown: Vec<(Card, Sheet)> =
        shown.into_iter().filter_map(|card| Sheet::of(&card).map(|sheet| (card, sheet))).collect();
    let same =
        |asked: &Asked, sheet: &Sheet| asked.user == sheet.user && asked.question.approval == sheet.question.approval;
    let missing: Vec<Asked> =
        wanted.iter().filter(|asked| !shown.iter().any(|(_, sheet)| same(asked, sheet))).cloned().collect();
    let mut over = Vec::new();
    for (card, sheet) in shown {
        if wanted.iter().any(|asked| same(asked, &sheet)) {
            continue;
        }
        let Some(how) = hub.outcome(sheet.question.approval.clone()).await else { return Ok(false) };
        over.push((card, sheet, how));
    }
    if missing.is_empty() && over.is_empty() {
        return Ok(true);
    }
    journal.transact(move |rows| store(rows, missing, &over)).await?;
    Ok(true)
}

fn store(rows: &mut Rows<'_>, missing: Vec<Asked>, over: &[(Card, Sheet, String)]) -> Result<(), JournalError> {
    for Asked { user, question } in missing {
        let ask = question.approval.clone();
        let sheet = Sheet { user, question, note: None };
        let card = NewCard { prompt: None, ask, body: sheet.to_value() };
        cards::post(rows, private(user), &card, sheet.pages(), |id| sheet.keyboard(id))?;
    }
    over.iter().try_for_each(|(card, sheet, how)| cards::close(rows, card, || Some(sheet.closed(how))))
}

/// A person's private chat with the bot has the person's number.
fn private(user: UserId) -> Spot {
    Spot { chat: ChatId(user.0), topic: None, reply_to: None }
}

impl Bridge {
    /// A button of such a card. The hub decides first and the update counts as taken after that, so that no press is lost: pressed
    /// twice is decided once.
    pub(super) async fn question_button(
        &mut self,
        update: UpdateId,
        query: &CallbackQuery,
        id: CardId,
        choice: Choice,
    ) -> Result<(), JournalError> {
        let card = self.shared.journal.transact(move |rows| rows.card(id)).await?;
        let sheet = card.as_ref().and_then(Sheet::of);
        let own = |sheet: &&Sheet| sheet.user == query.from.id && choice == Choice::Rest;
        if let Some(sheet) = sheet.as_ref().filter(own) {
            return self.question_rest(update, query, sheet).await;
        }
        let answer = match sheet.map(|sheet| (sheet.decision(choice), sheet)) {
            Some((_, sheet)) if sheet.user != query.from.id => "this question was put to somebody else".to_owned(),
            Some((Some(decision), sheet)) => self.decide_question(&sheet, decision).await,
            Some((None, _)) | None => NOT_KNOWN.to_owned(),
        };
        if self.take(update).await? {
            self.answer_query(query.id.clone(), answer);
        }
        Ok(())
    }

    /// What did not fit onto the card.
    async fn question_rest(
        &mut self,
        update: UpdateId,
        query: &CallbackQuery,
        sheet: &Sheet,
    ) -> Result<(), JournalError> {
        let (spot, pages) = (private(sheet.user), sheet.pages());
        let store = move |rows: &mut Rows<'_>| match rows.take_update(update)? {
            true => cards::post_rest(rows, spot, pages).map(|()| true),
            false => Ok(false),
        };
        if self.shared.journal.transact(store).await? {
            self.answer_query(query.id.clone(), REST.to_owned());
        }
        Ok(())
    }

    async fn decide_question(&self, sheet: &Sheet, decision: Decision) -> String {
        match &self.shared.hub {
            Some(hub) => hub.decide(sheet.user, sheet.question.approval.clone(), decision).await,
            None => NO_HUB.to_owned(),
        }
    }

    /// What concerns the hub in a message: `/link`, `/unlink`, words in reply to a card. These ask no leave of the bridge: the hub
    /// knows who its members are.
    pub(super) async fn is_for_hub(&mut self, update: UpdateId, message: &Message) -> Result<bool, JournalError> {
        let Some(user) = message.from.clone().filter(|user| !user.is_bot && message.chat.is_private()) else {
            return Ok(false);
        };
        let text = message.words().unwrap_or_default().trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let command = self.shared.names().command(first).map(|name| name.to_lowercase());
        let said = match command.as_deref() {
            Some("link") => self.link(&user, rest.trim()).await,
            Some("unlink") => self.unlink(&user).await,
            Some(_) => return Ok(false),
            None => match self.question_at(message, &user).await? {
                Some((card, sheet)) if !text.is_empty() => Some(self.question_words(card, sheet, text).await?),
                _ => return Ok(false),
            },
        };
        let spot = Spot::at(message);
        let answer = move |rows: &mut Rows<'_>| match said {
            Some(words) if rows.take_update(update)? => spot::post(rows, spot, &words),
            Some(_) => Ok(()),
            None => rows.take_update(update).map(drop),
        };
        self.shared.journal.transact(answer).await?;
        Ok(true)
    }

    async fn link(&self, user: &User, code: &str) -> Option<String> {
        let Some(hub) = &self.shared.hub else { return self.only_if_served(user, NO_HUB) };
        if code.is_empty() {
            return self.only_if_served(user, "say `/link CODE` with the code that `moot telegram link` gives you");
        }
        hub.link(user.id, user.name(), code.to_owned()).await
    }

    async fn unlink(&self, user: &User) -> Option<String> {
        let ended = match &self.shared.hub {
            Some(hub) => hub.unlink(user.id).await,
            None => return self.only_if_served(user, NO_HUB),
        };
        ended.or_else(|| self.only_if_served(user, "this account is not linked to anybody"))
    }

    /// Strangers who have nothing to show get silence.
    fn only_if_served(&self, user: &User, words: &str) -> Option<String> {
        self.shared.settings.permission.serves_in_private(user.id).then(|| words.to_owned())
    }

    /// The card that a message replies to, if it was put to its sender.
    async fn question_at(&self, message: &Message, user: &User) -> Result<Option<(Card, Sheet)>, JournalError> {
        let Some(replied) = message.replied_to() else { return Ok(None) };
        // Its buttons name it also when the receipt for the message is still on its way.
        let named = replied.button_data().and_then(Press::of).and_then(Press::card);
        let (chat, replied) = (message.chat.id, replied.message_id);
        let read = move |rows: &mut Rows<'_>| match named {
            Some(card) => rows.card(card),
            None => rows.card_at(chat, replied),
        };
        let card = self.shared.journal.transact(read).await?;
        let sheet = card.as_ref().and_then(Sheet::of).filter(|sheet| sheet.user == user.id);
        Ok(card.zip(sheet))
    }

    /// Words in reply to a card: the answer to a question, or a note that goes with the decision.
    async fn question_words(&self, card: Card, sheet: Sheet, text: &str) -> Result<String, JournalError> {
        if sheet.asks_for_words() {
            let answer = Decision { approved: true, for_run: false, note: Some(text.to_owned()) };
            return Ok(self.decide_question(&sheet, answer).await);
        }
        if card.state != CardState::Open {
            return Ok("this question is no longer open".to_owned());
        }
        let body = Sheet { note: Some(text.to_owned()), ..sheet }.to_value();
        self.shared.journal.transact(move |rows| rows.set_card_body(card.id, &body)).await?;
        Ok("noted: it goes to the agent with the button you press".to_owned())
    }
}
