//! `[wakes]`: how long a wake waits for more, and where agents that go on among themselves are stopped.

use folkmoot_core::Millis;
use folkmoot_core::delivery::WakeRules;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wakes {
    pub quiet_ms: u32,
    pub quiet_elsewhere_ms: u32,
    pub typing_ms: u32,
    pub longest_ms: u32,
    pub expire_s: f64,
    pub nearby_s: f64,
    pub max_depth: u32,
    pub max_wakes: u32,
    pub max_pair: u32,
    pub max_row: u32,
    pub max_alone: u32,
    pub max_mentions: u32,
    pub grant: u32,
}

impl Default for Wakes {
    fn default() -> Self {
        let rules = WakeRules::default();
        let small = |millis: Millis| u32::try_from(millis).unwrap_or(u32::MAX);
        Self {
            quiet_ms: small(rules.quiet),
            quiet_elsewhere_ms: small(rules.quiet_elsewhere),
            typing_ms: small(rules.typing),
            longest_ms: small(rules.longest),
            expire_s: rules.life as f64 / 1000.0,
            nearby_s: rules.nearby as f64 / 1000.0,
            max_depth: rules.depth,
            max_wakes: rules.wakes,
            max_pair: rules.pair,
            max_row: rules.row,
            max_alone: rules.alone,
            max_mentions: rules.mentions,
            grant: rules.grant,
        }
    }
}

impl Wakes {
    pub fn rules(&self) -> WakeRules {
        let millis = |seconds: f64| (seconds * 1000.0) as Millis;
        WakeRules {
            quiet: self.quiet_ms.into(),
            quiet_elsewhere: self.quiet_elsewhere_ms.into(),
            typing: self.typing_ms.into(),
            longest: self.longest_ms.into(),
            life: millis(self.expire_s),
            nearby: millis(self.nearby_s),
            depth: self.max_depth,
            wakes: self.max_wakes,
            pair: self.max_pair,
            row: self.max_row,
            alone: self.max_alone,
            alone_for: WakeRules::default().alone_for,
            mentions: self.max_mentions,
            grant: self.grant,
        }
    }
}
