//! Answers of the server, and what they become.
