//! What every HTTP surface of the hub shares: who calls, what is taken from a request, and how answers and refusals look.
//!
//! A surface is a list of handlers ([`surface!`](crate::surface)) over a state `S` of its own from which the hub can be had
//! (`Hub: FromRef<S>`), so that a service brings its routes without knowing any other.

pub mod bounds;
mod document;
pub mod error;
pub mod extract;
pub mod kind;
pub mod names;
pub mod query;
pub mod range;
pub mod reply;
mod surface;
pub mod upload;

pub use self::document::document;
pub use self::error::ApiError;
pub use self::extract::{Body, Caller, Path, Query};
pub use self::reply::Answer;
pub use self::surface::{Endpoint, Surface};

pub use crate::surface;

/// The hub answered a command with something else than that command leads to.
pub fn unexpected() -> ApiError {
    tracing::error!("a command was answered with a reply of another kind");
    ApiError::unavailable("internal error")
}
