//! What all parts of a running bridge use.

use std::sync::Arc;

use folkmoot_engines::engines;
use folkmoot_engines::modes::Modes;
use folkmoot_engines::resume::Codecs;
use folkmoot_engines::router::Router;
use parking_lot::RwLock;

use crate::api::{Bot, Me};
use crate::directives::Names;
use crate::hub::Hub;
use crate::journal::Journal;
use crate::settings::Settings;
use crate::turns::Turns;

pub struct Shared {
    pub settings: Settings,
    pub bot: Bot,
    pub journal: Journal,
    pub router: Router,
    pub codecs: Codecs,
    pub modes: Modes,
    /// The hub beside which the bridge runs, if it does.
    pub hub: Option<Arc<dyn Hub>>,
    /// Who is taken up before whom.
    pub turns: Turns,
    me: RwLock<Option<Me>>,
}

impl Shared {
    pub fn new(settings: Settings, bot: Bot, journal: Journal, modes: Modes, hub: Option<Arc<dyn Hub>>) -> Self {
        let codecs = engines::codecs();
        let router = Router::new(codecs.clone(), settings.default_engine.clone(), None);
        Self { settings, bot, journal, router, codecs, modes, hub, turns: Turns::default(), me: RwLock::new(None) }
    }

    /// The bot itself, once it has said who it is.
    pub fn me(&self) -> Option<Me> {
        self.me.read().clone()
    }

    pub fn set_me(&self, me: Me) {
        *self.me.write() = Some(me);
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
