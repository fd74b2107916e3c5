//! Cards: questions of an engine that people answer once, from any allowed account.

use rusqlite::{Params, Row, params};
use serde_json::Value;

use super::{JournalError, PromptId, Rows, SlipId};
use crate::api::{ChatId, MessageId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardId(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardState {
    Open,
    /// Somebody has decided.
    Decided,
    /// The engine does not wait for it any more.
    Withdrawn,
}

impl CardState {
    fn number(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Decided => 9,
            Self::Withdrawn => 10,
        }
    }

    fn of(number: i64) -> Self {
        match number {
            0 => Self::Open,
            9 => Self::Decided,
            _ => Self::Withdrawn,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewCard {
    pub prompt: Option<PromptId>,
    /// The message with the buttons.
    pub slip: Option<SlipId>,
    /// The engine's own id of the question.
    pub ask: String,
    /// What the bridge needs to show it again; its own JSON.
    pub body: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub id: CardId,
    pub prompt: Option<PromptId>,
    pub slip: Option<SlipId>,
    pub ask: String,
    pub state: CardState,
    pub decision: Option<String>,
    pub decided_by: Option<UserId>,
    pub body: Value,
}

const COLUMNS: &str = "id, prompt, slip, ask, state, decision, decided_by, body";

impl Rows<'_> {
    pub fn add_card(&mut self, card: &NewCard) -> Result<CardId, JournalError> {
        let sql = "INSERT INTO cards (prompt, slip, ask, state, body) VALUES (?, ?, ?, ?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![
            card.prompt.map(|prompt| prompt.0),
            card.slip.map(|slip| slip.0),
            card.ask,
            CardState::Open.number(),
            card.body.to_string(),
        ])?;
        Ok(CardId(self.connection.last_insert_rowid()))
    }

    /// Ties a card to its messages, the last of which has the buttons. They are posted in one transaction, so that nothing
    /// else is between them.
    pub fn place_card(&mut self, id: CardId, first: SlipId, last: SlipId) -> Result<(), JournalError> {
        let sql = "UPDATE cards SET first_slip = ?, slip = ? WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute([first.0, last.0, id.0])?;
        Ok(())
    }

    /// Decides an open card; `false` when that was done before, or the question is no longer open.
    pub fn decide_card(&mut self, id: CardId, decision: &str, by: UserId) -> Result<bool, JournalError> {
        let sql = "UPDATE cards SET state = ?, decision = ?, decided_by = ?, changed_at = unixepoch()
                   WHERE id = ? AND state = ?";
        let values = params![CardState::Decided.number(), decision, by.0, id.0, CardState::Open.number()];
        Ok(self.connection.prepare_cached(sql)?.execute(values)? == 1)
    }

    /// Closes an open card that the engine does not wait for any more; `false` when it was not open.
    pub fn withdraw_card(&mut self, id: CardId) -> Result<bool, JournalError> {
        let sql = "UPDATE cards SET state = ?, changed_at = unixepoch() WHERE id = ? AND state = ?";
        let values = [CardState::Withdrawn.number(), id.0, CardState::Open.number()];
        Ok(self.connection.prepare_cached(sql)?.execute(values)? == 1)
    }

    pub fn card(&self, id: CardId) -> Result<Option<Card>, JournalError> {
        Ok(self.cards("id = ?1", [id.0])?.pop())
    }

    /// The card of that number, if it was put up in this chat.
    pub fn card_in(&self, chat: ChatId, id: CardId) -> Result<Option<Card>, JournalError> {
        let Some(card) = self.card(id)? else { return Ok(None) };
        let slip = card.slip.map(|slip| self.slip(slip)).transpose()?.flatten();
        Ok(slip.filter(|slip| slip.chat == chat).map(|_| card))
    }

    /// The card that a message shows, or a page of it.
    pub fn card_of(&self, slip: SlipId) -> Result<Option<Card>, JournalError> {
        Ok(self.cards("slip = ?1 OR ?1 BETWEEN first_slip AND slip", [slip.0])?.pop())
    }

    /// The card that a message in a chat shows.
    pub fn card_at(&self, chat: ChatId, message: MessageId) -> Result<Option<Card>, JournalError> {
        self.slip_at(chat, message)?.map(|slip| self.card_of(slip.id)).transpose().map(Option::flatten)
    }

    /// The open questions of the bridge's own runs.
    pub fn open_cards(&self) -> Result<Vec<Card>, JournalError> {
        self.cards("state < 9 AND prompt IS NOT NULL", [])
    }

    /// The open questions that the hub's agents put to people; no prompt of the bridge waits for them.
    pub fn open_questions(&self) -> Result<Vec<Card>, JournalError> {
        self.cards("state < 9 AND prompt IS NULL", [])
    }

    pub fn set_card_body(&mut self, id: CardId, body: &Value) -> Result<(), JournalError> {
        let sql = "UPDATE cards SET body = ? WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![body.to_string(), id.0])?;
        Ok(())
    }

    fn cards(&self, condition: &str, values: impl Params) -> Result<Vec<Card>, JournalError> {
        self.all(&format!("SELECT {COLUMNS} FROM cards WHERE {condition} ORDER BY id"), values, card_of)
    }

    pub(super) fn forget_cards(&mut self, before: i64) -> Result<(), JournalError> {
        self.connection.execute("DELETE FROM cards WHERE state >= 9 AND changed_at < ?", [before])?;
        Ok(())
    }
}

fn card_of(row: &Row<'_>) -> Result<Card, JournalError> {
    Ok(Card {
        id: CardId(row.get(0)?),
        prompt: row.get::<_, Option<i64>>(1)?.map(PromptId),
        slip: row.get::<_, Option<i64>>(2)?.map(SlipId),
        ask: row.get(3)?,
        state: CardState::of(row.get(4)?),
        decision: row.get(5)?,
        decided_by: row.get::<_, Option<i64>>(6)?.map(UserId),
        body: serde_json::from_str(&row.get::<_, String>(7)?)?,
    })
}
