//! Prompts on their way to an engine: a worktree, a download or a transcription may take long, so they can be called back.

use std::sync::Arc;

use folkmoot_runs::run_queue::Cancelled;
use tokio::task::AbortHandle;

use super::recover::last_word;
use super::{Bridge, BridgeEvent};
use crate::api::Keyboard;
use crate::ids::PromptId;
use crate::journal::{Content, JournalError, Prompt};
use crate::prepare;
use crate::show;
use crate::turns::TurnLine;

/// A prompt of which is being found out where it goes, beside everything else.
pub(super) struct Coming {
    pub prompt: Prompt,
    task: AbortHandle,
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bridge {
    /// Finds out, beside everything else but in the order of its chat, where a prompt goes.
    pub(super) fn take_up(&mut self, prompt: Prompt) {
        let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
        let turn = shared.turns.queue(TurnLine::Place(prompt.place()));
        let coming = prompt.clone();
        let task = tokio::spawn(async move {
            let (prepared, turn) = prepare::prepare(&shared, &prompt, turn).await;
            let _ = events.send(BridgeEvent::Prepared(Box::new(prompt), prepared, turn));
        });
        self.coming.insert(coming.id, Coming { prompt: coming, task: task.abort_handle() });
    }

    pub(crate) async fn cancel(&mut self, id: PromptId) -> Result<Cancelled, JournalError> {
        let Some(coming) = self.coming.get(&id) else { return Ok(self.desk.cancel(id)) };
        let prompt = coming.prompt.clone();
        let store = move |rows: &mut crate::journal::Rows<'_>| {
            if rows.finish_prompt(id)? {
                last_word(rows, &prompt, Content::with_keyboard(show::called_back(), Keyboard::none()))?;
            }
            Ok(())
        };
        self.shared.journal.transact(store).await?;
        // Only now, so that a journal that fails leaves it on its way.
        self.coming.remove(&id);
        Ok(Cancelled::Queued)
    }
}
