//! The built binary on the command line.

mod alone;
mod support;
mod with_hub;
