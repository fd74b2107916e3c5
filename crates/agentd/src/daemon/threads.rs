//! Where a thread works: the agent's folder, or a work tree of its own.

use std::path::PathBuf;

use folkmoot_runs::worktree::{self, Missing, Repository};

use crate::settings::EngineAgent;

/// The folder of a thread and, with work trees, its branch.
pub async fn place(spec: &EngineAgent, agent: &str, thread: &str) -> (Result<PathBuf, String>, Option<String>) {
    if !spec.folder.is_dir()
        && let Err(error) = std::fs::create_dir_all(&spec.folder)
    {
        return (Err(format!("the folder `{}` cannot be made: {error}", spec.folder.display())), None);
    }
    let Some(trees) = spec.worktrees.as_ref().filter(|_| !thread.is_empty()) else {
        return (Ok(spec.folder.clone()), None);
    };
    let branch = branch_of(agent, thread);
    let repository = Repository { path: &spec.folder, worktrees: &trees.folder, base: trees.base.as_deref() };
    match worktree::of_branch(&repository, &branch, Missing::Create).await {
        Ok(folder) => (Ok(folder), Some(branch)),
        Err(error) => (Err(error.to_string()), None),
    }
}

/// The same thread has the same branch, whenever and wherever.
fn branch_of(agent: &str, thread: &str) -> String {
    let safe = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' }).collect()
    };
    let thread = thread.strip_prefix("msg_").unwrap_or(thread);
    format!("moot/{}/{}", safe(agent), safe(thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_agent_and_thread() {
        assert_eq!(branch_of("Claude", "msg_01JABC"), "moot/claude/01jabc");
        assert_eq!(branch_of("my agent/x", "t"), "moot/my-agent-x/t");
    }
}
