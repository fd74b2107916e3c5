//! The rules, one test each, named after the rule; what must fail shares its set-up with what must not.

mod agents;
mod approvals;
mod attention;
mod brake;
mod calls;
mod catalogue;
mod channels;
mod credentials;
mod daemons;
mod deliveries;
mod direct;
mod drafts;
mod files;
mod guests;
mod hosting;
mod inbox;
mod invites;
mod machines;
mod members;
mod messages;
mod pools;
mod presence;
mod quotas;
mod registration;
mod routes;
mod runs;
mod streams;
mod tasks;
mod telegram;
mod threads;
mod wakes;
mod webhooks;

#[path = "../../tests/support/mod.rs"]
mod support;

use crate as domain;
