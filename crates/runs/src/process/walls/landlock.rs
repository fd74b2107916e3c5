//! Landlock: everything is allowed but what is closed.

use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr,
};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::Wall;

/// Everything but listing: names are not worth what breaks when `/` cannot be listed. Without version 2 of Landlock
/// nothing could be moved from one folder to another.
fn needed() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V2) & !AccessFs::ReadDir
}

fn ruleset() -> Result<RulesetCreated, String> {
    let hard = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(needed());
    let soft = hard.and_then(|set| set.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::Truncate));
    soft.and_then(Ruleset::create).map_err(|error| format!("this kernel has no usable Landlock ({error})"))
}

/// With these root looks into every process, or puts itself outside, whatever Landlock says.
const STRONG: [CapabilitySet; 3] = [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON];

pub fn hold(wall: &Wall) -> Result<(), String> {
    let mut rules = ruleset()?;
    let allowed = allowed(wall).map_err(|error| format!("a folder beside what is closed cannot be listed: {error}"))?;
    for path in allowed {
        // Whatever vanished meanwhile needs no rule; whatever became a link gets none.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(entry) = rustix::fs::open(&path, flags, Mode::empty()) else { continue };
        let Ok(data) = rustix::fs::fstat(&entry) else { continue };
        let rights = match FileType::from_raw_mode(data.st_mode) {
            FileType::Directory => needed() | AccessFs::Truncate,
            FileType::Symlink => continue,
            _ => AccessFs::from_file(ABI::V3),
        };
        rules = rules.add_rule(PathBeneath::new(entry, rights)).map_err(|error| error.to_string())?;
    }
    rules.restrict_self().map_err(|error| error.to_string())?;
    // Whoever is not root has none of them to lose.
    for strong in STRONG {
        let _ = remove_capability_from_bounding_set(strong);
    }
    Ok(())
}

/// Everything that lies beside the ways to what is closed. A file in the folder that we are in stays open: closing it would
/// close the folder for everything new.
fn allowed(wall: &Wall) -> std::io::Result<Vec<PathBuf>> {
    let here = std::env::current_dir()?;
    let closed: Vec<&PathBuf> = wall.closed.iter().filter(|path| path.is_dir() || !path.starts_with(&here)).collect();
    let mut found = wall.open.clone();
    allow_in(Path::new("/"), &closed, &mut found)?;
    Ok(found)
}

fn allow_in(folder: &Path, closed: &[&PathBuf], found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A link gives nothing by itself, and what it leads to has its own place.
        if entry.file_type()?.is_symlink() || closed.contains(&&path) {
            continue;
        }
        if closed.iter().any(|closed| closed.starts_with(&path)) {
            allow_in(&path, closed, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_allowed_but_the_ways_to_what_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        ["data", "beside"].iter().for_each(|name| std::fs::create_dir(root.join(name)).unwrap());
        std::fs::write(root.join("moot.toml"), "").unwrap();
        std::os::unix::fs::symlink(root.join("data"), root.join("link")).unwrap();
        let wall = Wall { closed: vec![root.join("data"), root.join("moot.toml")], ..Wall::default() };
        let allowed = allowed(&wall).unwrap();
        assert!(allowed.contains(&root.join("beside")) && allowed.contains(&PathBuf::from("/usr")));
        for closed in [root.join("data"), root.join("moot.toml"), root.join("link"), root.clone(), "/".into()] {
            assert!(!allowed.contains(&closed), "{}", closed.display());
        }
    }
}
