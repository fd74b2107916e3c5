//! The Bot API: one method per call, typed answers, errors that say what to do next.
