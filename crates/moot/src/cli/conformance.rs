//! `moot conformance`: the suites of `folkmoot-conformance`, with our terminal and the programs of whoever runs them.

use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use folkmoot_conformance::{Around, Errand, Hue, Row, Shown, Wrong};
use folkmoot_runs::process::environment;
use tokio::process::Command as Program;

pub use folkmoot_conformance::Command;

use super::output::Paint;
use super::{Fault, output};

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let as_json = command.wants_json();
    // Whoever reads along may be gone; the exit code still counts.
    let told = |row: &Row| drop((!as_json).then(|| output::text(&row.line(paint))));
    let shown = runtime.block_on(command.check(&Around { program, note: &output::note, told: &told }));
    // Programs that say sentences may still wait for answers.
    runtime.shutdown_background();
    match shown.map_err(|Wrong { sentence, hint, usage }| Fault { sentence, hint, usage })? {
        Shown::Text(text) => output::exact(text.trim_end()).map(|()| ExitCode::SUCCESS),
        Shown::Report { report, as_json } => {
            if as_json {
                output::json(&report.json())?;
            } else {
                output::line(&report.sentence(paint))?;
            }
            Ok(ExitCode::from(u8::from(!report.failed().is_empty())))
        }
    }
}

fn paint(hue: Hue, text: &str) -> String {
    let paint = Paint::of_stdout();
    match hue {
        Hue::Good => paint.green(text),
        Hue::Bad => paint.red(text),
        Hue::Open => paint.yellow(text),
        Hue::Aside => paint.dim(text),
    }
}

/// A command of the person who runs the suite, with words put behind it.
fn program(line: String) -> Errand {
    Arc::new(move |words| {
        let mut command = Program::new("sh");
        environment::clean(command.as_std_mut(), &[""; 0]);
        command.arg("-c").arg(format!("{line} \"$@\"")).arg("sh").args(words);
        command.stdin(Stdio::null()).kill_on_drop(true);
        Box::pin(async move {
            let done = command.output().await.map_err(|error| error.to_string())?;
            let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            if done.status.success() { Ok(out.into_owned()) } else { Err(format!("{out}{err}")) }
        })
    })
}
