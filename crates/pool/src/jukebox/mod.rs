//! The jukebox: a folder of audio files as the player of a pool agent.
//!
//! Reading order: [`track`] (a file and its tags) → [`library`] (the folder) → [`search`] (which track somebody means) →
//! [`player`] (what plays in one voice channel; pure) → `ops` and `assistant` (the operations of the protocol).
//! Where the sound goes is not decided here: whoever wants to hear asks for the position and the bytes.

mod assistant;
pub mod library;
mod ops;
pub mod player;
mod request;
pub mod search;
pub mod track;
#[cfg(test)]
#[path = "../../tests/support/wav.rs"]
mod wav;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::agent::{Agent, Config};
use crate::link::{Context, Session};
use assistant::Seat;
use library::Library;
use player::{Limits, Millis, Player};

/// New and changed files are found this often.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What the operator of a jukebox chooses.
#[derive(Clone, Debug)]
pub struct Settings {
    pub folder: PathBuf,
    /// Used when a request brings none.
    pub limits: Limits,
    /// Whoever shows this may do what only the owner of a session may.
    pub admin_token: Option<String>,
}

/// The folder and everything that plays from it.
pub struct Jukebox {
    settings: Settings,
    library: RwLock<Arc<Library>>,
    players: Mutex<Players>,
    assistants: Mutex<BTreeMap<Session, Seat>>,
    /// Time for the players counts from here.
    begun: Instant,
    /// A player's next deadline may have come nearer.
    changed: Notify,
}

/// What plays, by voice channel.
#[derive(Default)]
struct Players(BTreeMap<Session, Player>);

impl Jukebox {
    /// Reads the folder. This takes a while when it is large, so call it where blocking is allowed.
    pub fn open(settings: Settings) -> std::io::Result<Self> {
        let library = Library::read(&settings.folder, None)?;
        Ok(Self {
            settings,
            library: RwLock::new(Arc::new(library)),
            players: Mutex::default(),
            assistants: Mutex::default(),
            begun: Instant::now(),
            changed: Notify::new(),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.settings.folder
    }

    pub fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library.read())
    }

    /// An agent that plays from this jukebox; runs until `stop` is done.
    pub async fn serve(self: Arc<Self>, config: Config, stop: impl Future<Output = ()>) {
        let agent = ops::install(Agent::new(config), &self);
        let context = agent.context();
        context.set_ready(!self.library().tracks().is_empty());
        tokio::select! {
            () = agent.run(stop) => {}
            () = self.keep_time(&context) => {}
            () = Arc::clone(&self).keep_looking(&context) => {}
        }
    }

    fn admin_token(&self) -> Option<&str> {
        self.settings.admin_token.as_deref()
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.begun.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// Lets tracks end and sessions go when their time has come.
    async fn keep_time(&self, context: &Context) {
        loop {
            let due = self.players.lock().0.values().filter_map(Player::deadline).min();
            match due {
                None => self.changed.notified().await,
                Some(due) => {
                    let due = self.begun + Duration::from_millis(due);
                    tokio::select! {
                        () = self.changed.notified() => {}
                        () = tokio::time::sleep_until(due) => self.let_go(context),
                    }
                }
            }
        }
    }

    fn let_go(&self, context: &Context) {
        let now = self.now();
        let mut players = self.players.lock();
        players.0.retain(|session, player| {
            player.advance(now);
            let over = player.is_over(now);
            if over {
                context.release(session, "grace-expired");
            }
            !over
        });
    }

    async fn keep_looking(self: Arc<Self>, context: &Context) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let known = self.library();
            let folder = self.settings.folder.clone();
            let reading = tokio::task::spawn_blocking(move || Library::read(&folder, Some(&known)));
            match reading.await {
                Ok(Ok(library)) => {
                    // Nobody should be given an agent that has nothing to play.
                    context.set_ready(!library.tracks().is_empty());
                    *self.library.write() = Arc::new(library);
                }
                // An unplugged disk, for example: what is known stays until it is back.
                Ok(Err(error)) => tracing::warn!(%error, "the music folder cannot be read"),
                Err(_) => tracing::error!("reading the music folder was interrupted"),
            }
        }
    }
}
