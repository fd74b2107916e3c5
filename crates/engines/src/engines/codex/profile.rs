//! The profile of codex' own configuration, for its app server: that takes no `--profile`, but settings for a thread.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ID;
use crate::engine::{EngineError, EngineSettings};

/// What the profile sets: `NAME.config.toml` beside codex' configuration, or the older table `[profiles.NAME]` in it.
pub fn read(settings: &EngineSettings) -> Result<Map<String, Value>, EngineError> {
    let Some(name) = settings.own_text("profile") else { return Ok(Map::new()) };
    let home = home(settings);
    let (own, table) = (home.join(format!("{name}.config.toml")), home.join("config.toml"));
    if !name.contains(['/', '\\']) && own.is_file() {
        return parsed(&own);
    }
    let mut profiles = if table.is_file() { parsed(&table)?.remove("profiles") } else { None };
    match profiles.as_mut().and_then(|profiles| profiles.get_mut(name)).map(Value::take) {
        Some(Value::Object(profile)) => Ok(profile),
        _ => {
            let hint = format!("write {}, or take `engines.{ID}.profile` out", own.display());
            Err(EngineError::new(format!("codex has no profile `{name}`"), hint))
        }
    }
}

fn parsed(path: &Path) -> Result<Map<String, Value>, EngineError> {
    let failed = |why: String| EngineError::new(format!("{} cannot be read: {why}", path.display()), "mend it");
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    toml::from_str(&text).map_err(|error: toml::de::Error| failed(error.message().to_owned()))
}

pub(super) fn home(settings: &EngineSettings) -> PathBuf {
    let home = || Path::new(&settings.variable("HOME").unwrap_or_default()).join(".codex");
    settings.variable("CODEX_HOME").map_or_else(home, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_is_its_file_or_its_table_and_one_that_is_not_there_is_refused_in_words() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("big.config.toml"), "model = \"m\"\n[tools]\nweb_search = false\n").unwrap();
        std::fs::write(home.path().join("config.toml"), "model = \"x\"\n[profiles.old]\nmodel = \"o\"\n").unwrap();
        let of = |name: &str| {
            let mut settings = EngineSettings::default();
            settings.env.insert("CODEX_HOME".into(), home.path().to_string_lossy().into_owned());
            settings.own.insert("profile".into(), name.into());
            read(&settings)
        };
        assert_eq!(Value::Object(of("big").unwrap()), json!({"model": "m", "tools": {"web_search": false}}));
        assert_eq!(Value::Object(of("old").unwrap()), json!({"model": "o"}));
        assert_eq!(of("nope").unwrap_err().sentence, "codex has no profile `nope`");
        assert!(of("../big").is_err());
        assert!(read(&EngineSettings::default()).unwrap().is_empty());
    }
}
