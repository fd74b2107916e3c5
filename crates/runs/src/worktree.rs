//! Git work trees: the folder of a branch, the project itself or a work tree beside it, and what changed in it.
//!
//! A branch counts when it is there, here or at `origin`. A new one is made only for whoever says so. Nothing here ever removes
//! a file, a work tree or a branch.

use std::path::{Path, PathBuf};

use crate::git::{self, Glass, Place};

/// The longest diff that is kept.
const MAX_DIFF_BYTES: usize = 4 << 20;
/// Where a branch that was made here remembers what it began from.
const BASE: &str = "mootbase";

/// Why there is no folder, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("`{0}` is no good name for a branch")]
    BadName(String),
    #[error("there is no branch `{0}`")]
    NoBranch(String),
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

/// A project with a place for work trees.
#[derive(Clone, Copy, Debug)]
pub struct Repository<'a> {
    pub path: &'a Path,
    /// Where work trees go, below the project's folder.
    pub worktrees: &'a Path,
    /// What a new branch begins from; none: what is checked out.
    pub base: Option<&'a str>,
}

/// A name that git and the file system take, and that stays inside its folder.
pub fn is_branch_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || "._-/+".contains(c);
    let whole = !name.is_empty() && name.chars().all(good);
    let parts_good = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"));
    whole && parts_good && !name.starts_with('-') && !name.contains("..") && !name.ends_with('.')
}

/// Whether the project has the branch, here or at `origin`.
pub async fn has_branch(project: &Path, branch: &str) -> bool {
    let Ok(place) = place(project) else { return false };
    is_branch_name(branch)
        && (has_ref(&place, &format!("refs/heads/{branch}")).await
            || has_ref(&place, &format!("refs/remotes/origin/{branch}")).await)
}

/// The folder of a branch; makes the work tree where there is none yet.
pub async fn of_branch(project: &Repository<'_>, branch: &str, missing: Missing) -> Result<PathBuf, TreeError> {
    if !is_branch_name(branch) {
        return Err(TreeError::BadName(branch.to_owned()));
    }
    let place = place(project.path)?;
    let list = place.git(&["worktree", "list", "--porcelain"]).await.map_err(TreeError::Git)?;
    if let Some(path) = checked_out(&list, branch).filter(|path| belongs(path, &place)) {
        return Ok(path);
    }
    let target = project.path.join(project.worktrees).join(branch);
    if target.symlink_metadata().is_ok() || leads_away(project, &target) {
        return Err(TreeError::InTheWay(target));
    }
    exclude(project, &place);
    make(project, &place, branch, &target, missing).await?;
    fill(&place, branch, &target).await?;
    Ok(target)
}

/// Makes the work tree without its files.
async fn make(
    project: &Repository<'_>,
    place: &Place,
    branch: &str,
    target: &Path,
    missing: Missing,
) -> Result<(), TreeError> {
    let run = async |arguments: &[&str]| place.git(arguments).await.map_err(TreeError::Git);
    let shown = target.to_string_lossy();
    let (local, origin) = (format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}"));
    if has_ref(place, &local).await {
        // Its folder may have been deleted by hand; then git still believes it to be checked out there.
        run(&["worktree", "add", "--no-checkout", "--force", "--", &shown, branch]).await?;
    } else if has_ref(place, &origin).await {
        run(&["worktree", "add", "--no-checkout", "-b", branch, "--", &shown, &format!("origin/{branch}")]).await?;
    } else if missing == Missing::Create {
        let base = format!("{}^{{commit}}", project.base.unwrap_or("HEAD"));
        let began = run(&["rev-parse", "--verify", "--end-of-options", &base]).await?;
        run(&["worktree", "add", "--no-checkout", "-b", branch, "--", &shown, began.trim()]).await?;
        run(&["config", &format!("branch.{branch}.{BASE}"), began.trim()]).await?;
    } else {
        return Err(TreeError::NoBranch(branch.to_owned()));
    }
    Ok(())
}

/// Puts the files of a branch into its new work tree.
async fn fill(place: &Place, branch: &str, target: &Path) -> Result<(), TreeError> {
    let commit = format!("refs/heads/{branch}^{{commit}}");
    let commit = place.git(&["rev-parse", "--verify", &commit]).await.map_err(TreeError::Git)?;
    let own = Place::at(&target.canonicalize().unwrap_or_else(|_| target.to_owned()))
        .ok_or_else(|| TreeError::Git(format!("`{}` is no work tree", target.display())))?;
    let glass = Glass::over(&own).await.map_err(TreeError::Git)?;
    let index = own.git_dir.join("index");
    glass.git_with_index(&index, &["read-tree", "--reset", "-u", commit.trim()]).await.map_err(TreeError::Git)?;
    Ok(())
}

fn place(folder: &Path) -> Result<Place, TreeError> {
    Place::of(folder).ok_or_else(|| TreeError::Git(format!("`{}` is not in a git repository", folder.display())))
}

/// Whether a folder that the repository calls one of its work trees says so itself: else an agent could make any folder the
/// place that it works in.
fn belongs(path: &Path, place: &Place) -> bool {
    let real = path.canonicalize().ok();
    real.and_then(|path| Place::at(&path)).is_some_and(|found| found.common == place.common)
}

/// Whether a link on the way takes a new work tree out of the project.
fn leads_away(project: &Repository<'_>, target: &Path) -> bool {
    let Ok(root) = project.path.canonicalize() else { return true };
    let nearest = target.ancestors().find(|part| part.symlink_metadata().is_ok());
    let real = nearest.and_then(|part| part.canonicalize().ok());
    project.worktrees.is_relative() && !real.is_some_and(|real| real.starts_with(&root))
}

/// Where the branch is checked out, according to `git worktree list --porcelain`.
fn checked_out(list: &str, branch: &str) -> Option<PathBuf> {
    let wanted = format!("branch refs/heads/{branch}");
    let entry = list.split("\n\n").find(|entry| entry.lines().any(|line| line == wanted))?;
    entry.lines().find_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from)
}

/// Keeps worktrees inside the project out of its own `git status`, without touching a file that people share.
fn exclude(project: &Repository<'_>, place: &Place) {
    let folder = place.common.join("info");
    let file = folder.join("exclude");
    let is_link = folder.symlink_metadata().is_ok_and(|data| data.is_symlink());
    let line = format!("/{}/", project.worktrees.display());
    let known = git::small(&file).unwrap_or_default();
    let is_other = file.symlink_metadata().is_ok_and(|data| !data.is_file());
    let wanted = project.worktrees.is_relative() && !known.lines().any(|have| have == line);
    // Through a link it would be somebody else's file.
    if wanted && !is_link && !is_other {
        let end = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        // Only a convenience: a project that cannot be written to fails elsewhere, with words.
        let _ = std::fs::create_dir_all(&folder);
        let _ = std::fs::write(&file, format!("{known}{end}{line}\n"));
    }
}

/// What a branch has that it did not begin with, committed or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: Vec<ChangedFile>,
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// `added`, `modified`, `deleted` or `renamed`.
    pub kind: &'static str,
    pub added: u64,
    pub removed: u64,
}

/// The changes of a work tree since its branch began, with what is not committed and not even known to git. The tree, its
/// index, its objects and its branch stay as they are: they are looked at through a glass.
pub async fn changes(folder: &Path) -> Result<Changes, TreeError> {
    let place = place(folder)?;
    let run = async |arguments: &[&str]| place.git(arguments).await.map_err(TreeError::Git);
    let head = run(&["rev-parse", "--verify", "HEAD^{commit}"]).await?;
    let branch = run(&["rev-parse", "--abbrev-ref", "HEAD"]).await?;
    let began = run(&["config", "--get", &format!("branch.{}.{BASE}", branch.trim())]).await.unwrap_or_default();
    // Whoever can write the configuration chooses the words here.
    let base = Some(began.trim()).filter(|began| git::is_hash(began)).unwrap_or(head.trim());
    let glass = Glass::over(&place).await.map_err(TreeError::Git)?;
    look(&glass, head.trim(), base).await.map_err(TreeError::Git)
}

async fn look(glass: &Glass, head: &str, base: &str) -> Result<Changes, String> {
    glass.git(&["read-tree", head]).await?;
    glass.add_all().await?;
    let diff = async |form: &[&str]| {
        let plain = ["diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "-M"];
        glass.git(&[&plain[..], form, &[base, "--"]].concat()).await
    };
    let kinds = diff(&["-z", "--name-status"]).await?;
    let counts = diff(&["-z", "--numstat"]).await?;
    let mut diff = diff(&[]).await?;
    if diff.len() > MAX_DIFF_BYTES {
        let mut end = MAX_DIFF_BYTES;
        while !diff.is_char_boundary(end) {
            end -= 1;
        }
        diff.truncate(end);
    }
    Ok(Changes { files: files(&kinds, &counts), diff })
}

/// Puts `git diff -z --name-status` and `--numstat` together.
fn files(kinds: &str, counts: &str) -> Vec<ChangedFile> {
    let mut files = Vec::new();
    let mut words = kinds.split('\0');
    while let Some(status) = words.next().filter(|status| !status.is_empty()) {
        let (kind, moves) = match status.chars().next() {
            Some('A') => ("added", false),
            Some('D') => ("deleted", false),
            Some('R' | 'C') => ("renamed", true),
            _ => ("modified", false),
        };
        if moves {
            words.next();
        }
        let path = words.next().unwrap_or_default().to_owned();
        let (added, removed) = count_of(counts, &path);
        files.push(ChangedFile { path, kind, added, removed });
    }
    files
}

/// `3 TAB 1 TAB path NUL`, and for a rename `3 TAB 1 TAB NUL old NUL new NUL`; binary files have dashes.
fn count_of(counts: &str, path: &str) -> (u64, u64) {
    let mut words = counts.split('\0');
    while let Some(entry) = words.next().filter(|entry| !entry.is_empty()) {
        let mut parts = entry.splitn(3, '\t');
        let mut number = || parts.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let count = (number(), number());
        let named = parts.next().unwrap_or_default();
        let named = if named.is_empty() { words.nth(1).unwrap_or_default() } else { named };
        if named == path {
            return count;
        }
    }
    (0, 0)
}

async fn has_ref(place: &Place, name: &str) -> bool {
    place.git(&["show-ref", "--verify", "--quiet", "--", name]).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::plainly as git;

    struct Project(tempfile::TempDir);

    impl Project {
        async fn new() -> Self {
            let project = Self(tempfile::tempdir().unwrap());
            let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            git(project.0.path(), &["init", "--quiet", "--initial-branch=main"]).await.unwrap();
            std::fs::write(project.0.path().join("kept"), "1\n2\n3\n4\n").unwrap();
            std::fs::write(project.0.path().join("gone"), "x\n").unwrap();
            git(project.0.path(), &["add", "--all"]).await.unwrap();
            git(project.0.path(), &[&who[..], &["commit", "--quiet", "-m", "x"]].concat()).await.unwrap();
            project
        }

        async fn tree(&self, branch: &str) -> Result<PathBuf, TreeError> {
            let repository = Repository { path: self.0.path(), worktrees: Path::new(".worktrees"), base: None };
            of_branch(&repository, branch, Missing::Create).await
        }
    }

    #[tokio::test]
    async fn each_branch_has_a_work_tree_of_its_own_and_keeps_it() {
        let project = Project::new().await;
        let (one, two) = (project.tree("moot/a/1").await.unwrap(), project.tree("moot/a/2").await.unwrap());
        assert_ne!(one, two);
        std::fs::write(one.join("draft"), "not committed").unwrap();
        assert_eq!(project.tree("moot/a/1").await.unwrap().canonicalize().unwrap(), one.canonicalize().unwrap());
        assert_eq!(std::fs::read_to_string(one.join("draft")).unwrap(), "not committed");
        assert!(!two.join("draft").exists());
        let status = git(project.0.path(), &["status", "--porcelain"]).await.unwrap();
        assert_eq!(status, "", "the project does not see its worktrees");
    }

    #[tokio::test]
    async fn changes_show_what_is_committed_and_what_is_not_and_touch_nothing() {
        let project = Project::new().await;
        let tree = project.tree("moot/a/1").await.unwrap();
        assert_eq!(changes(&tree).await.unwrap(), Changes::default());
        std::fs::write(tree.join("kept"), "1\n2\nthree\n4\n").unwrap();
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(&tree, &[&who[..], &["commit", "--quiet", "-a", "-m", "y"]].concat()).await.unwrap();
        std::fs::write(tree.join("näu file"), "a\nb\n").unwrap();
        std::fs::remove_file(tree.join("gone")).unwrap();
        let before = git(&tree, &["status", "--porcelain"]).await.unwrap();
        let found = changes(&tree).await.unwrap();
        let shown: Vec<_> =
            found.files.iter().map(|file| (file.path.as_str(), file.kind, file.added, file.removed)).collect();
        assert_eq!(shown, [("gone", "deleted", 0, 1), ("kept", "modified", 1, 1), ("näu file", "added", 2, 0)]);
        assert!(found.diff.contains("-3\n+three"));
        assert_eq!(git(&tree, &["status", "--porcelain"]).await.unwrap(), before, "the index is as it was");
    }

    #[tokio::test]
    async fn a_tree_that_was_deleted_by_hand_is_made_again_from_its_branch() {
        let project = Project::new().await;
        let tree = project.tree("moot/a/1").await.unwrap();
        std::fs::remove_dir_all(&tree).unwrap();
        assert!(project.tree("moot/a/1").await.unwrap().join("kept").exists());
    }

    #[tokio::test]
    async fn what_is_in_the_way_stays_and_a_folder_without_git_is_refused_in_words() {
        let project = Project::new().await;
        let place = project.0.path().join(".worktrees/moot/a/1");
        std::fs::create_dir_all(&place).unwrap();
        assert_eq!(project.tree("moot/a/1").await, Err(TreeError::InTheWay(place)));
        assert_eq!(project.tree("../x").await, Err(TreeError::BadName("../x".into())));
        let plain = tempfile::tempdir().unwrap();
        let repository = Repository { path: plain.path(), worktrees: Path::new("w"), base: None };
        assert!(matches!(of_branch(&repository, "b", Missing::Create).await, Err(TreeError::Git(_))));
    }

    #[test]
    fn renames_are_found_under_their_new_name() {
        let kinds = "R100\0old\0new\0M\0b\0";
        let counts = "0\t0\t\0old\0new\0-\t-\tb\0";
        let found = files(kinds, counts);
        assert_eq!(found[0], ChangedFile { path: "new".into(), kind: "renamed", added: 0, removed: 0 });
        assert_eq!(found[1].kind, "modified");
    }
}
