//! Cards: questions of an engine that people answer once, from any allowed account.

use rusqlite::{Params, Row, params};
use serde_json::Value;

use super::{JournalError, Rows};
use crate::api::{ChatId, MessageId, UserId};
use crate::ids::{CardId, OutgoingId, PromptId};

stored! {
    CardState {
        Open = 0,
        /// Somebody has decided.
        Decided = 9,
        /// The engine does not wait for it any more.
        Withdrawn = 10,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewCard {
    pub prompt: Option<PromptId>,
    /// The engine's own id of the question.
    pub ask: String,
    /// What the bridge needs to show it again; its own JSON.
    pub body: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub id: CardId,
    pub prompt: Option<PromptId>,
    /// The message with the buttons.
    pub outgoing: Option<OutgoingId>,
    pub ask: String,
    pub state: CardState,
    pub decision: Option<String>,
    pub decided_by: Option<UserId>,
    pub body: Value,
}

const COLUMNS: &str = "id, prompt, slip, ask, state, decision, decided_by, body";

impl Rows<'_> {
    pub fn add_card(&mut self, card: &NewCard) -> Result<CardId, JournalError> {
        let sql = "INSERT INTO cards (prompt, ask, state, body) VALUES (?, ?, ?, ?)";
        let prompt = card.prompt.map(|prompt| prompt.0);
        let values = params![prompt, card.ask, CardState::Open, card.body.to_string()];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(CardId(self.connection.last_insert_rowid()))
    }

    /// Ties a card to its messages, the last of which has the buttons. They are posted in one transaction, so that nothing
    /// else is between them.
    pub fn place_card(&mut self, id: CardId, first: OutgoingId, last: OutgoingId) -> Result<(), JournalError> {
        let sql = "UPDATE cards SET first_slip = ?, slip = ? WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute([first.0, last.0, id.0])?;
        Ok(())
    }

    /// Decides an open card; `false` when that was done before, or the question is no longer open.
    pub fn decide_card(&mut self, id: CardId, decision: &str, by: UserId) -> Result<bool, JournalError> {
        let sql = "UPDATE cards SET state = ?, decision = ?, decided_by = ?, changed_at = unixepoch()
                   WHERE id = ? AND state = ?";
        let values = params![CardState::Decided, decision, by.0, id.0, CardState::Open];
        Ok(self.connection.prepare_cached(sql)?.execute(values)? == 1)
    }

    /// Closes an open card that the engine does not wait for any more; `false` when it was not open.
    pub fn withdraw_card(&mut self, id: CardId) -> Result<bool, JournalError> {
        let sql = "UPDATE cards SET state = ?, changed_at = unixepoch() WHERE id = ? AND state = ?";
        let values = params![CardState::Withdrawn, id.0, CardState::Open];
        Ok(self.connection.prepare_cached(sql)?.execute(values)? == 1)
    }

    pub fn card(&self, id: CardId) -> Result<Option<Card>, JournalError> {
        Ok(self.cards("id = ?1", [id.0])?.pop())
    }

    /// The card of that number, if it was put up in this chat.
    pub fn card_in(&self, chat: ChatId, id: CardId) -> Result<Option<Card>, JournalError> {
        let Some(card) = self.card(id)? else { return Ok(None) };
        let outgoing = card.outgoing.map(|outgoing| self.outgoing(outgoing)).transpose()?.flatten();
        Ok(outgoing.filter(|outgoing| outgoing.chat == chat).map(|_| card))
    }

    /// The card that a message shows, or a page of it.
    pub fn card_of(&self, outgoing: OutgoingId) -> Result<Option<Card>, JournalError> {
        Ok(self.cards("slip = ?1 OR ?1 BETWEEN first_slip AND slip", [outgoing.0])?.pop())
    }

    /// The card that a message in a chat shows.
    pub fn card_at(&self, chat: ChatId, message: MessageId) -> Result<Option<Card>, JournalError> {
        self.outgoing_at(chat, message)?.map(|outgoing| self.card_of(outgoing.id)).transpose().map(Option::flatten)
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
        outgoing: row.get::<_, Option<i64>>(2)?.map(OutgoingId),
        ask: row.get(3)?,
        state: row.get(4)?,
        decision: row.get(5)?,
        decided_by: row.get::<_, Option<i64>>(6)?.map(UserId),
        body: serde_json::from_str(&row.get::<_, String>(7)?)?,
    })
}
