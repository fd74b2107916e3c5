//! How a failure is shown: one sentence, a hint where there is a remedy, and an exit code.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use folkmoot_action::visible;

use crate::fault::Fault;
use crate::output::Paint;
use folkmoot_config::{ConfigError, Problem};

/// Prints an error to standard error and says how the process ends.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader has seen enough (`moot … | head`): that is no failure of ours.
        return ExitCode::SUCCESS;
    }
    let (lines, code) = explain(error);
    let paint = Paint::of_stderr();
    let mut output = std::io::stderr().lock();
    for (sentence, hint) in lines {
        let _ = writeln!(output, "{} {}", paint.red("error:"), visible::text(&sentence));
        if let Some(hint) = hint {
            let _ = writeln!(output, "{} {}", paint.cyan("hint:"), visible::text(&hint));
        }
    }
    ExitCode::from(code)
}

type Lines = Vec<(String, Option<String>)>;

fn explain(error: &anyhow::Error) -> (Lines, u8) {
    let whole = format!("{error:#}");
    if let Some(fault) = error.chain().find_map(|cause| cause.downcast_ref::<Fault>()) {
        let (sentence, own_hint) = split_hint(&whole);
        return (vec![(sentence, fault.hint.clone().or(own_hint))], if fault.usage { 2 } else { 1 });
    }
    if let Some(config) = error.chain().find_map(|cause| cause.downcast_ref::<ConfigError>()) {
        let line = |problem: &Problem| (problem.to_string(), problem.hint.clone());
        return (config.problems.iter().map(line).collect(), 2);
    }
    (vec![split_hint(&whole)], 1)
}

/// Errors from below carry their hint as a second line.
fn split_hint(text: &str) -> (String, Option<String>) {
    match text.split_once("\nhint: ") {
        Some((sentence, hint)) => (sentence.to_owned(), Some(hint.to_owned())),
        None => (text.to_owned(), None),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| Some(cause.downcast_ref::<std::io::Error>()?.kind());
    error.chain().any(|cause| kind(cause) == Some(ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_failure_is_code_1_and_wrong_usage_or_configuration_code_2() {
        assert_eq!(explain(&anyhow::anyhow!("it broke")).1, 1);
        assert_eq!(explain(&Fault::failed("it broke").into()).1, 1);
        assert_eq!(explain(&Fault::usage("no such thing").into()).1, 2);
        assert_eq!(explain(&ConfigError::from(Problem::new("wrong")).into()).1, 2);
    }

    #[test]
    fn the_hint_survives_added_context() {
        let error = Err::<(), _>(Fault::failed("port taken").hint("stop it")).context("cannot start").unwrap_err();
        assert_eq!(explain(&error).0, [("cannot start: port taken".to_owned(), Some("stop it".to_owned()))]);
    }

    #[test]
    fn a_hint_in_the_text_of_an_error_becomes_a_hint() {
        let lines = explain(&anyhow::anyhow!("it broke\nhint: mend it")).0;
        assert_eq!(lines, [("it broke".to_owned(), Some("mend it".to_owned()))]);
    }

    #[test]
    fn every_problem_of_a_configuration_gets_its_line() {
        let problems = vec![Problem::new("a").hint("x"), Problem::new("b").at("f:1")];
        let (lines, _) = explain(&ConfigError { problems }.into());
        assert_eq!(lines, [("a".to_owned(), Some("x".to_owned())), ("f:1: b".to_owned(), None)]);
    }
}
