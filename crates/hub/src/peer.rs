//! Where a request comes from: its address, and whether that is this machine.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// The address a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Headers that proxies put in: such a request comes from somewhere else, whatever its socket says.
pub const FORWARDED: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// Whether a request was made on this machine, and not passed on by a proxy that is.
pub fn is_of_this_machine(address: IpAddr, headers: &HeaderMap) -> bool {
    address.to_canonical().is_loopback() && !FORWARDED.iter().any(|name| headers.contains_key(*name))
}
