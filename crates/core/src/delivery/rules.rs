//! The numbers of waking: judgement, so they are settings.

use crate::Millis;
use crate::model::Door;

/// How long a wake waits for more, and where chains of agents stop. A limit of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeRules {
    /// After the last message, where the sender's door knows of typing.
    pub quiet: Millis,
    /// The same for every other door.
    pub quiet_elsewhere: Millis,
    /// A sign of typing keeps the window open for this long.
    pub typing: Millis,
    /// No wake waits longer than this after its first message.
    pub longest: Millis,
    /// An agent that did not answer in this time will not.
    pub life: Millis,
    /// How long an agent's message is taken for an answer to what was said last.
    pub nearby: Millis,
    pub depth: u32,
    pub wakes: u32,
    pub pair: u32,
    pub row: u32,
    /// How often an agent may wake others in [`Self::alone_for`] with no person having begun it.
    pub alone: u32,
    pub alone_for: Millis,
    /// How much more people grant with "continue".
    pub grant: u32,
    /// How many agents one message wakes.
    pub mentions: u32,
}

impl Default for WakeRules {
    fn default() -> Self {
        Self {
            quiet: 300,
            quiet_elsewhere: 1_000,
            typing: 3_000,
            longest: 5_000,
            life: 7 * 24 * 60 * 60 * 1_000,
            nearby: 120_000,
            depth: 6,
            wakes: 12,
            pair: 2,
            row: 8,
            alone: 8,
            alone_for: 60 * 60 * 1_000,
            grant: 6,
            mentions: 10,
        }
    }
}

impl WakeRules {
    pub fn window(&self, door: Door) -> Millis {
        if door.facts().tells_typing { self.quiet } else { self.quiet_elsewhere }
    }
}
