//! Addresses: what to listen on, and which networks a proxy may stand in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads `address:port`; `localhost` means 127.0.0.1, other names are refused because they may change.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| format!("`{text}` is not an address with a port"))
}

/// An address or a block of addresses, like `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(widest), |prefix| prefix.parse().ok())?;
        (prefix <= widest).then_some(Self { address, prefix })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                same_prefix(u128::from(network.to_bits()), u128::from(address.to_bits()), 32 - self.prefix)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_prefix(network.to_bits(), address.to_bits(), 128 - self.prefix)
            }
            _ => false,
        }
    }
}

fn same_prefix(left: u128, right: u128, ignored_bits: u32) -> bool {
    (left ^ right).checked_shr(ignored_bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        Network::parse(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_holds_the_addresses_of_its_prefix() {
        assert!(holds("10.0.0.0/8", "10.200.3.4"));
        assert!(!holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("192.168.1.7", "192.168.1.7"));
        assert!(!holds("192.168.1.7", "192.168.1.8"));
        assert!(holds("0.0.0.0/0", "8.8.8.8"));
        assert!(holds("::/0", "2001:db8::1"));
        assert!(holds("fd00::/8", "fd12::1"));
        assert!(!holds("fd00::/8", "10.0.0.1"));
        assert!(holds("127.0.0.0/8", "::ffff:127.0.0.1"));
    }

    #[test]
    fn a_prefix_longer_than_the_address_is_no_network() {
        assert_eq!(Network::parse("10.0.0.0/33"), None);
        assert_eq!(Network::parse("proxy.example"), None);
    }

    #[test]
    fn localhost_is_the_only_name_to_listen_on() {
        assert_eq!(parse_listen("localhost:80").unwrap(), SocketAddr::from(([127, 0, 0, 1], 80)));
        assert!(parse_listen("example.org:80").is_err());
        assert!(parse_listen("127.0.0.1").is_err());
    }
}
