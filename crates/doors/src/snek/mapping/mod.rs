//! Between Snek's wire and the core: calls become commands and looks, events and replies become frames. Total functions.

mod arguments;
mod events;
mod replies;
mod requests;

pub use events::{event, lagged};
pub use replies::{echo, failure, pong, reply, result};
pub use requests::{Request, methods, request};
