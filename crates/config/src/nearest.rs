//! Finds the known word that a mistyped one most probably meant.

/// The candidate with the smallest edit distance to `word`; the first one wins a tie.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let leaf = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    // `listen` for `server.listen` is a slip of place, not of spelling: the last part counts most.
    let score = |candidate: &str| {
        let whole = distance(word, candidate);
        let part = distance(&leaf(word), &leaf(candidate));
        (whole.min(2 * part + 1), whole)
    };
    candidates.into_iter().min_by_key(|candidate| score(candidate))
}

/// Edit distance in which swapping two neighbours counts once (optimal string alignment).
pub fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let same = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_inserts_deletes_changes_and_swaps_once() {
        assert_eq!(distance("listen", "listen"), 0);
        assert_eq!(distance("lisen", "listen"), 1);
        assert_eq!(distance("listenn", "listen"), 1);
        assert_eq!(distance("lesten", "listen"), 1);
        assert_eq!(distance("lisetn", "listen"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn a_key_in_the_wrong_section_is_found_by_its_last_part() {
        let known = ["server.listen", "server.log", "llm.model"];
        assert_eq!(nearest("listen", known), Some("server.listen"));
        assert_eq!(nearest("server.model", known), Some("llm.model"));
    }
}
