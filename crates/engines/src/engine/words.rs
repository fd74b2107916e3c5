//! What people say that becomes an argument of an engine: it stays a value, whatever it looks like.
//!
//! Names of models, levels and sessions come from chats, from REST and from files. The engines' own parsers differ in what
//! they make of a value that begins with a dash, and not all of them know `--model=VALUE`, so the rule is ours and the same
//! for all: such a value is refused before an engine plans anything.

use serde_json::Value;

use super::{EngineError, Order};
use crate::resume::ResumeCodec;

/// The longest name of a model or a level.
const MAX_CHARS: usize = 200;

/// Whether this can be the name of a model.
pub fn model(text: &str) -> Result<(), EngineError> {
    let good = is_value(text) && !text.contains(char::is_whitespace) && text.len() <= MAX_CHARS;
    if good { Ok(()) } else { Err(refused("name of a model", text)) }
}

/// Whether this can say how long an engine thinks.
pub fn level(text: &str) -> Result<(), EngineError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = is_value(text) && text.chars().all(plain) && text.len() <= MAX_CHARS;
    if good { Ok(()) } else { Err(refused("level of thinking", text)) }
}

/// Whether everything in an order that an engine may put on its command line is a value.
pub(crate) fn check(codec: &ResumeCodec, level_key: Option<&str>, order: &Order<'_>) -> Result<(), EngineError> {
    let settings = order.settings;
    if !settings.model.is_empty() {
        model(&settings.model)?;
    }
    if let Some(said) = level_key.and_then(|key| settings.own_text(key)) {
        level(said)?;
    }
    if let Some(token) = order.resume
        && !codec.accepts(&token.value)
    {
        return Err(refused(&format!("session of {}", codec.engine), &token.value));
    }
    let texts = settings.own.iter().flat_map(|(key, value)| texts(value).map(move |text| (key, text)));
    match texts.into_iter().find(|(_, text)| !text.is_empty() && !is_value(text)) {
        None => Ok(()),
        Some((key, text)) => Err(refused(&format!("value of `engines.{}.{key}`", codec.engine), text)),
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value.as_str().into_iter().chain(items.iter().filter_map(Value::as_str))
}

/// No parser takes it for an option, and it is what it seems to be.
fn is_value(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control)
}

fn refused(what: &str, text: &str) -> EngineError {
    let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    let hint =
        if text.starts_with('-') { "it begins with a dash, like an option" } else { "it holds what no name holds" };
    EngineError::new(format!("`{shown}` is no {what}"), hint)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use crate::engine::{EngineError, EngineSettings, Launch, LocalServer, Mode, Order, Source};
    use crate::engines;
    use crate::event::ResumeToken;

    /// The command line for texts that people chose, and the one for plain words in their place.
    fn planned(
        engine: &str,
        mode: Mode,
        model: &str,
        level: &str,
        session: &str,
    ) -> Result<Option<Launch>, EngineError> {
        let engine = engines::find(engine).unwrap();
        let mut settings = EngineSettings { model: model.to_owned(), ..EngineSettings::default() };
        if let Some(key) = engine.reasoning_key() {
            settings.own.insert(key.to_owned(), level.into());
        }
        let token = ResumeToken::new(engine.id(), session);
        let order = Order {
            settings: &settings,
            prompt: "--auto",
            resume: Some(&token),
            folder: Path::new("/r"),
            mode,
            now: 0,
        };
        Ok(match engine.prepare(&order)?.source {
            Source::Process(launch) | Source::Server(LocalServer { launch, .. }) => Some(launch),
            Source::Script(_) => None,
        })
    }

    fn each(mut look: impl FnMut(&'static str, Mode)) {
        for engine in ["codex", "claude", "opencode", "pi", "script"] {
            [Mode::Plain, Mode::Warm].into_iter().for_each(|mode| look(engine, mode));
        }
    }

    #[test]
    fn an_option_as_a_model_a_level_or_a_session_is_refused_in_words() {
        each(|engine, mode| {
            let session = if engine == "opencode" { "ses_1" } else { "s1" };
            assert!(planned(engine, mode, "gpt-5", "high", session).is_ok(), "{engine}");
            for bad in ["--auto", "-c", "--yolo", "-", "a\nb", "two words"] {
                let error =
                    planned(engine, mode, bad, "high", session).err().unwrap_or_else(|| panic!("{engine} {bad}"));
                assert!(error.sentence.contains("is no name of a model"), "{}", error.sentence);
            }
            assert!(planned(engine, mode, "m", "--auto", session).is_err() || engine == "script", "{engine}");
            assert!(planned(engine, mode, "m", "high", "--dangerously-skip-permissions").is_err(), "{engine}");
        });
    }

    #[test]
    fn an_option_in_the_configuration_of_an_engine_is_refused_too() {
        for (engine, key) in [("codex", "profile"), ("opencode", "agent"), ("pi", "provider")] {
            let mut settings = EngineSettings::default();
            settings.own.insert(key.to_owned(), "--auto".into());
            let error = crate::engine::settings::check_settings(engines::find(engine).unwrap(), &settings).unwrap_err();
            assert!(error.sentence.contains(&format!("engines.{engine}.{key}")), "{}", error.sentence);
        }
    }

    proptest! {
        #[test]
        fn no_text_that_people_choose_becomes_an_option(
            model in "-{0,2}[a-z=:/. -]{0,12}|\\PC{0,12}", level in "-{0,2}[a-z =]{0,8}", session in "-{0,2}[a-z0-9_= ]{0,12}|ses_[a-z]{1,4}",
        ) {
            let mut wrong = None;
            each(|engine, mode| {
                let session = if engine == "opencode" && !session.starts_with('-') { "ses_1" } else { session.as_str() };
                let usual = if engine == "opencode" { "ses_1" } else { "s1" };
                let Ok(Some(launch)) = planned(engine, mode, &model, &level, session) else { return };
                let plain = planned(engine, mode, "m", "high", usual).unwrap().unwrap();
                let options = |launch: &Launch| {
                    // The level of codex is glued to the name of its key.
                    let dashed = launch.args.iter().filter(|argument| argument.starts_with('-') && argument.len() > 1);
                    dashed.cloned().collect::<Vec<_>>()
                };
                let expected: Vec<String> = options(&plain).into_iter()
                    .filter(|option| !(option == "--model" && model.is_empty()))
                    // opencode's is a flag, and always there.
                    .filter(|option| !(["--effort", "--variant", "--thinking", "-c"].contains(&option.as_str()) && level.is_empty()) || engine == "opencode" && option == "--thinking")
                    .collect();
                if options(&launch) != expected {
                    wrong = Some((engine, launch.args, expected));
                }
            });
            prop_assert_eq!(wrong, None);
        }
    }
}
