//! Which web pages may speak to the hub, judged by `Origin` and `Host`.
//!
//! A browser names the page's origin truly, but `Host` is whatever name the page chose: somebody may let a name of their own
//! point to 127.0.0.1 and then look like "the hub's own address". So on a loopback listener a `Host` counts only when
//! it is a loopback name or the one the configuration names. Programs that are no browsers send no `Origin`.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};

use crate::settings::Server;

/// A note-taking program that is a real client of local doors.
const OBSIDIAN: &str = "app://obsidian.md";

pub struct Origins<'a> {
    server: &'a Server,
}

impl<'a> Origins<'a> {
    pub fn new(server: &'a Server) -> Self {
        Self { server }
    }

    /// A web page may connect only from this hub's own address or one the configuration names.
    pub fn allow(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        let own_host = |authority: &str| authority.eq_ignore_ascii_case(host(headers)) && self.is_believable(authority);
        self.is_configured(origin) || authority(origin).is_some_and(own_host)
    }

    /// The same for doors without accounts: only a loopback address itself is the hub's own.
    pub fn are_ours(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        let own_address = |authority: &str| {
            is_loopback(authority) && (authority.eq_ignore_ascii_case(host(headers)) || authority == self.server.listen)
        };
        origin == OBSIDIAN || self.is_configured(origin) || authority(origin).is_some_and(own_address)
    }

    /// The origin of a page, if the configuration names it.
    pub fn named<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        headers.get(header::ORIGIN).filter(|origin| origin.to_str().is_ok_and(|origin| self.is_configured(origin)))
    }

    fn is_configured(&self, origin: &str) -> bool {
        let same = |allowed: &str| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin);
        same(&self.server.public_url) || self.server.allowed_origins.iter().any(|allowed| same(allowed))
    }

    /// Who listens for the network is reached under names that nobody can list here; who listens on loopback is not.
    fn is_believable(&self, authority: &str) -> bool {
        let for_the_network = self.server.listen_addr().is_ok_and(|address| !address.ip().is_loopback());
        let public = self.server.public_url.split_once("://").map_or("", |(_, rest)| rest.trim_end_matches('/'));
        for_the_network || is_loopback(authority) || name(public).eq_ignore_ascii_case(name(authority))
    }
}

/// Whether a request was sent to this machine under a name that only it has.
pub fn came_by_loopback_name(headers: &HeaderMap) -> bool {
    is_loopback(host(headers))
}

fn host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

fn authority(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).filter(|rest| !rest.is_empty())
}

/// `127.0.0.1:8484` without the port.
fn name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// `127.0.0.1:8484`, `[::1]:8484`, `localhost:8484`, with or without the port.
fn is_loopback(authority: &str) -> bool {
    let host = name(authority).trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(origin: &str, host: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        headers
    }

    fn listening_on(listen: &str) -> Server {
        Server { listen: listen.into(), public_url: "https://moot.example/".into(), ..Server::default() }
    }

    #[test]
    fn on_loopback_the_loopback_names_are_the_hubs_own() {
        let server = listening_on("127.0.0.1:8484");
        for own in ["127.0.0.1:8484", "localhost:8484", "LOCALHOST:8484", "[::1]:8484", "localhost"] {
            assert!(Origins::new(&server).allow(&request(&format!("http://{own}"), own)), "{own}");
        }
    }

    #[test]
    fn on_loopback_a_name_that_somebody_let_point_here_is_refused_although_host_says_the_same() {
        let server = listening_on("127.0.0.1:8484");
        for host in
            ["evil.example:8484", "moot.example.evil.example", "127.0.0.1.evil.example:8484", "192.168.1.5:8484"]
        {
            assert!(!Origins::new(&server).allow(&request(&format!("http://{host}"), host)), "{host}");
        }
    }

    #[test]
    fn the_name_of_the_public_url_and_allowed_origins_are_believed() {
        let mut server = listening_on("127.0.0.1:8484");
        assert!(Origins::new(&server).allow(&request("https://moot.example", "127.0.0.1:8484")));
        assert!(Origins::new(&server).allow(&request("http://moot.example", "moot.example")));
        assert!(!Origins::new(&server).allow(&request("https://chat.example", "127.0.0.1:8484")));
        server.allowed_origins = vec!["https://chat.example".into()];
        assert!(Origins::new(&server).allow(&request("https://chat.example", "127.0.0.1:8484")));
    }

    #[test]
    fn only_an_origin_of_the_configuration_is_a_named_one() {
        let server = Server { allowed_origins: vec!["https://chat.example".into()], ..listening_on("0.0.0.0:8484") };
        let is_named = |origin: &str| Origins::new(&server).named(&request(origin, "box.lan:8484")).is_some();
        assert!(is_named("https://chat.example") && is_named("https://moot.example"));
        for other in ["http://box.lan:8484", "https://chat.example.evil.example", "http://chat.example", "null", ""] {
            assert!(!is_named(other), "{other}");
        }
        assert!(Origins::new(&server).named(&HeaderMap::new()).is_none());
    }

    #[test]
    fn a_listener_for_the_network_is_reached_under_any_name_but_only_from_its_own_page() {
        let server = listening_on("0.0.0.0:8484");
        assert!(Origins::new(&server).allow(&request("http://box.lan:8484", "box.lan:8484")));
        assert!(!Origins::new(&server).allow(&request("http://evil.example", "box.lan:8484")));
    }

    #[test]
    fn no_origin_is_no_page_and_an_opaque_origin_is_nobodys() {
        let server = listening_on("127.0.0.1:8484");
        assert!(Origins::new(&server).allow(&HeaderMap::new()));
        for origin in ["null", "http://", "app://obsidian.md", "file://"] {
            assert!(!Origins::new(&server).allow(&request(origin, "127.0.0.1:8484")), "{origin}");
        }
    }

    proptest! {
        #[test]
        fn no_pair_of_headers_makes_it_panic_and_a_foreign_origin_is_never_allowed(host in "[ -~]{0,40}") {
            let server = listening_on("127.0.0.1:8484");
            if let Ok(host) = HeaderValue::from_str(&host) {
                let mut headers = request("http://evil.example", "x");
                headers.insert(header::HOST, host);
                prop_assert!(!Origins::new(&server).allow(&headers));
                prop_assert!(!Origins::new(&server).are_ours(&headers));
            }
        }
    }
}
