//! Making a call, and storing what came of it.

use super::scheduler::{Action, Call, CallAnswer, Report};
use crate::api::{Address, ApiError, Bot, MessageId, MessageText};
use crate::journal::{Content, Journal, JournalError, Rows};

pub async fn perform(bot: &Bot, journal: &Journal, call: &Call) -> Result<CallAnswer, ApiError> {
    match call.action {
        Action::Send { .. } => send(bot, journal, call).await,
        Action::Find(message) => find(bot, journal, call, message).await,
        Action::Edit(message) => edit(bot, call, message).await.map(|()| CallAnswer::Done),
        Action::Delete(message) => bot.delete_message(call.chat, message).await.map(|()| CallAnswer::Done),
    }
}

pub fn store(rows: &mut Rows<'_>, reports: &[Report]) -> Result<(), JournalError> {
    for report in reports {
        match report {
            Report::Arrived { outgoing, message, revision, .. } => {
                rows.mark_arrived(*outgoing, Some(*message), *revision)?;
            }
            Report::ArrivedUnnumbered { outgoing, revision } => rows.mark_arrived(*outgoing, None, *revision)?,
            Report::Edited { outgoing, revision } => rows.mark_edited(*outgoing, *revision)?,
            Report::NotThere(outgoing) => rows.mark_doubtful(*outgoing, None)?,
            Report::Vanished(outgoing) => rows.mark_vanished(*outgoing)?,
            Report::Gone(outgoing) => rows.mark_gone(*outgoing)?,
            Report::Failed { outgoing, reason, .. } => rows.mark_failed(*outgoing, reason)?,
            Report::Moved { from, to } => rows.move_outgoing(*from, *to)?,
        }
    }
    Ok(())
}

async fn send(bot: &Bot, journal: &Journal, call: &Call) -> Result<CallAnswer, ApiError> {
    let Action::Send { topic, reply_to, silent, floor } = call.action else { return Ok(CallAnswer::Done) };
    let outgoing = call.outgoing;
    let noted = journal.transact(move |rows| rows.mark_doubtful(outgoing, Some(floor))).await;
    noted.map_err(|error| ApiError::Unreachable { cause: error.to_string(), perhaps_done: false })?;
    let content = call.stage.dress(&call.content);
    let to = Address { chat: call.chat, topic, reply_to, silent };
    let sent = bot.send_message(to, text_of(&content)).await?;
    Ok(sent.map_or(CallAnswer::SentUnnumbered, |sent| CallAnswer::Sent(sent.message_id)))
}

async fn edit(bot: &Bot, call: &Call, message: MessageId) -> Result<(), ApiError> {
    bot.edit_message_text(call.chat, message, text_of(&call.stage.dress(&call.content))).await
}

fn text_of(content: &Content) -> MessageText<'_> {
    MessageText { text: &content.rendered.text, entities: &content.rendered.entities, keyboard: &content.keyboard }
}

/// Looks whether a message whose sending may have succeeded is there under a number: the bot can edit its own messages only,
/// so one that it can edit under a number that nobody knew before is that message.
async fn find(bot: &Bot, journal: &Journal, call: &Call, message: MessageId) -> Result<CallAnswer, ApiError> {
    let chat = call.chat;
    let known = journal.transact(move |rows| Ok(rows.outgoing_at(chat, message)?.is_some())).await;
    if known.unwrap_or(false) {
        return Ok(CallAnswer::NotThere);
    }
    edit(bot, call, message).await.map(|()| CallAnswer::Done)
}
