//! What the first line of a message says about where it goes: `/engine`, `/project` and `@branch`, then the prompt.

use folkmoot_engines::event::EngineId;
pub use folkmoot_runs::worktree::is_branch_name;

/// The words that count as directives.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub engines: Vec<EngineId>,
    pub projects: Vec<String>,
    /// The bot's own name, without `@`; empty until it is known.
    pub bot: String,
}

/// What was said before the prompt began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    pub engine: Option<EngineId>,
    pub project: Option<String>,
    pub branch: Option<String>,
    /// The rest of the message.
    pub prompt: String,
}

/// Two of a kind, which cannot both be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("multiple {0} directives")]
pub struct Twice(&'static str);

enum Word {
    Engine(EngineId),
    Project(String),
    Branch(String),
}

/// Reads the directives at the beginning of the first line that is not empty. Whether `@word` is a branch depends on
/// the project, so the caller may ask again without branches; such a word then begins the prompt.
pub fn parse(text: &str, names: &Names, with_branch: bool) -> Result<Directives, Twice> {
    let mut found = Directives::default();
    let mut rest = names.addressed(text);
    while let Some((word, after)) = next_word(rest) {
        match names.directive(word).filter(|word| with_branch || !matches!(word, Word::Branch(_))) {
            None => break,
            Some(Word::Engine(engine)) => once(&mut found.engine, engine, "engine")?,
            Some(Word::Project(project)) => once(&mut found.project, project, "project")?,
            Some(Word::Branch(branch)) => once(&mut found.branch, branch, "branch")?,
        }
        rest = after;
        if rest.starts_with(['\n', '\r']) || rest.is_empty() {
            break;
        }
    }
    let began = found != Directives::default();
    // A message without directives stays as it is, whitespace and all.
    found.prompt = if began { rest.trim_start_matches([' ', '\t', '\r', '\n']) } else { text }.to_owned();
    Ok(found)
}

/// The first word of the line and what follows it, with the blanks before the next word taken away.
fn next_word(line: &str) -> Option<(&str, &str)> {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (word, after) = line.split_at(end);
    (!word.is_empty()).then(|| (word, after.trim_start_matches([' ', '\t'])))
}

fn once<T>(place: &mut Option<T>, value: T, kind: &'static str) -> Result<(), Twice> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Twice(kind)),
    }
}

impl Names {
    fn directive(&self, word: &str) -> Option<Word> {
        if let Some(branch) = word.strip_prefix('@') {
            return is_branch_name(branch).then(|| Word::Branch(branch.to_owned()));
        }
        let name = self.command(word)?;
        let engine = self.engines.iter().find(|engine| engine.as_str().eq_ignore_ascii_case(&name));
        let project = || self.projects.iter().find(|project| project.eq_ignore_ascii_case(&name));
        match engine {
            Some(engine) => Some(Word::Engine(engine.clone())),
            None => project().map(|project| Word::Project(project.clone())),
        }
    }

    /// The name in `/name` or `/name@ourbot`; `None` also for another bot's command.
    pub fn command(&self, word: &str) -> Option<String> {
        let word = word.strip_prefix('/')?;
        let (name, bot) = word.split_once('@').map_or((word, None), |(name, bot)| (name, Some(bot)));
        let ours = bot.is_none_or(|bot| self.bot.is_empty() || bot.eq_ignore_ascii_case(&self.bot));
        (ours && !name.is_empty()).then(|| name.to_owned())
    }

    /// The text without the blanks and the mention of us at its beginning.
    pub fn addressed<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim_start();
        match next_word(text) {
            Some((word, after)) if !self.bot.is_empty() && self.is_me(word) => after,
            _ => text,
        }
    }

    fn is_me(&self, word: &str) -> bool {
        word.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(&self.bot))
    }

    /// Whether the text is a command for a bot that is not us.
    pub fn is_for_another_bot(&self, text: &str) -> bool {
        let Some((word, _)) = next_word(text.trim_start()) else { return false };
        let Some((name, bot)) = word.strip_prefix('/').and_then(|word| word.split_once('@')) else { return false };
        let commandlike = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        commandlike(name) && commandlike(bot) && !self.bot.is_empty() && !bot.eq_ignore_ascii_case(&self.bot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        Names {
            engines: ["claude", "codex"].map(EngineId::new).to_vec(),
            projects: vec!["web".into(), "api".into()],
            bot: "mybot".into(),
        }
    }

    fn read(text: &str) -> (Option<String>, Option<String>, Option<String>, String) {
        let found = parse(text, &names(), true).unwrap();
        (found.engine.map(|engine| engine.to_string()), found.project, found.branch, found.prompt)
    }

    fn some(word: &str) -> Option<String> {
        Some(word.to_owned())
    }

    #[test]
    fn the_engine_directive_on_the_first_non_empty_line_is_stripped() {
        assert_eq!(read("\n \n/claude fix it"), (some("claude"), None, None, "fix it".into()));
        assert_eq!(read("/CODEX\nfix it\nnow"), (some("codex"), None, None, "fix it\nnow".into()));
        assert_eq!(read("/claude@mybot fix"), (some("claude"), None, None, "fix".into()));
        assert_eq!(read("/claude"), (some("claude"), None, None, String::new()));
    }

    #[test]
    fn directives_come_in_any_order_and_end_at_the_first_other_word() {
        let all = (some("claude"), some("web"), some("fix/x"), "go /codex @y".into());
        for text in ["/claude /web @fix/x go /codex @y", "@fix/x /web  /claude go /codex @y"] {
            assert_eq!(read(text), all);
        }
        assert_eq!(read("please /claude"), (None, None, None, "please /claude".into()));
        assert_eq!(read("/web\n/claude x"), (None, some("web"), None, "/claude x".into()), "first line only");
    }

    #[test]
    fn two_of_a_kind_are_an_error() {
        assert_eq!(parse("/claude /codex x", &names(), true).unwrap_err().to_string(), "multiple engine directives");
        assert_eq!(parse("/web /api x", &names(), true).unwrap_err().to_string(), "multiple project directives");
    }

    #[test]
    fn what_is_no_directive_is_the_prompt_as_it_was_written() {
        for text in ["  indented\n\ttext ", "/etc/hosts is broken", "/unknown x", "/claude@otherbot x", "@ x", "@-x y"]
        {
            assert_eq!(read(text), (None, None, None, text.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_word_that_is_no_branch_begins_the_prompt() {
        let found = parse("/web @mybot fix", &names(), false).unwrap();
        assert_eq!((found.project, found.branch, found.prompt), (some("web"), None, "@mybot fix".into()));
    }

    #[test]
    fn directives_may_follow_a_mention_of_the_bot() {
        assert_eq!(read("@MyBot /claude do it"), (some("claude"), None, None, "do it".into()));
        assert_eq!(read("@mybot do it"), (None, None, None, "@mybot do it".into()), "otherwise it stays");
        assert_eq!(names().addressed(" @mybot /status"), "/status");
    }

    #[test]
    fn another_bots_command_is_recognised() {
        assert!(names().is_for_another_bot("/cancel@otherbot"));
        assert!(!names().is_for_another_bot("/cancel@mybot now"));
        assert!(!names().is_for_another_bot("/path/to@x y"));
    }

    #[test]
    fn branch_names_stay_inside_their_folder() {
        for good in ["main", "fix/login", "v1.2", "a+b_c-d", "größe"] {
            assert!(is_branch_name(good), "{good}");
        }
        for bad in ["", "/x", "a/../b", "..", "-x", "a//b", ".git", "a/.b", "x.lock", "a b", "x.", "a:b", "~x"] {
            assert!(!is_branch_name(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_prompt_loses_nothing_but_its_directives(text in "[ \n]{0,2}(/claude |/web |@x )?[ -~\n]{0,40}") {
            if let Ok(found) = parse(&text, &names(), true) {
                prop_assert!(text.ends_with(&found.prompt));
                let taken = &text[..text.len() - found.prompt.len()];
                let words = taken.split_whitespace().count();
                let named = [found.engine.is_some(), found.project.is_some(), found.branch.is_some()];
                prop_assert_eq!(words, named.into_iter().filter(|is| *is).count());
            }
        }
    }
}
