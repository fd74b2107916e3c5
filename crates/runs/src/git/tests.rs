//! A hostile repository: every way we know in which a repository can have a program run, and none of them is.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::worktree::{Missing, Repository, TreeError, changes, has_branch, of_branch};

struct Hostile {
    root: tempfile::TempDir,
}

impl Hostile {
    /// A repository with one commit, and a program beside it that leaves a mark when it is run.
    fn new() -> Self {
        let hostile = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir(hostile.project()).unwrap();
        let text = format!("#!/bin/sh\necho ran >> {}\ncat\n", hostile.mark().display());
        std::fs::write(hostile.program(), text).unwrap();
        std::fs::set_permissions(hostile.program(), PermissionsExt::from_mode(0o755)).unwrap();
        hostile.git(&["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(hostile.project().join("file"), "one\n").unwrap();
        hostile.commit();
        hostile
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn program(&self) -> PathBuf {
        self.root.path().join("program")
    }

    fn mark(&self) -> PathBuf {
        self.root.path().join("mark")
    }

    /// As people call it, who trust the repository.
    fn git(&self, arguments: &[&str]) -> bool {
        self.git_in(&self.project(), arguments)
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        command.args(["-c", "protocol.file.allow=always"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap().status.success()
    }

    fn commit(&self) {
        assert!(self.git(&["add", "--all"]) && self.git(&["commit", "--quiet", "-m", "x"]));
    }

    fn set(&self, key: &str, value: &str) {
        assert!(self.git(&["config", key, &value.replace("PROGRAM", &self.program().to_string_lossy())]), "{key}");
    }

    fn attributes(&self) {
        std::fs::create_dir_all(self.project().join(".git/info")).unwrap();
        std::fs::write(self.project().join(".git/info/attributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
    }

    fn hook_into(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        for name in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"]
        {
            let hook = folder.join(name);
            let _ = std::fs::remove_file(&hook);
            std::fs::copy(self.program(), hook).unwrap();
        }
    }

    async fn tree(&self, branch: &str) -> Result<PathBuf, TreeError> {
        let project = self.project();
        let repository = Repository { path: &project, worktrees: Path::new(".worktrees"), base: None };
        of_branch(&repository, branch, Missing::Create).await
    }

    /// Everything that the hub does with a repository.
    async fn use_it(&self, what: &str) {
        let _ = std::fs::remove_file(self.mark());
        has_branch(&self.project(), "main").await;
        let tree = self.tree("moot/a/1").await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(std::fs::read_to_string(tree.join("file")).unwrap(), "one\n", "{what}: the files are there");
        std::fs::write(tree.join("file"), "two\n").unwrap();
        std::fs::write(tree.join("new"), "n\n").unwrap();
        let found = changes(&tree).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        let names: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["file", "new"], "{what}");
        assert!(found.diff.contains("-one\n+two"), "{what}: {}", found.diff);
        changes(&self.project()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(!self.mark().exists(), "{what}: something was run");
    }
}

#[tokio::test]
async fn nothing_that_a_repository_configures_is_run() {
    let keys = [
        ("core.fsmonitor", "PROGRAM"),
        ("core.pager", "PROGRAM"),
        ("core.editor", "PROGRAM"),
        ("core.askPass", "PROGRAM"),
        ("core.sshCommand", "PROGRAM"),
        ("core.gitProxy", "PROGRAM"),
        ("core.alternateRefsCommand", "PROGRAM"),
        ("credential.helper", "!PROGRAM"),
        ("diff.external", "PROGRAM"),
        ("diff.evil.command", "PROGRAM"),
        ("diff.evil.textconv", "PROGRAM"),
        ("filter.evil.clean", "PROGRAM"),
        ("filter.evil.smudge", "PROGRAM"),
        ("filter.evil.process", "PROGRAM"),
        ("merge.evil.driver", "PROGRAM"),
        ("gpg.program", "PROGRAM"),
        ("alias.worktree", "!PROGRAM"),
        ("alias.rev-parse", "!PROGRAM"),
        ("submodule.recurse", "true"),
        ("diff.submodule", "log"),
        ("pager.diff", "PROGRAM"),
    ];
    // Some at a time: a repository takes a while to make.
    for some in keys.chunks(6) {
        let hostile = Hostile::new();
        hostile.attributes();
        some.iter().for_each(|(key, value)| hostile.set(key, value));
        if some.iter().any(|(key, _)| key.starts_with("filter.")) {
            hostile.set("filter.evil.required", "true");
        }
        hostile.use_it(&format!("{some:?}")).await;
    }
}

#[tokio::test]
async fn what_the_tests_plant_does_run_when_git_is_called_as_people_call_it() {
    for (key, call) in [
        ("core.fsmonitor", &["status"][..]),
        ("filter.evil.clean", &["add", "--all"]),
        ("diff.external", &["diff"]),
        ("diff.evil.textconv", &["diff"]),
    ] {
        let hostile = Hostile::new();
        hostile.attributes();
        hostile.set(key, "PROGRAM");
        std::fs::write(hostile.project().join("file"), "changed\n").unwrap();
        hostile.git(call);
        assert!(hostile.mark().exists(), "{key}");
    }
    let hostile = Hostile::new();
    hostile.hook_into(&hostile.project().join(".git/hooks"));
    hostile.git(&["worktree", "add", "../beside"]);
    assert!(hostile.mark().exists(), "hooks");
}

#[tokio::test]
async fn no_hook_is_run_wherever_it_is_kept() {
    let hostile = Hostile::new();
    hostile.hook_into(&hostile.project().join(".git/hooks"));
    hostile.use_it("hooks").await;
    let hostile = Hostile::new();
    hostile.hook_into(&hostile.root.path().join("elsewhere"));
    hostile.set("core.hooksPath", &hostile.root.path().join("elsewhere").to_string_lossy());
    hostile.use_it("core.hooksPath").await;
}

#[tokio::test]
async fn an_included_configuration_and_attributes_among_the_files_are_no_way_in_either() {
    let hostile = Hostile::new();
    let more = hostile.root.path().join("more");
    let program = hostile.program();
    let text = format!("[filter \"evil\"]\nclean = {0}\nsmudge = {0}\n[core]\nfsmonitor = {0}\n", program.display());
    std::fs::write(&more, text).unwrap();
    std::fs::write(hostile.project().join(".gitattributes"), "file filter=evil diff=evil\n").unwrap();
    hostile.commit();
    hostile.set("include.path", &more.to_string_lossy());
    hostile.use_it("include.path").await;
}

#[tokio::test]
async fn a_repository_within_the_repository_is_left_alone() {
    let hostile = Hostile::new();
    let inner = hostile.root.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    assert!(hostile.git_in(&inner, &["init", "--quiet"]));
    std::fs::write(inner.join("x"), "x\n").unwrap();
    assert!(hostile.git_in(&inner, &["add", "x"]) && hostile.git_in(&inner, &["commit", "--quiet", "-m", "x"]));
    assert!(hostile.git(&["submodule", "--quiet", "add", &inner.to_string_lossy(), "sub"]));
    hostile.commit();
    let sub = hostile.project().join("sub");
    let program = hostile.program();
    for key in ["core.fsmonitor", "filter.evil.clean", "diff.evil.textconv"] {
        assert!(hostile.git_in(&sub, &["config", key, &program.to_string_lossy()]));
    }
    hostile.hook_into(&hostile.project().join(".git/modules/sub/hooks"));
    std::fs::create_dir_all(hostile.project().join(".git/modules/sub/info")).unwrap();
    std::fs::write(hostile.project().join(".git/modules/sub/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    std::fs::write(sub.join("x"), "changed\n").unwrap();
    hostile.use_it("a submodule").await;
    let _ = std::fs::remove_file(hostile.mark());
    hostile.git(&["status"]);
    assert!(hostile.mark().exists(), "it does run when git is called as people call it");
}

#[tokio::test]
async fn options_in_the_configuration_are_no_options_of_ours() {
    let hostile = Hostile::new();
    let tree = hostile.tree("moot/a/1").await.unwrap();
    let mark = format!("--output={}", hostile.mark().display());
    hostile.set("branch.moot/a/1.mootbase", &mark);
    std::fs::write(tree.join("new"), "n\n").unwrap();
    assert_eq!(changes(&tree).await.unwrap().files.len(), 1);
    assert!(!hostile.mark().exists());
}

#[tokio::test]
async fn a_repository_does_not_say_where_its_files_are() {
    let hostile = Hostile::new();
    let outside = hostile.root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "s3cret\n").unwrap();
    hostile.set("core.worktree", &outside.to_string_lossy());
    let found = changes(&hostile.project()).await.unwrap();
    assert!(!found.diff.contains("s3cret"), "{}", found.diff);
    // A work tree that is not one: the repository says it, the folder does not.
    assert!(hostile.git(&["config", "--unset", "core.worktree"]));
    let tree = hostile.tree("moot/a/1").await.unwrap();
    std::fs::remove_dir_all(&tree).unwrap();
    let known = std::fs::read_dir(hostile.project().join(".git/worktrees")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(known.join("gitdir"), format!("{}/.git\n", outside.display())).unwrap();
    assert_ne!(hostile.tree("moot/a/1").await.ok(), Some(outside));
}

#[tokio::test]
async fn no_link_takes_a_work_tree_or_our_own_notes_elsewhere() {
    let hostile = Hostile::new();
    let outside = hostile.root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, hostile.project().join(".worktrees")).unwrap();
    assert!(matches!(hostile.tree("moot/a/1").await, Err(TreeError::InTheWay(_))));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::remove_file(hostile.project().join(".worktrees")).unwrap();
    let exclude = hostile.project().join(".git/info/exclude");
    let _ = std::fs::remove_file(&exclude);
    std::fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    symlink(outside.join("note"), &exclude).unwrap();
    hostile.tree("moot/a/2").await.unwrap();
    assert!(!outside.join("note").exists());
}

#[tokio::test]
async fn something_else_in_the_place_of_a_file_keeps_nobody_waiting() {
    let hostile = Hostile::new();
    let exclude = hostile.project().join(".git/info/exclude");
    let _ = std::fs::remove_file(&exclude);
    std::fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    assert!(
        Command::new("mkfifo").arg(&exclude).arg(hostile.project().join(".git/commondir")).status().unwrap().success()
    );
    let looked = std::thread::spawn({
        let project = hostile.project();
        move || crate::git::Place::of(&project).map(|place| (crate::git::small(&exclude), place.hooks()))
    });
    let begun = std::time::Instant::now();
    while !looked.is_finished() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "a reader waits");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(looked.join().unwrap().is_some());
}
