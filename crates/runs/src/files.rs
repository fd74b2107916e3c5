//! Files that people bring into a project or fetch from it: under names that stay inside, never over something that is there.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

/// Names that are never read or written from a chat: what is in them belongs to git or opens doors.
const DENIED_FOLDERS: [&str; 3] = [".git", ".ssh", ".gnupg"];
const DENIED_FILES: [&str; 3] = [".env", ".envrc", ".netrc"];
const DENIED_ENDINGS: [&str; 2] = [".pem", ".key"];

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{0}` is not a path inside the project")]
    Outside(String),
    #[error("`{0}` is not given away or changed from a chat")]
    Denied(String),
    #[error("`{0}` exists already; add `--force` to replace it")]
    Exists(String),
    #[error("`{path}`: {cause}")]
    Io { path: String, cause: std::io::Error },
}

/// A path of the project as people write it, checked: relative, inside, and not one of those that are denied.
pub fn inside(project: &Path, path: &str) -> Result<PathBuf, FileError> {
    let outside = || FileError::Outside(path.to_owned());
    let relative = Path::new(path.trim());
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || relative.components().next().is_none() {
        return Err(outside());
    }
    if is_denied(relative) {
        return Err(FileError::Denied(path.to_owned()));
    }
    let root = project.canonicalize().map_err(|_| outside())?;
    let target = root.join(relative);
    // A link may lead anywhere, so what counts is where the nearest thing that exists really is.
    let existing = target.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok()).ok_or_else(outside)?;
    let real = existing.canonicalize().map_err(|_| outside())?;
    match real.strip_prefix(&root) {
        Ok(below) if is_denied(below) => Err(FileError::Denied(path.to_owned())),
        Ok(_) => Ok(target),
        Err(_) => Err(outside()),
    }
}

fn is_denied(path: &Path) -> bool {
    let denied_folder =
        |part: Component<'_>| DENIED_FOLDERS.iter().any(|denied| part.as_os_str().eq_ignore_ascii_case(denied));
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    path.components().any(denied_folder)
        || DENIED_FILES.iter().any(|denied| name == *denied || name.starts_with(&format!("{denied}.")))
        || DENIED_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Stores an upload in the folder for them under a name that is free; returns its path within the project.
pub fn store_upload(project: &Path, uploads: &Path, name: &str, content: &[u8]) -> Result<PathBuf, FileError> {
    let name = good_name(name);
    let shown = uploads.join(&name).to_string_lossy().into_owned();
    let folder = inside(project, &uploads.to_string_lossy())?;
    let io = |cause| FileError::Io { path: shown.clone(), cause };
    std::fs::create_dir_all(&folder).map_err(io)?;
    let (stem, ending) = split_name(&name);
    for number in 1.. {
        let candidate = if number == 1 { name.clone() } else { format!("{stem}-{number}{ending}") };
        match write_new(&folder.join(&candidate), content) {
            Ok(()) => return Ok(uploads.join(candidate)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 10_000 => {}
            Err(error) => return Err(io(error)),
        }
    }
    unreachable!("the loop ends with a file or an error")
}

/// Puts a file where somebody wants it.
pub fn put(project: &Path, path: &str, content: &[u8], force: bool) -> Result<(), FileError> {
    let target = inside(project, path)?;
    let io = |cause| FileError::Io { path: path.to_owned(), cause };
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    if !force {
        return write_new(&target, content).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
            _ => io(error),
        });
    }
    // Beside it first, so that nobody ever reads half of it.
    let draft = target.with_file_name(format!(".{}.upload", std::process::id()));
    let written = std::fs::write(&draft, content).and_then(|()| std::fs::rename(&draft, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written.map_err(io)
}

fn write_new(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(content);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// The longest name of an upload in bytes; file systems take 255, and a number may follow.
const LONGEST_NAME: usize = 200;
/// What is longer than that is no ending.
const LONGEST_ENDING: usize = 20;

/// The last part of a name, with nothing in it that a shell or a file system could misunderstand.
fn good_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let good = |c: char| if c.is_alphanumeric() || "._- ()+".contains(c) { c } else { '_' };
    let name: String = last.chars().map(good).collect();
    let name = shortened(name.trim().trim_start_matches(['.', '-']).trim());
    if name.is_empty() || is_denied(Path::new(&name)) { format!("upload_{}", name.replace('.', "_")) } else { name }
}

/// A name that is not too long, with its ending.
fn shortened(name: &str) -> String {
    let (stem, ending) = split_name(name);
    let (stem, ending) = if ending.len() > LONGEST_ENDING { (name, "") } else { (stem, ending) };
    let cut = stem.floor_char_boundary(LONGEST_NAME - ending.len());
    format!("{}{ending}", stem[..cut].trim_end())
}

/// `a` and `.txt`
fn split_name(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    }
}

/// `12 kB`
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_that_leave_the_project_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        for path in ["/etc/passwd", "../x", "a/../../x", "", "link/passwd", "link"] {
            let refused = inside(folder.path(), path);
            assert!(matches!(refused, Err(FileError::Outside(_))), "{path}: {refused:?}");
        }
        assert!(inside(folder.path(), "a/b.txt").is_ok());
    }

    #[test]
    fn what_opens_doors_is_denied_also_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::os::unix::fs::symlink(".git", folder.path().join("innocent")).unwrap();
        for path in [".git/config", ".env", "sub/.env.local", "server.pem", ".SSH/id", "innocent/hooks/x"] {
            assert!(matches!(inside(folder.path(), path), Err(FileError::Denied(_))), "{path}");
        }
        assert!(inside(folder.path(), ".gitignore").is_ok());
    }

    #[test]
    fn uploads_get_free_names_and_replace_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = |content: &[u8]| store_upload(folder.path(), Path::new("incoming"), "a.txt", content).unwrap();
        assert_eq!(store(b"1"), Path::new("incoming/a.txt"));
        assert_eq!(store(b"2"), Path::new("incoming/a-2.txt"));
        assert_eq!(std::fs::read(folder.path().join("incoming/a.txt")).unwrap(), b"1");
    }

    #[test]
    fn a_file_is_replaced_only_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "sub/a", b"1", false).unwrap();
        assert!(matches!(put(folder.path(), "sub/a", b"2", false), Err(FileError::Exists(_))));
        put(folder.path(), "sub/a", b"2", true).unwrap();
        assert_eq!(std::fs::read(folder.path().join("sub/a")).unwrap(), b"2");
        assert_eq!(std::fs::read_dir(folder.path().join("sub")).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_long_name_is_cut_by_bytes_and_keeps_its_ending() {
        for stem in ["报告".repeat(60), "a".repeat(200), "ß".repeat(900)] {
            let name = good_name(&format!("{stem}.pdf"));
            assert!(name.len() <= LONGEST_NAME && name.len() > 190, "{name}");
            assert!(name.ends_with(".pdf") && stem.starts_with(name.trim_end_matches(".pdf")), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let name = format!("{}.pdf", "报告".repeat(60));
        let store = || store_upload(folder.path(), Path::new("incoming"), &name, b"x").unwrap();
        assert_ne!(store(), store());
        assert_eq!(good_name(&format!("a.{}", "b".repeat(300))).len(), LONGEST_NAME);
    }

    proptest! {
        #[test]
        fn any_name_of_an_upload_stays_inside(name in "\\PC{0,300}") {
            let folder = tempfile::tempdir().unwrap();
            let path = store_upload(folder.path(), Path::new("incoming"), &name, b"x").unwrap();
            prop_assert_eq!(path.parent(), Some(Path::new("incoming")));
            prop_assert!(folder.path().join(path).is_file());
        }
    }
}
