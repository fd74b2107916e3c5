//! Making a call, and storing what came of it.

use super::scheduler::{Action, Answer, Call, Report};
use crate::api::{ApiError, Bot, EditMessageText, MessageId, SendMessage};
use crate::journal::{Journal, JournalError, Rows};

pub async fn perform(bot: &Bot, journal: &Journal, call: &Call) -> Result<Answer, ApiError> {
    match call.action {
        Action::Send { .. } => send(bot, journal, call).await,
        Action::Find(message) => find(bot, journal, call, message).await,
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
    let Action::Send { topic, reply_to, silent, floor } = call.action else { return Ok(Answer::Done) };
    let slip = call.slip;
    let noted = journal.transact(move |rows| rows.slip_doubtful(slip, Some(floor))).await;
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

/// Looks whether a message whose sending may have succeeded is there under a number: the bot can edit its own messages only,
/// so one that it can edit under a number that nobody knew before is that message.
async fn find(bot: &Bot, journal: &Journal, call: &Call, message: MessageId) -> Result<Answer, ApiError> {
    let chat = call.chat;
    let known = journal.transact(move |rows| Ok(rows.slip_at(chat, message)?.is_some())).await;
    if known.unwrap_or(false) {
        return Ok(Answer::NotThere);
    }
    edit(bot, call, message).await.map(|()| Answer::Done)
}
