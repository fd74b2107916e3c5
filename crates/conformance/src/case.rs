//! What a case is, and what it may say.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub type Verdict<T = ()> = Result<T, Fault>;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The rule is broken, and this was seen.
    Broken(String),
    /// The case cannot be tried with what the suite was given.
    NotRun(String),
}

impl Fault {
    pub fn broken(what: impl Into<String>) -> Self {
        Self::Broken(what.into())
    }

    pub fn needs(what: &str) -> Self {
        Self::NotRun(format!("needs {what}"))
    }
}

pub type Trial = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// One rule of a document, and how it is tried on a stage.
pub struct Case<S> {
    /// `SECTION.NUMBER`, with the sections numbered in the order of the document.
    pub id: &'static str,
    /// The section's own words.
    pub section: &'static str,
    pub rule: &'static str,
    /// What it takes by itself, beyond the time limit: rules about half a minute take half a minute.
    pub takes: Duration,
    pub run: fn(Arc<S>) -> Trial,
}

/// Something that is done outside the protocol, by whoever runs the suite: a sentence said to the router, a request given to
/// the controller. It gets its words and returns what came of it.
pub type Errand = Arc<dyn Fn(Vec<String>) -> Done + Send + Sync>;
pub type Done = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A suite's list of cases. A case that takes long by itself says how many seconds.
macro_rules! cases {
    ($stage:ty: $($id:literal $section:literal $rule:literal => $run:path $(, takes $seconds:literal)?;)*) => {
        pub fn cases() -> Vec<$crate::case::Case<$stage>> {
            vec![$($crate::case::Case {
                id: $id,
                section: $section,
                rule: $rule,
                takes: std::time::Duration::from_secs(0 $(+ $seconds)?),
                run: |stage| Box::pin($run(stage)),
            }),*]
        }
    };
}

/// Says what is broken unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::case::Fault::broken(format!($($words)*)));
        }
    };
}

pub(crate) use {cases, ensure};
