//! Words in a thread that are for the daemon and not for the engine.

/// What a thread can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Cancel,
    New,
    Status,
    Model(Option<String>),
    Engine(Option<String>),
}

/// The command that a text is; a text that only begins like one is a prompt.
pub fn parse(text: &str) -> Option<Command> {
    let mut words = text.split_whitespace();
    let name = words.next()?.strip_prefix('/')?;
    let argument = words.next().map(str::to_owned);
    if words.next().is_some() {
        return None;
    }
    match (name.to_ascii_lowercase().as_str(), argument) {
        ("cancel" | "stop", None) => Some(Command::Cancel),
        ("new", None) => Some(Command::New),
        ("status", None) => Some(Command::Status),
        ("model", argument) => Some(Command::Model(argument)),
        ("engine", argument) => Some(Command::Engine(argument)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_whole_texts() {
        assert_eq!(parse("/cancel"), Some(Command::Cancel));
        assert_eq!(parse(" /NEW "), Some(Command::New));
        assert_eq!(parse("/status"), Some(Command::Status));
        assert_eq!(parse("/model sonnet"), Some(Command::Model(Some("sonnet".into()))));
        assert_eq!(parse("/model"), Some(Command::Model(None)));
        assert_eq!(parse("/engine codex"), Some(Command::Engine(Some("codex".into()))));
        for prompt in ["", "cancel", "/cancel the order", "/usr/bin is full", "/review", "fix /new"] {
            assert_eq!(parse(prompt), None, "{prompt}");
        }
    }
}
