//! Which addresses the bot may fetch from: the open internet, images also from its own server, nothing behind the operator's
//! wall. Its key is for the drive of its own server and for nothing else.
//!
//! What the bot fetches is named by whoever talks to it. So a name is looked up here, private answers are thrown
//! away, and the connection goes to what is left: no second look-up can give another answer in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::drive;

/// Whether an address belongs to the open internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocol = a == 192 && b == 0 && c == 0;
    let benchmarking = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 240
        || shared
        || protocol
        || benchmarking
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    // Only 2000::/3 is given out at all; inside it some ranges carry IPv4 addresses or are for examples.
    let global = parts[0] & 0xe000 == 0x2000;
    let translated = parts[0] == 0x2002 || (parts[0] == 0x2001 && parts[1] < 0x200);
    let documentation = parts[0] == 0x2001 && parts[1] == 0xdb8 || parts[0] == 0x3fff && parts[1] < 0x1000;
    global && !translated && !documentation
}

/// What an address is fetched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Something to show to the model, which may lie on the bot's own server.
    Image,
    /// A page that whoever talks to the bot wants read. What the bot may read on its own server is not theirs to read.
    Page,
}

/// Where a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The drive of the bot's own server, wherever that is; it gets the bot's key.
    Drive,
    /// Anything else of the bot's own server, as a stranger.
    Own,
    /// Anywhere public.
    Outside,
}

/// Whether, and how, an address may be fetched.
pub fn way(url: &Url, own_origin: &str, purpose: Purpose) -> Result<Way, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}:` is not an address of the web", url.scheme()));
    }
    let is_own = drive::origin(url) == own_origin;
    match purpose {
        Purpose::Image if is_own && drive::holds(url) => return Ok(Way::Drive),
        Purpose::Image if is_own => return Ok(Way::Own),
        Purpose::Page if is_own || is_same_host(url, own_origin) => return Err("it is the bot's own server".to_owned()),
        Purpose::Image | Purpose::Page => {}
    }
    let literal = url.host_str().unwrap_or_default().trim_matches(['[', ']']).parse::<IpAddr>();
    match literal {
        Ok(address) if !is_public(address) => Err("it is a private address".to_owned()),
        _ => Ok(Way::Outside),
    }
}

/// Another port, another scheme or a dot behind the name do not make it somebody else's.
fn is_same_host(url: &Url, own_origin: &str) -> bool {
    let host = |url: &Url| url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
    Url::parse(own_origin).is_ok_and(|own| host(&own) == host(url))
}

/// Looks names up and keeps only public addresses.
#[derive(Clone, Copy, Debug)]
pub struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err("it has no public address".into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWN: &str = "http://127.0.0.1:8484";

    fn asked(url: &str) -> Result<Way, String> {
        way(&Url::parse(url).unwrap(), OWN, Purpose::Image)
    }

    fn page(url: &str, own: &str) -> Result<Way, String> {
        way(&Url::parse(url).unwrap(), own, Purpose::Page)
    }

    #[test]
    fn private_addresses_are_refused() {
        for host in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[fc00::1]",
            "[fe80::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[2002:7f00:1::]",
            "[64:ff9b::7f00:1]",
            "2130706433",
            "0x7f.1",
        ] {
            let url = format!("http://{host}/a.png");
            assert!(asked(&url).is_err() && page(&url, OWN).is_err(), "{url}");
        }
    }

    #[test]
    fn a_page_is_never_read_from_the_bots_own_server() {
        for url in [
            "http://127.0.0.1:8484/",
            "http://127.0.0.1:8484/v1/members/me",
            "http://127.0.0.1:8484/drive.bin/a.png",
            "http://127.0.0.1:9473/",
        ] {
            assert!(page(url, OWN).is_err(), "{url}");
        }
        let own = "https://hub.example";
        for url in
            ["https://hub.example/docs", "http://hub.example/", "https://HUB.example./v1", "https://hub.example:444/"]
        {
            assert!(page(url, own).is_err(), "{url}");
        }
        assert_eq!(page("https://example.org/", own), Ok(Way::Outside));
    }

    #[test]
    fn the_key_is_for_the_drive_of_the_own_server_alone() {
        for url in [
            "http://127.0.0.1:8484/v1/members/me",
            "http://127.0.0.1:8484/v1/files/x/download?a.png",
            "http://127.0.0.1:8484/drive.binx/a.png",
            "http://127.0.0.1:8484/drive.bin/../v1/members/me",
            "http://127.0.0.1:8484/drive.bin/%2e%2e/v1/a.png",
            "http://127.0.0.1:8484/drive.bin%2f..%2fv1/a.png",
            "http://127.0.0.1:8484//drive.bin/a.png",
        ] {
            assert_eq!(asked(url), Ok(Way::Own), "{url}");
        }
        for url in ["https://127.0.0.1:8484/drive.bin/a.png", "http://127.0.0.1/drive.bin/a.png"] {
            assert!(asked(url).is_err(), "{url}");
        }
        assert_eq!(asked("https://hub.example/drive.bin/a.png"), Ok(Way::Outside));
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for url in ["https://example.org/a.png", "http://1.1.1.1/", "http://[2606:4700::1111]/x"] {
            assert_eq!(asked(url), Ok(Way::Outside), "{url}");
        }
    }

    #[test]
    fn the_bots_own_server_passes_also_on_loopback() {
        assert_eq!(asked("http://127.0.0.1:8484/drive.bin/a.png"), Ok(Way::Drive));
        assert_eq!(asked("http://127.0.0.1:8484/avatar/a.png"), Ok(Way::Own));
        assert!(asked("http://127.0.0.1:8485/drive.bin/a.png").is_err(), "another port is another server");
        assert!(asked("http://localhost.:80@127.0.0.1:9/").is_err());
    }

    #[test]
    fn other_schemes_are_refused() {
        assert!(asked("file:///etc/passwd").is_err());
        assert!(asked("ftp://example.org/a.png").is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_home_has_no_address() {
        let found = PublicOnly.resolve("localhost".parse().unwrap()).await;
        assert!(found.is_err());
    }

    proptest! {
        #[test]
        fn an_address_is_judged_the_same_when_it_is_wrapped_into_ipv6(bits: u32) {
            let inner = Ipv4Addr::from(bits);
            prop_assert_eq!(is_public(inner.into()), is_public(inner.to_ipv6_mapped().into()));
        }
    }
}
