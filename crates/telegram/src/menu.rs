//! The command menu: what this configuration supports, in the few words that fit.

use crate::api::{BotCommand, MAX_COMMANDS};

/// Every command that the bridge answers, with its line in the menu.
pub const COMMANDS: [(&str, &str); 15] = [
    ("cancel", "cancel run"),
    ("new", "begin a new thread"),
    ("ctx", "show or set project and branch"),
    ("agent", "show or set the default engine"),
    ("model", "show or set the model"),
    ("reasoning", "show or set how long it thinks"),
    ("trigger", "when to answer in this group"),
    ("topic", "make a topic for a branch"),
    ("file", "put or get a file"),
    ("usage", "tokens and cost so far"),
    ("status", "what runs and what waits"),
    ("steer", "tell a running engine something"),
    ("link", "decide for the hub's agents from here"),
    ("unlink", "end that"),
    ("help", "how to use this bot"),
];

/// What decides on the entries.
#[derive(Clone, Debug, Default)]
pub struct Offer<'a> {
    /// Engines that can be used here.
    pub engines: Vec<&'a str>,
    pub projects: Vec<&'a str>,
    /// Whether any chat that is served can have topics.
    pub topics: bool,
    /// Whether any chat that is served is a group.
    pub groups: bool,
    /// Whether a chat goes on with its thread.
    pub sessions: bool,
    /// Whether the bridge runs beside a hub.
    pub hub: bool,
    /// Whether any engine listens while it works.
    pub steering: bool,
    /// Whether any engine can be told how long to think.
    pub reasoning: bool,
}

/// The menu, at most as long as the server takes it, and how many entries found no room.
pub fn menu(offer: &Offer<'_>) -> (Vec<BotCommand>, usize) {
    let entry = |command: &str, description: String| BotCommand { command: command.to_owned(), description };
    let supported = |name: &str| match name {
        "topic" => offer.topics,
        "trigger" => offer.groups,
        "new" => offer.sessions,
        "link" | "unlink" => offer.hub,
        "steer" => offer.steering,
        "reasoning" => offer.reasoning,
        "cancel" => false,
        _ => true,
    };
    let engines = offer.engines.iter().map(|engine| entry(engine, format!("use engine: {engine}")));
    let own = COMMANDS.iter().filter(|(name, _)| supported(name)).map(|(name, about)| entry(name, (*about).to_owned()));
    let projects = offer.projects.iter().map(|alias| (alias.to_lowercase(), alias));
    let projects = projects.filter(|(name, _)| is_command(name) && !is_reserved(name));
    let projects = projects.map(|(name, alias)| entry(&name, format!("work on: {alias}")));
    let mut entries: Vec<BotCommand> = engines.filter(|entry| is_command(&entry.command)).chain(own).collect();
    entries.extend(projects);
    let left_out = (entries.len() + 1).saturating_sub(MAX_COMMANDS);
    entries.truncate(MAX_COMMANDS - 1);
    entries.push(entry("cancel", "cancel run".to_owned()));
    (entries, left_out)
}

pub fn is_reserved(name: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// What Telegram takes as a command.
fn is_command(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(offer: &Offer<'_>) -> Vec<String> {
        menu(offer).0.into_iter().map(|entry| entry.command).collect()
    }

    #[test]
    fn the_command_list_includes_cancel_engines_and_valid_project_aliases() {
        let offer = Offer { engines: vec!["codex"], projects: vec!["Web", "my-app", "status"], ..Offer::default() };
        let names = names(&offer);
        for name in ["cancel", "codex", "web", "status"] {
            assert_eq!(names.iter().filter(|known| *known == name).count(), 1, "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains('-')));
    }

    #[test]
    fn it_does_not_include_commands_the_bot_does_not_support() {
        let least = names(&Offer::default());
        let cases: [(&[&str], Offer<'_>); 6] = [
            (&["topic"], Offer { topics: true, ..Offer::default() }),
            (&["trigger"], Offer { groups: true, ..Offer::default() }),
            (&["new"], Offer { sessions: true, ..Offer::default() }),
            (&["link", "unlink"], Offer { hub: true, ..Offer::default() }),
            (&["steer"], Offer { steering: true, ..Offer::default() }),
            (&["reasoning"], Offer { reasoning: true, ..Offer::default() }),
        ];
        for (wanted, offer) in cases {
            let more: Vec<String> = names(&offer).into_iter().filter(|name| !least.contains(name)).collect();
            assert_eq!(more, wanted);
        }
    }

    #[test]
    fn descriptions_are_terse_and_lowercase() {
        for (name, about) in COMMANDS {
            assert!(is_command(name));
            assert!(about.len() <= 40 && about.chars().next().is_some_and(char::is_lowercase), "{about}");
        }
    }

    #[test]
    fn it_is_capped_at_100_and_cancel_stays() {
        let aliases: Vec<String> = (0..150).map(|number| format!("p{number}")).collect();
        let projects = aliases.iter().map(String::as_str).collect();
        let (entries, left_out) = menu(&Offer { engines: vec!["codex"], projects, ..Offer::default() });
        assert_eq!(entries.len(), 100);
        assert_eq!(entries.last().unwrap().command, "cancel");
        assert_eq!(left_out, 1 + 7 + 150 + 1 - 100, "engine, own commands, projects, cancel");
    }
}
