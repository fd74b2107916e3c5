//! Which addresses the bot may fetch from: the open internet and its own server, nothing behind the operator's wall.
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

/// Where a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The bot's own server, wherever it is.
    Own,
    /// Anywhere public.
    Outside,
}

/// Whether, and how, an address may be fetched.
pub fn way(url: &Url, own_origin: &str) -> Result<Way, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}:` is not an address of the web", url.scheme()));
    }
    if drive::origin(url) == own_origin {
        return Ok(Way::Own);
    }
    let literal = url.host_str().unwrap_or_default().trim_matches(['[', ']']).parse::<IpAddr>();
    match literal {
        Ok(address) if !is_public(address) => Err("it is a private address".to_owned()),
        _ => Ok(Way::Outside),
    }
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
        way(&Url::parse(url).unwrap(), OWN)
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
            assert!(asked(&url).is_err(), "{url}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for url in ["https://example.org/a.png", "http://1.1.1.1/", "http://[2606:4700::1111]/x"] {
            assert_eq!(asked(url), Ok(Way::Outside), "{url}");
        }
    }

    #[test]
    fn the_bots_own_server_passes_also_on_loopback() {
        assert_eq!(asked("http://127.0.0.1:8484/drive.bin/a.png"), Ok(Way::Own));
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
