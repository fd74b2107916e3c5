//! Prompts on their way: handed to the desk, shown while they run, and their last word stored before it is sent.

use std::path::PathBuf;

use folkmoot_action::too_large;
use folkmoot_engines::engine::{Engine, Mode};
use folkmoot_engines::event::{Ask, AskAnswer, Detail, ResumeToken};
use folkmoot_runs::progress::Label;
use folkmoot_runs::run_queue::{News, Task, View};
use tokio::time::{Instant, sleep};

use super::recover::{close_card, last_word};
use super::{Bridge, BridgeEvent, Live, RETRY};
use crate::api::Keyboard;
use crate::cards::{self, Question};
use crate::ids::PromptId;
use crate::journal::{Content, Draft, JournalError, NewCard, OutgoingKind, Prompt, PromptState, Rows};
use crate::plan::Plan;
use crate::prepare::{Prepared, Ready};
use crate::sessions::{keep_session, keep_thread_context};
use crate::settings::Sessions;
use crate::spot::{self, Spot};
use crate::turns::Turn;
use crate::{show, usage};

impl Bridge {
    /// A message that something arrives, for prompts with files.
    pub(super) async fn show_receiving(&self, mut prompt: Prompt) -> Result<Prompt, JournalError> {
        let store = move |rows: &mut Rows<'_>| {
            let draft = sign_of(&prompt, show::receiving(prompt.id));
            prompt.plan.outgoing = Some(rows.post(&draft)?);
            rows.update_prompt(&prompt)?;
            Ok(prompt)
        };
        self.shared.journal.transact(store).await
    }

    pub(super) async fn prepared(
        &mut self,
        prompt: Prompt,
        prepared: Prepared,
        turn: Turn,
    ) -> Result<(), JournalError> {
        if !self.coming.contains_key(&prompt.id) {
            // It was called back in the last moment.
            return Ok(());
        }
        match prepared {
            Prepared::Run(ready) if let Some(leader) = self.ending(ready.after) => {
                // How its leader's thread is called is said by news that are on their way.
                let again = BridgeEvent::Prepared(Box::new(prompt), Prepared::Run(ready), turn);
                self.after_end.entry(leader).or_default().push(again);
                Ok(())
            }
            prepared => {
                let done = match &prepared {
                    Prepared::Run(ready) => self.begin(prompt.clone(), (**ready).clone()).await,
                    Prepared::Say(words) => self.refuse(prompt.clone(), words.clone()).await,
                };
                match &done {
                    Ok(()) => drop(self.coming.remove(&prompt.id)),
                    // It stays on its way, and can be called back.
                    Err(_) => self.later(RETRY, BridgeEvent::Prepared(Box::new(prompt), prepared, turn)),
                }
                done
            }
        }
    }

    /// Something that is to be handled after a pause.
    pub(super) fn later(&self, pause: std::time::Duration, event: BridgeEvent) {
        let events = self.events.clone();
        tokio::spawn(async move {
            sleep(pause).await;
            let _ = events.send(event);
        });
    }

    /// Ends a prompt with words instead of a run.
    async fn refuse(&self, prompt: Prompt, words: String) -> Result<(), JournalError> {
        let answer = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(prompt.id)? {
                return Ok(());
            }
            spot::post(rows, Spot::of(&prompt), &words)?;
            prompt.plan.outgoing.map_or(Ok(()), |outgoing| rows.remove(outgoing))
        };
        self.shared.journal.transact(answer).await
    }

    /// The leader, if its run is over, but what it told at the end is not yet stored.
    fn ending(&self, leader: Option<PromptId>) -> Option<PromptId> {
        let at_work = |leader: &PromptId| self.desk.tickets().iter().any(|(ticket, _)| ticket == leader);
        leader.filter(|leader| self.live.contains_key(leader) && !at_work(leader))
    }

    /// It is stored how a prompt has ended: whatever waited for that comes next.
    fn ended(&mut self, id: PromptId) {
        self.live.remove(&id);
        for event in self.after_end.remove(&id).into_iter().flatten() {
            let _ = self.events.send(event);
        }
    }

    /// Starts the engine at once; its first sign in the chat is stored meanwhile.
    async fn begin(&mut self, mut prompt: Prompt, mut ready: Ready) -> Result<(), JournalError> {
        if let Some(leader) = ready.after.filter(|leader| !self.live.contains_key(leader)) {
            // It has ended since, and its thread has a name if it ever got one.
            let ended = self.shared.journal.transact(move |rows| rows.prompt(leader)).await?;
            ready.resume = ready.resume.or_else(|| ended?.plan.resume);
        }
        prompt.plan = Plan {
            engine: Some(ready.engine.id()),
            resume: ready.resume,
            after: ready.after,
            outgoing: prompt.plan.outgoing,
            context: ready.context,
            folder: Some(ready.folder.clone()),
            model: ready.model,
            reasoning: ready.reasoning,
            ..Plan::default()
        };
        prompt.text = ready.text;
        prompt.state = PromptState::Queued;
        let (id, plan) = (prompt.id, &prompt.plan);
        let waits = plan.after.is_some() || self.desk.is_busy(plan.resume.as_ref());
        let shown = show::first_sign(id, &ready.engine.id(), plan.context.as_ref(), waits);
        self.submit(prompt, ready.engine, ready.folder, ready.mode, shown);
        self.begun(id).await;
        if !ready.missing.is_empty() {
            self.tell_missing(id, &ready.missing).await;
        }
        Ok(())
    }

    /// Says what did not come along; the run goes on without it, and its prompt says so too.
    async fn tell_missing(&self, id: PromptId, missing: &[String]) {
        let Some(live) = self.live.get(&id) else { return };
        let words = format!("{}\n\nIt goes on without that.", missing.join("\n\n"));
        // The run is more important than these words.
        if let Err(error) = self.shared.say(Spot::of(&live.prompt), words).await {
            tracing::error!(%error, "what is missing could not be told");
        }
    }

    /// Stores that a prompt is with the desk, and its first sign. The engine works already, so a journal that fails is tried
    /// again until it does not, or until the run has ended and stores that.
    pub(super) async fn begun(&mut self, id: PromptId) {
        let Some(Live { mut prompt, shown, .. }) = self.live.get(&id).cloned() else { return };
        let store = move |rows: &mut Rows<'_>| {
            match prompt.plan.outgoing {
                Some(outgoing) => rows.revise(outgoing, &shown)?,
                None => prompt.plan.outgoing = Some(rows.post(&sign_of(&prompt, shown))?),
            }
            rows.update_prompt(&prompt)?;
            Ok(prompt)
        };
        match self.shared.journal.transact(store).await {
            Ok(stored) => {
                if let Some(live) = self.live.get_mut(&id) {
                    live.prompt = stored;
                }
            }
            Err(error) => {
                tracing::error!(%error, "a run that has begun could not be stored; trying again");
                self.later(RETRY, BridgeEvent::Begun(id));
            }
        }
    }

    pub(super) fn submit(
        &mut self,
        prompt: Prompt,
        engine: &'static dyn Engine,
        folder: PathBuf,
        mode: Mode,
        shown: Content,
    ) {
        let plan = &prompt.plan;
        let task = Task {
            engine,
            resume: plan.resume.clone(),
            prompt: prompt.text.clone(),
            folder,
            mode,
            model: plan.model.clone(),
            reasoning: plan.reasoning.clone(),
        };
        let (id, leader) = (prompt.id, plan.after.filter(|_| plan.resume.is_none()));
        self.live.insert(id, Live { prompt, shown, begun: Instant::now(), runs: false });
        match leader {
            Some(leader) => self.desk.submit_after(id, task, leader),
            None => self.desk.submit(id, task),
        };
    }

    pub(super) async fn news(&mut self, id: PromptId, news: News) {
        let done = match news.clone() {
            News::Began => self.began(id).await,
            News::Thread(token) => self.thread(id, token).await,
            // A chat sees views, at its pace.
            News::Action(_) => Ok(()),
            News::View(view) => {
                self.view(id, &view);
                Ok(())
            }
            News::Asked(ask) => self.asked(id, ask).await,
            News::Withdrawn(ask) => self.withdrawn(id, &ask).await,
            News::Finished(view) => self.finished(id, view).await,
            News::Dropped => self.dropped(id).await,
        };
        if let Err(error) = done {
            tracing::error!(%error, "news of a run could not be stored; trying again");
            self.later(RETRY, BridgeEvent::News(id, Box::new(news)));
        }
    }

    async fn began(&mut self, id: PromptId) -> Result<(), JournalError> {
        let Some(live) = self.live.get_mut(&id) else { return Ok(()) };
        (live.runs, live.begun) = (true, Instant::now());
        live.prompt.state = PromptState::Running;
        let plan = &live.prompt.plan;
        if let (Some(outgoing), Some(engine)) = (plan.outgoing, &plan.engine) {
            let starting = show::first_sign(id, engine, plan.context.as_ref(), false);
            if starting != live.shown {
                live.shown = starting.clone();
                self.shared.journal.show(outgoing, starting);
            }
        }
        self.shared.journal.transact(move |rows| rows.set_prompt_state(id, PromptState::Running)).await
    }

    /// The thread has a name: from now on it can be found by it.
    async fn thread(&mut self, id: PromptId, token: ResumeToken) -> Result<(), JournalError> {
        let Some(live) = self.live.get_mut(&id) else { return Ok(()) };
        live.prompt.plan.resume = Some(token.clone());
        live.prompt.thread = Some(token.thread_key().to_string());
        let prompt = live.prompt.clone();
        let keeps_session = self.shared.settings.sessions == Sessions::Chat;
        let store = move |rows: &mut Rows<'_>| {
            rows.update_prompt(&prompt)?;
            let context = prompt.plan.context.as_ref();
            if let Some(context) = context {
                keep_thread_context(rows, &token, context)?;
            }
            let scope = prompt.session_scope();
            // What was asked before `/new` does not come back.
            if keeps_session && prompt.id > rows.sessions_since(scope)? {
                keep_session(rows, scope, &token, context)?;
            }
            Ok(())
        };
        self.shared.journal.transact(store).await
    }

    /// Shows how it goes, unless the message says exactly that.
    fn view(&mut self, id: PromptId, view: &View) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let Some(outgoing) = live.prompt.plan.outgoing else { return };
        let content = show::progress_of(id, view, live.prompt.plan.context.as_ref());
        if content != live.shown {
            live.shown = content.clone();
            self.shared.journal.show(outgoing, content);
        }
    }

    async fn asked(&mut self, id: PromptId, ask: Ask) -> Result<(), JournalError> {
        let Some(live) = self.live.get(&id) else { return Ok(()) };
        let plan = &live.prompt.plan;
        let engine = plan.engine.as_ref().map(ToString::to_string).unwrap_or_default();
        let folder = plan.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        if let Some(note) = too_large(ask.shown_bytes()) {
            let (desk, answer) = (self.desk.clone(), AskAnswer::Deny { note: note.clone(), stop: false });
            tokio::spawn(async move { desk.answer(id, ask.id, answer).await });
            return self.shared.say(Spot::of(&live.prompt), format!("a question of {engine} was denied: {note}")).await;
        }
        let machine = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
        let (spot, question) = (Spot::of(&live.prompt), Question { ask, engine, folder, machine });
        let body = serde_json::to_value(&question).unwrap_or_default();
        let store = move |rows: &mut Rows<'_>| {
            let card = NewCard { prompt: Some(id), ask: question.ask.id.clone(), body };
            cards::post(rows, spot, &card, question.pages(), |id| question.keyboard(id))
        };
        self.shared.journal.transact(store).await
    }

    async fn withdrawn(&mut self, id: PromptId, ask: &str) -> Result<(), JournalError> {
        let ask = ask.to_owned();
        let store = move |rows: &mut Rows<'_>| {
            let mut open = rows.open_cards()?.into_iter().filter(|card| card.prompt == Some(id) && card.ask == ask);
            open.try_for_each(|card| close_card(rows, &card, "no longer open: the engine went on"))
        };
        self.shared.journal.transact(store).await
    }

    /// The last word: stored together with the end of its prompt, so that there is exactly one.
    async fn finished(&mut self, id: PromptId, view: View) -> Result<(), JournalError> {
        let Some(live) = self.live.get(&id).cloned() else { return Ok(()) };
        let label = view.progress.label();
        let pages = show::last_of(&view, live.prompt.plan.context.as_ref(), self.shared.settings.overflow);
        let used = view.progress.completed().map(|completed| completed.usage.clone()).unwrap_or_default();
        let mut prompt = live.prompt;
        let store = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(id)? {
                return Ok(());
            }
            prompt.plan.pieces.clear();
            (prompt.state, prompt.text) = (PromptState::Done, String::new());
            rows.update_prompt(&prompt)?;
            count_usage(rows, &prompt.plan, &used)?;
            for card in rows.open_cards()?.into_iter().filter(|card| card.prompt == Some(id)) {
                close_card(rows, &card, "no longer open: the run has ended")?;
            }
            match label {
                // Whoever stopped it is looking at it; everybody else gets a message that makes a sound.
                Label::Cancelled | Label::Stopped => {
                    let page = pages.into_iter().next().unwrap_or_default();
                    last_word(rows, &prompt, Content::with_keyboard(page, Keyboard::none()))
                }
                _ => post_answer(rows, &prompt, pages),
            }
        };
        self.shared.journal.transact(store).await?;
        self.ended(id);
        Ok(())
    }

    async fn dropped(&mut self, id: PromptId) -> Result<(), JournalError> {
        let Some(live) = self.live.get(&id).cloned() else { return Ok(()) };
        let plan = &live.prompt.plan;
        let engine = plan.engine.as_ref().map(ToString::to_string).unwrap_or_default();
        let page = show::dropped(&engine, plan.context.as_ref());
        let store = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(id)? {
                return Ok(());
            }
            last_word(rows, &live.prompt, Content::with_keyboard(page, Keyboard::none()))
        };
        self.shared.journal.transact(store).await?;
        self.ended(id);
        Ok(())
    }
}

/// The message that shows how a prompt goes, without a sound.
fn sign_of(prompt: &Prompt, shown: Content) -> Draft {
    Draft { silent: true, prompt: Some(prompt.id), ..Spot::of(prompt).draft(OutgoingKind::Sign, shown) }
}

/// The answer in its pages; the message that showed progress goes when the first is there.
fn post_answer(rows: &mut Rows<'_>, prompt: &Prompt, pages: Vec<crate::text::Rendered>) -> Result<(), JournalError> {
    for (number, page) in pages.into_iter().enumerate() {
        let mut draft = Spot::of(prompt).draft(OutgoingKind::Answer, Content::new(page));
        draft.prompt = Some(prompt.id);
        if number == 0 {
            draft.replaces = prompt.plan.outgoing;
        } else {
            draft.silent = true;
        }
        rows.post(&draft)?;
    }
    Ok(())
}

fn count_usage(rows: &mut Rows<'_>, plan: &Plan, used: &Detail) -> Result<(), JournalError> {
    match &plan.engine {
        Some(engine) => usage::count(rows, engine.as_str(), used, super::unix_now()),
        None => Ok(()),
    }
}
