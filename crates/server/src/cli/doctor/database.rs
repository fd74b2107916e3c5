//! What the header of the database tells without opening it, so that looking changes nothing.

use std::io::Read;
use std::path::Path;

use super::Finding;

const SUBJECT: &str = "database";
const MAGIC: &[u8] = b"SQLite format 3\0";
/// "Folk", the mark that the store puts into its databases.
const APPLICATION: [u8; 4] = *b"Folk";

pub fn check(data_dir: &Path) -> Finding {
    let path = data_dir.join("hub.db");
    let mut header = [0; 100];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::ok(SUBJECT, "none yet; the first start makes it")
        }
        Err(error) => Finding::fail(
            SUBJECT,
            format!("`{}` cannot be read: {error}", path.display()),
            "restore a backup with `moot restore`",
        ),
        Ok(()) => header_finding(&path, &header),
    }
}

fn header_finding(path: &Path, header: &[u8; 100]) -> Finding {
    let shown = path.display();
    if !header.starts_with(MAGIC) || header[68..72] != APPLICATION {
        let remedy = "move it away, or restore a backup with `moot restore --force`";
        return Finding::fail(SUBJECT, format!("`{shown}` is not a database of a hub"), remedy);
    }
    let version = u32::from_be_bytes([header[60], header[61], header[62], header[63]]);
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    Finding::ok(SUBJECT, format!("version {version}, {}", crate::cli::output::size(size)))
}
