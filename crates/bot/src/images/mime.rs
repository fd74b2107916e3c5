//! What kind of image some bytes are: by the ending of the address, by their first bytes, else PNG.

/// The MIME type of an image.
pub fn mime(url: &str, bytes: &[u8]) -> String {
    by_ending(url).or_else(|| by_magic(bytes).map(str::to_owned)).unwrap_or_else(|| "image/png".to_owned())
}

fn by_ending(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next()?;
    let name = path.rsplit('/').next()?;
    mime_guess::from_path(name).first_raw().map(str::to_owned)
}

fn by_magic(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_the_ending_of_the_address_decides() {
        let png = b"\x89PNG\r\n\x1a\n";
        let rows = [
            ("http://h/a.png", "image/png"),
            ("http://h/a.jpg", "image/jpeg"),
            ("http://h/a.jpeg?x=1.png", "image/jpeg"),
            ("http://h/a.gif", "image/gif"),
            ("http://h/a.bmp", "image/bmp"),
            ("http://h/a.webp", "image/webp"),
            ("http://h/a.svg", "image/svg+xml"),
        ];
        for (url, expected) in rows {
            assert_eq!(mime(url, png), expected, "{url}");
        }
    }

    #[test]
    fn then_the_first_bytes() {
        let rows: [(&[u8], &str); 5] = [
            (b"\x89PNG\r\n\x1a\n....", "image/png"),
            (b"\xff\xd8\xff", "image/jpeg"),
            (b"GIF87a..", "image/gif"),
            (b"GIF89a..", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(mime("http://h/drive", bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn else_it_counts_as_png() {
        for bytes in [&b""[..], b"hello", b"RIFF", b"GIF88a"] {
            assert_eq!(mime("http://h/drive", bytes), "image/png");
        }
    }
}
