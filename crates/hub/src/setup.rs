//! Who may make the first account: whoever sits at this machine, or has seen what the hub printed when it started.

use std::net::IpAddr;

use axum::http::HeaderMap;
use folkmoot_core::command::Standing;
use subtle::ConstantTimeEq;

use crate::auth::random_hex;
use crate::{origin, peer};

/// The one-time code; a new one with every start, and never in the log or on the disk.
pub struct Setup {
    code: String,
}

impl Default for Setup {
    fn default() -> Self {
        let digits = random_hex(5);
        let (first, second) = digits.split_at(5);
        Self { code: format!("{first}-{second}") }
    }
}

impl Setup {
    pub fn code(&self) -> &str {
        &self.code
    }

    pub fn standing(&self, address: IpAddr, headers: &HeaderMap, code: Option<&str>) -> Standing {
        let here = peer::is_of_this_machine(address, headers) && origin::came_by_loopback_name(headers);
        if here || code.is_some_and(|code| self.fits(code)) { Standing::Proven } else { Standing::Unproven }
    }

    fn fits(&self, code: &str) -> bool {
        let plain = |text: &str| text.trim().replace('-', "").to_ascii_lowercase();
        plain(code).as_bytes().ct_eq(plain(&self.code).as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn standing(address: &str, headers: &[(&'static str, &str)], code: Option<&str>) -> Standing {
        let setup = Setup { code: "12ab3-4cd56".into() };
        let pairs =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        setup.standing(address.parse().unwrap(), &pairs.collect(), code)
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:8484");

    #[test]
    fn whoever_sits_at_this_machine_needs_no_code() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(standing(address, &[HERE], None), Standing::Proven, "{address}");
        }
        assert_eq!(standing("127.0.0.1", &[("host", "localhost:8484")], None), Standing::Proven);
    }

    #[test]
    fn from_elsewhere_the_code_is_needed() {
        assert_eq!(standing("192.168.1.9", &[HERE], None), Standing::Unproven);
        for code in ["12ab3-4cd56", "12AB34CD56", " 12ab3-4cd56 "] {
            assert_eq!(standing("192.168.1.9", &[HERE], Some(code)), Standing::Proven, "{code}");
        }
        for code in ["", "12ab3", "12ab3-4cd57", "12ab3-4cd56-0"] {
            assert_eq!(standing("192.168.1.9", &[HERE], Some(code)), Standing::Unproven, "{code}");
        }
    }

    #[test]
    fn what_came_through_a_proxy_comes_from_elsewhere() {
        for name in peer::FORWARDED {
            assert_eq!(standing("127.0.0.1", &[HERE, (name, "for")], None), Standing::Unproven, "{name}");
        }
    }

    #[test]
    fn a_name_that_somebody_let_point_here_is_elsewhere() {
        assert_eq!(standing("127.0.0.1", &[("host", "evil.example:8484")], None), Standing::Unproven);
        assert_eq!(standing("127.0.0.1", &[], None), Standing::Unproven);
    }

    #[test]
    fn every_start_has_a_code_of_its_own() {
        assert_ne!(Setup::default().code(), Setup::default().code());
        assert_eq!(Setup::default().code().len(), 11);
    }
}
