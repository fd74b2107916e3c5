//! `moot migrate`: everything that a hub keeps, from its data folder into Postgres or back.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use folkmoot_store::transfer;

use super::backup::place;
use super::{Fault, Settings, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot migrate --to postgres://moot:PASSWORD@db.example/moot   out of the data folder
  moot migrate --to /srv/folkmoot                              out of the database in `store.url`

Stop the hub first. Everything is copied and read back before any of it counts; what is there now stays
as it is, and uploaded files stay in the data folder. Then set `store.url` to the new place.")]
pub struct Args {
    /// The address of an empty database, or a data folder.
    #[arg(long, value_name = "URL|FOLDER")]
    to: String,
    /// The data folder of the hub.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Replace a hub that is there already.
    #[arg(long)]
    force: bool,
}

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    let (location, data_dir) = place(settings, args.data_dir)?;
    let is_shown = std::io::stderr().is_terminal();
    let mut report = |progress| {
        if is_shown {
            eprint!("\r\u{1b}[K{progress}");
        }
    };
    let moved = transfer::migrate(&location, &data_dir, &args.to, args.force, &mut report);
    if is_shown {
        eprint!("\r\u{1b}[K");
    }
    let sum = moved.map_err(Fault::from)?;
    output::line(&format!("moved {sum}, and read them back; now set `store.url` to the new place and start the hub"))?;
    Ok(ExitCode::SUCCESS)
}
