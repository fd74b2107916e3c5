//! Puts the built page (`web/dist`, made by `make web`) into the binary; without it the binary says how to build it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // The folder is always there (a file in it is tracked): cargo runs this again only when something in it changes.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.join("index.html").exists() {
        collect(&dist, &dist, &mut files)?;
    }
    files.sort();
    fs::write(Path::new(&variable("OUT_DIR")).join("page.rs"), table(&dist.canonicalize().unwrap_or(dist), &files))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Every file of the page by its path, without hidden ones and without the compressed copies.
fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_copy = name.ends_with(".br") || name.ends_with(".gz");
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if !name.starts_with('.') && !is_copy {
            files.push(path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned());
        }
    }
    Ok(())
}

fn table(root: &Path, files: &[String]) -> String {
    let rows: String = files.iter().map(|file| row(root, file)).collect();
    format!("pub static FILES: &[Asset] = &[\n{rows}];\n")
}

fn row(root: &Path, file: &str) -> String {
    let included = |path: PathBuf| format!("include_bytes!({:?})", path.display().to_string());
    let copy = |ending: &str| {
        let path = root.join(format!("{file}.{ending}"));
        if path.exists() { format!("Some({})", included(path)) } else { "None".to_owned() }
    };
    let (plain, brotli, gzip) = (included(root.join(file)), copy("br"), copy("gz"));
    format!("    Asset {{ path: {file:?}, plain: {plain}, brotli: {brotli}, gzip: {gzip} }},\n")
}
