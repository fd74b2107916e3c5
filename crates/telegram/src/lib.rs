//! The Telegram door: coding agents driven from a phone, and nothing lost on the way.
//!
//! Read in this order: [`api`] speaks the Bot API, [`text`] turns Markdown into what it takes, [`journal`] keeps on disk
//! what must survive, [`outbox`] delivers what is kept at the pace each chat allows, [`bridge`] drives engines with it.

pub mod api;
pub mod ids;
pub mod text;

pub mod context;
pub mod directives;
pub mod hub;
pub mod menu;
pub mod permission;
pub mod settings;

mod press;

pub mod piece;
mod plan;

pub mod journal;
pub mod outbox;

pub mod joining;
pub mod lock;
pub mod retry;
pub mod worktree;

mod cards;
mod questions;
mod sessions;
mod show;
mod spot;
mod turns;
mod usage;

mod shared;

mod gather;
mod prepare;

pub mod bridge;

#[cfg(test)]
#[path = "../tests/support/fake_api/mod.rs"]
mod fake_api;
