//! Addresses: what to listen on, and which networks a proxy may stand in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::IpNet;

/// Reads `address:port`; `localhost` means 127.0.0.1, other names are refused because they may change.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| format!("`{text}` is not an address with a port"))
}

/// An address or a block of addresses, like `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    pub fn parse(text: &str) -> Option<Self> {
        let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.ok().map(Self)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
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
