//! What all parts of a running bridge use.

use std::sync::Arc;

use folkmoot_engines::engines;
use folkmoot_engines::resume::Codecs;
use folkmoot_runs::modes::Modes;
use folkmoot_runs::router::Router;
use tokio::sync::watch;

use crate::api::{Bot, Me};
use crate::directives::Names;
use crate::hub::Hub;
use crate::journal::{Journal, JournalError};
use crate::settings::BridgeSettings;
use crate::spot::{self, Spot};
use crate::turns::Turns;

/// The name of the value that says who the bot is.
const ME: &str = "me";

pub struct Shared {
    pub settings: BridgeSettings,
    pub bot: Bot,
    pub journal: Journal,
    pub router: Router,
    pub codecs: Codecs,
    pub modes: Modes,
    /// The hub beside which the bridge runs, if it does.
    pub hub: Option<Arc<dyn Hub>>,
    /// Who is taken up before whom.
    pub turns: Turns,
    me: watch::Sender<Option<Me>>,
}

impl Shared {
    pub fn new(settings: BridgeSettings, bot: Bot, journal: Journal, modes: Modes, hub: Option<Arc<dyn Hub>>) -> Self {
        let codecs = engines::codecs();
        let router = Router::new(codecs.clone(), settings.default_engine.clone(), None);
        Self {
            settings,
            bot,
            journal,
            router,
            codecs,
            modes,
            hub,
            turns: Turns::default(),
            me: watch::Sender::new(None),
        }
    }

    /// The bot itself, once it has said who it is.
    pub fn me(&self) -> Option<Me> {
        self.me.borrow().clone()
    }

    /// Waits until it is known who the bot is: before that nobody can tell what is meant for it.
    pub async fn known(&self) {
        // The sender is ours, so there is no error.
        let _ = self.me.subscribe().wait_for(Option::is_some).await;
    }

    /// Takes who the bot was at the last start for who it is, until Telegram has answered.
    pub async fn recall_me(&self) -> Result<(), JournalError> {
        let stored = self.journal.transact(|rows| rows.value(ME)).await?;
        let me: Option<Me> = stored.and_then(|stored| serde_json::from_str(&stored).ok());
        // The number of a bot is the beginning of its token; a name may change, but that is told soon.
        let id = self.settings.token.split(':').next().unwrap_or_default();
        if let Some(me) = me.filter(|me| me.id.to_string() == id) {
            self.me.send_replace(Some(me));
        }
        Ok(())
    }

    /// From now on, and at the next start, this is who the bot is.
    pub async fn keep_me(&self, me: Me) -> Result<(), JournalError> {
        let stored = serde_json::to_string(&me)?;
        self.me.send_replace(Some(me));
        self.journal.transact(move |rows| rows.set_value(ME, &stored)).await
    }

    /// Says something that is no answer of an engine.
    pub async fn say(&self, spot: Spot, markdown: impl Into<String>) -> Result<(), JournalError> {
        let markdown = markdown.into();
        self.journal.transact(move |rows| spot::post(rows, spot, &markdown)).await
    }

    /// The words that can be directives or commands.
    pub fn names(&self) -> Names {
        Names {
            engines: self.settings.engines.clone(),
            projects: self.settings.projects.aliases().map(str::to_owned).collect(),
            bot: self.me().map(|me| me.username).unwrap_or_default(),
        }
    }
}
