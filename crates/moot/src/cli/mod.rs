//! The command line of `moot`: what it offers, and which module does it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

mod agent;
mod agentd;
mod backup;
mod bot;
mod carrier;
mod completions;
mod config;
mod conformance;
mod doctor;
mod engines;
mod migrate;
mod pool;
mod pool_agent;
mod run;
mod serve;
mod telegram;
#[cfg(test)]
mod tests;

use folkmoot_terminal::{
    Settings, account, approvals, channel, client, data_dir_override, echo, login, machine, mcp, member, names, output,
    pool_listen, profile, prompt, runs, say, send, tail,
};

pub use folkmoot_terminal::Fault;
pub use folkmoot_terminal::report::report;

/// Folkmoot: one hub where people and agents work together as equals.
#[derive(Debug, Parser)]
#[command(name = "moot", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// Read this configuration file instead of the usual one.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  moot serve                                     start the hub
  moot login --register --name ann --email ann@example.org
  moot channel create general
  moot send general \"hello\"
  moot tail general

`moot COMMAND --help` has examples for each command.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the hub in this terminal.
    Serve(serve::Args),
    /// Copy the data folder into one file, also while the hub runs.
    Backup(backup::BackupArgs),
    /// Put a backup into the data folder.
    Restore(backup::RestoreArgs),
    /// Move the hub into a Postgres database, or out of it.
    Migrate(migrate::Args),
    /// Check configuration, data folder, ports and login, and say what to do.
    Doctor(doctor::Args),
    /// Show, check or change the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Log in to a hub and remember it.
    Login(login::Args),
    /// Your password, and where you are logged in.
    #[command(subcommand)]
    Account(account::Command),
    /// Add, list and remove the people and agents of the workspace.
    #[command(subcommand)]
    Member(member::Command),
    /// Create and list channels, say who is in them, read them.
    #[command(subcommand)]
    Channel(channel::Command),
    /// Send a message to a channel or a member.
    Send(send::Args),
    /// Watch a channel live.
    Tail(tail::Args),
    /// Hand a sentence to whoever should take it, and show who did.
    Say(say::Args),
    /// Run a client of the router.
    #[command(subcommand)]
    Client(echo::Command),
    /// See what agents ask for, and decide it.
    #[command(subcommand)]
    Approvals(approvals::Command),
    /// See what agents work on in channels, and stop it.
    #[command(subcommand)]
    Runs(runs::Command),
    /// Make and remove the agents that this machine hosts.
    #[command(subcommand)]
    Agent(agent::Command),
    /// Make, list and take back the keys of machines that carry your agents.
    #[command(subcommand)]
    Machine(machine::Command),
    /// Host agents on this machine and carry them to a hub.
    Agentd(agentd::Args),
    /// Give one prompt to an engine and follow it here.
    Run(run::Args),
    /// List the engines, and say which can be used.
    Engines(engines::Args),
    /// Drive engines from Telegram: the bridge alone, or `setup`.
    Telegram(telegram::Args),
    /// Run agents for pools, and see and use those that are there.
    #[command(subcommand)]
    Pool(pool::Command),
    /// Run the bot that answers in channels with a language model and tools.
    Bot(bot::Args),
    /// Give an assistant the hub's tools (MCP over standard input and output).
    Mcp(mcp::Args),
    /// Check whether a server or a client keeps to the document of its protocol.
    #[command(subcommand)]
    Conformance(conformance::Command),
    /// Print the completion script for a shell.
    Completions(completions::Args),
    /// Print the OpenAPI document of the REST surface.
    #[command(hide = true)]
    Openapi,
    /// Print the AsyncAPI document of the Lark door.
    #[command(hide = true)]
    Asyncapi,
}

/// The commands as the help shows them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run a hub", &["serve", "backup", "restore", "migrate", "doctor", "config"]),
    ("Use a hub", &["login", "account", "member", "channel", "send", "tail", "runs", "approvals", "say", "client"]),
    ("Agents", &["agent", "agentd", "machine", "run", "engines", "telegram", "mcp"]),
    ("Pools", &["pool"]),
    ("The bot", &["bot"]),
    ("Other", &["conformance", "completions"]),
];

/// Reads the arguments of the process; prints help, version and wrong usage by itself.
pub fn parse() -> anyhow::Result<Cli> {
    let matches = command().get_matches();
    Ok(Cli::from_arg_matches(&matches)?)
}

/// Does what was asked.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let settings = Settings { file: cli.config };
    match cli.command {
        Command::Serve(args) => serve::run(&settings, args),
        Command::Backup(args) => backup::backup(&settings, args),
        Command::Restore(args) => backup::restore(&settings, args),
        Command::Migrate(args) => migrate::run(&settings, args),
        Command::Doctor(args) => doctor::run(&settings, &args),
        Command::Config(command) => config::run(&settings, command),
        Command::Login(args) => client::block_on(login::run(&settings, args)),
        Command::Account(command) => client::block_on(account::run(&settings, command)),
        Command::Member(command) => client::block_on(member::run(&settings, command)),
        Command::Channel(command) => client::block_on(channel::run(&settings, command)),
        Command::Send(args) => client::block_on(send::run(&settings, args)),
        Command::Say(args) => client::block_on(say::run(&settings, args)),
        Command::Client(command) => client::block_on(echo::run(command)),
        Command::Tail(args) => client::block_on(tail::run(&settings, args)),
        Command::Approvals(command) => client::block_on(approvals::run(&settings, command)),
        Command::Runs(command) => client::block_on(runs::run(&settings, command)),
        Command::Agent(command) => client::block_on(agent::run(&settings, command)),
        Command::Machine(command) => client::block_on(machine::run(&settings, command)),
        Command::Agentd(args) => agentd::run(&settings, args),
        Command::Run(args) => run::run(&settings, args),
        Command::Telegram(args) => telegram::run(&settings, args),
        Command::Engines(args) => client::block_on(engines::run(&settings, args)),
        Command::Pool(command) => pool::run(&settings, command),
        Command::Bot(args) => bot::run(&settings, args),
        Command::Mcp(args) => client::block_on(mcp::run(&settings, args)),
        Command::Conformance(command) => conformance::run(command),
        Command::Completions(args) => completions::run(&args),
        Command::Openapi => {
            output::exact(crate::rest::openapi_json().trim_end_matches('\n')).map(|()| ExitCode::SUCCESS)
        }
        Command::Asyncapi => output::exact(&crate::rest::asyncapi_json()).map(|()| ExitCode::SUCCESS),
    }
}

/// The command with its subcommands in groups; clap alone can only list them in one.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let width = GROUPS.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max();
    let mut list = String::new();
    for (title, names) in GROUPS {
        list.push_str(&format!("{title}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list.push_str(&format!("  {name:width$}  {about}\n", width = width.unwrap_or(0)));
        }
        list.push('\n');
    }
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}");
    command.help_template(template)
}
