//! The bot itself: it listens, decides what each message asks of it, and answers.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use folkmoot_clients::Endpoint;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::answer::{Answerer, Scene};
use crate::colour;
use crate::drive;
use crate::error::BotError;
use crate::images::Images;
use crate::life::State;
use crate::link::{self, Incoming};
use crate::model::{Model, excuse};
use crate::rooms::{Rooms, Turn};
use crate::route::{Me, Message, Route, may_answer, route};
use crate::session::Session;
use crate::settings::{Settings, seconds};
use crate::speaker::Speaker;
use crate::status::{Snapshot, Status};
use crate::store::Store;
use crate::tools::builtin;
use crate::tools::desk::{Herald, Means};
use crate::web::Web;
use crate::workers::Workers;

/// Messages that wait until the bot looks at them; then the server waits.
const INCOMING: usize = 1024;

/// A bot that is set up and not yet connected.
pub struct Bot {
    crew: Arc<Crew>,
    incoming: mpsc::Receiver<Incoming>,
}

/// What all the tasks of a bot share.
struct Crew {
    settings: Arc<Settings>,
    origin: String,
    rooms: Arc<Rooms>,
    session: Arc<Session>,
    status: Arc<Status>,
    answerer: Answerer,
}

impl Bot {
    /// Sets everything up; opens the bot's database, so it may block for a moment.
    pub fn new(settings: Settings, endpoint: Endpoint) -> Result<Self, BotError> {
        let settings = Arc::new(settings);
        let limits = &settings.limits;
        let origin = drive::origin(&settings.url);
        let status = Arc::new(Status::new(origin.clone()));
        let workers = Workers::new(limits);
        let store = Store::open(&settings.database, workers.clone())?;
        let web = Web::new(limits, &origin, &settings.password)?;
        let rooms = Arc::new(Rooms::new(limits.max_message_history as usize));
        let (sender, incoming) = mpsc::channel(INCOMING);
        let operations = Arc::new(Semaphore::new(limits.max_concurrent_operations.max(1) as usize));
        let client = web.trusted().clone();
        let means = link::Dependencies { settings: settings.clone(), client, incoming: sender, operations };
        let session = Arc::new(Session::new(means, rooms.clone(), status.clone()));
        let voice = Voice { session: session.clone(), rooms: rooms.clone(), settings: settings.clone() };
        let means = Means {
            store,
            model: Model::new(endpoint, web.clone(), limits),
            workers,
            limits: limits.clone(),
            scratchpads: crate::tools::Scratchpads::new(limits.agentic_scratchpad_size as usize),
            herald: Arc::new(voice),
            now: jiff::Timestamp::now,
            web: web.clone(),
        };
        let answerer = Answerer {
            settings: settings.clone(),
            means: Arc::new(means),
            toolbox: builtin::toolbox(limits),
            images: Images::new(web, limits),
            status: status.clone(),
        };
        let crew = Arc::new(Crew { settings, origin, rooms, session, status, answerer });
        Ok(Self { crew, incoming })
    }

    /// The bot's state and counters, now and later.
    pub fn status(&self) -> watch::Receiver<Snapshot> {
        self.crew.status.watch()
    }

    /// Runs until `stop` comes, or until something is wrong that no new attempt can mend.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), BotError> {
        let crew = self.crew.clone();
        for channel_uid in crew.answerer.means.store.joined().await? {
            crew.rooms.set_joined(&channel_uid, true);
        }
        crew.status.become_(State::Initialized);
        let mut tasks = JoinSet::new();
        let ended = self.listen(stop, &mut tasks).await;
        match &ended {
            Ok(()) => crew.status.become_(State::ShuttingDown),
            Err(_) => crew.status.become_(State::Error),
        }
        crew.shut_down(tasks).await;
        crew.status.become_(State::Shutdown);
        ended
    }

    /// The receive loop. It never waits for the network: what takes time is a task.
    async fn listen(&mut self, stop: impl Future<Output = ()>, tasks: &mut JoinSet<()>) -> Result<(), BotError> {
        let crew = &self.crew;
        let keeper = crew.session.clone();
        let kept = keeper.keep();
        tokio::pin!(stop, kept);
        let mut tick = interval(seconds(crew.settings.limits.task_check_interval_s));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut chores = Chores::new(Instant::now());
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                error = &mut kept => return Err(error),
                Some(incoming) = self.incoming.recv() => crew.take(incoming, tasks),
                Some(done) = tasks.join_next() => report(done),
                _ = tick.tick() => chores.run(crew, tasks),
            }
        }
    }
}

/// A task that panicked must be seen; the others go on.
fn report(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done
        && error.is_panic()
    {
        tracing::error!("an answer broke off because of a mistake in the bot");
    }
}

/// What has to be done from time to time.
struct Chores {
    cleaned_at: Instant,
    counted_at: Instant,
}

impl Chores {
    fn new(now: Instant) -> Self {
        Self { cleaned_at: now, counted_at: now }
    }

    fn run(&mut self, crew: &Arc<Crew>, tasks: &mut JoinSet<()>) {
        let limits = &crew.settings.limits;
        if self.cleaned_at.elapsed() >= seconds(limits.service_cleanup_interval_s) {
            self.cleaned_at = Instant::now();
            crew.answerer.images.clean();
        }
        if self.counted_at.elapsed() >= seconds(limits.min_counter_update_interval_s) {
            self.counted_at = Instant::now();
            let crew = crew.clone();
            tasks.spawn(async move { crew.keep_counts().await });
        }
    }
}

impl Crew {
    /// Routes one message or event.
    fn take(self: &Arc<Self>, incoming: Incoming, tasks: &mut JoinSet<()>) {
        let message = match incoming {
            Incoming::Join(channel_uid) => return self.set_joined(channel_uid, true, tasks),
            Incoming::Leave(channel_uid) => return self.set_joined(channel_uid, false, tasks),
            Incoming::Message(message) => message,
        };
        let message = Message { text: drive::rewrite(&message.text, &self.origin), ..message };
        let me = self.me();
        match route(&me, &message) {
            Route::Own => self.rooms.said(&message.channel_uid, &me.nick, &message.text),
            Route::Ping(rest) => {
                let pong = format!("pong{rest}");
                self.heard(&message);
                self.queue(&message, tasks, |crew, message, turn| async move { crew.pong(message, pong, turn).await });
            }
            Route::Join => self.set_joined(message.channel_uid, true, tasks),
            Route::Leave => self.set_joined(message.channel_uid, false, tasks),
            Route::Mention => {
                let number = self.heard(&message);
                self.queue(&message, tasks, move |crew, message, turn| async move {
                    crew.answer(message, number, turn).await;
                });
            }
            Route::Message => {
                let number = self.heard(&message);
                let crew = self.clone();
                tasks.spawn(async move { crew.consider(message, number).await });
            }
        }
    }

    fn me(&self) -> Me {
        match self.session.link() {
            Some(link) => link.me().clone(),
            None => {
                let snapshot = self.status.watch().borrow().clone();
                Me { username: snapshot.username, nick: snapshot.nick }
            }
        }
    }

    fn heard(&self, message: &Message) -> u64 {
        self.status.count(|counters| counters.messages += 1);
        self.rooms.heard(&message.channel_uid, &message.user_nick, &message.text)
    }

    /// Takes a place in the channel's queue and does the work as a task.
    fn queue<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        message: &Message,
        tasks: &mut JoinSet<()>,
        work: impl FnOnce(Arc<Self>, Message, Turn) -> F,
    ) {
        match self.rooms.turn(&message.channel_uid) {
            Some(turn) => drop(tasks.spawn(work(self.clone(), message.clone(), turn))),
            None => tracing::warn!(channel = message.channel_uid, "too many questions wait in this channel"),
        }
    }

    /// A message that was not addressed to the bot: the channel permission rules decide.
    async fn consider(self: Arc<Self>, message: Message, number: u64) {
        if self.rooms.place(&message.channel_uid).is_none()
            && let Err(error) = self.session.learn_channels().await
        {
            tracing::warn!(%error, "the channels could not be listed");
        }
        let Some(place) = self.rooms.place(&message.channel_uid) else { return };
        if !may_answer(&self.me(), &message.text, place, &self.settings.triggers) {
            return;
        }
        match self.rooms.turn(&message.channel_uid) {
            Some(turn) => self.answer(message, number, turn).await,
            None => tracing::warn!(channel = message.channel_uid, "too many questions wait in this channel"),
        }
    }

    async fn pong(self: Arc<Self>, message: Message, pong: String, turn: Turn) {
        let _floor = turn.floor().await;
        let mut speaker = self.speaker(&message);
        self.say(&message.channel_uid, &mut speaker, &pong).await;
    }

    async fn answer(self: Arc<Self>, message: Message, number: u64, turn: Turn) {
        let _floor = turn.floor().await;
        let mut speaker = self.speaker(&message);
        self.flash(&message.channel_uid).await;
        let text = tokio::select! {
            text = self.think(&message, number, &mut speaker) => text,
            () = self.shine(&message.channel_uid) => return,
        };
        self.say(&message.channel_uid, &mut speaker, &text).await;
    }

    /// The text of an answer, or an excuse.
    async fn think(&self, message: &Message, number: u64, speaker: &mut Speaker) -> String {
        let me = self.me();
        let said = self.rooms.up_to(&message.channel_uid, number);
        let channel_name = self.rooms.name(&message.channel_uid);
        let scene = Scene {
            channel_uid: &message.channel_uid,
            channel_name: &channel_name,
            username: &me.username,
            nick: &me.nick,
        };
        match self.answerer.answer(scene, &said, speaker).await {
            Ok(text) if text.trim().is_empty() => "I have no answer to that.".to_owned(),
            Ok(text) => text,
            Err(error) => {
                let excuse = excuse(&error);
                tracing::warn!(excuse, "no answer");
                self.status.count(|counters| counters.failures += 1);
                match speaker.shown() {
                    "" => format!("I could not answer: {excuse}."),
                    shown => format!("{shown}\n\n(I could not go on: {excuse}.)"),
                }
            }
        }
    }

    /// Visual feedback while the bot thinks: a new bright colour every second, until the caller has its answer.
    async fn shine(&self, channel_uid: &str) {
        loop {
            tokio::time::sleep(seconds(self.settings.limits.thinking_task_interval_s)).await;
            self.flash(channel_uid).await;
        }
    }

    async fn flash(&self, channel_uid: &str) {
        if let Some(link) = self.session.link() {
            link.set_typing(channel_uid, &colour::bright(&self.settings.limits, rand::random())).await;
        }
    }

    async fn say(&self, channel_uid: &str, speaker: &mut Speaker, text: &str) {
        match speaker.finish(text).await {
            Ok(said) => {
                self.rooms.said(channel_uid, &self.me().nick, &said);
                self.status.count(|counters| counters.answers += 1);
            }
            Err(error) => {
                tracing::error!(%error, channel = channel_uid, "an answer could not be delivered");
                self.status.count(|counters| counters.failures += 1);
            }
        }
    }

    fn speaker(&self, message: &Message) -> Speaker {
        let thread_id = message.thread_id.clone();
        Speaker::new(self.session.clone(), self.settings.clone(), &message.channel_uid, thread_id)
    }

    /// From now on every message of the channel is answered, or no longer; a flash of colour says that it was heard.
    fn set_joined(self: &Arc<Self>, channel_uid: String, is_joined: bool, tasks: &mut JoinSet<()>) {
        self.rooms.set_joined(&channel_uid, is_joined);
        self.session.show_rooms();
        tracing::info!(channel = channel_uid, is_joined, "asked to join or leave");
        let crew = self.clone();
        tasks.spawn(async move {
            crew.flash(&channel_uid).await;
            if let Err(error) = crew.answerer.means.store.set_joined(channel_uid, is_joined).await {
                tracing::warn!(%error, "the channel is forgotten at the next start");
            }
        });
    }

    async fn keep_counts(&self) {
        if let Some(counts) = self.status.take_counts()
            && let Err(error) = self.answerer.means.store.count(counts).await
        {
            tracing::warn!(%error, "counters were not kept");
        }
    }

    /// Lets answers come to their end, for a while, then releases everything.
    async fn shut_down(&self, mut tasks: JoinSet<()>) {
        let patience = seconds(self.settings.limits.shutdown_timeout_s);
        let done = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, done).await.is_err() {
            tracing::warn!("answers under way were given up");
        }
        tasks.abort_all();
        self.keep_counts().await;
        self.session.close();
    }
}

/// The bot's voice in channels other than the one it was asked in.
struct Voice {
    session: Arc<Session>,
    rooms: Arc<Rooms>,
    settings: Arc<Settings>,
}

impl Herald for Voice {
    fn say<'a>(&'a self, from: &'a str, channel: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, BotError>> {
        self.announce(from, channel, text).boxed()
    }
}

impl Voice {
    async fn announce(&self, from: &str, channel: &str, text: &str) -> Result<String, BotError> {
        let unknown = || BotError::Validation(format!("there is no channel `{channel}` that you are a member of"));
        let found = self.rooms.find(channel).ok_or_else(unknown)?;
        if found.uid == from {
            return Err(BotError::Validation("that is this conversation; just answer here".to_owned()));
        }
        if found.is_direct {
            // Whoever talks to the bot in one place must not speak through it in other people's private talks.
            return Err(BotError::Validation("messages go to channels only, not to direct conversations".to_owned()));
        }
        let turn = self.rooms.turn(&found.uid).ok_or_else(|| BotError::Tool("too much waits there".to_owned()))?;
        let speaker = Speaker::new(self.session.clone(), self.settings.clone(), &found.uid, None);
        let (rooms, text, name) = (self.rooms.clone(), text.to_owned(), found.name.clone());
        if let Some(floor) = turn.floor_now() {
            deliver(&rooms, speaker, &found.uid, &text).await?;
            drop(floor);
            return Ok(format!("said in {name}"));
        }
        // Waiting here could be for an answer that itself waits for this channel.
        tokio::spawn(async move {
            let _floor = turn.floor().await;
            if let Err(error) = deliver(&rooms, speaker, &found.uid, &text).await {
                tracing::error!(%error, "a message to another channel could not be delivered");
            }
        });
        Ok(format!("will be said in {name} after the answer that is being written there"))
    }
}

async fn deliver(rooms: &Rooms, mut speaker: Speaker, channel_uid: &str, text: &str) -> Result<(), BotError> {
    let said = speaker.finish(text).await?;
    rooms.said(channel_uid, "", &said);
    Ok(())
}
