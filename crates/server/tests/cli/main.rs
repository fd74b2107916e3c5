//! The built binary on the command line.

mod alone;
mod readme;
mod support;
mod with_hub;
