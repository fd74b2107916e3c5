//! Has the binary linked so that it starts light.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    // A program that may lie anywhere in memory adjusts all its addresses at its start, and the pages that they are on
    // are then its own. One with a fixed place shares them with every supervisor; see `docs/decisions/0104-light-supervisors.md`.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
