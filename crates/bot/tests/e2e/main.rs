//! The bot as a whole, between a fake Snek server and a fake OpenAI-compatible endpoint; one test per rule of the document.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod connection;
mod images;
mod model;
mod routing;
mod tools;
