//! Making a call, and storing what came of it.

use std::collections::BTreeSet;

use super::scheduler::{Action, Answer, Call, Report};
use crate::api::{ApiError, Bot, EditMessageText, MessageId, SendMessage};
use crate::journal::{Floors, Journal, JournalError, Rows};

/// How many numbers above a floor are looked at for a message that may have arrived.
const SEARCHED: i64 = 8;

pub async fn perform(bot: &Bot, journal: &Journal, call: &Call) -> Result<Answer, ApiError> {
    match call.action {
        Action::Send { .. } => send(bot, journal, call).await,
        Action::Find(floors) => find(bot, journal, call, floors).await,
        Action::Edit(message) => edit(bot, call, message).await.map(|()| Answer::Done),
        Action::Delete(message) => bot.delete_message(call.chat, message).await.map(|()| Answer::Done),
    }
}

pub fn store(rows: &mut Rows<'_>, reports: &[Report]) -> Result<(), JournalError> {
    for report in reports {
        match report {
            Report::Arrived { slip, message, revision, .. } => rows.slip_arrived(*slip, *message, *revision)?,
            Report::Edited { slip, revision } => rows.slip_edited(*slip, *revision)?,
            Report::NotThere(slip) => rows.slip_doubtful(*slip, None)?,
            Report::Vanished(slip) => rows.slip_vanished(*slip)?,
            Report::Gone(slip) => rows.slip_gone(*slip)?,
            Report::Failed { slip, reason, .. } => rows.slip_failed(*slip, reason)?,
            Report::Moved { from, to } => rows.slips_moved(*from, *to)?,
        }
    }
    Ok(())
}

async fn send(bot: &Bot, journal: &Journal, call: &Call) -> Result<Answer, ApiError> {
    let Action::Send { topic, reply_to, silent, floors } = call.action else { return Ok(Answer::Done) };
    let slip = call.slip;
    let noted = journal.transact(move |rows| rows.slip_doubtful(slip, Some(floors))).await;
    noted.map_err(|error| ApiError::Unreachable { cause: error.to_string(), perhaps_done: false })?;
    let content = call.stage.dress(&call.content);
    let message = SendMessage::new(call.chat, &content.rendered.text, &content.rendered.entities)
        .topic(topic)
        .reply_to(reply_to)
        .silent(silent)
        .keyboard(&content.keyboard);
    bot.send_message(&message).await.map(|sent| Answer::Sent(sent.message_id))
}

async fn edit(bot: &Bot, call: &Call, message: MessageId) -> Result<(), ApiError> {
    let content = call.stage.dress(&call.content);
    let (text, entities) = (&content.rendered.text, &content.rendered.entities);
    bot.edit_message_text(&EditMessageText::new(call.chat, message, text, entities, &content.keyboard)).await
}

/// Looks for a message whose sending may have succeeded: the bot can edit its own messages only, so one that it can edit
/// under a number that nobody knew before is that message.
async fn find(bot: &Bot, journal: &Journal, call: &Call, floors: Floors) -> Result<Answer, ApiError> {
    let chat = call.chat;
    for number in candidates(floors) {
        let message = MessageId(number);
        let known = journal.transact(move |rows| Ok(rows.slip_at(chat, message)?.is_some())).await;
        if known.unwrap_or(false) {
            continue;
        }
        match edit(bot, call, message).await {
            Ok(()) => return Ok(Answer::Found(Some(message))),
            Err(error) if error.is_not_modified() => return Ok(Answer::Found(Some(message))),
            // Somebody else's, or none.
            Err(ApiError::Rejected { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::Found(None))
}

/// The numbers above both floors; where nothing was known there is nowhere to look.
pub(super) fn candidates(floors: Floors) -> BTreeSet<i64> {
    let known = [floors.here.0, floors.all.0].into_iter().filter(|floor| *floor > 0);
    known.flat_map(|floor| floor + 1..=floor + SEARCHED).collect()
}
