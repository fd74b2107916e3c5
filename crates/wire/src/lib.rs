//! What travels on the wire of every protocol: one serde type per request and event, for both sides, and the limits.
//!
//! The hub reads requests and writes events, its clients the other way round; both use the types of this crate, so a
//! field has one name and one shape. Nothing here decides anything, and nothing here knows the hub: an id is the text
//! that stands in the frame ([`Id`]). One file or folder per protocol, in the words of its document.

pub mod chopsticks;
mod id;
pub mod lark;
mod lenient;
#[cfg(feature = "schema")]
mod shape;
pub mod smarthole;
pub mod snek;

pub use id::Id;
#[cfg(feature = "schema")]
pub use shape::Shape;

/// A moment in milliseconds since 1970.
pub type Millis = i64;
