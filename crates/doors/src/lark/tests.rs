//! The Lark document as tests: its conversations as transcripts, its rules one by one, and what must hold for any frame.

mod conversations;
mod frames;
mod hall;
mod requests;
mod session;
mod transcript;

#[path = "../../../core/tests/support/mod.rs"]
mod support;

use folkmoot_core as domain;
