//! The folder of a branch: the project itself, or a worktree beside it.

use std::path::PathBuf;

use folkmoot_runs::worktree::{self, Repository, TreeError};

pub use folkmoot_runs::worktree::Missing;

use crate::context::{Context, Project, Projects};

/// Why a prompt has no folder, in words for the chat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    #[error("there is no project `{0}`")]
    UnknownProject(String),
    #[error("the folder of the project `{alias}` does not exist: {}", path.display())]
    Missing { alias: String, path: PathBuf },
    #[error("the project `{alias}` has no branch `{branch}`; `/topic {alias} @{branch}` makes it")]
    NoBranch { alias: String, branch: String },
    #[error(transparent)]
    Tree(TreeError),
}

/// Whether the project has the branch, here or at `origin`.
pub async fn has_branch(project: &Project, branch: &str) -> bool {
    worktree::has_branch(&project.path, branch).await
}

/// The folder of a context; makes the worktree where there is none yet.
pub async fn folder(projects: &Projects, context: &Context, missing: Missing) -> Result<PathBuf, FolderError> {
    let (alias, project) =
        projects.find(&context.project).ok_or_else(|| FolderError::UnknownProject(context.project.clone()))?;
    if !project.path.is_dir() {
        return Err(FolderError::Missing { alias: alias.to_owned(), path: project.path.clone() });
    }
    let Some(branch) = &context.branch else { return Ok(project.path.clone()) };
    let repository =
        Repository { path: &project.path, worktrees: &project.worktrees, base: project.worktree_base.as_deref() };
    worktree::of_branch(&repository, branch, missing).await.map_err(|error| match error {
        TreeError::NoBranch(branch) => FolderError::NoBranch { alias: alias.to_owned(), branch },
        other => FolderError::Tree(other),
    })
}

#[cfg(test)]
mod tests {
    use folkmoot_runs::git::plainly as git;

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
        assert_eq!(refused, Err(FolderError::Tree(TreeError::BadName("../x".into()))));
        let unknown = folder(&repository.projects, &Context::new("api", None), Missing::Refuse).await;
        assert_eq!(unknown.unwrap_err().to_string(), "there is no project `api`");
        std::fs::create_dir_all(repository.root().join(".worktrees/b")).unwrap();
        repository.git(&["branch", "b"]).await;
        assert!(matches!(
            repository.folder(Some("b"), Missing::Refuse).await,
            Err(FolderError::Tree(TreeError::InTheWay(_)))
        ));
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
        assert!(matches!(branch, Err(FolderError::Tree(TreeError::Git(_)))));
    }
}
