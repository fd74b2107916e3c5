//! What is said on the command line: which suite, against whom, and with what.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::case::{Case, Errand};
use crate::report::{Report, Row, junit};
use crate::run::{Pace, run};
use crate::{SUITES, chopsticks, chopsticks_agent, lark, smarthole, smarthole_client, snek, table};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot conformance list lark                      the cases, each with its section and its rule
  moot conformance lark ws://127.0.0.1:8484 --key TOKEN --other-key TOKEN --agent-key lr_… --channel ch_…
  moot conformance snek ws://127.0.0.1:8484 --user ann:secret --user bob:secret
  moot conformance smarthole ws://127.0.0.1:9473 --say 'moot say'
  moot conformance chopsticks ws://127.0.0.1:8484 --ask 'moot pool ask'
  moot conformance smarthole-client --listen 9473   then start the client
  moot conformance chopsticks-agent --listen 8787   then start the agent

Exit code 0 means that no case failed. Cases that need more than was given are not run and say what they need.")]
pub enum Command {
    /// Check a Lark server.
    Lark(LarkArgs),
    /// Check a Snek server.
    Snek(SnekArgs),
    /// Check a SmartHole server.
    Smarthole(SmartholeArgs),
    /// Check a Chopsticks controller.
    Chopsticks(ChopsticksArgs),
    /// Check a SmartHole client: it connects to this suite.
    SmartholeClient(ListenArgs),
    /// Check a Chopsticks agent: it connects to this suite.
    ChopsticksAgent(ListenArgs),
    /// Print the cases of a suite as a Markdown table.
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
pub struct Common {
    /// Also write the results to this file, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run only this case (`3.1`), or all of a section (`3`).
    #[arg(long, value_name = "CASE")]
    only: Option<String>,
    /// Also run the cases that take half a minute and more.
    #[arg(long)]
    slow: bool,
    /// How long a case may take, beyond what its rule takes by itself.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
    /// How long to listen for what must not come.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 500)]
    quiet: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct LarkArgs {
    /// The server: ws(s)://… or http(s)://…; without a path, `/ws` is meant.
    address: String,
    /// The token of a person.
    #[arg(long, value_name = "TOKEN")]
    key: String,
    /// The token of another person.
    #[arg(long, value_name = "TOKEN")]
    other_key: Option<String>,
    /// The key of an agent that the first person may carry.
    #[arg(long, value_name = "KEY")]
    agent_key: Option<String>,
    /// A channel that all three are in.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    /// The direct channel of the first person and the agent.
    #[arg(long, value_name = "ID")]
    direct: Option<String>,
    /// A channel that the first person is not in.
    #[arg(long, value_name = "ID")]
    outside: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct SnekArgs {
    /// The server: ws(s)://… or http(s)://…; without a path, `/rpc.ws` is meant.
    address: String,
    /// Who logs in; give it twice, for a second user who is in the same channel.
    #[arg(long = "user", value_name = "NAME:PASSWORD", required = true)]
    users: Vec<String>,
    /// A channel that both are in; by default the first that both see.
    #[arg(long, value_name = "UID")]
    channel: Option<String>,
    /// A direct channel of the first user.
    #[arg(long, value_name = "UID")]
    direct: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct SmartholeArgs {
    /// The server: ws://…
    address: String,
    /// A command that says a sentence to the router; the sentence is put behind it.
    #[arg(long, value_name = "COMMAND")]
    say: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct ChopsticksArgs {
    /// The controller: ws(s)://… or http(s)://…; without a path, `/agents` is meant.
    address: String,
    /// The runner secret, where the controller wants one.
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// A command that lets the controller ask an agent; the agent's id and the operation are put behind it.
    #[arg(long, value_name = "COMMAND")]
    ask: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct ListenArgs {
    /// The port on this machine to listen on.
    #[arg(long, value_name = "PORT")]
    listen: u16,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// The suite.
    #[arg(value_parser = SUITES)]
    suite: String,
}

/// What the command line cannot do, with a remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub sentence: String,
    pub hint: Option<String>,
    /// Wrong usage rather than a failure.
    pub usage: bool,
}

impl Wrong {
    fn usage(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: Some(hint.into()), usage: true }
    }
}

/// What there is to show in the end.
#[derive(Debug)]
pub enum Shown {
    Text(String),
    Report { report: Report, as_json: bool },
}

/// What a suite asks of the program around it.
pub struct Around<'a> {
    /// Makes an errand of a command line of the person who runs the suite.
    pub program: fn(String) -> Errand,
    /// A remark, such as where a client is waited for.
    pub note: &'a dyn Fn(&str),
    /// A case has ended.
    pub told: &'a dyn Fn(&Row),
}

impl Command {
    /// Whether the results are wanted as JSON, and so not as they come.
    pub fn wants_json(&self) -> bool {
        self.common().is_some_and(|common| common.json)
    }

    fn common(&self) -> Option<&Common> {
        match self {
            Self::Lark(args) => Some(&args.common),
            Self::Snek(args) => Some(&args.common),
            Self::Smarthole(args) => Some(&args.common),
            Self::Chopsticks(args) => Some(&args.common),
            Self::SmartholeClient(args) | Self::ChopsticksAgent(args) => Some(&args.common),
            Self::List(_) => None,
        }
    }

    /// Runs the suite that was asked for.
    pub async fn check(self, around: &Around<'_>) -> Result<Shown, Wrong> {
        match self {
            Self::Lark(args) => play("lark", lark::cases(), lark_stage(&args)?, &args.common, around).await,
            Self::Snek(args) => play("snek", snek::cases(), snek_stage(&args)?, &args.common, around).await,
            Self::Smarthole(args) => {
                let (url, say) = (address(&args.address, "")?, args.say.map(around.program));
                let stage = smarthole::Stage { url, say, quiet: args.common.quiet() };
                play("smarthole", smarthole::cases(), stage, &args.common, around).await
            }
            Self::Chopsticks(args) => {
                let (url, ask) = (address(&args.address, "/agents")?, args.ask.map(around.program));
                let stage = chopsticks::Stage { url, secret: args.secret, ask, quiet: args.common.quiet() };
                play("chopsticks", chopsticks::cases(), stage, &args.common, around).await
            }
            Self::SmartholeClient(args) => {
                let stage =
                    smarthole_client::Stage::bind(args.listen).await.map_err(|error| taken(args.listen, &error))?;
                (around.note)(&format!("waiting for the client at port {}", args.listen));
                play("smarthole-client", smarthole_client::cases(), stage, &args.common, around).await
            }
            Self::ChopsticksAgent(args) => {
                let stage =
                    chopsticks_agent::Stage::bind(args.listen).await.map_err(|error| taken(args.listen, &error))?;
                (around.note)(&format!("waiting for the agent at port {}", args.listen));
                play("chopsticks-agent", chopsticks_agent::cases(), stage, &args.common, around).await
            }
            Self::List(args) => Ok(Shown::Text(table(&args.suite).unwrap_or_default())),
        }
    }
}

impl Common {
    fn quiet(&self) -> Duration {
        Duration::from_millis(self.quiet)
    }

    fn pace(&self) -> Pace {
        Pace { time_limit: Duration::from_secs(self.time_limit), slow: self.slow, only: self.only.clone() }
    }
}

/// Where the suite is the server there is one client, so that its cases come one after the other.
fn has_one_peer(suite: &str) -> bool {
    suite.contains('-')
}

async fn play<S: Send + Sync + 'static>(
    suite: &str,
    cases: Vec<Case<S>>,
    stage: S,
    common: &Common,
    around: &Around<'_>,
) -> Result<Shown, Wrong> {
    let report = run(suite, cases, Arc::new(stage), &common.pace(), has_one_peer(suite), around.told).await;
    if report.rows.is_empty() {
        let only = common.only.as_deref().unwrap_or_default();
        let sentence = format!("there is no case `{only}` in the suite `{suite}`");
        return Err(Wrong::usage(sentence, format!("`moot conformance list {suite}` lists them")));
    }
    if let Some(file) = &common.junit {
        let unwritable = |error| Wrong {
            sentence: format!("`{}` cannot be written: {error}", file.display()),
            hint: None,
            usage: false,
        };
        std::fs::write(file, junit(&report)).map_err(unwritable)?;
    }
    Ok(Shown::Report { report, as_json: common.json })
}

fn taken(port: u16, error: &std::io::Error) -> Wrong {
    let sentence = format!("port {port} cannot be listened on: {error}");
    Wrong { sentence, hint: Some("name another with --listen".to_owned()), usage: false }
}

fn lark_stage(args: &LarkArgs) -> Result<lark::Stage, Wrong> {
    Ok(lark::Stage {
        url: address(&args.address, "/ws")?,
        key: args.key.clone(),
        other_key: args.other_key.clone(),
        agent_key: args.agent_key.clone(),
        channel: args.channel.clone(),
        direct: args.direct.clone(),
        outside: args.outside.clone(),
        quiet: args.common.quiet(),
    })
}

fn snek_stage(args: &SnekArgs) -> Result<snek::Stage, Wrong> {
    let mut logins = args.users.iter().map(|user| login(user)).collect::<Result<Vec<_>, _>>()?.into_iter();
    Ok(snek::Stage {
        url: address(&args.address, "/rpc.ws")?,
        user: logins.next().unwrap_or_default(),
        other: logins.next(),
        channel: args.channel.clone(),
        direct: args.direct.clone(),
        quiet: args.common.quiet(),
    })
}

fn login(user: &str) -> Result<snek::Login, Wrong> {
    let hint = "write it like --user ann:secret; an agent's password is its key";
    let (name, password) = user.split_once(':').ok_or_else(|| Wrong::usage("a user has no password", hint))?;
    Ok(snek::Login { name: name.to_owned(), password: password.to_owned() })
}

/// A server may be named the way a browser names it; without a path, the usual one is meant.
fn address(given: &str, path: &str) -> Result<String, Wrong> {
    let wrong =
        || Wrong::usage(format!("`{given}` is not an address of a server"), "write it like ws://127.0.0.1:8484");
    let (scheme, rest) = given.split_once("://").ok_or_else(wrong)?;
    let scheme = match scheme {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return Err(wrong()),
    };
    let path = if rest.contains('/') { "" } else { path };
    if rest.is_empty() { Err(wrong()) } else { Ok(format!("{scheme}://{rest}{path}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_like_a_page_or_like_a_socket() {
        for (given, made) in [
            ("ws://127.0.0.1:8484", "ws://127.0.0.1:8484/ws"),
            ("http://127.0.0.1:8484", "ws://127.0.0.1:8484/ws"),
            ("https://hub.example/", "wss://hub.example/"),
            ("wss://hub.example/other", "wss://hub.example/other"),
        ] {
            assert_eq!(address(given, "/ws").unwrap(), made);
        }
        for wrong in ["", "127.0.0.1:8484", "ftp://hub.example", "ws://"] {
            assert!(address(wrong, "/ws").unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_password_may_have_colons_and_must_be_there() {
        let login = login("ann:a:b").unwrap();
        assert_eq!((login.name.as_str(), login.password.as_str()), ("ann", "a:b"));
        assert!(super::login("ann").is_err());
    }
}
