//! Links to the server's drive, made absolute.

use reqwest::Url;

/// The web origin of a WebSocket address: `wss://host/rpc.ws` → `https://host`.
pub fn origin(url: &Url) -> String {
    let scheme = if matches!(url.scheme(), "wss" | "https") { "https" } else { "http" };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{}{port}", url.host_str().unwrap_or_default())
}

/// Whether an address of the server is one of its drive's. What a parser resolved is looked at, so nothing climbs out of it;
/// what is written with escapes could mean something else to the server, and is not the drive's.
pub fn holds(url: &Url) -> bool {
    let path = url.path();
    let inside = path == "/drive.bin" || path.starts_with("/drive.bin/");
    inside && !["%2e", "%2f", "%5c"].iter().any(|escaped| path.to_ascii_lowercase().contains(escaped))
}

/// `(/drive.bin` → `(https://host/drive.bin`, as relative links stand in Markdown.
pub fn rewrite(text: &str, origin: &str) -> String {
    text.replace("(/drive.bin", &format!("({origin}/drive.bin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_drive_links_get_the_origin_of_the_server() {
        let origin = origin(&Url::parse("wss://snek.molodetz.nl/rpc.ws").unwrap());
        let text = rewrite("see ![cat](/drive.bin/a.png) and [b](/drive.bin/b.txt)", &origin);
        assert_eq!(
            text,
            "see ![cat](https://snek.molodetz.nl/drive.bin/a.png) and [b](https://snek.molodetz.nl/drive.bin/b.txt)"
        );
    }

    #[test]
    fn other_text_stays() {
        let text = "/drive.bin alone and (https://other/drive.bin/x)";
        assert_eq!(rewrite(text, "https://snek.molodetz.nl"), text);
    }

    #[test]
    fn a_plain_server_with_a_port_has_a_plain_origin() {
        assert_eq!(origin(&Url::parse("ws://127.0.0.1:8484/rpc.ws").unwrap()), "http://127.0.0.1:8484");
        assert_eq!(origin(&Url::parse("ws://[::1]:8484/rpc.ws").unwrap()), "http://[::1]:8484");
    }
}
