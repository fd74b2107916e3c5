//! `/cancel`, `/status`, `/steer`, `/usage`: what runs, and what to do about it.

use folkmoot_runs::run_queue::Cancelled;

use super::{Call, CommandAnswer, later, said};
use crate::bridge::Bridge;
use crate::journal::Outgoing;
use crate::usage as sums;

/// The run whose message is replied to; without a reply, the only one there is here.
pub async fn cancel(bridge: &mut Bridge, call: &Call) -> CommandAnswer {
    let replies = call.message.replied_to().is_some();
    let here = bridge.prompts_at(call.place);
    let prompt = match (call.prompt, replies, &here[..]) {
        (Some(prompt), _, _) => prompt,
        (None, false, [only]) => *only,
        (None, false, _) => return said("reply to the progress message to cancel."),
        (None, true, _) => return said("nothing is currently running for that message."),
    };
    match bridge.cancel(prompt).await? {
        // The message of the run says it.
        Cancelled::Running | Cancelled::Queued => Ok(None),
        Cancelled::Unknown => said("nothing is currently running for that message."),
    }
}

pub async fn status(bridge: &Bridge, call: &Call) -> CommandAnswer {
    let mut lines = bridge.status_lines(call.place.chat);
    let failed = bridge.shared().journal.transact(|rows| rows.failed_outgoing()).await?;
    lines.extend(undelivered(&failed));
    said(if lines.is_empty() { "nothing runs, and nothing waits".to_owned() } else { lines.join("  \n") })
}

/// What Telegram would not take, wherever it was to go: otherwise nobody would hear of it.
fn undelivered(failed: &[Outgoing]) -> Option<String> {
    let last = failed.last()?;
    let reason = last.reason.as_deref().unwrap_or("refused");
    Some(format!("✗ undelivered: {}, the last to chat {}: {reason}", failed.len(), last.chat))
}

/// Something that a running engine should take into account now, where it can.
pub fn steer(bridge: &mut Bridge, call: Call) -> CommandAnswer {
    let prompt = call.prompt.or_else(|| match &bridge.prompts_at(call.place)[..] {
        [only] => Some(*only),
        _ => None,
    });
    let Some(prompt) = prompt else { return said("reply to the progress message of a run to steer it") };
    if call.words.is_empty() {
        return said("say what to take into account: `/steer use the other file`");
    }
    let steering = bridge.steer(prompt, call.words);
    later(bridge, call.spot, async move {
        Some(match steering.await {
            Ok(()) => "told".to_owned(),
            Err(_) => "this run cannot be steered; reply to its message to queue a prompt".to_owned(),
        })
    })
}

pub async fn usage(bridge: &Bridge) -> CommandAnswer {
    let now = Bridge::now();
    bridge.shared().journal.transact(move |rows| sums::report(rows, now)).await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ChatId;
    use crate::journal::{Content, Draft, Journal, OutgoingKind};

    #[tokio::test]
    async fn the_status_names_what_could_not_be_delivered() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _orders) = Journal::open(folder.path()).unwrap();
        let failed = journal.transact(|rows| {
            let id = rows.post(&Draft::new(ChatId(-5), OutgoingKind::Answer, Content::default()))?;
            rows.mark_failed(id, "Telegram refused: chat not found (400)")?;
            rows.failed_outgoing()
        });
        let line = undelivered(&failed.await.unwrap());
        let expected = "✗ undelivered: 1, the last to chat -5: Telegram refused: chat not found (400)";
        assert_eq!(line.as_deref(), Some(expected));
        assert_eq!(undelivered(&[]), None);
    }
}
