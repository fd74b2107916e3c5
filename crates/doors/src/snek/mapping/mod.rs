//! Between Snek's wire and the core: calls become commands and looks, events and replies become frames. Total functions.

mod arguments;
mod events;
mod replies;
mod requests;

pub use events::{event, lagged};
pub use replies::{echo, failure, looked, pong, reply};
pub use requests::{Request, methods, request};
