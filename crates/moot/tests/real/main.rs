//! The real engines against the model on loopback, from `moot run`, from a channel and from Telegram: `make real-engines`.
//!
//! Every program plays every case in every mode and from every surface. At the end stands a table of what passed, what failed, and
//! what a program does not offer, with the reason. `REAL=claude/warm/channel` plays only what is so called.

#[path = "../../../engines/tests/models/mod.rs"]
mod models;
#[path = "../../../engines/tests/programs/mod.rs"]
mod programs;
#[expect(dead_code, unused_imports, reason = "the end-to-end tests use the rest")]
#[path = "../support/mod.rs"]
mod support;

mod channel;
mod judge;
mod run;
mod stage;
mod table;
mod telegram;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use models::Models;
use programs::Program;
use programs::cases::{self, CASES, Case, Event};
use stage::{HubStage, Stage};
use table::{Outcome, Surface, Table};

/// Longer than any case takes; a play that hangs fails.
const DEADLINE: Duration = Duration::from_secs(150);

fn main() -> ExitCode {
    let Ok(wanted) = std::env::var("REAL") else {
        println!("the real engines are played with `make real-engines`");
        return ExitCode::SUCCESS;
    };
    // A play that panics is a row of the table.
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let table = runtime.block_on(play_all(&wanted));
    println!("{table}");
    if table.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn play_all(wanted: &str) -> Table {
    let models = Models::start().await;
    let (programs, missing) = programs::installed();
    let mut table = Table::new(wanted, missing);
    for program in &programs {
        for warm in [false, true] {
            play_runs(program, warm, &models, &mut table).await;
            play_hub(program, warm, &models, &mut table).await;
        }
    }
    table
}

/// The cases from `moot run`, each on a stage of its own.
async fn play_runs(program: &Program, warm: bool, models: &Models, table: &mut Table) {
    for case in &CASES {
        let reason = cases::not_offered(program.engine, warm, case);
        let reason = reason.or((case.event == Event::KeepWarm).then_some("`moot run` is one prompt"));
        if !table.wants(program, warm, Surface::Run, case, reason) {
            continue;
        }
        let stage = Arc::new(Stage::new(program, warm, models, None, 0));
        let playing = stage.clone();
        let outcome = guarded(async move { run::play(&playing, case).await }).await;
        let outcome = outcome.and(stage.is_empty(&[]).await);
        table.note(program, warm, Surface::Run, case, outcome);
    }
}

/// The cases from a channel and from Telegram, on one hub; what ends the hub, and what keeps processes, on another.
async fn play_hub(program: &Program, warm: bool, models: &Models, table: &mut Table) {
    let special = |case: &&Case| matches!(case.event, Event::Kill | Event::KeepWarm);
    let usual: Vec<&'static Case> = CASES.iter().filter(|case| !special(case)).collect();
    play_on_hub(program, warm, models, table, &usual, &[Surface::Channel, Surface::Telegram]).await;
    for case in CASES.iter().filter(special) {
        for surface in [Surface::Channel, Surface::Telegram] {
            play_on_hub(program, warm, models, table, &[case], &[surface]).await;
        }
    }
}

async fn play_on_hub(
    program: &Program,
    warm: bool,
    models: &Models,
    table: &mut Table,
    cases: &[&'static Case],
    surfaces: &[Surface],
) {
    let mut hub: Option<Arc<HubStage>> = None;
    for &surface in surfaces {
        for &case in cases {
            let reason = cases::not_offered(program.engine, warm, case);
            if !table.wants(program, warm, surface, case, reason) {
                continue;
            }
            let keep = if case.event == Event::KeepWarm { 60 } else { 0 };
            if hub.is_none() {
                hub = Some(Arc::new(HubStage::start(program, warm, models, keep).await));
            }
            let stage = hub.clone().expect("a hub");
            let playing = stage.clone();
            let outcome = guarded(async move { playing.play(surface, case).await }).await;
            let outcome = outcome.and(stage.is_clean(case).await);
            table.note(program, warm, surface, case, outcome);
        }
    }
}

/// What a play says, also when it panics or does not end.
async fn guarded(play: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    let mut task = tokio::spawn(play);
    match tokio::time::timeout(DEADLINE, &mut task).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Err(panicked(error)),
        Err(_) => {
            task.abort();
            Err(format!("not over within {DEADLINE:?}"))
        }
    }
}

fn panicked(error: tokio::task::JoinError) -> String {
    let Ok(payload) = error.try_into_panic() else { return "it was given up".to_owned() };
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
