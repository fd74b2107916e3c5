//! A bot that joins a Snek server (or, as an agent, a hub through Lark) and answers with a language model and tools.
//!
//! In reading order: what can be set ([`settings`]), what can go wrong ([`error`]), the pure rules ([`life`],
//! [`reconnect`], [`route`], [`names`], [`drive`], [`colour`], [`context`]), the connection ([`link`], [`session`]),
//! what the bot can use ([`web`], [`images`], [`store`], [`tools`], [`model`]), one answer ([`answer`], [`speaker`]),
//! and the bot itself ([`bot`]).

pub mod settings;

pub mod error;

pub mod colour;
pub mod context;
pub mod drive;
pub mod life;
pub mod names;
pub mod reconnect;
pub mod route;
pub mod tokens;

pub mod link;
pub mod rooms;
pub mod session;
pub mod status;

pub mod images;
pub mod model;
pub mod store;
pub mod tools;
pub mod web;
pub mod workers;

pub mod answer;
pub mod bot;
pub mod speaker;

pub use bot::Bot;
pub use error::BotError;
pub use settings::Settings;
