//! Names that people can tell apart: what a name looks like, and what may not be in it.
//!
//! Two names are alike when they look alike, whatever letters they are written with: the skeleton of Unicode's report on
//! security (UTS 39) says how. Case makes no difference, and a capital `I` looks like an `l`; so a name has two looks.

use std::collections::{BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

use crate::ids::WorkspaceId;

/// What a name looks like, in lower case and as it is written.
fn looks(name: &str) -> [String; 2] {
    let plain: String = name.trim().nfkc().collect();
    let look = |text: &str| skeleton(text).collect::<String>().to_lowercase();
    [look(&plain.to_lowercase()), look(&plain)]
}

/// Whether there is something in a name that cannot be seen. Joiners and variation selectors are seen among the letters that
/// join and in emoji, so neither beside ASCII nor, for joiners, at an end.
pub fn hides_something(name: &str) -> bool {
    let joins = |neighbour: Option<char>| neighbour.is_some_and(|neighbour| !neighbour.is_ascii());
    let mut before = None;
    let mut rest = name.chars();
    while let Some(character) = rest.next() {
        let is_seen = match character {
            '\u{200C}' | '\u{200D}' => joins(before) && joins(rest.clone().next()),
            '\u{FE00}'..='\u{FE0F}' => joins(before),
            other => !is_invisible(other),
        };
        if !is_seen {
            return true;
        }
        before = Some(character);
    }
    false
}

/// Whether a character by itself cannot be seen, or changes how those around it are seen.
fn is_invisible(character: char) -> bool {
    let is_space = character.is_whitespace() && character != ' ';
    let is_blank = matches!(character, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{2800}' | '\u{034F}');
    let is_format = matches!(character,
        '\u{00AD}' | '\u{0600}'..='\u{0605}' | '\u{061C}' | '\u{06DD}' | '\u{070F}' | '\u{08E2}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}');
    is_space || is_blank || is_format || character.is_control()
}

/// Who is called what, by how it looks.
#[derive(Clone, Debug)]
pub struct Looks<Id> {
    by_look: HashMap<(WorkspaceId, String), BTreeSet<Id>>,
}

impl<Id> Default for Looks<Id> {
    fn default() -> Self {
        Self { by_look: HashMap::new() }
    }
}

impl<Id: Copy + Ord> Looks<Id> {
    pub fn insert(&mut self, workspace: WorkspaceId, name: &str, id: Id) {
        for look in looks(name) {
            self.by_look.entry((workspace, look)).or_default().insert(id);
        }
    }

    pub fn remove(&mut self, workspace: WorkspaceId, name: &str, id: Id) {
        for look in looks(name) {
            let key = (workspace, look);
            let Some(ids) = self.by_look.get_mut(&key) else { continue };
            ids.remove(&id);
            if ids.is_empty() {
                self.by_look.remove(&key);
            }
        }
    }

    /// All whose name looks like this one.
    pub fn alike(&self, workspace: WorkspaceId, name: &str) -> impl Iterator<Item = Id> {
        let ids: BTreeSet<Id> = looks(name)
            .into_iter()
            .filter_map(|look| self.by_look.get(&(workspace, look)))
            .flatten()
            .copied()
            .collect();
        ids.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HERE: WorkspaceId = WorkspaceId(1);

    fn are_alike(one: &str, other: &str) -> bool {
        let mut looks = Looks::default();
        looks.insert(HERE, one, 1);
        looks.alike(HERE, other).next().is_some()
    }

    #[test]
    fn names_that_look_alike_are_alike_whatever_letters_they_are_written_with() {
        for (one, other) in [
            ("alice", "Alice"),
            ("alice", "\u{430}lice"),
            ("alice", "al\u{456}ce"),
            ("alice", "\u{ff41}lice"),
            ("alice", "a1ice"),
            ("lan", "Ian"),
            ("paypal", "раураl"),
            ("admin", "adrnin"),
            ("codebot", "c0debot"),
            ("scope", "ѕсоре"),
        ] {
            assert!(are_alike(one, other) && are_alike(other, one), "{one} {other}");
        }
        for (one, other) in [("alice", "alicia"), ("claude", "claude-2"), ("bob", "rob"), ("müller", "muller")] {
            assert!(!are_alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_known() {
        for character in "\u{200b}\u{202e}\u{2066}\u{feff}\u{00ad}\u{3164}\u{a0}\u{e0041}\u{fe0f}\u{7}\u{200d}".chars()
        {
            assert!(is_invisible(character), "{}", character.escape_unicode());
        }
        assert!(!hides_something("ann-marie O'Neil 日本 é 🎵 _."));
    }

    proptest! {
        #[test]
        fn a_name_is_alike_itself_and_is_forgotten_whole(name in "\\PC{1,20}") {
            let mut looks = Looks::default();
            looks.insert(HERE, &name, 7);
            prop_assert_eq!(looks.alike(HERE, &name).collect::<Vec<_>>(), [7]);
            prop_assert!(looks.alike(WorkspaceId(2), &name).next().is_none());
            looks.remove(HERE, &name, 7);
            prop_assert!(looks.by_look.is_empty());
        }
    }
}
