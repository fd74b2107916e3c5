//! The Telegram door: coding agents driven from a phone, and nothing lost on the way.
//!
//! Read in this order: [`api`] speaks the Bot API, [`text`] turns Markdown into what it takes, [`journal`] keeps on disk
//! what must survive, [`outbox`] delivers what is kept at the pace each chat allows.

pub mod api;
pub mod journal;
pub mod outbox;
pub mod text;

pub mod hub;
pub mod settings;

pub mod context;
pub mod directives;
pub mod joining;
pub mod lock;
pub mod menu;
pub mod patience;
pub mod permission;
pub mod piece;
pub mod worktree;

mod cards;
mod files;
mod gather;
mod plan;
mod press;
mod questions;
mod sessions;
mod show;
mod usage;

pub mod bridge;
mod commands;
mod prepare;
mod shared;
mod turns;

#[cfg(test)]
#[path = "../tests/support/fake_api/mod.rs"]
mod fake_api;
