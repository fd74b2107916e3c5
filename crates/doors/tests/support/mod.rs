//! What the tests of all doors share: a hub without sockets, conversations written down as text, and the core's own test support.

pub mod harness;
pub mod transcript;

#[path = "../../../core/tests/support/mod.rs"]
pub mod support;

use folkmoot_core as domain;
use proptest::prelude::ProptestConfig;

/// So many cases, or in proportion to `PROPTEST_CASES` (256 when it is not set). Failures are shown, not kept in files.
pub fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: cases * default.cases / 256, failure_persistence: None, ..default }
}
