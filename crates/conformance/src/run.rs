//! Runs the cases of a suite, each within its time.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::case::{Case, Fault, Verdict};
use crate::link::WAITING;
use crate::report::{Outcome, Report, Row};

/// How the cases are run.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How long a case may take, beyond what its rule takes by itself.
    pub time_limit: Duration,
    /// Whether cases that take half a minute and more are run.
    pub slow: bool,
    /// Run only the case of this id, or those of this section.
    pub only: Option<String>,
}

impl Pace {
    fn wants<S>(&self, case: &Case<S>) -> bool {
        let below = |only: &String| case.id == only || case.id.starts_with(&format!("{only}."));
        self.only.as_ref().is_none_or(below)
    }
}

/// Runs the cases on this stage and tells each outcome as it comes.
///
/// Cases that take long wait for the most part, so they wait beside the others; those of a suite that plays the server
/// cannot, for there is one client, and come in their turn (`in_turn`).
pub async fn run<S: Send + Sync + 'static>(
    suite: &str,
    cases: Vec<Case<S>>,
    stage: Arc<S>,
    pace: &Pace,
    in_turn: bool,
    mut told: impl FnMut(&Row),
) -> Report {
    let cases: Vec<Case<S>> = cases.into_iter().filter(|case| pace.wants(case)).collect();
    let beside: Vec<_> =
        cases.iter().map(|case| (!in_turn && is_slow(case) && pace.slow).then(|| start(case, &stage, pace))).collect();
    let mut rows = Vec::new();
    for (case, task) in cases.iter().zip(&beside) {
        if task.is_some() {
            continue;
        }
        let (verdict, took) = match is_slow(case) && !pace.slow {
            true => (Err(Fault::NotRun("takes long; run it with --slow".to_owned())), Duration::ZERO),
            false => finished(start(case, &stage, pace).await),
        };
        rows.push(row(case, verdict, took));
        told(rows.last().expect("just pushed"));
    }
    for (case, task) in cases.iter().zip(beside) {
        let Some(task) = task else { continue };
        let (verdict, took) = finished(task.await);
        rows.push(row(case, verdict, took));
        told(rows.last().expect("just pushed"));
    }
    let place = |row: &Row| cases.iter().position(|case| case.id == row.id);
    rows.sort_by_key(place);
    Report { suite: suite.to_owned(), rows }
}

fn is_slow<S>(case: &Case<S>) -> bool {
    !case.takes.is_zero()
}

type Ended = (Verdict, Duration);

fn start<S: Send + Sync + 'static>(case: &Case<S>, stage: &Arc<S>, pace: &Pace) -> tokio::task::JoinHandle<Ended> {
    let (trial, limit) = ((case.run)(Arc::clone(stage)), pace.time_limit + case.takes);
    tokio::spawn(WAITING.scope(RefCell::default(), async move {
        let begun = Instant::now();
        let verdict = tokio::time::timeout(limit, trial).await.unwrap_or_else(|_| {
            let waiting = WAITING.with(RefCell::take);
            Err(Fault::Broken(format!("not within {} s: {waiting}", limit.as_secs())))
        });
        (verdict, begun.elapsed())
    }))
}

fn finished(joined: Result<Ended, tokio::task::JoinError>) -> Ended {
    let broken = |error: tokio::task::JoinError| {
        (Err(Fault::broken(format!("the case itself failed: {error}"))), Duration::ZERO)
    };
    joined.unwrap_or_else(broken)
}

fn row<S>(case: &Case<S>, verdict: Verdict, took: Duration) -> Row {
    let outcome = match verdict {
        Ok(()) => Outcome::Passed,
        Err(Fault::Broken(what)) => Outcome::Failed(what),
        Err(Fault::NotRun(why)) => Outcome::NotRun(why),
    };
    Row { id: case.id, section: case.section, rule: case.rule, outcome, took }
}
