//! Which engine takes a message: the one whose resume line it holds, else the nearest default.

use folkmoot_engines::event::{EngineId, ResumeToken};
use folkmoot_engines::resume::Codecs;

/// The defaults around a new thread, nearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `/engine` in the message.
    pub directive: Option<EngineId>,
    pub topic: Option<EngineId>,
    pub chat: Option<EngineId>,
    pub project: Option<EngineId>,
}

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Continue this thread.
    Thread(ResumeToken),
    /// Begin one with this engine.
    New(EngineId),
}

#[derive(Clone, Debug)]
pub struct Router {
    codecs: Codecs,
    default: EngineId,
}

impl Router {
    /// `command_line` is the engine named on the command line, which goes before the configured default.
    pub fn new(codecs: Codecs, configured: EngineId, command_line: Option<EngineId>) -> Self {
        Self { codecs, default: command_line.unwrap_or(configured) }
    }

    /// The thread that a message or what it replies to names: every engine is asked about the one, then about the other.
    pub fn resume(&self, text: &str, reply_text: Option<&str>) -> Option<ResumeToken> {
        self.codecs.extract_resume(text).or_else(|| self.codecs.extract_resume(reply_text?))
    }

    pub fn target(&self, text: &str, reply_text: Option<&str>, defaults: &Defaults) -> Target {
        if let Some(token) = self.resume(text, reply_text) {
            return Target::Thread(token);
        }
        let Defaults { directive, topic, chat, project } = defaults;
        let nearest = [directive, topic, chat, project].into_iter().flatten().next();
        Target::New(nearest.unwrap_or(&self.default).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_engines::engines;

    fn router(command_line: Option<&str>) -> Router {
        Router::new(engines::codecs(), EngineId::new("codex"), command_line.map(EngineId::from))
    }

    fn defaults(names: [Option<&str>; 4]) -> Defaults {
        let [directive, topic, chat, project] = names.map(|name| name.map(EngineId::from));
        Defaults { directive, topic, chat, project }
    }

    #[test]
    fn resume_lines_for_non_default_engines_are_detected_and_routed_correctly() {
        let lines = [
            ("claude --resume s-1", ResumeToken::new("claude", "s-1")),
            ("`codex resume 019a-77`", ResumeToken::new("codex", "019a-77")),
            ("opencode --session ses_A1", ResumeToken::new("opencode", "ses_A1")),
            ("`pi --session ccd569e0`", ResumeToken::new("pi", "ccd569e0")),
            ("moot run script --resume abc", ResumeToken::new("script", "abc")),
        ];
        for (line, token) in lines {
            let text = format!("please go on\n{line}\n");
            let all = defaults([Some("pi"), Some("claude"), None, None]);
            assert_eq!(
                router(None).target(&text, None, &all),
                Target::Thread(token.clone()),
                "resume beats a directive"
            );
            assert_eq!(router(Some("pi")).target("go on", Some(&text), &all), Target::Thread(token), "also in a reply");
        }
    }

    #[test]
    fn the_message_itself_goes_before_the_message_replied_to() {
        let target = router(None).resume("pi --session a", Some("claude --resume b"));
        assert_eq!(target, Some(ResumeToken::new("pi", "a")));
    }

    #[test]
    fn new_threads_use_the_configured_default_engine_with_the_command_line_overriding_it() {
        let new = |name: &str| Target::New(EngineId::from(name));
        assert_eq!(router(None).target("hi", None, &Defaults::default()), new("codex"));
        assert_eq!(router(Some("pi")).target("hi", None, &Defaults::default()), new("pi"));
    }

    #[test]
    fn directive_topic_chat_project_and_global_default_in_this_order() {
        let all = [Some("a"), Some("b"), Some("c"), Some("d")];
        for (gone, expected) in ["a", "b", "c", "d", "codex"].into_iter().enumerate() {
            let mut names = all;
            names[..gone].fill(None);
            assert_eq!(router(None).target("hi", None, &defaults(names)), Target::New(EngineId::from(expected)));
        }
    }
}
