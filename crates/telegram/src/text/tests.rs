//! One test per rule of rendering and of the limits.
