//! When a model has called enough: rounds, repetitions and failures of one answer (section 12).

use std::collections::HashMap;

use serde_json::Value;

use crate::settings::Limits;

/// The count of one answer.
#[derive(Debug)]
pub struct Rounds {
    depth: u32,
    most_depth: u32,
    repeated: HashMap<(String, String), u32>,
    most_repeated: u32,
    errors: u32,
    most_errors: u32,
}

/// Why no more tools are called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("{0} rounds of tool calls were not enough")]
    Depth(u32),
    #[error("the tool `{0}` was called {1} times with the same arguments")]
    Repeated(String, u32),
    #[error("{0} tool calls failed one after the other")]
    Errors(u32),
}

impl Rounds {
    pub fn new(limits: &Limits) -> Self {
        Self {
            depth: 0,
            most_depth: limits.max_tool_call_depth,
            repeated: HashMap::new(),
            most_repeated: limits.max_repeated_tool_calls,
            errors: 0,
            most_errors: limits.max_consecutive_tool_errors,
        }
    }

    /// Another round begins.
    pub fn round(&mut self) -> Result<(), Stop> {
        if self.depth >= self.most_depth {
            return Err(Stop::Depth(self.most_depth));
        }
        self.depth += 1;
        Ok(())
    }

    /// A call is about to be made.
    pub fn call(&mut self, name: &str, arguments: &str) -> Result<(), Stop> {
        let count = self.repeated.entry((name.to_owned(), canonical(arguments))).or_default();
        if *count >= self.most_repeated {
            return Err(Stop::Repeated(name.to_owned(), *count));
        }
        *count += 1;
        Ok(())
    }

    /// How the call went.
    pub fn called(&mut self, succeeded: bool) -> Result<(), Stop> {
        self.errors = if succeeded { 0 } else { self.errors + 1 };
        if self.errors >= self.most_errors { Err(Stop::Errors(self.errors)) } else { Ok(()) }
    }
}

/// The same arguments in the same form, whatever their order and spacing.
fn canonical(arguments: &str) -> String {
    serde_json::from_str::<Value>(arguments).map_or_else(|_| arguments.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        Rounds::new(&Limits::default())
    }

    #[test]
    fn the_26th_round_is_one_too_many() {
        let mut rounds = rounds();
        for _ in 0..25 {
            rounds.round().unwrap();
        }
        assert_eq!(rounds.round(), Err(Stop::Depth(25)));
    }

    #[test]
    fn the_sixth_identical_call_is_one_too_many() {
        let mut rounds = rounds();
        for _ in 0..5 {
            rounds.call("f", "{\"a\": 1, \"b\": 2}").unwrap();
        }
        rounds.call("f", "{\"a\": 2}").unwrap();
        rounds.call("g", "{\"a\": 1, \"b\": 2}").unwrap();
        assert_eq!(rounds.call("f", "{\"b\":2,\"a\":1}"), Err(Stop::Repeated("f".into(), 5)));
    }

    #[test]
    fn the_third_consecutive_error_ends_it() {
        let mut rounds = rounds();
        rounds.called(false).unwrap();
        rounds.called(false).unwrap();
        rounds.called(true).unwrap();
        rounds.called(false).unwrap();
        rounds.called(false).unwrap();
        assert_eq!(rounds.called(false), Err(Stop::Errors(3)));
    }

    #[test]
    fn arguments_that_are_no_json_are_compared_as_text() {
        let mut rounds = rounds();
        for _ in 0..5 {
            rounds.call("f", "{oops").unwrap();
        }
        assert!(rounds.call("f", "{oops").is_err());
        assert!(rounds.call("f", "{oops ").is_ok());
    }
}
