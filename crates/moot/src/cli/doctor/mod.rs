//! `moot doctor`: looks at everything a hub needs on this machine, and says what to do about what is wrong.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::output::{self, Paint};
use super::{Settings, data_dir_override};
use crate::config::{Loaded, Override};

mod agents;
mod checks;
mod database;
mod telegram;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot doctor
  moot doctor --data-dir /srv/folkmoot --json

Exit code 1 if something fails; warnings alone give 0.")]
pub struct Args {
    /// The data folder to look at.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The address of the hub to look at.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What one look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub subject: &'static str,
    pub verdict: Verdict,
    pub sentence: String,
    pub remedy: Option<String>,
}

impl Finding {
    pub fn ok(subject: &'static str, sentence: impl Into<String>) -> Self {
        Self { subject, verdict: Verdict::Ok, sentence: sentence.into(), remedy: None }
    }

    pub fn warn(subject: &'static str, sentence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, verdict: Verdict::Warn, sentence: sentence.into(), remedy: Some(remedy.into()) }
    }

    pub fn fail(subject: &'static str, sentence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, ..Self::warn(subject, sentence, remedy) }
    }
}

pub fn run(settings: &Settings, args: &Args) -> anyhow::Result<ExitCode> {
    let listen = args.listen.clone().map(|value| Override { flag: "--listen", key: "server.listen", value });
    let overrides = listen.into_iter().chain(data_dir_override(args.data_dir.clone())).collect();
    let findings = match settings.load_with(overrides) {
        Ok(loaded) => examine(&loaded)?,
        Err(error) => vec![Finding::fail(
            "configuration",
            format!("{error:#}"),
            "mend it; `moot config check` shows all problems",
        )],
    };
    if args.json {
        output::json(&as_json(&findings))?;
    } else {
        print(&findings)?;
    }
    let failed = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Every look at this machine; the order is that of the sections of the configuration.
fn examine(loaded: &Loaded) -> anyhow::Result<Vec<Finding>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let data_dir = loaded.config.data_dir();
    let mut findings = checks::configuration(loaded);
    findings.extend(checks::modes(loaded));
    findings.push(checks::data_folder(&data_dir));
    findings.extend(checks::free_space(&data_dir));
    findings.push(database::check(loaded.config.store.url.expose(), &data_dir));
    findings.extend(database::check_others(&data_dir));
    let hub = runtime.block_on(checks::hub(&loaded.config));
    findings.push(checks::main_listener(&loaded.config, &hub));
    findings.push(checks::smarthole(&loaded.config, &hub));
    findings.push(checks::open_files());
    findings.push(checks::walls(&loaded.config));
    findings.push(runtime.block_on(checks::profile()));
    findings.extend(runtime.block_on(agents::check(&loaded.config)));
    findings.extend(runtime.block_on(telegram::check(&loaded.config)));
    Ok(findings)
}

fn as_json(findings: &[Finding]) -> serde_json::Value {
    let row = |finding: &Finding| {
        json!({
            "check": finding.subject,
            "verdict": finding.verdict.word(),
            "sentence": finding.sentence,
            "remedy": finding.remedy,
        })
    };
    findings.iter().map(row).collect()
}

fn print(findings: &[Finding]) -> anyhow::Result<()> {
    let paint = Paint::of_stdout();
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    for finding in findings {
        let word = format!("{:4}", finding.verdict.word());
        let word = match finding.verdict {
            Verdict::Ok => paint.green(&word),
            Verdict::Warn => paint.yellow(&word),
            Verdict::Fail => paint.red(&word),
        };
        output::line(&format!("{word}  {:width$}  {}", finding.subject, output::printable(&finding.sentence)))?;
        if let Some(remedy) = &finding.remedy {
            output::line(&format!("      {:width$}  {} {remedy}", "", paint.cyan("hint:")))?;
        }
    }
    Ok(())
}
