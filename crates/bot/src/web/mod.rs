//! The web as the bot may use it.

pub mod fetch;
pub mod guard;

pub use fetch::{Beyond, Fetched, Web};
pub use guard::Purpose;
