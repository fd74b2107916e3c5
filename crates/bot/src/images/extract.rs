//! Addresses of images in a message.

use std::sync::LazyLock;

use regex::Regex;

/// The document's pattern; endings in capitals count too, as cameras write them.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"https?://\S+\.(?i:png|jpg|jpeg|gif|bmp|webp|svg)(?:\?\S*)?").expect("the document's pattern")
});

/// The addresses in the order of the text, each once, without trailing `.`, `'` and `"`.
pub fn urls(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for hit in PATTERN.find_iter(text) {
        let url = hit.as_str().trim_end_matches(['.', '\'', '"']);
        if !found.contains(&url) {
            found.push(url);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_ending_of_the_pattern_is_found() {
        for ending in ["png", "jpg", "jpeg", "gif", "bmp", "webp", "svg", "PNG"] {
            let url = format!("https://host/a.{ending}");
            assert_eq!(urls(&format!("look: {url} nice")), [url]);
        }
        assert!(urls("https://host/a.txt and ftp://host/a.png").is_empty());
    }

    #[test]
    fn a_query_belongs_to_the_address() {
        assert_eq!(urls("http://host/a.png?w=1&h=2 x"), ["http://host/a.png?w=1&h=2"]);
    }

    #[test]
    fn trailing_dots_and_quotes_are_stripped() {
        assert_eq!(urls("see http://host/a.png?x=1.'\" there"), ["http://host/a.png?x=1"]);
        assert_eq!(urls("'http://host/a.png'."), ["http://host/a.png"]);
    }

    #[test]
    fn a_markdown_link_ends_before_its_bracket() {
        assert_eq!(urls("![cat](https://host/drive.bin/cat.png)"), ["https://host/drive.bin/cat.png"]);
    }

    #[test]
    fn the_same_address_counts_once() {
        assert_eq!(urls("http://h/a.png http://h/b.png http://h/a.png"), ["http://h/a.png", "http://h/b.png"]);
    }

    proptest! {
        #[test]
        fn what_is_found_stands_in_the_text(text in "\\PC{0,40}(https://h/a.png|http://x.svg\\?'\\.)?\\PC{0,40}") {
            for url in urls(&text) {
                prop_assert!(text.contains(url) && url.starts_with("http"));
                prop_assert!(!url.ends_with(['.', '\'', '"']));
            }
        }
    }
}
