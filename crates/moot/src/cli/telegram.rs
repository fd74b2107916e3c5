//! `moot telegram`: the bridge alone, and the walk through its set-up.

use std::path::PathBuf;
use std::process::ExitCode;

use folkmoot_telegram::bridge;

use super::{Fault, Settings, data_dir_override, engines, output};
use crate::config::Loaded;
use crate::{log, memory, runner, serve, telegram};

mod link;
mod setup;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Args {
    /// The engine of new threads, instead of `engines.default`.
    engine: Option<String>,
    /// Folder for the bridge's journal.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Walk through token, chat and engine, and write the configuration.
    Setup(setup::Args),
    /// Get a code that links your Telegram account, from which you then decide what agents ask.
    Link(link::Args),
    /// End that.
    Unlink(link::UnlinkArgs),
}

const AFTER_HELP: &str = "\
Send the bot a message and an engine works on it; reply to the answer to go on. `moot serve` runs the
bridge too, as soon as `telegram.bot_token` is set.

Examples:
  moot telegram setup                       the first time
  moot telegram                             new threads use `engines.default`
  moot telegram claude                      new threads use claude
  moot telegram link                        decide from your phone what agents in channels ask

Runs without a project work in the folder in which the bridge is started.";

pub fn run(settings: &Settings, args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(Command::Setup(args)) => return super::client::block_on(setup::run(settings, args)),
        Some(Command::Link(args)) => return super::client::block_on(link::run(settings, args)),
        Some(Command::Unlink(args)) => return super::client::block_on(link::end(settings, args)),
        None => {}
    }
    let loaded = settings.load_with(data_dir_override(args.data_dir).into_iter().collect())?;
    if let Some(name) = &args.engine {
        engines::find(name)?;
    }
    refuse_what_cannot_work(&loaded)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(bridge_alone(loaded, args.engine.as_deref()))?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

fn refuse_what_cannot_work(loaded: &Loaded) -> Result<(), Fault> {
    let telegram = &loaded.config.telegram;
    if telegram.bot_token.is_empty() {
        return Err(
            Fault::usage("there is no bot token").hint("run `moot telegram setup`, or set `telegram.bot_token`")
        );
    }
    let permission = telegram::permission(&loaded.config);
    if permission.chats.is_empty() && permission.users.is_empty() {
        let fault = Fault::usage("no chat and no user is configured, so nobody would be served");
        return Err(fault.hint("run `moot telegram setup`, or set `telegram.chat_id` or `telegram.allowed_user_ids`"));
    }
    Ok(())
}

async fn bridge_alone(loaded: Loaded, engine: Option<&str>) -> anyhow::Result<()> {
    log::init(&loaded.config);
    memory::give_back();
    let settings = telegram::settings(&loaded.config, &loaded.file, engine)?;
    let runner = runner::runner(&loaded.config);
    let asked_to_stop = serve::asked_to_stop();
    let stop = async {
        asked_to_stop.await;
        tracing::info!("stopping");
    };
    let ready = || output::note("The Telegram bridge runs. Ctrl-C stops it.");
    bridge::run(settings, runner, None, stop, ready).await.map_err(|error| telegram::fault(&error).into())
}
