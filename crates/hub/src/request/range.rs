//! `Range`: which part of a file is wanted. One part is served; anything else is the whole file.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Whole,
    /// First and last byte, both included.
    Part {
        first: u64,
        last: u64,
    },
    /// The range lies outside the file.
    Nothing,
}

/// Reads the header for a file of this size. What is not understood is ignored, as HTTP asks.
pub fn wanted(header: Option<&str>, size: u64) -> Wanted {
    let part = header.and_then(|header| header.trim().strip_prefix("bytes=")).map(str::trim);
    let Some((first, last)) = part.and_then(|part| part.split_once('-')) else { return Wanted::Whole };
    match (number(first), number(last)) {
        (Given::Nothing, Given::Number(length)) => suffix(length, size),
        (Given::Number(first), Given::Nothing) => from_to(first, u64::MAX, size),
        (Given::Number(first), Given::Number(last)) if first <= last => from_to(first, last, size),
        _ => Wanted::Whole,
    }
}

enum Given {
    Nothing,
    Number(u64),
    Nonsense,
}

fn number(text: &str) -> Given {
    match text.trim() {
        "" => Given::Nothing,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // Too many digits for a number are still beyond the end of every file.
            Given::Number(digits.parse().unwrap_or(u64::MAX))
        }
        _ => Given::Nonsense,
    }
}

fn suffix(length: u64, size: u64) -> Wanted {
    if length == 0 || size == 0 {
        return Wanted::Nothing;
    }
    Wanted::Part { first: size.saturating_sub(length), last: size - 1 }
}

fn from_to(first: u64, last: u64, size: u64) -> Wanted {
    if first >= size {
        return Wanted::Nothing;
    }
    Wanted::Part { first, last: last.min(size - 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_is_given_by_its_ends_its_beginning_or_its_length() {
        for (header, first, last) in [
            ("bytes=0-0", 0, 0),
            ("bytes=0-99", 0, 99),
            ("bytes=10-19", 10, 19),
            ("bytes=90-500", 90, 99),
            ("bytes=10-", 10, 99),
            ("bytes=-10", 90, 99),
            ("bytes=-500", 0, 99),
            (" bytes= 10 - 19 ", 10, 19),
        ] {
            assert_eq!(wanted(Some(header), 100), Wanted::Part { first, last }, "{header}");
        }
    }

    #[test]
    fn a_part_beyond_the_end_is_nothing() {
        for header in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(wanted(Some(header), 100), Wanted::Nothing, "{header}");
        }
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Nothing);
        assert_eq!(wanted(Some("bytes=-1"), 0), Wanted::Nothing);
    }

    #[test]
    fn what_is_not_understood_is_the_whole() {
        for header in
            ["", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "lines=1-2", "bytes=0-1,5-6", "bytes=1--2"]
        {
            assert_eq!(wanted(Some(header), 100), Wanted::Whole, "{header}");
        }
        assert_eq!(wanted(None, 100), Wanted::Whole);
    }

    proptest! {
        #[test]
        fn a_part_always_lies_within_the_file(header in "(bytes=)?[0-9 ,-]{0,30}", size: u64) {
            if let Wanted::Part { first, last } = wanted(Some(&header), size) {
                prop_assert!(first <= last && last < size);
            }
        }

        #[test]
        fn no_header_makes_the_parser_panic(header: String, size: u64) {
            wanted(Some(&header), size);
        }
    }
}
