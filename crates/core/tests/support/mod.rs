//! What tests of the rules share: history in memory, a small world to act in, and random commands.
//!
//! The unit tests of the core, its property tests, the tests of the doors and the fuzz targets all take this folder in by its
//! path, so it names the core only as `domain`, which each of them defines for it.

#![allow(dead_code)] // Each of them uses a part.

pub mod commands;
pub mod ledger;
pub mod pool;
pub mod runs;
pub mod world;

use super::domain;

pub use world::World;
