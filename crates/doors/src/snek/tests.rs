//! The Snek document as tests: its conversations as transcripts, its rules one by one, and what must hold for any frame.

mod conversations;

use crate::testing::transcript;
