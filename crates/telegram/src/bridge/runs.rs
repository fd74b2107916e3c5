//! Prompts on their way: handed to the desk, shown while they run, and their last word stored before it is sent.

use std::path::PathBuf;

use folkmoot_action::too_large;
use folkmoot_engines::desk::{News, Task, View};
use folkmoot_engines::engine::{Engine, Mode};
use folkmoot_engines::event::{Answer, Ask, Detail, ResumeToken};
use folkmoot_engines::progress::Label;
use tokio::time::{Instant, sleep};

use super::recover::{close_card, last_word};
use super::{Bridge, Event, Live, RETRY, Spot, say};
use crate::api::Keyboard;
use crate::cards::{self, Question};
use crate::journal::{Content, JournalError, Kind, NewCard, Prompt, PromptId, PromptState, Rows};
use crate::plan::{self, Plan};
use crate::prepare::{Prepared, Ready};
use crate::sessions::{keep_session, keep_thread_context};
use crate::settings::Sessions;
use crate::turns::Turn;
use crate::{show, usage};

/// How long news take that are on their way.
const SOON: std::time::Duration = std::time::Duration::from_millis(20);

impl Bridge {
    /// A message that something arrives, for prompts with files.
    pub(super) async fn show_receiving(&self, mut prompt: Prompt, plan: &mut Plan) -> Result<Prompt, JournalError> {
        let mut draft = spot_of(&prompt).draft(Kind::Sign, show::receiving(prompt.id));
        (draft.silent, draft.prompt) = (true, Some(prompt.id));
        let mut kept = plan.clone();
        prompt = self
            .shared
            .journal
            .transact(move |rows| {
                kept.set_slip(Some(rows.post(&draft)?));
                prompt.plan = kept.to_value();
                rows.update_prompt(&prompt)?;
                Ok(prompt)
            })
            .await?;
        *plan = Plan::of(&prompt);
        Ok(prompt)
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
            Prepared::Run(ready) if self.is_ending(ready.after) => {
                // How its leader's thread is called is said by news that are on their way.
                self.later(SOON, Event::Prepared(Box::new(prompt), Prepared::Run(ready), turn));
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
                    Err(_) => self.later(RETRY, Event::Prepared(Box::new(prompt), prepared, turn)),
                }
                done
            }
        }
    }

    /// Something that is to be handled after a pause.
    pub(super) fn later(&self, pause: std::time::Duration, event: Event) {
        let events = self.events.clone();
        tokio::spawn(async move {
            sleep(pause).await;
            let _ = events.send(event);
        });
    }

    /// Ends a prompt with words instead of a run.
    async fn refuse(&self, prompt: Prompt, words: String) -> Result<(), JournalError> {
        let slip = Plan::of(&prompt).slip();
        let answer = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(prompt.id)? {
                return Ok(());
            }
            say::post(rows, spot_of(&prompt), &words)?;
            slip.map_or(Ok(()), |slip| rows.remove(slip))
        };
        self.shared.journal.transact(answer).await
    }

    /// Whether a run is over, but what it told at the end is not yet stored.
    fn is_ending(&self, leader: Option<PromptId>) -> bool {
        leader.is_some_and(|leader| {
            self.live.contains_key(&leader) && !self.desk.tickets().iter().any(|(ticket, _)| *ticket == leader)
        })
    }

    /// Starts the engine at once; its first sign in the chat is stored meanwhile.
    async fn begin(&mut self, mut prompt: Prompt, mut ready: Ready) -> Result<(), JournalError> {
        if let Some(leader) = ready.after.filter(|leader| !self.live.contains_key(leader)) {
            // It has ended since, and its thread has a name if it ever got one.
            let ended = self.shared.journal.transact(move |rows| rows.prompt(leader)).await?;
            ready.resume = ready.resume.or_else(|| Plan::of(ended.as_ref()?).resume);
        }
        let mut plan = Plan {
            engine: Some(ready.engine.id()),
            resume: ready.resume,
            context: ready.context,
            folder: Some(ready.folder.clone()),
            model: ready.model,
            reasoning: ready.reasoning,
            ..Plan::default()
        };
        plan.set_after(ready.after);
        plan.set_slip(Plan::of(&prompt).slip());
        prompt.text = ready.text;
        prompt.state = PromptState::Queued;
        let waits = plan.after().is_some() || self.desk.is_busy(plan.resume.as_ref());
        let shown = show::first_sign(prompt.id, &ready.engine.id(), plan.context.as_ref(), waits);
        let id = prompt.id;
        self.submit(prompt, plan, ready.engine, ready.folder, ready.mode, shown);
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
        if let Err(error) = self.shared.say(spot_of(&live.prompt), words).await {
            tracing::error!(%error, "what is missing could not be told");
        }
    }

    /// Stores that a prompt is with the desk, and its first sign. The engine works already, so a journal that fails is tried
    /// again until it does not, or until the run has ended and stores that.
    pub(super) async fn begun(&mut self, id: PromptId) {
        let Some(Live { mut prompt, mut plan, shown, .. }) = self.live.get(&id).cloned() else { return };
        let store = move |rows: &mut Rows<'_>| {
            let slip = match plan.slip() {
                Some(slip) => {
                    rows.revise(slip, &shown)?;
                    slip
                }
                None => {
                    let mut draft = spot_of(&prompt).draft(Kind::Sign, shown);
                    (draft.silent, draft.prompt) = (true, Some(prompt.id));
                    rows.post(&draft)?
                }
            };
            plan.set_slip(Some(slip));
            prompt.plan = plan.to_value();
            rows.update_prompt(&prompt)?;
            Ok((prompt, plan))
        };
        match self.shared.journal.transact(store).await {
            Ok(stored) => {
                if let Some(live) = self.live.get_mut(&id) {
                    (live.prompt, live.plan) = stored;
                }
            }
            Err(error) => {
                tracing::error!(%error, "a run that has begun could not be stored; trying again");
                self.later(RETRY, Event::Begun(id));
            }
        }
    }

    pub(super) fn submit(
        &mut self,
        prompt: Prompt,
        plan: Plan,
        engine: &'static dyn Engine,
        folder: PathBuf,
        mode: Mode,
        shown: Content,
    ) {
        let task = Task {
            engine,
            resume: plan.resume.clone(),
            prompt: prompt.text.clone(),
            folder,
            mode,
            model: plan.model.clone(),
            reasoning: plan.reasoning.clone(),
        };
        let (id, leader) = (prompt.id, plan.after().filter(|_| plan.resume.is_none()));
        self.live.insert(id, Live { prompt, plan, shown, begun: Instant::now(), runs: false });
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
            self.later(RETRY, Event::News(id, Box::new(news)));
        }
    }

    async fn began(&mut self, id: PromptId) -> Result<(), JournalError> {
        let Some(live) = self.live.get_mut(&id) else { return Ok(()) };
        (live.runs, live.begun) = (true, Instant::now());
        live.prompt.state = PromptState::Running;
        if let (Some(slip), Some(engine)) = (live.plan.slip(), &live.plan.engine) {
            let starting = show::first_sign(id, engine, live.plan.context.as_ref(), false);
            if starting != live.shown {
                live.shown = starting.clone();
                self.shared.journal.show(slip, starting);
            }
        }
        self.shared.journal.transact(move |rows| rows.set_prompt_state(id, PromptState::Running)).await
    }

    /// The thread has a name: from now on it can be found by it.
    async fn thread(&mut self, id: PromptId, token: ResumeToken) -> Result<(), JournalError> {
        let Some(live) = self.live.get_mut(&id) else { return Ok(()) };
        live.plan.resume = Some(token.clone());
        live.prompt.thread = Some(token.thread_key().to_string());
        live.prompt.plan = live.plan.to_value();
        let (prompt, context) = (live.prompt.clone(), live.plan.context.clone());
        let keeps_session = self.shared.settings.sessions == Sessions::Chat;
        let store = move |rows: &mut Rows<'_>| {
            rows.update_prompt(&prompt)?;
            if let Some(context) = &context {
                keep_thread_context(rows, &token, context)?;
            }
            let scope = plan::session_scope(&prompt);
            // What was asked before `/new` does not come back.
            if keeps_session && prompt.id > rows.sessions_since(scope)? {
                keep_session(rows, scope, &token, context.as_ref())?;
            }
            Ok(())
        };
        self.shared.journal.transact(store).await
    }

    /// Shows how it goes, unless the message says exactly that.
    fn view(&mut self, id: PromptId, view: &View) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let Some(slip) = live.plan.slip() else { return };
        let content = show::progress_of(id, view, live.plan.context.as_ref());
        if content != live.shown {
            live.shown = content.clone();
            self.shared.journal.show(slip, content);
        }
    }

    async fn asked(&mut self, id: PromptId, ask: Ask) -> Result<(), JournalError> {
        let Some(live) = self.live.get(&id) else { return Ok(()) };
        let engine = live.plan.engine.as_ref().map(ToString::to_string).unwrap_or_default();
        let folder = live.plan.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        let bytes = serde_json::to_string(&ask).map_or(0, |text| text.len());
        if let Some(note) = too_large(bytes) {
            let (desk, answer) = (self.desk.clone(), Answer::Deny { note: note.clone(), stop: false });
            tokio::spawn(async move { desk.answer(id, ask.id, answer).await });
            return self.shared.say(spot_of(&live.prompt), format!("a question of {engine} was denied: {note}")).await;
        }
        let machine = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
        let (spot, question) = (spot_of(&live.prompt), Question { ask, engine, folder, machine });
        let body = serde_json::to_value(&question).unwrap_or_default();
        let store = move |rows: &mut Rows<'_>| {
            let card = NewCard { prompt: Some(id), slip: None, ask: question.ask.id.clone(), body };
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
        let pages = show::last_of(&view, live.plan.context.as_ref(), self.shared.settings.overflow);
        let used = view.progress.completed().map(|completed| completed.usage.clone()).unwrap_or_default();
        let Live { mut prompt, mut plan, .. } = live;
        let store = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(id)? {
                return Ok(());
            }
            plan.pieces.clear();
            (prompt.state, prompt.text, prompt.plan) = (PromptState::Done, String::new(), plan.to_value());
            rows.update_prompt(&prompt)?;
            count_usage(rows, &plan, &used)?;
            for card in rows.open_cards()?.into_iter().filter(|card| card.prompt == Some(id)) {
                close_card(rows, &card, "no longer open: the run has ended")?;
            }
            match label {
                // Whoever stopped it is looking at it; everybody else gets a message that makes a sound.
                Label::Cancelled | Label::Stopped => {
                    let page = pages.into_iter().next().unwrap_or_default();
                    last_word(rows, &prompt, &plan, Content::with_keyboard(page, Keyboard::none()))
                }
                _ => post_answer(rows, &prompt, &plan, pages),
            }
        };
        self.shared.journal.transact(store).await?;
        self.live.remove(&id);
        Ok(())
    }

    async fn dropped(&mut self, id: PromptId) -> Result<(), JournalError> {
        let Some(live) = self.live.get(&id).cloned() else { return Ok(()) };
        let engine = live.plan.engine.as_ref().map(ToString::to_string).unwrap_or_default();
        let page = show::dropped(&engine, live.plan.context.as_ref());
        let store = move |rows: &mut Rows<'_>| {
            if !rows.finish_prompt(id)? {
                return Ok(());
            }
            last_word(rows, &live.prompt, &live.plan, Content::with_keyboard(page, Keyboard::none()))
        };
        self.shared.journal.transact(store).await?;
        self.live.remove(&id);
        Ok(())
    }
}

fn spot_of(prompt: &Prompt) -> Spot {
    Spot { chat: prompt.chat, topic: prompt.topic, reply_to: Some(prompt.message) }
}

/// The answer in its pages; the message that showed progress goes when the first is there.
fn post_answer(
    rows: &mut Rows<'_>,
    prompt: &Prompt,
    plan: &Plan,
    pages: Vec<crate::text::Rendered>,
) -> Result<(), JournalError> {
    for (number, page) in pages.into_iter().enumerate() {
        let mut draft = spot_of(prompt).draft(Kind::Answer, Content::new(page));
        draft.prompt = Some(prompt.id);
        if number == 0 {
            draft.replaces = plan.slip();
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
