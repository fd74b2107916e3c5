//! The engines there are. A new one is a folder here and a line in [`ALL`]; `docs/how-to/add-an-engine.md` has the steps.

use crate::engine::Engine;
use crate::resume::Codecs;

pub mod claude;
pub mod codex;
pub mod opencode;
pub mod pi;
mod plain;
mod providers;
pub mod script;
#[cfg(test)]
pub(crate) mod testing;
mod trouble;

/// Every engine, in the order in which their resume lines are tried.
pub const ALL: [&dyn Engine; 5] = [&claude::Claude, &codex::Codex, &opencode::Opencode, &pi::Pi, &script::Script];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    ALL.into_iter().find(|engine| engine.id() == *name)
}

/// The resume lines of all engines.
pub fn codecs() -> Codecs {
    Codecs::new(ALL.iter().map(|engine| engine.codec()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::process::environment;

    #[test]
    fn every_engine_gets_its_own_keys_and_not_those_of_others() {
        let names = [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "OPENCODE_CONFIG",
            "PI_OFFLINE",
            "XAI_API_KEY",
        ];
        let of = |engine: &str| {
            let ours = names.iter().map(|name| (OsString::from(name), OsString::from("x")));
            let variables = find(engine).unwrap().variables();
            let chosen = environment::chosen(ours, &variables);
            chosen.map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of("codex"), ["OPENAI_API_KEY", "CODEX_HOME"]);
        assert_eq!(of("claude"), ["ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR"]);
        assert_eq!(of("opencode"), ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENCODE_CONFIG", "XAI_API_KEY"]);
        assert_eq!(of("pi"), ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PI_OFFLINE", "XAI_API_KEY"]);
        assert_eq!(of("script"), Vec::<String>::new());
    }
}
