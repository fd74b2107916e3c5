//! The rules of delivery, with fake time, and the task against a fake Bot API.

mod delivery;
mod rules;
mod soak;
