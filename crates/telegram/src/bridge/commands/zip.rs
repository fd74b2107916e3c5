//! A folder as a zip file: stored, not compressed, which every phone can open.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use folkmoot_runs::files;

/// What goes into one archive at most; a folder of more files is not meant for a phone.
const MAX_FILES: usize = 5_000;

/// Packs the files below `folder`, without those that are never given away; `None` when they are too many or too large.
pub fn pack(project: &Path, folder: &Path, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut paths = Vec::new();
    walk(project, folder, &mut paths)?;
    let root = project.canonicalize()?;
    if paths.len() > MAX_FILES {
        return Ok(None);
    }
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).unix_permissions(0o644);
    let (mut archive, mut packed) = (ZipWriter::new(Cursor::new(Vec::new())), 0);
    for path in paths {
        packed += std::fs::metadata(&path)?.len();
        if packed > most {
            return Ok(None);
        }
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        archive.start_file(name, stored)?;
        archive.write_all(&std::fs::read(&path)?)?;
    }
    let archive = archive.finish()?.into_inner();
    Ok((archive.len() as u64 <= most).then_some(archive))
}

/// Files only; links are left out, because they may lead outside.
fn walk(project: &Path, folder: &Path, paths: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    let root = project.canonicalize()?;
    let mut below: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    below.sort_by_key(std::fs::DirEntry::file_name);
    for entry in below {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let relative = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        if files::inside(project, &relative).is_err() || paths.len() > MAX_FILES {
            continue;
        }
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => walk(project, &path, paths)?,
            (_, true) => paths.push(path),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_packed_without_links_and_without_what_is_denied() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join("docs");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        for (name, content) in [("a.txt", "one"), ("sub/b.txt", "two"), (".env", "secret"), ("k.pem", "secret")] {
            std::fs::write(folder.join(name), content).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        let packed = pack(project.path(), &folder, 1 << 20).unwrap().unwrap();
        let text = String::from_utf8_lossy(&packed);
        assert!(text.contains("docs/a.txt") && text.contains("docs/sub/b.txt"));
        assert!(!text.contains("secret") && !text.contains("link"));
        assert!(pack(project.path(), &folder, 100).unwrap().is_none(), "too large");
    }

    #[test]
    fn other_programs_can_read_it() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("d")).unwrap();
        std::fs::write(project.path().join("d/a.txt"), "hello").unwrap();
        let packed = pack(project.path(), &project.path().join("d"), 1 << 20).unwrap().unwrap();
        let file = project.path().join("x.zip");
        std::fs::write(&file, packed).unwrap();
        let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(z.read('d/a.txt').decode())";
        match std::process::Command::new("python3").args(["-c", script]).arg(&file).output() {
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "hello", "{output:?}"),
            Err(_) => eprintln!("no python3 here to read it with"),
        }
    }
}
