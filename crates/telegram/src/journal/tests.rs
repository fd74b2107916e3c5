//! What the journal keeps, also through a crash.
