//! The folder of a branch: the project itself, or a worktree beside it.
//!
//! A branch counts when it is there, here or at `origin`. A new one is made only by a command that says so.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::context::{Context, Project, Projects};
use crate::directives::is_branch_name;

/// How long git may take; a big checkout on a slow disk needs its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a prompt has no folder, in words for the chat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    #[error("there is no project `{0}`")]
    UnknownProject(String),
    #[error("the folder of the project `{alias}` does not exist: {}", path.display())]
    Missing { alias: String, path: PathBuf },
    #[error("`{0}` is no good name for a branch")]
    BadName(String),
    #[error("the project `{alias}` has no branch `{branch}`; `/topic {alias} @{branch}` makes it")]
    NoBranch { alias: String, branch: String },
    #[error("`{}` is in the way of the worktree", .0.display())]
    InTheWay(PathBuf),
    #[error("git: {0}")]
    Git(String),
}

/// Whether a branch that is not there may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Refuse,
    Create,
}

/// Whether the project has the branch, here or at `origin`.
pub async fn has_branch(project: &Project, branch: &str) -> bool {
    is_branch_name(branch)
        && (has_ref(&project.path, &format!("refs/heads/{branch}")).await
            || has_ref(&project.path, &format!("refs/remotes/origin/{branch}")).await)
}

/// The folder of a context; makes the worktree where there is none yet.
pub async fn folder(projects: &Projects, context: &Context, missing: Missing) -> Result<PathBuf, FolderError> {
    let (alias, project) =
        projects.find(&context.project).ok_or_else(|| FolderError::UnknownProject(context.project.clone()))?;
    if !project.path.is_dir() {
        return Err(FolderError::Missing { alias: alias.to_owned(), path: project.path.clone() });
    }
    match &context.branch {
        None => Ok(project.path.clone()),
        Some(branch) => worktree(alias, project, branch, missing).await,
    }
}

async fn worktree(alias: &str, project: &Project, branch: &str, missing: Missing) -> Result<PathBuf, FolderError> {
    if !is_branch_name(branch) {
        return Err(FolderError::BadName(branch.to_owned()));
    }
    let list = git(&project.path, &["worktree", "list", "--porcelain"]).await?;
    if let Some(path) = checked_out(&list, branch) {
        return Ok(path);
    }
    let target = project.path.join(&project.worktrees).join(branch);
    if target.exists() {
        return Err(FolderError::InTheWay(target));
    }
    exclude(project).await;
    let shown = target.to_string_lossy().into_owned();
    let origin = format!("origin/{branch}");
    if has_ref(&project.path, &format!("refs/heads/{branch}")).await {
        git(&project.path, &["worktree", "add", &shown, branch]).await?;
    } else if has_ref(&project.path, &format!("refs/remotes/{origin}")).await {
        git(&project.path, &["worktree", "add", "-b", branch, &shown, &origin]).await?;
    } else if missing == Missing::Create {
        let base = project.worktree_base.as_deref().unwrap_or("HEAD");
        git(&project.path, &["worktree", "add", "-b", branch, &shown, base]).await?;
    } else {
        return Err(FolderError::NoBranch { alias: alias.to_owned(), branch: branch.to_owned() });
    }
    Ok(target)
}

/// Where the branch is checked out, according to `git worktree list --porcelain`.
fn checked_out(list: &str, branch: &str) -> Option<PathBuf> {
    let wanted = format!("branch refs/heads/{branch}");
    let entry = list.split("\n\n").find(|entry| entry.lines().any(|line| line == wanted))?;
    entry.lines().find_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from)
}

/// Keeps worktrees inside the project out of its own `git status`, without touching a file that people share.
async fn exclude(project: &Project) {
    let Ok(file) = git(&project.path, &["rev-parse", "--git-path", "info/exclude"]).await else { return };
    let file = project.path.join(file.trim());
    let line = format!("/{}/", project.worktrees.display());
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    if project.worktrees.is_relative() && !known.lines().any(|have| have == line) {
        let end = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        // Only a convenience: a project that cannot be written to fails elsewhere, with words.
        let _ = std::fs::write(&file, format!("{known}{end}{line}\n"));
    }
}

async fn has_ref(project: &Path, name: &str) -> bool {
    git(project, &["show-ref", "--verify", "--quiet", name]).await.is_ok()
}

async fn git(folder: &Path, arguments: &[&str]) -> Result<String, FolderError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Err(_) => return Err(FolderError::Git(format!("no answer within {} s", PATIENCE.as_secs()))),
        Ok(Err(error)) => return Err(FolderError::Git(error.to_string())),
        Ok(Ok(output)) => output,
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(FolderError::Git(last.trim_start_matches("fatal: ").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository {
        folder: tempfile::TempDir,
        projects: Projects,
    }

    impl Repository {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("web");
            std::fs::create_dir(&path).unwrap();
            let project = Project {
                path: path.clone(),
                default_engine: None,
                chat: None,
                worktrees: ".worktrees".into(),
                worktree_base: None,
            };
            let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            git(&path, &["init", "--quiet", "--initial-branch=main"]).await.unwrap();
            git(&path, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "x"]].concat()).await.unwrap();
            Self { folder, projects: Projects::from_iter([("web".to_owned(), project)]) }
        }

        fn root(&self) -> PathBuf {
            self.folder.path().join("web")
        }

        async fn git(&self, arguments: &[&str]) {
            git(&self.root(), arguments).await.unwrap();
        }

        async fn folder(&self, branch: Option<&str>, missing: Missing) -> Result<PathBuf, FolderError> {
            folder(&self.projects, &Context::new("WEB", branch), missing).await
        }
    }

    #[tokio::test]
    async fn the_branch_that_is_checked_out_is_the_project_itself() {
        let repository = Repository::new().await;
        assert_eq!(repository.folder(None, Missing::Refuse).await.unwrap(), repository.root());
        assert_eq!(repository.folder(Some("main"), Missing::Refuse).await.unwrap(), repository.root());
    }

    #[tokio::test]
    async fn an_existing_branch_gets_a_worktree_once() {
        let repository = Repository::new().await;
        repository.git(&["branch", "fix/x"]).await;
        let place = repository.folder(Some("fix/x"), Missing::Refuse).await.unwrap();
        assert_eq!(place, repository.root().join(".worktrees/fix/x"));
        assert_eq!(repository.folder(Some("fix/x"), Missing::Refuse).await.unwrap(), place);
        let status = git(&repository.root(), &["status", "--porcelain"]).await.unwrap();
        assert_eq!(status, "", "the project does not see its worktrees");
    }

    #[tokio::test]
    async fn a_branch_of_origin_is_taken_from_there() {
        let repository = Repository::new().await;
        repository.git(&["update-ref", "refs/remotes/origin/far", "HEAD"]).await;
        let (_, project) = repository.projects.find("web").unwrap();
        assert!(has_branch(project, "far").await && !has_branch(project, "near").await);
        assert!(repository.folder(Some("far"), Missing::Refuse).await.unwrap().is_dir());
    }

    #[tokio::test]
    async fn a_branch_that_is_not_there_is_made_only_when_asked_for() {
        let repository = Repository::new().await;
        let error = repository.folder(Some("new"), Missing::Refuse).await.unwrap_err();
        assert!(error.to_string().contains("/topic web @new"), "{error}");
        assert!(repository.folder(Some("new"), Missing::Create).await.unwrap().is_dir());
        let (_, project) = repository.projects.find("web").unwrap();
        assert!(has_branch(project, "new").await);
    }

    #[tokio::test]
    async fn what_cannot_be_is_refused_in_words() {
        let repository = Repository::new().await;
        let refused = repository.folder(Some("../x"), Missing::Create).await;
        assert_eq!(refused, Err(FolderError::BadName("../x".into())));
        let unknown = folder(&repository.projects, &Context::new("api", None), Missing::Refuse).await;
        assert_eq!(unknown.unwrap_err().to_string(), "there is no project `api`");
        std::fs::create_dir_all(repository.root().join(".worktrees/b")).unwrap();
        repository.git(&["branch", "b"]).await;
        assert!(matches!(repository.folder(Some("b"), Missing::Refuse).await, Err(FolderError::InTheWay(_))));
    }

    #[tokio::test]
    async fn a_project_without_git_has_a_folder_but_no_branches() {
        let folder_of = tempfile::tempdir().unwrap();
        let project = Project {
            path: folder_of.path().to_owned(),
            default_engine: None,
            chat: None,
            worktrees: ".worktrees".into(),
            worktree_base: None,
        };
        assert!(!has_branch(&project, "main").await);
        let projects = Projects::from_iter([("p".to_owned(), project)]);
        assert!(folder(&projects, &Context::new("p", None), Missing::Refuse).await.is_ok());
        let branch = folder(&projects, &Context::new("p", Some("main")), Missing::Create).await;
        assert!(matches!(branch, Err(FolderError::Git(_))));
    }
}
