//! Files and folders that are named after an agent.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Longer ones are cut, and told apart by a digest: file systems take 255 bytes.
const MAX_BYTES: usize = 120;

/// Names may hold what paths do not like. No two names become one file; large and small letters make no other name.
pub fn of(name: &str) -> String {
    let mut file = String::new();
    for byte in name.to_lowercase().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => file.push(char::from(byte)),
            other => file.push_str(&format!("={other:02x}")),
        }
    }
    if file.len() > MAX_BYTES {
        let digest: String = Sha256::digest(&file).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        file.truncate(MAX_BYTES);
        // `==` stands in no name that was not cut.
        file = format!("{file}=={digest}");
    }
    file
}

/// Where something of an agent is in a folder. What was put there when names could share a file is found as long as only one
/// of the agents that there are can have put it there.
pub fn place<'a>(folder: &Path, name: &str, agents: impl IntoIterator<Item = &'a str>) -> PathBuf {
    let (place, shared) = (folder.join(of(name)), shared(name));
    let is_other = |other: &str| other.to_lowercase() != name.to_lowercase() && self::shared(other) == shared;
    let before = folder.join(&shared);
    if !place.exists() && before.exists() && !agents.into_iter().any(is_other) { before } else { place }
}

/// The name of the file in older versions: several names had the same.
fn shared(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.to_lowercase().chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_are_their_files_and_no_two_names_share_one() {
        assert_eq!((of("echo").as_str(), of("My-Agent_2").as_str()), ("echo", "my-agent_2"));
        let names = ["a.b", "a_b", "a b", "a/b", "ä", "ö", "..", "a=2eb"];
        let files: std::collections::BTreeSet<String> = names.iter().map(|name| of(name)).collect();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert_eq!(of("A.B"), of("a.b"));
    }

    proptest! {
        #[test]
        fn a_file_is_short_stays_in_its_folder_and_is_nobody_elses(one in "\\PC{0,64}", two in "\\PC{0,64}") {
            let file = of(&one);
            prop_assert!(file.len() < 200 && !file.contains(['/', '.', '\0']));
            prop_assert_eq!(file == of(&two), one.to_lowercase() == two.to_lowercase());
        }
    }

    #[test]
    fn long_names_that_begin_alike_are_told_apart() {
        let long = |end: &str| of(&format!("{}{end}", "ü".repeat(62)));
        assert_ne!(long("a"), long("b"));
    }

    #[test]
    fn what_an_older_version_left_is_found_by_the_only_one_who_can_own_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, agents: &[&str]| {
            let place = place(folder.path(), name, agents.iter().copied());
            place.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(of("a.b", &["a.b"]), "a=2eb");
        std::fs::write(folder.path().join("a_b"), "").unwrap();
        assert_eq!(of("a.b", &["a.b", "c"]), "a_b");
        for other in ["a_b", "a b"] {
            assert_eq!(of("a.b", &["a.b", other]), "a=2eb", "it may be the one of {other}");
        }
        assert_eq!(of("a_b", &["a.b", "a_b"]), "a_b");
        std::fs::write(folder.path().join("a=2eb"), "").unwrap();
        assert_eq!(of("a.b", &["a.b"]), "a=2eb");
    }
}
