//! Finds the known word that a mistyped one most probably meant.

/// Edit distance in which swapping two neighbours counts once.
pub use strsim::osa_distance as distance;

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
