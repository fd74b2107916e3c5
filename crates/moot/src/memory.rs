//! Giving memory back while nobody allocates; see `docs/decisions/0006-memory-comes-back.md`.

/// Starts the allocator's own thread that does so, for commands that stay. It is not there from the start: the step before an
/// engine puts up its walls while it has one thread only.
pub fn give_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::debug!(%error, "the allocator has no thread of its own; free memory goes back when it is next used");
    }
}
