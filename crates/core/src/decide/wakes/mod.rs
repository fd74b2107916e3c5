//! Wakes: whom a message wants, how long the wake waits for more, how it goes out, what comes of it, and where agents that
//! wake each other are stopped.
//!
//! The other rules say what happened (`on_message`, `on_edit`, `on_delete`, `on_time`, `on_return`, …) and know nothing of
//! the files below, which lean on each other downwards only:
//!
//! [`steps`] (one wake and its states) and [`want`] (whom a message wants) → [`origin`] (where it comes from),
//! [`loop_guard`] (where agents stop) and [`hold`] (the text that waits then) → [`debounce`] (what joins) and [`send`] (when it
//! goes out) → [`settle`] (how it ends) and [`tasks`] (tasks wake too).

mod debounce;
mod hold;
mod loop_guard;
mod origin;
mod send;
mod settle;
mod steps;
mod tasks;
#[cfg(test)]
mod tests;
mod want;

pub(super) use debounce::{on_delete, on_edit, on_typing, on_word_by_hand, on_writing};
pub(super) use hold::{Held, hold_back, on_granted, on_release, on_stopped};
pub(super) use loop_guard::on_sentence;
pub(super) use origin::{Origin, person_behind};
pub(super) use send::{by_hand, on_return, on_time};
pub(super) use settle::{
    cancel, end_with_their_place, fail, join, on_refused, on_rest, on_run_end, on_run_lost, on_run_start, pass,
};
pub(super) use steps::own_open;
pub(super) use tasks::{after_run, follow_run, on_task_assigned, on_task_moved};
pub use want::whom_it_wakes;

use super::{Context, notify};
use crate::event::Event;
use crate::model::Message;
use crate::refusal::Refusal;
use crate::state::Room;

/// A message was said: the wake it answers is over (`origin` says which), those it wants are told, and agents among them will be
/// woken. One that `is_quiet` is meant for people: it tells and wakes no agent, and joins no wake that waits. `thread` is the
/// message at the top of its thread.
pub(super) fn on_message(
    context: &mut Context<'_>,
    room: &Room,
    (message, is_quiet): (&Message, bool),
    thread: Option<&Message>,
    origin: &Origin,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    settle::on_answer(context, message, origin, events);
    let mut wanted = want::by_message(context, room, message, thread)?;
    wanted.retain(|(member, _)| !is_quiet || !member.is_agent());
    for (member, reason) in &wanted {
        events.push(Event::Saved(notify::of_message(context, member, message, *reason).into()));
    }
    if is_quiet { Ok(()) } else { debounce::collect(context, room, message, &wanted, events) }
}
