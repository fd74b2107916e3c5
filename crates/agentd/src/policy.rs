//! What an engine may do without asking people, what it may never do, and what makes two questions the same.

use std::path::{Component, Path, PathBuf};

use folkmoot_action::Place;
use folkmoot_action::deny::Subjects;
use folkmoot_engines::event::{Ask, AskKind, Subject};

use crate::inside::is_inside;
use crate::settings::Policy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    /// With the words that the engine gets to read.
    Deny(String),
    AskPeople,
}

/// What becomes of a question, before any person is asked. The deny list goes before everything; what cannot be read with
/// certainty is asked, whatever the policy, and so is everything that the engine's adapter does not know through and through.
pub fn rule(policy: Policy, deny: &[String], ask: &Ask, folder: &Path) -> Ruling {
    if ask.kind() != AskKind::Permission {
        return Ruling::AskPeople;
    }
    let subjects = Subjects::of(&ask.title, &ask.proposal(), &files(ask, folder));
    if let Some(pattern) = deny.iter().find(|pattern| subjects.fit(pattern)) {
        return Ruling::Deny(format!("this is never allowed here (`{pattern}`)"));
    }
    if runs_something(ask) {
        return Ruling::AskPeople;
    }
    match (policy, &ask.subject) {
        (Policy::AskCommands | Policy::AcceptEdits, Subject::Edit { .. }) if is_inside(ask, folder) => Ruling::Allow,
        (Policy::AskCommands, Subject::Read { patterns, .. }) if reads_inside(ask, patterns, folder) => Ruling::Allow,
        _ => Ruling::AskPeople,
    }
}

/// The same question has the same fingerprint, whenever it is asked.
pub fn fingerprint(agent: &str, engine: &str, ask: &Ask, folder: &Path, machine: &str) -> String {
    let folder = folder.to_string_lossy();
    ask.identity.fingerprint(&Place { agent, engine, folder: &folder, machine })
}

/// Whether anything in it looks like a command, wherever it stands.
fn runs_something(ask: &Ask) -> bool {
    !ask.proposal().lines().is_empty()
}

/// Whether only the project is read: every file and folder that is named lies in it, and patterns do not lead out.
fn reads_inside(ask: &Ask, patterns: &[String], folder: &Path) -> bool {
    let leads_out = |pattern: &String| pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..");
    let Ok(project) = folder.canonicalize() else { return false };
    let inside = |path: &String| folder.join(path).canonicalize().is_ok_and(|real| real.starts_with(&project));
    ask.proposal().paths().iter().all(inside) && !patterns.iter().any(leads_out)
}

/// The files it names, as it names them and as they are found from the root.
fn files(ask: &Ask, folder: &Path) -> Vec<String> {
    let whole = |path: &String| {
        let mut clean = PathBuf::new();
        for part in folder.join(path).components() {
            match part {
                Component::ParentDir => drop(clean.pop()),
                Component::CurDir => {}
                other => clean.push(other),
            }
        }
        clean.to_string_lossy().into_owned()
    };
    let named = ask.proposal().paths();
    named.iter().map(whole).chain(named.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
