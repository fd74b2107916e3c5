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
