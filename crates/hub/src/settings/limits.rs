//! `[limits]`: how much one member, one workspace and one address may use. 0 is no limit.

use folkmoot_core::quota::{Allowance, QuotaRules};
use serde::{Deserialize, Serialize};

const MEGABYTE: u64 = 1_000_000;
/// What is counted per second may come in bursts of this many seconds' worth.
const BURST_SECONDS: u32 = 10;
const REQUEST_BURST_SECONDS: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub requests_per_second: u32,
    pub messages_per_second: u32,
    pub workspace_messages_per_second: u32,
    pub uploads_per_minute: u32,
    pub member_storage_mb: u32,
    pub workspace_storage_mb: u32,
    pub channels_per_hour: u32,
    pub members_per_hour: u32,
    pub reactions_per_message: u32,
    pub http_connections: u32,
    pub http_connections_per_address: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 1000,
            messages_per_second: 100,
            workspace_messages_per_second: 2000,
            uploads_per_minute: 60,
            member_storage_mb: 5000,
            workspace_storage_mb: 50_000,
            channels_per_hour: 300,
            members_per_hour: 500,
            reactions_per_message: 500,
            http_connections: 4096,
            http_connections_per_address: 1024,
        }
    }
}

impl Limits {
    /// Those that the rules of the hub know.
    pub fn rules(&self) -> QuotaRules {
        QuotaRules {
            channels: Allowance::per_hour(self.channels_per_hour),
            members: Allowance::per_hour(self.members_per_hour),
            reactions_per_message: self.reactions_per_message,
            member_bytes: u64::from(self.member_storage_mb) * MEGABYTE,
            workspace_bytes: u64::from(self.workspace_storage_mb) * MEGABYTE,
        }
    }

    pub fn requests(&self) -> Allowance {
        Allowance::per_second(self.requests_per_second, REQUEST_BURST_SECONDS)
    }

    pub fn messages(&self) -> Allowance {
        Allowance::per_second(self.messages_per_second, BURST_SECONDS)
    }

    pub fn workspace_messages(&self) -> Allowance {
        Allowance::per_second(self.workspace_messages_per_second, BURST_SECONDS)
    }

    pub fn uploads(&self) -> Allowance {
        Allowance::per_minute(self.uploads_per_minute)
    }
}
