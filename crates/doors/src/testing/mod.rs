//! What the tests of all doors share: a hub without sockets, conversations written down as text, and the core's own test support.

pub mod hall;
pub mod transcript;

#[path = "../../../core/tests/support/mod.rs"]
pub mod support;

use folkmoot_core as domain;
