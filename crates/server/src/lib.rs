//! The hub: configuration, listeners, the one connection loop, execute, fan-out, and the command line.
//!
//! A message's way: [`ws`] reads a frame, a door's session turns it into a command, [`hub`] decides, commits and
//! tells it, and [`ws`] writes the shared bytes to every socket that hears it.

pub mod agentd;
pub mod app;
pub mod auth;
pub mod cli;
pub mod config;
pub mod engine_list;
mod hashing;
pub mod health;
pub mod hosting;
pub mod hub;
pub mod limits;
mod listen;
pub mod log;
pub mod login;
mod memory;
pub mod metrics;
mod modes;
pub mod net;
mod origin;
pub mod pools;
pub mod quotas;
pub mod rest;
pub mod router;
pub mod runner;
pub mod serve;
mod setup;
pub mod telegram;
pub mod web;
pub mod ws;
