//! The built binary on the command line.

mod alone;
mod engines;
mod readme;
mod support;
mod with_hub;
