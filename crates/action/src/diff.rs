//! A change as lines that go and lines that come.

/// Beyond this many pairs of lines all old ones go and all new ones come.
const MAX_PAIRS: usize = 250_000;

/// Old and new text line by line, `-` and `+` in front of what changes.
pub fn between(old: &str, new: &str) -> String {
    let (old, new) = match (old.strip_suffix('\n'), new.strip_suffix('\n')) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = Vec::new();
    let same_front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same_front..], &new[same_front..]);
    let same_back = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_rest, back) = old_rest.split_at(old_rest.len() - same_back);
    let new_rest = &new_rest[..new_rest.len() - same_back];
    out.extend(old[..same_front].iter().map(|line| format!(" {line}")));
    changed(old_rest, new_rest, &mut out);
    out.extend(back.iter().map(|line| format!(" {line}")));
    out.join("\n")
}

/// Every line with the same sign: a file that comes or goes.
pub fn all(sign: char, text: &str) -> String {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').map(|line| format!("{sign}{line}")).collect::<Vec<_>>().join("\n")
}

fn changed(old: &[&str], new: &[&str], out: &mut Vec<String>) {
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        out.extend(old.iter().map(|line| format!("-{line}")));
        out.extend(new.iter().map(|line| format!("+{line}")));
        return;
    }
    let longest = common(old, new);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push(format!(" {}", old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || longest[i + 1][j] >= longest[i][j + 1]) {
            out.push(format!("-{}", old[i]));
            i += 1;
        } else {
            out.push(format!("+{}", new[j]));
            j += 1;
        }
    }
}

/// How many lines two rests have in common, for every pair of rests.
fn common(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] = if old[i] == new[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_goes_and_what_comes_is_marked() {
        assert_eq!(between("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c");
        assert_eq!(between("", "x"), "-\n+x");
        assert_eq!(between("a", "a\n"), " a\n+");
        assert_eq!(all('+', "one\ntwo\n"), "+one\n+two");
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_out_of_the_difference(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}") {
            let difference = between(&old, &new);
            let side = |sign: char| {
                let lines = difference.split('\n').filter(|line| line.starts_with([' ', sign]));
                lines.map(|line| &line[1..]).collect::<Vec<_>>().join("\n")
            };
            let bare = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
            let (old, new) = if old.ends_with('\n') && new.ends_with('\n') { (bare(&old), bare(&new)) } else { (old, new) };
            prop_assert_eq!(side('-'), old);
            prop_assert_eq!(side('+'), new);
        }
    }
}
