//! Has the binary linked so that it starts light.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if loader_unpacks_addresses() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// A program that may lie anywhere in memory brings a list of the addresses to adjust at its start: over a megabyte that is read
/// once and stays. Packed it is a few kilobytes; glibc can unpack it since 2.36.
fn loader_unpacks_addresses() -> bool {
    let is_glibc_here = variable("CARGO_CFG_TARGET_ENV") == "gnu" && variable("HOST") == variable("TARGET");
    let version = || {
        let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.split('.').next()?.parse::<u32>().ok()?))
    };
    is_glibc_here && version().is_some_and(|version| version >= (2, 36))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
