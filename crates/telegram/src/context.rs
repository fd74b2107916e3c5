//! Where a prompt works: its project and branch, and the `ctx:` line by which a thread remembers them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::api::ChatId;

/// `[projects.ALIAS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub path: PathBuf,
    pub default_engine: Option<String>,
    pub chat: Option<ChatId>,
    /// Where worktrees of branches go, relative to the project.
    pub worktrees: PathBuf,
    /// What a new branch begins from; `None`: what the project has checked out.
    pub worktree_base: Option<String>,
}

/// The projects by alias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projects(BTreeMap<String, Project>);

impl FromIterator<(String, Project)> for Projects {
    fn from_iter<I: IntoIterator<Item = (String, Project)>>(projects: I) -> Self {
        Self(projects.into_iter().collect())
    }
}

impl Projects {
    /// The project with its alias as it was configured, whatever the case of `alias`.
    pub fn find(&self, alias: &str) -> Option<(&str, &Project)> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(alias))?;
        Some((found.0, found.1))
    }

    /// The alias of the project whose chat this is.
    pub fn of_chat(&self, chat: ChatId) -> Option<&str> {
        self.0.iter().find(|(_, project)| project.chat == Some(chat)).map(|(alias, _)| alias.as_str())
    }

    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn chats(&self) -> impl Iterator<Item = ChatId> {
        self.0.values().filter_map(|project| project.chat)
    }
}

/// A project, and a branch of it where not the main checkout is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Context {
    pub fn new(project: &str, branch: Option<&str>) -> Self {
        Self { project: project.to_owned(), branch: branch.map(str::to_owned) }
    }

    /// `web @fix`
    pub fn name(&self) -> String {
        match &self.branch {
            Some(branch) => format!("{} @{branch}", self.project),
            None => self.project.clone(),
        }
    }

    /// The line below a message, in Markdown.
    pub fn line(&self) -> String {
        format!("`ctx: {}`", self.name())
    }

    /// The last `ctx:` line of a text; Telegram shows it without backticks.
    pub fn in_text(text: &str) -> Option<Self> {
        text.lines().rev().find_map(Self::of_line)
    }

    fn of_line(line: &str) -> Option<Self> {
        let line = line.trim();
        let line = line.strip_prefix('`').unwrap_or(line);
        let line = line.strip_suffix('`').unwrap_or(line);
        let mut words = line.strip_prefix("ctx:")?.split_whitespace();
        let project = words.next()?;
        let branch = match words.next() {
            None => None,
            Some(word) => Some(word.strip_prefix('@').filter(|branch| crate::directives::is_branch_name(branch))?),
        };
        words.next().is_none().then(|| Self::new(project, branch))
    }
}

/// Everything that could say where a prompt works.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The `ctx:` line of the message replied to, or of the message itself.
    pub line: Option<Context>,
    /// What is remembered of the thread that is continued.
    pub thread: Option<Context>,
    /// `/project` and `@branch` of the message.
    pub project: Option<String>,
    pub branch: Option<String>,
    /// `/ctx set` of the topic or the chat.
    pub bound: Option<Context>,
    /// The project whose chat this is.
    pub chat: Option<String>,
}

impl Hints {
    /// The nearest of them: a thread stays where it is, then what the message says, then where it was written.
    pub fn context(&self) -> Option<Context> {
        if let Some(context) = self.line.clone().or_else(|| self.thread.clone()) {
            return Some(context);
        }
        let branch = self.branch.as_deref();
        if let Some(project) = &self.project {
            return Some(Context::new(project, branch));
        }
        match (&self.bound, &self.chat) {
            (Some(bound), _) => Some(Context::new(&bound.project, branch.or(bound.branch.as_deref()))),
            (None, Some(project)) => Some(Context::new(project, branch)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ctx_line_survives_telegram_and_says_nothing_else() {
        for context in [Context::new("web", None), Context::new("web", Some("fix/x"))] {
            let text = format!("done · codex · 3s\n\nok\n\n{}\n`codex resume 1`", context.line());
            assert_eq!(Context::in_text(&text), Some(context.clone()));
            assert_eq!(Context::in_text(&text.replace('`', "")), Some(context), "without backticks");
        }
        for text in ["ctx:", "ctx: a b", "see ctx: web", "ctx: web @a @b", "ctx: web @../x"] {
            assert_eq!(Context::in_text(text), None, "{text}");
        }
    }

    #[test]
    fn the_context_is_that_of_the_line_the_thread_the_message_the_binding_and_the_chat_in_this_order() {
        let mut hints = Hints {
            line: Some(Context::new("line", None)),
            thread: Some(Context::new("thread", None)),
            project: Some("said".into()),
            branch: None,
            bound: Some(Context::new("bound", Some("b"))),
            chat: Some("chat".into()),
        };
        let name = |hints: &Hints| hints.context().map(|context| context.name());
        assert_eq!(name(&hints).unwrap(), "line");
        hints.line = None;
        assert_eq!(name(&hints).unwrap(), "thread");
        hints.thread = None;
        assert_eq!(name(&hints).unwrap(), "said");
        hints.project = None;
        assert_eq!(name(&hints).unwrap(), "bound @b");
        hints.branch = Some("x".into());
        assert_eq!(name(&hints).unwrap(), "bound @x");
        hints.bound = None;
        assert_eq!(name(&hints).unwrap(), "chat @x");
        hints.chat = None;
        assert_eq!(name(&hints), None, "the start-up folder");
    }
}
