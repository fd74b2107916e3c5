//! After a start: what the last one left behind is finished or taken up again.

use std::collections::HashMap;

use folkmoot_engines::engines;

use super::{Bridge, Spot};
use crate::api::Keyboard;
use crate::cards;
use crate::joining::Sender;
use crate::journal::{Content, JournalError, Kind, Prompt, PromptId, PromptState, Rows};
use crate::plan::Plan;
use crate::show;

/// What a card says whose engine ended with the bridge.
const EXPIRED: &str = "no longer open: the bridge was restarted, and the engine that asked is gone";

impl Bridge {
    pub(super) async fn recover(&mut self) -> Result<(), JournalError> {
        let codecs = self.shared.codecs.clone();
        let (open, leaders) = self
            .shared
            .journal
            .transact(move |rows| {
                expire_cards(rows)?;
                let open = rows.open_prompts()?;
                for prompt in open.iter().filter(|prompt| prompt.state == PromptState::Running) {
                    let plan = Plan::of(prompt);
                    let resume_line = plan.resume.as_ref().and_then(|token| codecs.format_resume(token));
                    interrupt(rows, prompt, &plan, resume_line)?;
                }
                // Also one that is done knows how its thread is called.
                let leaders = open.iter().filter_map(|prompt| Plan::of(prompt).after());
                let leaders = leaders.map(|id| rows.prompt(id)).collect::<Result<Vec<_>, _>>()?;
                Ok((open, leaders))
            })
            .await?;
        let leaders: HashMap<PromptId, Plan> =
            leaders.iter().flatten().map(|prompt| (prompt.id, Plan::of(prompt))).collect();
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
    async fn queue_again(&mut self, prompt: Prompt, leaders: &HashMap<PromptId, Plan>) {
        let mut plan = Plan::of(&prompt);
        let engine = plan.engine.as_ref().and_then(|id| engines::find(id.as_str()));
        let (Some(engine), Some(folder)) = (engine, plan.folder.clone()) else {
            // It was stored by another version; its pieces are still there.
            return self.take_up(prompt);
        };
        if let Some(leader) = plan.after().and_then(|leader| leaders.get(&leader)) {
            plan.resume = plan.resume.clone().or_else(|| leader.resume.clone());
        }
        let mode = self.shared.modes.of(&engine.id()).await;
        let shown = show::first_sign(prompt.id, &engine.id(), plan.context.as_ref(), true);
        self.submit(prompt, plan, engine, folder, mode, shown);
    }
}

fn interrupt(
    rows: &mut Rows<'_>,
    prompt: &Prompt,
    plan: &Plan,
    resume_line: Option<String>,
) -> Result<(), JournalError> {
    if !rows.finish_prompt(prompt.id)? {
        return Ok(());
    }
    let engine = plan.engine.as_ref().map_or("engine", |engine| engine.as_str());
    let content =
        Content::with_keyboard(show::interrupted(engine, resume_line, plan.context.as_ref()), Keyboard::none());
    last_word(rows, prompt, plan, content)
}

/// Puts the last word of a prompt into the message that showed its progress, or into a new one.
pub(super) fn last_word(
    rows: &mut Rows<'_>,
    prompt: &Prompt,
    plan: &Plan,
    content: Content,
) -> Result<(), JournalError> {
    match plan.slip() {
        Some(slip) => rows.revise(slip, &content),
        None => {
            let spot = Spot { chat: prompt.chat, topic: prompt.topic, reply_to: Some(prompt.message) };
            let mut draft = spot.draft(Kind::Answer, content);
            draft.prompt = Some(prompt.id);
            rows.post(&draft).map(drop)
        }
    }
}

fn expire_cards(rows: &mut Rows<'_>) -> Result<(), JournalError> {
    for card in rows.open_cards()? {
        close_card(rows, &card, EXPIRED)?;
    }
    Ok(())
}

/// Takes the buttons of an open card away and says why.
pub(super) fn close_card(rows: &mut Rows<'_>, card: &crate::journal::Card, why: &str) -> Result<(), JournalError> {
    if !rows.withdraw_card(card.id)? {
        return Ok(());
    }
    let question = cards::Question::of(card);
    match (card.slip, question) {
        (Some(slip), Some(question)) => rows.revise(slip, &Content::new(question.closed(why))),
        _ => Ok(()),
    }
}
