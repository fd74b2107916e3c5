//! Names that others chose, where they can do no harm: as the name of a file, in a header, as a part of an address.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in one part of an address (RFC 3986, "unreserved") and in the exact name of a file (RFC 5987).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const MAX_CHARS: usize = 200;
const NAMELESS: &str = "file";

/// As one part of a path.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// The last part of a name as a sender gave it, without anything that is not meant to be read.
pub fn sanitized(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let readable: String =
        last.chars().filter(|character| !character.is_control() && !turns_text(*character)).collect();
    let trimmed = readable.trim().trim_matches('.').trim();
    let name = shortened(trimmed);
    if name.is_empty() { NAMELESS.to_owned() } else { name }
}

/// Characters that reorder or hide text, so that `exe.png` may be shown where `gnp.exe` is meant.
fn turns_text(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// At most [`MAX_CHARS`], keeping a short extension.
fn shortened(name: &str) -> String {
    if name.chars().count() <= MAX_CHARS {
        return name.to_owned();
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).filter(|it| it.chars().count() <= 10);
    let ending = extension.map(|extension| format!(".{extension}")).unwrap_or_default();
    let kept: String = name.chars().take(MAX_CHARS - ending.chars().count()).collect();
    kept + &ending
}

/// `Content-Disposition` with the name twice: readable by every client, and exactly.
pub fn disposition(inline: bool, filename: &str) -> String {
    let kind = if inline { "inline" } else { "attachment" };
    let plain = |character: char| match character {
        '"' | '\\' | '%' | ';' => '_',
        character if character.is_ascii_graphic() || character == ' ' => character,
        _ => '_',
    };
    let fallback: String = filename.chars().map(plain).collect();
    let mut header = format!("{kind}; filename=\"{fallback}\"");
    if fallback != filename {
        header.push_str("; filename*=UTF-8''");
        header.extend(utf8_percent_encode(filename, UNRESERVED));
    }
    header
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_name_is_only_a_name() {
        for (given, kept) in [
            ("notes.txt", "notes.txt"),
            ("../../escape.txt", "escape.txt"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\escape.txt", "escape.txt"),
            ("C:\\Users\\ann\\cat.png", "cat.png"),
            ("..", "file"),
            (".hidden", "hidden"),
            ("", "file"),
            ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
            ("photo\u{202e}gnp.exe", "photognp.exe"),
            ("über uns.pdf", "über uns.pdf"),
        ] {
            assert_eq!(sanitized(given), kept, "{given:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let kept = sanitized(&format!("{}.tar", "ä".repeat(400)));
        assert_eq!(kept.chars().count(), MAX_CHARS);
        assert!(kept.ends_with("ä.tar"));
    }

    #[test]
    fn a_plain_name_stands_as_it_is() {
        assert_eq!(disposition(true, "cat.png"), "inline; filename=\"cat.png\"");
    }

    #[test]
    fn a_hostile_name_cannot_break_the_header() {
        assert_eq!(
            disposition(false, "a\"; filename=\"evil.html"),
            "attachment; filename=\"a__ filename=_evil.html\"; filename*=UTF-8''a%22%3B%20filename%3D%22evil.html"
        );
        assert_eq!(
            disposition(false, "naïve.txt"),
            "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"
        );
    }

    proptest! {
        #[test]
        fn every_name_gives_one_well_formed_header(name in any::<String>()) {
            let header = disposition(false, &name);
            prop_assert!(axum::http::HeaderValue::from_str(&header).is_ok());
            let quotes = header.matches('"').count();
            prop_assert_eq!(quotes, 2);
        }

        #[test]
        fn a_sanitized_name_has_no_folder_and_stays_as_it_is(name in any::<String>()) {
            let kept = sanitized(&name);
            prop_assert!(!kept.is_empty() && !kept.contains(['/', '\\']));
            prop_assert!(kept != ".." && kept.chars().count() <= MAX_CHARS);
            prop_assert!(!kept.chars().any(char::is_control));
        }
    }

    #[test]
    fn a_name_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(segment("g1_-.~"), "g1_-.~");
        assert_eq!(segment("a/b?c ü"), "a%2Fb%3Fc%20%C3%BC");
    }
}
