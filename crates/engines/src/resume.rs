//! Resume lines: the engine's own command that continues a conversation, written and recognised.
//!
//! Each engine describes its lines with one [`ResumeCodec`]; the rules that all share stand here once: the whole line
//! and nothing else on it, the words without regard to case, with or without backticks, the last match wins.

use crate::event::{EngineId, ResumeToken};

/// How one engine's resume lines look.
#[derive(Debug)]
pub struct ResumeCodec {
    pub engine: EngineId,
    /// The words before the value; the first form is the one that is written.
    pub forms: &'static [&'static [&'static str]],
    pub value: ValueRule,
}

/// What may stand where the value stands.
#[derive(Clone, Copy, Debug)]
pub enum ValueRule {
    /// One word without blanks and backticks.
    Word,
    /// One word that passes the test.
    WordLike(fn(&str) -> bool),
    /// The rest of the line, in quotes if it has blanks.
    Rest,
}

/// Why a token has no resume line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    #[error("`{engine}` cannot write the resume line of `{token}`")]
    Foreign { engine: EngineId, token: EngineId },
    #[error("`{value}` is not a session of {engine}")]
    Value { engine: EngineId, value: String },
}

impl ResumeCodec {
    /// The canonical resume line, in backticks.
    pub fn format_resume(&self, token: &ResumeToken) -> Result<String, ResumeError> {
        Ok(format!("`{}`", self.command(token)?))
    }

    /// The resume line without backticks, to paste into a shell.
    pub fn command(&self, token: &ResumeToken) -> Result<String, ResumeError> {
        if token.engine != self.engine {
            return Err(ResumeError::Foreign { engine: self.engine.clone(), token: token.engine.clone() });
        }
        let value = &token.value;
        if !self.accepts(value) {
            return Err(ResumeError::Value { engine: self.engine.clone(), value: value.clone() });
        }
        let quoted =
            matches!(self.value, ValueRule::Rest) && value.contains(|c: char| c.is_whitespace() || "\"'".contains(c));
        let value = if quoted { format!("\"{value}\"") } else { value.clone() };
        Ok(format!("{} {value}", self.forms[0].join(" ")))
    }

    /// The token of the last resume line in the text.
    pub fn extract_resume(&self, text: &str) -> Option<ResumeToken> {
        text.lines().rev().find_map(|line| self.parse(line))
    }

    pub fn is_resume_line(&self, line: &str) -> bool {
        self.parse(line).is_some()
    }

    /// Whether the value could stand in one of our lines.
    pub fn accepts(&self, value: &str) -> bool {
        let plain = !value.is_empty() && !value.starts_with('-') && !value.contains(['`', '\n', '\r']);
        plain
            && match self.value {
                ValueRule::Word => !value.contains(char::is_whitespace),
                ValueRule::WordLike(test) => test(value),
                ValueRule::Rest => value.trim() == value && !value.contains(char::is_control),
            }
    }

    fn parse(&self, line: &str) -> Option<ResumeToken> {
        let line = line.trim();
        let line = line.strip_prefix('`').unwrap_or(line);
        let line = line.strip_suffix('`').unwrap_or(line).trim();
        let rest = self.forms.iter().find_map(|form| after_words(line, form))?;
        let value = match self.value {
            ValueRule::Rest => unquoted(rest),
            ValueRule::Word | ValueRule::WordLike(_) => rest,
        };
        self.accepts(value).then(|| ResumeToken { engine: self.engine.clone(), value: value.to_owned() })
    }
}

/// What follows the words, which must be followed by a blank.
fn after_words<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().try_fold(line, |rest, word| {
        let head = rest.get(..word.len())?;
        let tail = &rest[word.len()..];
        let fits = head.eq_ignore_ascii_case(word) && tail.starts_with(char::is_whitespace);
        fits.then(|| tail.trim_start())
    })
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// All engines' codecs, in the fixed order in which they are asked.
#[derive(Clone, Debug)]
pub struct Codecs(Vec<&'static ResumeCodec>);

impl Codecs {
    /// Sorted by engine, so that the order depends on nothing else.
    pub fn new(codecs: impl IntoIterator<Item = &'static ResumeCodec>) -> Self {
        let mut codecs: Vec<_> = codecs.into_iter().collect();
        codecs.sort_by(|one, other| one.engine.cmp(&other.engine));
        Self(codecs)
    }

    pub fn of(&self, engine: &str) -> Option<&'static ResumeCodec> {
        self.0.iter().find(|codec| codec.engine == *engine).copied()
    }

    /// The token of the first engine that finds one.
    pub fn extract_resume(&self, text: &str) -> Option<ResumeToken> {
        self.0.iter().find_map(|codec| codec.extract_resume(text))
    }

    pub fn is_resume_line(&self, line: &str) -> bool {
        self.0.iter().any(|codec| codec.is_resume_line(line))
    }

    /// The resume line, if the token has one.
    pub fn format_resume(&self, token: &ResumeToken) -> Option<String> {
        self.of(token.engine.as_str())?.format_resume(token).ok()
    }

    /// The prompt without resume lines of any engine; `continue` when nothing else was said.
    pub fn strip_resume_lines(&self, prompt: &str) -> String {
        if !prompt.lines().any(|line| self.is_resume_line(line)) {
            return if prompt.trim().is_empty() { "continue".to_owned() } else { prompt.to_owned() };
        }
        let kept: Vec<&str> = prompt.lines().filter(|line| !self.is_resume_line(line)).collect();
        let kept = kept.join("\n");
        if kept.trim().is_empty() { "continue".to_owned() } else { kept.trim().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::engines;
    use crate::event::ResumeToken;
    use crate::resume::ResumeError;

    fn extract(text: &str) -> Option<(String, String)> {
        engines::codecs().extract_resume(text).map(|token| (token.engine.to_string(), token.value))
    }

    fn found(engine: &str, value: &str) -> Option<(String, String)> {
        Some((engine.to_owned(), value.to_owned()))
    }

    #[test]
    fn the_canonical_line_is_the_command_of_the_engine_in_backticks() {
        let lines = [
            ("codex", "019a-77", "`codex resume 019a-77`"),
            ("claude", "s-1", "`claude --resume s-1`"),
            ("opencode", "ses_A1", "`opencode --session ses_A1`"),
            ("pi", "ccd569e0", "`pi --session ccd569e0`"),
            ("pi", "/a b/c.jsonl", "`pi --session \"/a b/c.jsonl\"`"),
            ("script", "x", "`moot run script --resume x`"),
        ];
        for (engine, value, line) in lines {
            let codec = engines::find(engine).unwrap().codec();
            assert_eq!(codec.format_resume(&ResumeToken::new(engine, value)).unwrap(), line);
            assert!(codec.is_resume_line(line));
        }
    }

    #[test]
    fn format_fails_for_a_foreign_engine_and_for_what_no_line_can_hold() {
        let codec = engines::find("codex").unwrap().codec();
        assert!(matches!(codec.format_resume(&ResumeToken::new("pi", "x")), Err(ResumeError::Foreign { .. })));
        for value in ["", "two words", "tick`", "--last", "line\nend"] {
            assert!(matches!(codec.format_resume(&ResumeToken::new("codex", value)), Err(ResumeError::Value { .. })));
        }
    }

    #[test]
    fn lines_match_without_regard_to_case_with_or_without_backticks_and_blanks() {
        for line in
            ["codex resume a1", "`codex resume a1`", "  `Codex RESUME a1`  ", "`codex  resume\ta1", "codex resume a1`"]
        {
            assert_eq!(extract(line), found("codex", "a1"), "{line:?}");
        }
        assert_eq!(extract("claude -r Ab"), found("claude", "Ab"), "the value keeps its case");
        assert_eq!(extract("opencode run -s ses_1"), found("opencode", "ses_1"));
        assert_eq!(extract("pi --session '/a b/c.jsonl'"), found("pi", "/a b/c.jsonl"));
    }

    #[test]
    fn only_the_whole_line_counts() {
        let not = [
            "run codex resume a1",
            "codex resume a1 please",
            "codex resume",
            "codex resume --last",
            "codexresume a1",
            "opencode --session abc",
            "opencode run ses_1",
            "``codex resume a1``",
            "claude --resume",
            "moot run codex --resume x",
        ];
        for line in not {
            assert_eq!(extract(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_last_match_wins_within_an_engine_and_engines_are_polled_in_a_fixed_order() {
        assert_eq!(extract("codex resume a\ntext\ncodex resume b\nmore"), found("codex", "b"));
        assert_eq!(extract("pi --session z\ncodex resume b\nclaude -r c"), found("claude", "c"));
    }

    #[test]
    fn resume_lines_are_taken_out_of_prompts() {
        let codecs = engines::codecs();
        assert_eq!(codecs.strip_resume_lines("fix\n`pi --session x`\nit"), "fix\nit");
        assert_eq!(codecs.strip_resume_lines("claude -r x"), "continue");
        assert_eq!(codecs.strip_resume_lines("  keep\n\n  this  "), "  keep\n\n  this  ");
    }

    #[test]
    fn a_token_is_the_whole_id_that_the_engine_gave() {
        let id = "01a1e509-d373-762d-ad6d-50ba15f2ff5b";
        for (engine, id, line) in [
            ("codex", id, r#"{"type":"thread.started","thread_id":"WHOLE"}"#),
            ("claude", id, r#"{"type":"system","subtype":"init","session_id":"WHOLE"}"#),
            ("opencode", "ses_1a1e509d373", r#"{"type":"step_start","sessionID":"WHOLE","part":{}}"#),
            ("pi", id, r#"{"type":"session","id":"WHOLE"}"#),
        ] {
            let play = crate::testing::Play::lines(engines::find(engine).unwrap(), &line.replace("WHOLE", id));
            let token = ResumeToken::new(engine, id);
            assert!(matches!(&play.events[0], crate::event::EngineEvent::Started(started) if started.resume == token));
        }
    }

    proptest! {
        #[test]
        fn extract_of_format_is_the_token_and_no_engine_claims_anothers_line(
            at in 0..engines::ALL.len(), value in "\\PC{1,30}|[A-Za-z0-9_./-]{1,40}|ses_[A-Za-z0-9]{1,20}", tail in "[a-z ]{0,20}",
        ) {
            let codec = engines::ALL[at].codec();
            let token = ResumeToken::new(codec.engine.clone(), value);
            if let Ok(line) = codec.format_resume(&token) {
                for line in [line.clone(), line.trim_matches('`').to_owned(), format!("{tail}\n{}", line.clone())] {
                    prop_assert_eq!(codec.extract_resume(&line), Some(token.clone()));
                    for other in engines::ALL.iter().filter(|other| other.id() != codec.engine) {
                        prop_assert_eq!(other.codec().extract_resume(&line), None);
                    }
                }
            }
        }

        #[test]
        fn no_text_makes_extraction_fail(text in "(?s).{0,200}") {
            let _ = extract(&text);
        }
    }
}
