//! The files of the page as they lie in the binary: plain and compressed, chosen by what the browser takes.

use axum::http::{HeaderMap, header};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// One file of the page; the compressed copies were made when the page was built.
#[derive(Debug)]
pub struct Asset {
    pub path: &'static str,
    pub plain: &'static [u8],
    pub brotli: Option<&'static [u8]>,
    pub gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// All files of a page, sorted by path.
#[derive(Clone, Copy)]
pub struct Page(pub &'static [Asset]);

impl Page {
    pub fn is_missing(self) -> bool {
        self.0.is_empty()
    }

    pub fn file(self, path: &str) -> Option<&'static Asset> {
        self.0.binary_search_by(|asset| asset.path.cmp(path)).ok().map(|found| &self.0[found])
    }
}

impl Asset {
    /// Whether its name changes with its content, so that a browser need never ask again.
    pub fn is_hashed(&self) -> bool {
        self.path.starts_with("assets/")
    }

    pub fn tag(&self) -> String {
        let digest = Sha256::digest(self.plain);
        format!("W/\"{}\"", HEXLOWER.encode(&digest[..8]))
    }

    /// The smallest copy that the browser takes.
    pub fn best_for(&self, headers: &HeaderMap) -> (&'static [u8], Option<&'static str>) {
        if let Some(brotli) = self.brotli.filter(|_| takes(headers, "br")) {
            return (brotli, Some("br"));
        }
        match self.gzip.filter(|_| takes(headers, "gzip")) {
            Some(gzip) => (gzip, Some("gzip")),
            None => (self.plain, None),
        }
    }

    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit('.').next().unwrap_or_default() {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "webp" => "image/webp",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            "json" => "application/json",
            "webmanifest" => "application/manifest+json",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

/// `Accept-Encoding: gzip, br;q=0` takes gzip and not brotli.
pub fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|offer| {
        let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case(encoding) && !refused
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    static BOTH: Asset = Asset { path: "assets/a.js", plain: b"plain", brotli: Some(b"br"), gzip: Some(b"gz") };
    static PLAIN: Asset = Asset { path: "index.html", plain: b"plain", brotli: None, gzip: None };

    fn chosen(asset: &'static Asset, accepts: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(accepts).unwrap());
        asset.best_for(&headers).1
    }

    #[test]
    fn the_smallest_copy_that_the_browser_takes_is_sent() {
        for accepts in ["gzip, deflate, br, zstd", "br", "gzip;q=1.0, BR;q=0.1"] {
            assert_eq!(chosen(&BOTH, accepts), Some("br"), "{accepts}");
        }
        for accepts in ["gzip", "gzip, br;q=0", "deflate,gzip;q=0.5"] {
            assert_eq!(chosen(&BOTH, accepts), Some("gzip"), "{accepts}");
        }
        for accepts in ["", "identity", "brotli", "gzip;q=0, br; q=0"] {
            assert_eq!(chosen(&BOTH, accepts), None, "{accepts}");
        }
        assert_eq!(chosen(&PLAIN, "gzip, br"), None, "there is no copy");
    }

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        assert!(BOTH.is_hashed());
        assert!(!PLAIN.is_hashed());
    }

    #[test]
    fn a_page_is_found_by_path() {
        static FILES: [Asset; 2] = [
            Asset { path: "assets/a.js", plain: b"", brotli: None, gzip: None },
            Asset { path: "index.html", plain: b"", brotli: None, gzip: None },
        ];
        let page = Page(&FILES);
        assert_eq!(page.file("index.html").map(|asset| asset.path), Some("index.html"));
        assert!(page.file("assets").is_none());
        assert!(page.file("../Cargo.toml").is_none());
    }

    proptest! {
        #[test]
        fn no_header_makes_the_choice_panic(bytes: Vec<u8>) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(header::ACCEPT_ENCODING, value);
                let _ = BOTH.best_for(&headers);
            }
        }
    }
}
