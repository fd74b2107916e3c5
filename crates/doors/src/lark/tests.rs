//! The Lark document as tests: its conversations as transcripts, its rules one by one, and what must hold for any frame.

mod conversations;
mod frames;
mod requests;
mod session;

use crate::testing::{harness, support, transcript};
