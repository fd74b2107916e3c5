//! The bridge: updates in, runs through the desk, messages out through the journal.
//!
//! One task owns the state and handles one [`BridgeEvent`] after the other; whatever takes time (a long poll, a download, git,
//! a run) happens in tasks of its own and comes back as an event. What was decided is committed before it is acted on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use folkmoot_engines::engine::Engine;
use folkmoot_engines::engines;
use folkmoot_runs::modes::Modes;
use folkmoot_runs::run::Runner;
use folkmoot_runs::run_queue::{News, RunQueue, Surface};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::api::{ApiError, BadToken, Bot, ChatId, Update, UpdateId};
use crate::hub::Hub;
use crate::ids::PromptId;
use crate::joining::Joining;
use crate::journal::{Content, Journal, JournalError, Prompt, Scope};
use crate::lock::{Lock, LockError};
use crate::outbox::{Outbox, Outcome};
use crate::prepare::Prepared;
use crate::settings::BridgeSettings;
use crate::shared::Shared;
use crate::turns::Turn;

mod buttons;
mod coming;
mod commands;
mod greet;
mod hub;
mod messages;
mod moved;
mod poll;
mod recover;
mod runs;
#[cfg(test)]
mod tests;

use buttons::Note;
use coming::Coming;

/// How many engines work at a time; further prompts wait.
const MAX_RUNS: usize = 64;
/// After a failure of the journal, such as a full disk.
const RETRY: Duration = Duration::from_secs(2);
/// How long engines may take to end when the bridge stops.
const STOP_RUNS: Duration = Duration::from_millis(2600);
/// How long last messages may take to be delivered then; what does not arrive is delivered at the next start.
const STOP_MESSAGES: Duration = Duration::from_millis(1500);
/// How often settled things are forgotten, and how old they must be.
const HOUSEKEEPING: Duration = Duration::from_secs(6 * 3600);
const KEPT_DAYS: i64 = 60;

#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Token(#[from] BadToken),
    #[error("Telegram does not know this bot token")]
    Unauthorized,
}

impl BridgeError {
    /// What helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Lock(LockError::Held { path, .. }) => Some(format!("stop it first; its lock is {}", path.display())),
            Self::Lock(LockError::FolderHeld { .. }) => {
                Some("stop it first, or give this one a folder of its own with `--data-dir`".to_owned())
            }
            Self::Lock(LockError::Io { .. }) => Some("check who may write there".to_owned()),
            Self::Token(_) | Self::Unauthorized => Some(
                "ask @BotFather for the token, and set `telegram.bot_token`; `moot telegram setup` helps".to_owned(),
            ),
            Self::Journal(_) => None,
        }
    }
}

/// Everything that can happen.
enum BridgeEvent {
    /// The sender of them goes on when they are stored; `false` asks it to bring them again.
    Updates(Vec<Update>, oneshot::Sender<bool>),
    /// The next of its thread waits until the turn is given back.
    Prepared(Box<Prompt>, Prepared, Turn),
    /// A prompt is with the desk, but that is not stored yet.
    Begun(PromptId),
    News(PromptId, Box<News>),
    /// What somebody said or sent in reply to a card is there.
    Noted(Box<Note>),
    Outcome(Outcome),
    /// Telegram refuses the bot for good.
    Refused(ApiError),
}

/// The desk's way to tell us.
struct Board(mpsc::UnboundedSender<BridgeEvent>);

impl Surface for Board {
    type Ticket = PromptId;

    fn tell(&self, ticket: PromptId, news: News) {
        // When nobody listens any more, the journal knows how far it was.
        let _ = self.0.send(BridgeEvent::News(ticket, Box::new(news)));
    }
}

/// A prompt that runs or waits.
#[derive(Clone)]
struct Live {
    prompt: Prompt,
    /// What its message says.
    shown: Content,
    begun: Instant,
    runs: bool,
}

pub struct Bridge {
    shared: Arc<Shared>,
    desk: RunQueue<Board>,
    joining: Joining,
    live: HashMap<PromptId, Live>,
    coming: HashMap<PromptId, Coming>,
    /// What is to be handled as soon as it is stored how a prompt has ended.
    after_end: HashMap<PromptId, Vec<BridgeEvent>>,
    /// Prompts that wait for words.
    held: HashSet<PromptId>,
    explained: HashMap<ChatId, Instant>,
    events: mpsc::UnboundedSender<BridgeEvent>,
}

/// Runs the bridge until `stop` comes, or until Telegram refuses the bot; with a hub, people decide for its agents. `ready`
/// is called when updates are fetched.
pub async fn run(
    settings: BridgeSettings,
    runner: Runner,
    hub: Option<Arc<dyn Hub>>,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> Result<(), BridgeError> {
    // Whoever leaves here lets go of it, and only then.
    let _lock = Lock::acquire(&settings.lock, &settings.token)?;
    let _folder = Lock::of_folder(&settings.data_dir)?;
    let bot = Bot::new(&settings.api_base, &settings.token)?;
    let (journal, orders) = Journal::open(&settings.data_dir)?;
    let (outbox, outcomes) = Outbox::start(bot.clone(), journal.clone(), orders, settings.edit_interval).await?;
    let (events_in, mut events) = mpsc::unbounded_channel();
    let modes = Modes::look(&configured(&settings), &runner);
    let desk = RunQueue::new(Board(events_in.clone()), runner.clone(), MAX_RUNS, settings.edit_interval);
    let joining = Joining::new(settings.join_window);
    let shared = Arc::new(Shared::new(settings, bot, journal, modes, hub));
    let mut bridge = Bridge {
        shared,
        desk,
        joining,
        live: HashMap::new(),
        coming: HashMap::new(),
        after_end: HashMap::new(),
        held: HashSet::new(),
        explained: HashMap::new(),
        events: events_in.clone(),
    };
    bridge.shared.recall_me().await?;
    bridge.recover().await?;
    let offset = bridge.shared.journal.transact(|rows| rows.next_update()).await?;
    let tasks = bridge.start_tasks(runner, offset, outcomes);
    ready();
    let ended = bridge.serve(&mut events, stop).await;
    tasks.into_iter().for_each(|task| task.abort());
    bridge.stop(&mut events).await;
    if !outbox.drain(STOP_MESSAGES).await {
        tracing::info!("some messages are delivered at the next start");
    }
    ended
}

/// The engines that have a table in the configuration, and the default one.
fn configured(settings: &BridgeSettings) -> Vec<&'static dyn Engine> {
    settings.engines.iter().filter_map(|id| engines::find(id.as_str())).collect()
}

impl Bridge {
    fn start_tasks(
        &self,
        runner: Runner,
        offset: Option<UpdateId>,
        mut outcomes: mpsc::UnboundedReceiver<Outcome>,
    ) -> Vec<tokio::task::JoinHandle<()>> {
        let events = self.events.clone();
        let forward = async move {
            while let Some(outcome) = outcomes.recv().await {
                if events.send(BridgeEvent::Outcome(outcome)).is_err() {
                    return;
                }
            }
        };
        let questions = self.shared.hub.clone().map(|hub| hub::follow(hub, self.shared.journal.clone()));
        let always = [
            tokio::spawn(poll::poll(Arc::clone(&self.shared), offset, self.events.clone())),
            tokio::spawn(greet::greet(Arc::clone(&self.shared), runner, self.events.clone())),
            tokio::spawn(forward),
            tokio::spawn(housekeeping(self.shared.journal.clone())),
        ];
        always.into_iter().chain(questions.map(tokio::spawn)).collect()
    }

    async fn serve(
        &mut self,
        events: &mut mpsc::UnboundedReceiver<BridgeEvent>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), BridgeError> {
        tokio::pin!(stop);
        loop {
            let event = tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                Some(event) = events.recv() => event,
                () = until(self.joining.next()) => {
                    self.windows_ended().await;
                    continue;
                }
            };
            if let BridgeEvent::Refused(error) = event {
                tracing::error!(%error, "Telegram refuses the bot");
                return Err(BridgeError::Unauthorized);
            }
            self.handle(event).await;
        }
    }

    async fn handle(&mut self, event: BridgeEvent) {
        let done = match event {
            BridgeEvent::Updates(updates, stored) => {
                let done = self.updates(updates).await;
                let _ = stored.send(done.is_ok());
                done
            }
            BridgeEvent::Prepared(prompt, prepared, turn) => self.prepared(*prompt, prepared, turn).await,
            BridgeEvent::Begun(prompt) => return self.begun(prompt).await,
            BridgeEvent::News(prompt, news) => return self.news(prompt, *news).await,
            BridgeEvent::Noted(note) => self.noted(*note).await,
            BridgeEvent::Outcome(Outcome::Moved { from, to }) => {
                let told = self.moved(from, to).await;
                if told.is_err() {
                    self.later(RETRY, BridgeEvent::Outcome(Outcome::Moved { from, to }));
                }
                told
            }
            BridgeEvent::Outcome(outcome) => {
                outcome_log(&outcome);
                Ok(())
            }
            BridgeEvent::Refused(_) => Ok(()),
        };
        if let Err(error) = done {
            tracing::error!(%error, "the bridge cannot store what it decided");
        }
    }

    /// Ends the runs, which finish as stopped. What waits stays stored and is run at the next start.
    async fn stop(&mut self, events: &mut mpsc::UnboundedReceiver<BridgeEvent>) {
        let desk = self.desk.clone();
        let ended = timeout(STOP_RUNS, async move { desk.stop().await });
        tokio::pin!(ended);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.handle_last(event).await,
                _ = &mut ended => break,
            }
        }
        while let Ok(event) = events.try_recv() {
            self.handle_last(event).await;
        }
    }

    /// While stopping only news count: updates come again, and nothing new is begun.
    async fn handle_last(&mut self, event: BridgeEvent) {
        if let BridgeEvent::News(..) = event {
            self.handle(event).await;
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

fn outcome_log(outcome: &Outcome) {
    if let Outcome::Failed { chat, reason, .. } = outcome {
        tracing::warn!(%chat, reason, "Telegram did not take a message");
    }
}

async fn housekeeping(journal: Journal) {
    let mut turns = tokio::time::interval(HOUSEKEEPING);
    loop {
        turns.tick().await;
        let before = unix_now() - KEPT_DAYS * 86_400;
        if let Err(error) = journal.transact(move |rows| rows.forget_before(before)).await {
            tracing::warn!(%error, "old prompts could not be forgotten");
        }
    }
}

fn unix_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(0)
}

/// What commands see of the bridge.
impl Bridge {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn now() -> i64 {
        unix_now()
    }

    /// The prompts that run or wait in a chat or topic.
    pub(crate) fn prompts_at(&self, place: Scope) -> Vec<PromptId> {
        let here = |prompt: &&Prompt| prompt.chat == place.chat && prompt.topic == place.topic;
        self.open_prompts().filter(here).map(|prompt| prompt.id).collect()
    }

    fn open_prompts(&self) -> impl Iterator<Item = &Prompt> {
        let coming = self.coming.values().map(|coming| &coming.prompt);
        self.live.values().map(|live| &live.prompt).chain(coming)
    }

    /// A line for everything that runs or waits in a chat.
    pub(crate) fn status_lines(&self, chat: ChatId) -> Vec<String> {
        let mut here: Vec<&Live> = self.live.values().filter(|live| live.prompt.chat == chat).collect();
        here.sort_by_key(|live| live.prompt.id);
        let coming = self.coming.values().filter(|coming| coming.prompt.chat == chat);
        let coming = coming.map(|_| "… on its way to an engine".to_owned());
        here.into_iter().map(status_line).chain(coming).collect()
    }

    pub(crate) fn steer(
        &self,
        prompt: PromptId,
        words: String,
    ) -> impl Future<Output = Result<(), folkmoot_engines::engine::Unsupported>> + Send + use<> {
        let desk = self.desk.clone();
        async move { desk.steer(prompt, words).await }
    }
}

fn status_line(live: &Live) -> String {
    let engine = live.prompt.plan.engine.as_ref().map_or("engine", |engine| engine.as_str());
    let place = live.prompt.plan.context.as_ref().map(|context| format!(" · {}", context.name())).unwrap_or_default();
    match live.runs {
        true => format!("▸ {engine}{place} · {} s", live.begun.elapsed().as_secs()),
        false => format!("… {engine}{place} · waits"),
    }
}
