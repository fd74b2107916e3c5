//! After a start: what the last one left behind is finished or taken up again.

use std::collections::HashMap;

use folkmoot_engines::engines;

use super::Bridge;
use crate::api::Keyboard;
use crate::cards;
use crate::ids::PromptId;
use crate::joining::Sender;
use crate::journal::{Content, JournalError, OutgoingKind, Prompt, PromptState, Rows};
use crate::plan::Plan;
use crate::show;
use crate::spot::{self, Spot};

/// What a card says whose engine ended with the bridge.
const EXPIRED: &str = "no longer open: the bridge was restarted, and the engine that asked is gone";
/// What is said about a prompt that was stored by another version, or in a file that was damaged.
const UNREADABLE: &str = "what is stored about this cannot be read any more, so it was not done\n\nhint: send it again";

impl Bridge {
    pub(super) async fn recover(&mut self) -> Result<(), JournalError> {
        let codecs = self.shared.codecs.clone();
        let (open, leaders) = self
            .shared
            .journal
            .transact(move |rows| {
                expire_cards(rows)?;
                give_up_unreadable(rows)?;
                let open = rows.open_prompts()?;
                for prompt in open.iter().filter(|prompt| prompt.state == PromptState::Running) {
                    let resume_line = prompt.plan.resume.as_ref().and_then(|token| codecs.format_resume(token));
                    interrupt(rows, prompt, resume_line)?;
                }
                // Also one that is done knows how its thread is called.
                let leaders = open.iter().filter_map(|prompt| prompt.plan.after);
                let leaders = leaders.map(|id| rows.prompt(id)).collect::<Result<Vec<_>, _>>()?;
                Ok((open, leaders))
            })
            .await?;
        let leaders: HashMap<PromptId, Plan> =
            leaders.into_iter().flatten().map(|prompt| (prompt.id, prompt.plan)).collect();
        for prompt in open {
            match prompt.state {
                PromptState::Gathering => self.gather_again(prompt).await?,
                PromptState::Queued => self.queue_again(prompt, &leaders).await,
                PromptState::Running | PromptState::Done => {}
            }
        }
        Ok(())
    }

    /// A prompt whose window had not ended; whatever else belongs to it comes as it would have.
    async fn gather_again(&mut self, prompt: Prompt) -> Result<(), JournalError> {
        match prompt.sender {
            Some(user) => self.complete(Sender { chat: prompt.chat, topic: prompt.topic, user }, prompt).await,
            None => {
                self.take_up(prompt);
                Ok(())
            }
        }
    }

    /// A prompt that was stored in its turn, and whose turn has not come.
    async fn queue_again(&mut self, mut prompt: Prompt, leaders: &HashMap<PromptId, Plan>) {
        let plan = &mut prompt.plan;
        let engine = plan.engine.as_ref().and_then(|id| engines::find(id.as_str()));
        let (Some(engine), Some(folder)) = (engine, plan.folder.clone()) else {
            // It was stored by another version; its pieces are still there.
            return self.take_up(prompt);
        };
        if let Some(leader) = plan.after.and_then(|leader| leaders.get(&leader)) {
            plan.resume = plan.resume.clone().or_else(|| leader.resume.clone());
        }
        let mode = self.shared.modes.of(&engine.id()).await;
        let shown = show::first_sign(prompt.id, &engine.id(), plan.context.as_ref(), true);
        self.submit(prompt, engine, folder, mode, shown);
    }
}

fn interrupt(rows: &mut Rows<'_>, prompt: &Prompt, resume_line: Option<String>) -> Result<(), JournalError> {
    if !rows.finish_prompt(prompt.id)? {
        return Ok(());
    }
    let plan = &prompt.plan;
    let engine = plan.engine.as_ref().map_or("engine", |engine| engine.as_str());
    let content =
        Content::with_keyboard(show::interrupted(engine, resume_line, plan.context.as_ref()), Keyboard::none());
    last_word(rows, prompt, content)
}

/// Puts the last word of a prompt into the message that showed its progress, or into a new one.
pub(super) fn last_word(rows: &mut Rows<'_>, prompt: &Prompt, content: Content) -> Result<(), JournalError> {
    match prompt.plan.outgoing {
        Some(outgoing) => rows.revise(outgoing, &content),
        None => {
            let mut draft = Spot::of(prompt).draft(OutgoingKind::Answer, content);
            draft.prompt = Some(prompt.id);
            rows.post(&draft).map(drop)
        }
    }
}

/// Ends the prompts that nobody can make sense of any more, and tells those who wait for them.
fn give_up_unreadable(rows: &mut Rows<'_>) -> Result<(), JournalError> {
    for lost in rows.fail_unreadable_prompts()? {
        tracing::error!(chat = %lost.chat, "a stored prompt cannot be read");
        spot::post(rows, Spot { chat: lost.chat, topic: lost.topic, reply_to: Some(lost.message) }, UNREADABLE)?;
    }
    Ok(())
}

fn expire_cards(rows: &mut Rows<'_>) -> Result<(), JournalError> {
    for card in rows.open_cards()? {
        close_card(rows, &card, EXPIRED)?;
    }
    Ok(())
}

/// Takes the buttons of an open card of a run away and says why.
pub(super) fn close_card(rows: &mut Rows<'_>, card: &crate::journal::Card, why: &str) -> Result<(), JournalError> {
    cards::close(rows, card, || Some(cards::Question::of(card)?.closed(why)))
}
