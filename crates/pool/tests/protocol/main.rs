//! The agent side against a controller written from the document: first the library, then the jukebox.

#[path = "../support/controller.rs"]
mod controller;
#[path = "../support/wav.rs"]
mod wav;

mod jukebox;
mod library;
mod life;
