//! What a file is: what its first bytes say, else what its sender says; and as what it is served.
//!
//! A browser must never run what somebody uploaded. Only types on the list below are served under their own name, and
//! only images whose bytes are that image, and plain text, may be shown instead of saved.

/// Served as an attachment when nothing else is known or allowed.
pub const UNKNOWN: &str = "application/octet-stream";
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Types that no browser executes; the rest is served as [`UNKNOWN`].
const HARMLESS: [&str; 9] = [
    "application/gzip",
    "application/json",
    "application/pdf",
    "application/x-tar",
    "application/zip",
    "text/calendar",
    "text/csv",
    "text/markdown",
    "text/tab-separated-values",
];
const MAX_TYPE_CHARS: usize = 100;
/// How many bytes [`recorded`] wants to see.
pub const SNIFFED_BYTES: usize = 16;

/// The type to keep with a file: an image is what its bytes are, anything else is what its sender says.
pub fn recorded(declared: Option<&str>, first_bytes: &[u8]) -> String {
    if let Some(picture) = sniff(first_bytes) {
        return picture.to_owned();
    }
    match declared.and_then(essence) {
        // It claims to be an image that its bytes are not.
        Some(claimed) if is_picture(&claimed) => UNKNOWN.to_owned(),
        Some(claimed) => claimed,
        None => UNKNOWN.to_owned(),
    }
}

/// The image that begins like this.
fn sniff(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// `type/subtype` in lower case without parameters; none when it is not one.
fn essence(declared: &str) -> Option<String> {
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let (kind, subtype) = essence.split_once('/')?;
    (essence.len() <= MAX_TYPE_CHARS && is_token(kind) && is_token(subtype)).then_some(essence)
}

pub fn is_picture(content_type: &str) -> bool {
    PICTURES.contains(&content_type)
}

/// How a file is served.
#[derive(Debug, PartialEq, Eq)]
pub struct Served<'a> {
    pub content_type: &'a str,
    /// Whether a browser may show it.
    pub inline: bool,
}

pub fn served(recorded: &str) -> Served<'_> {
    match recorded {
        "text/plain" => Served { content_type: "text/plain; charset=utf-8", inline: true },
        picture if is_picture(picture) => Served { content_type: picture, inline: true },
        harmless if HARMLESS.contains(&harmless) => Served { content_type: harmless, inline: false },
        media if is_media(media) => Served { content_type: media, inline: false },
        _ => Served { content_type: UNKNOWN, inline: false },
    }
}

/// Everything that a file can be served as; `*` where what follows is the sender's word. JSON is among the others, because
/// here it is bytes like them, and a client that reads JSON must not be made to read a file.
pub fn all_served() -> impl Iterator<Item = &'static str> {
    let texts = HARMLESS.into_iter().filter(|harmless| harmless.starts_with("text/"));
    [UNKNOWN, "application/*", "text/plain", "audio/*", "video/*"].into_iter().chain(PICTURES).chain(texts)
}

fn is_media(recorded: &str) -> bool {
    let named = recorded.starts_with("audio/") || recorded.starts_with("video/");
    named && !["html", "svg", "xml", "script"].iter().any(|active| recorded.contains(active))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n........";

    #[test]
    fn an_image_is_what_its_bytes_are() {
        assert_eq!(recorded(Some("text/html"), PNG), "image/png");
        assert_eq!(recorded(None, b"GIF89a..."), "image/gif");
        assert_eq!(recorded(Some("image/png"), b"\xff\xd8\xff\xe0"), "image/jpeg");
        assert_eq!(recorded(None, b"RIFF\x01\x02\x03\x04WEBPVP8 "), "image/webp");
    }

    #[test]
    fn a_false_image_is_no_image() {
        assert_eq!(recorded(Some("image/png"), b"<script>"), UNKNOWN);
        assert_eq!(recorded(Some("image/svg+xml"), b"<svg"), "image/svg+xml");
    }

    #[test]
    fn a_declared_type_is_kept_without_its_parameters_when_it_is_one() {
        assert_eq!(recorded(Some("Text/Plain; charset=latin1"), b"hi"), "text/plain");
        for strange in ["", "text", "text/", "/plain", "a/b/c", "te xt/plain", "text/pl\"ain", "text/plain\r\nX: y"] {
            assert_eq!(recorded(Some(strange), b"hi"), UNKNOWN, "{strange:?}");
        }
        assert_eq!(recorded(None, b""), UNKNOWN);
    }

    #[test]
    fn active_content_is_served_as_bytes_to_save() {
        for active in ["text/html", "image/svg+xml", "text/javascript", "application/xhtml+xml", "text/xml", "text/css"]
        {
            assert_eq!(served(active), Served { content_type: UNKNOWN, inline: false }, "{active}");
        }
    }

    #[test]
    fn only_images_and_plain_text_are_shown() {
        for picture in PICTURES {
            assert_eq!(served(picture), Served { content_type: picture, inline: true });
        }
        assert_eq!(served("text/plain"), Served { content_type: "text/plain; charset=utf-8", inline: true });
        assert_eq!(served("application/pdf"), Served { content_type: "application/pdf", inline: false });
        assert_eq!(served("audio/ogg"), Served { content_type: "audio/ogg", inline: false });
    }

    proptest! {
        #[test]
        fn whatever_is_declared_the_served_type_is_a_valid_header_and_never_active(
            declared in "(audio/|video/|text/|image/|application/)?.{0,20}(html|svg|xml|script)?", bytes: Vec<u8>,
        ) {
            let recorded = recorded(Some(&declared), &bytes);
            let served = served(&recorded);
            prop_assert!(axum::http::HeaderValue::from_str(served.content_type).is_ok());
            for active in ["html", "svg", "xml", "script"] {
                prop_assert!(!served.content_type.contains(active));
            }
        }
    }
}
