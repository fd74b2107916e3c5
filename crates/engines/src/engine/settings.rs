//! Whether the table of an engine can work, before anybody starts it.

use super::{Engine, EngineError, EngineSettings, Mode, Order};

/// Keys that every engine takes beside `command`, `extra_args`, `model`, `env` and `pass_env`.
pub const COMMON_KEYS: [&str; 2] = ["mode", "keep_warm_s"];

/// Refuses keys that the engine does not know and settings that it would refuse to plan with.
pub fn check_settings(engine: &'static dyn Engine, settings: &EngineSettings) -> Result<(), EngineError> {
    let known = || engine.own_keys().iter().map(|(key, _)| *key).chain(COMMON_KEYS);
    if let Some(key) = settings.own.keys().find(|key| !known().any(|known| known == *key)) {
        let sentence = format!("unknown key `engines.{}.{key}`", engine.id());
        return Err(EngineError::new(sentence, format!("it knows {}", known().collect::<Vec<_>>().join(", "))));
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let order = Order { settings, prompt: "", resume: None, folder: &folder, mode: Mode::Plain, now: 0 };
    engine.prepare(&order).map(|_| ())
}
