//! A folder as a zip file: stored, not compressed, which every phone can open.

use std::io::Write;
use std::path::Path;

use folkmoot_engines::files;

/// What goes into one archive at most; a folder of more files is not meant for a phone.
const MAX_FILES: usize = 5_000;

struct Entry {
    name: String,
    sum: u32,
    size: u32,
    at: u32,
}

/// Packs the files below `folder`, without those that are never given away; `None` when they are too many or too large.
pub fn pack(project: &Path, folder: &Path, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut paths = Vec::new();
    walk(project, folder, &mut paths)?;
    let root = project.canonicalize()?;
    let (mut archive, mut entries) = (Vec::new(), Vec::new());
    if paths.len() > MAX_FILES {
        return Ok(None);
    }
    for path in paths {
        let size = std::fs::metadata(&path)?.len();
        if archive.len() as u64 + size > most {
            return Ok(None);
        }
        let content = std::fs::read(&path)?;
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let entry = Entry { name, sum: checksum(&content), size: number(content.len()), at: number(archive.len()) };
        header(&mut archive, &entry, false)?;
        archive.write_all(&content)?;
        entries.push(entry);
    }
    finish(&mut archive, &entries)?;
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

/// The header before a file, or its line in the directory at the end.
fn header(out: &mut Vec<u8>, entry: &Entry, central: bool) -> std::io::Result<()> {
    let length = u16::try_from(entry.name.len()).unwrap_or(u16::MAX);
    out.write_all(if central { b"PK\x01\x02\x14\x03" } else { b"PK\x03\x04" })?;
    // Version 2.0, names in UTF-8, stored, 1 January 1980.
    for field in [20_u16, 1 << 11, 0, 0, 0x21] {
        out.write_all(&field.to_le_bytes())?;
    }
    for field in [entry.sum, entry.size, entry.size] {
        out.write_all(&field.to_le_bytes())?;
    }
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&0_u16.to_le_bytes())?;
    if central {
        // No comment, first disk, no attributes of the old kind; an ordinary file that its owner may change.
        for field in [0_u16, 0, 0] {
            out.write_all(&field.to_le_bytes())?;
        }
        out.write_all(&(0o100_644_u32 << 16).to_le_bytes())?;
        out.write_all(&entry.at.to_le_bytes())?;
    }
    out.write_all(entry.name.as_bytes())
}

fn finish(archive: &mut Vec<u8>, entries: &[Entry]) -> std::io::Result<()> {
    let begin = u32::try_from(archive.len()).unwrap_or(u32::MAX);
    for entry in entries {
        header(archive, entry, true)?;
    }
    let size = u32::try_from(archive.len()).unwrap_or(u32::MAX) - begin;
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX);
    archive.write_all(b"PK\x05\x06\0\0\0\0")?;
    archive.write_all(&count.to_le_bytes())?;
    archive.write_all(&count.to_le_bytes())?;
    archive.write_all(&size.to_le_bytes())?;
    archive.write_all(&begin.to_le_bytes())?;
    archive.write_all(&[0, 0])
}

/// The CRC-32 that zip files carry.
fn checksum(content: &[u8]) -> u32 {
    !content.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_zip() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

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
