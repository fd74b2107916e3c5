//! Whether all files that a change is about are the project's own, so that nobody needs to be asked.
//!
//! Inside is what lies below the folder by its name and in truth: no way out through `..`, a link or a second name of the same
//! file. What makes programs run later is outside wherever it lies: the repository's own folder above all, and the settings of
//! agents, editors and shells. Whatever cannot be told for certain is outside.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use folkmoot_engines::engines;
use folkmoot_engines::event::Ask;
use folkmoot_runs::git::Place;

/// Names that are outside wherever they stand in a path, beside those that the engines name: what is in them is run, or tells
/// others what to run, without a question.
const OUTSIDE: [&str; 26] = [
    // Git: its folder, and what its hooks are usually kept in.
    ".git",
    "git~1",
    ".gitmodules",
    ".gitconfig",
    ".githooks",
    ".husky",
    // Settings of agents that are none of our engines, and ours.
    ".cursor",
    ".gemini",
    "moot.toml",
    // Editors and shells.
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".devcontainer.json",
    ".ssh",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config",
    ".netrc",
];

/// Whether every file is inside; a change that names none does not count as inside.
pub(crate) fn is_inside(ask: &Ask, folder: &Path) -> bool {
    let paths = ask.proposal().paths();
    !paths.is_empty() && paths.iter().all(|path| is_own(Path::new(path), folder))
}

fn is_own(path: &Path, folder: &Path) -> bool {
    let real_folder = folder.canonicalize();
    let whole = folder.join(path);
    let below = |folder: &Path| whole.strip_prefix(folder).ok().map(Path::to_owned);
    let below = below(folder).or_else(|| below(real_folder.as_deref().ok()?));
    let Some(below) = below.filter(|below| is_plain(below)) else { return false };
    // A folder that is not there has no links in it.
    let Ok(real_folder) = real_folder else { return true };
    let Some(real) = followed(&real_folder, &below) else { return false };
    real.strip_prefix(&real_folder).is_ok_and(is_plain) && is_single_file(&real) && !is_gits(&real, &real_folder)
}

/// Whether a way below the folder goes down only, and past nothing that is outside by its name.
fn is_plain(below: &Path) -> bool {
    let good = |part: Component<'_>| match part {
        Component::Normal(name) => !is_outside(name),
        Component::CurDir => true,
        _ => false,
    };
    // A folder with such a file in it can be a repository without the name `.git`.
    let is_head = |name: &OsStr| name.eq_ignore_ascii_case("HEAD");
    below.file_name().is_some_and(|name| !is_head(name)) && below.components().all(good)
}

/// File systems differ in what they take for the same name: large and small letters, letters that nobody sees, and ends
/// that are cut off.
fn is_outside(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    let hidden =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen: String = name.chars().filter(|c| !hidden(*c)).flat_map(char::to_lowercase).collect();
    // `name:stream` is a part of the file `name` on some.
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name.contains(char::is_control) || name.starts_with('~') || OUTSIDE.contains(&seen) || is_engines(seen)
}

fn is_engines(name: &str) -> bool {
    engines::ALL.iter().any(|engine| engine.project_files().contains(&name))
}

/// Where a way really leads; `None` when a link on it leads nowhere, or when that cannot be told.
fn followed(folder: &Path, below: &Path) -> Option<PathBuf> {
    let mut real = folder.to_owned();
    for part in below.components() {
        real.push(part);
        match real.symlink_metadata() {
            Ok(data) if data.is_symlink() => real = real.canonicalize().ok()?,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    Some(real)
}

/// Whether this is a file with no other name, or not there yet: a second name may lie anywhere.
fn is_single_file(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(data) => data.is_file() && data.nlink() == 1,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Whether this belongs to git under another name than `.git`: a repository may be told to keep its folder, or its hooks,
/// anywhere.
fn is_gits(path: &Path, folder: &Path) -> bool {
    let Some(place) = Place::of(folder) else { return false };
    let hooks = place.hooks().and_then(|hooks| hooks.canonicalize().ok());
    [Some(place.git_dir), Some(place.common), hooks].into_iter().flatten().any(|closed| path.starts_with(closed))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use folkmoot_engines::event::Subject;
    use serde_json::{Value, json};

    use super::*;

    fn ask(paths: &[&str], rest: &Value) -> Ask {
        let paths = paths.iter().map(|&path| path.to_owned()).collect();
        let subject = Subject::Edit { tool: "Edit".into(), paths, diff: Vec::new() };
        Ask { subject, rest: rest.as_object().unwrap().clone(), ..Ask::default() }
    }

    fn edits(folder: &Path, path: &str) -> bool {
        is_inside(&ask(&[path], &json!({})), folder)
    }

    /// A project with a file, beside something that is not the project's.
    fn project() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("p");
        for folder in ["p/src", "p/.git/hooks", "p/.git/objects", "o"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in ["p/src/a.rs", "o/secret", "p/.git/HEAD", "p/.git/config"] {
            std::fs::write(root.path().join(file), "").unwrap();
        }
        (root, project)
    }

    #[test]
    fn what_lies_below_the_folder_is_inside() {
        let (_root, project) = project();
        for path in [
            "src/a.rs",
            "./src/a.rs",
            "new/deep/file",
            ".gitignore",
            ".gitattributes",
            ".github/x.yml",
            "src/.env",
            "head/a.html",
        ] {
            assert!(edits(&project, path), "{path}");
            assert!(edits(&project, &project.join(path).to_string_lossy()), "{path}");
        }
        for path in ["/etc/passwd", "../o/secret", "src/../../o/secret", "~/x", "~", "", ".", "src/a\nb", "/"] {
            assert!(!edits(&project, path), "{path:?}");
        }
        assert!(!is_inside(&ask(&[], &json!({})), &project));
    }

    #[test]
    fn nothing_of_git_is_inside_however_it_is_spelled() {
        let (_root, project) = project();
        for path in [
            ".git",
            ".git/config",
            ".git/hooks/pre-commit",
            ".GIT/config",
            ".Git/hooks/x",
            "sub/.git/config",
            "sub/.git",
            ".git./config",
            ".git /config",
            ".g\u{200c}it/config",
            "GIT~1/config",
            ".git::$INDEX_ALLOCATION/config",
            ".gitmodules",
            ".gitconfig",
            ".githooks/pre-commit",
            ".husky/pre-commit",
            "bare/HEAD",
            "./.git/config",
            "src/./../.git/config",
        ] {
            assert!(!edits(&project, path), "{path:?}");
        }
    }

    #[test]
    fn what_makes_programs_run_later_is_asked_about() {
        let (_root, project) = project();
        for path in [
            ".envrc",
            "sub/.envrc",
            ".vscode/tasks.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".mcp.json",
            ".codex/config.toml",
            ".opencode/plugin/x.js",
            "opencode.json",
            ".pi/settings.json",
            ".cursor/mcp.json",
            "moot.toml",
            ".bashrc",
            ".ssh/authorized_keys",
        ] {
            assert!(!edits(&project, path), "{path}");
        }
    }

    #[test]
    fn no_link_leads_out_not_even_one_that_leads_nowhere_yet() {
        let (root, project) = project();
        symlink(root.path().join("o"), project.join("out")).unwrap();
        symlink(root.path().join("o/secret"), project.join("file")).unwrap();
        symlink(root.path().join("o/not-there"), project.join("dangling")).unwrap();
        symlink(project.join(".git/hooks"), project.join("tidy")).unwrap();
        symlink(project.join("loop"), project.join("loop")).unwrap();
        symlink(project.join("src"), project.join("near")).unwrap();
        for path in
            ["out/secret", "out/new", "file", "dangling", "dangling/x", "tidy/pre-commit", "loop", "near/../../o/x"]
        {
            assert!(!edits(&project, path), "{path}");
        }
        assert!(edits(&project, "near/a.rs"), "a link within the project is the project's");
    }

    #[test]
    fn a_second_name_of_a_file_may_be_anywhere_and_only_files_are_edited() {
        let (root, project) = project();
        std::fs::hard_link(root.path().join("o/secret"), project.join("twin")).unwrap();
        for path in ["twin", "src"] {
            assert!(!edits(&project, path), "{path}");
        }
    }

    #[test]
    fn a_repository_with_its_folder_or_its_hooks_elsewhere_is_no_way_in() {
        let (_root, project) = project();
        std::fs::write(project.join(".git/config"), "[core]\n\thooksPath = tools/hooks # ours\n").unwrap();
        std::fs::create_dir_all(project.join("tools/hooks")).unwrap();
        assert!(!edits(&project, "tools/hooks/pre-commit") && edits(&project, "tools/other"));
        std::fs::rename(project.join(".git"), project.join("kept")).unwrap();
        std::fs::write(project.join(".git"), "gitdir: kept\n").unwrap();
        assert!(!edits(&project, "kept/config") && !edits(&project, "kept/hooks/x") && !edits(&project, ".git"));
    }

    #[test]
    fn every_path_of_a_question_counts_wherever_it_stands() {
        let (_root, project) = project();
        let beside = |rest: Value| is_inside(&ask(&["src/a.rs"], &rest), &project);
        assert!(beside(json!({"changes": {"src/a.rs": {"update": {}}}})));
        assert!(beside(json!({"changes": [{"path": "src/a.rs", "kind": {"type": "update"}}]})));
        assert!(beside(json!({"metadata": {"filepath": "src/a.rs", "diff": "-x"}})));
        assert!(!beside(json!({"changes": [{"path": "src/a.rs", "kind": {"type": "update", "move_path": "/etc/x"}}]})));
        assert!(!beside(json!({"fileChanges": {"src/a.rs": {}, ".git/config": {}}})));
        assert!(!beside(json!({"changes": {"src/a.rs": {}}, "grantRoot": "/"})));
        assert!(!beside(json!({"metadata": {"filepath": "/etc/x"}})));
        assert!(!beside(json!({"input": {"file_path": "src/a.rs"}, "blocked_path": "/etc/x"})));
        assert!(!is_inside(&ask(&["src/a.rs", "/etc/x"], &json!({})), &project));
    }
}
