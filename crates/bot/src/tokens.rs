//! Counting tokens as models do.

use tiktoken_rs::o200k_base_singleton;

/// What an image of any size costs about, where it is a block of its own.
pub const IMAGE_TOKENS: usize = 1100;

/// The tokens of a text. The first call reads the vocabulary, which takes a moment: call it where that is allowed.
pub fn count(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

/// A bound that needs no vocabulary: no token is shorter than a byte.
pub fn at_most(text: &str) -> usize {
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_as_the_vocabulary_has_them() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("<|endoftext|>"), 7, "special tokens of a user are plain text");
    }

    #[test]
    fn there_are_never_more_tokens_than_bytes() {
        for text in ["a", "ß", "日本語", "\u{1F600}\u{1F600}", "aaaaaaaaaaaaaaaa", "x=1;\n\n\n\t}"] {
            assert!(count(text) <= at_most(text), "{text}");
        }
    }
}
