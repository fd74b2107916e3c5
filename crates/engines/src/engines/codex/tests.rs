//! One test per rule of the mapping.
