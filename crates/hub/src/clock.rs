//! What time it is: an argument of everything that decides, so that tests can let it pass.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use folkmoot_core::Millis;

pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// The time of this machine.
pub fn wall_clock() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since_epoch.as_millis()).unwrap_or(Millis::MAX)
}
