//! `moot login`: log in to a hub, or create its first account, and remember it.

use serde_json::{Value, json};

use crate::client::{Hub, Session, parse_server, text};
use crate::profile::{self, Profile};
use crate::{Fault, Settings, output, prompt};
use folkmoot_config::Secret;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot login --register --name ann --email ann@example.org   the first account of a fresh hub
  moot login --email ann@example.org                         asks for the password
  moot login --server https://hub.example --token lr_…       an API key does not expire
  echo \"$PASSWORD\" | moot login --email ann@example.org --password-stdin

A login by password lasts 24 hours. The profile is kept in folkmoot/profile.json in the
configuration folder, readable by you only.")]
pub struct Args {
    /// The hub; default: the one of the profile, else the one of the configuration.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// An API key or a login token.
    #[arg(long, conflicts_with_all = ["email", "password", "password_stdin", "register"])]
    token: Option<String>,
    /// Your email address, or your name in the workspace.
    #[arg(long)]
    email: Option<String>,
    /// Your password; better let the command ask, other users can see arguments.
    #[arg(long, conflicts_with = "password_stdin")]
    password: Option<String>,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
    /// Create the account first.
    #[arg(long, requires = "name")]
    register: bool,
    /// The name of the new account.
    #[arg(long, requires = "register")]
    name: Option<String>,
    /// For the first account from another machine: the one-time code that `moot serve` printed.
    #[arg(long, value_name = "CODE", requires = "register")]
    setup_code: Option<String>,
    /// Print who you are as JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let path = profile::path()?;
    // A damaged profile must not stop the command that mends it.
    let known = profile::read(&path).ok().flatten();
    let server = match args.server.clone().or_else(|| known.as_ref().map(|profile| profile.server.clone())) {
        Some(server) => server,
        None => settings.load()?.config.server.public_url,
    };
    let server = parse_server(&server)?.as_str().trim_end_matches('/').to_owned();
    let device = known.filter(|profile| profile.server == server).and_then(|profile| profile.device);
    let (token, device) = match &args.token {
        Some(token) => (Secret::new(token.trim()), device),
        None => log_in(&Hub::new(&server, None)?.with_device(device), &args).await?,
    };
    let session = Session::of(Hub::new(&server, Some(token.clone()))?).await?;
    let Session { name, member_id, workspace_id, .. } = session;
    let profile = Profile { server, token, name, member_id, workspace_id, device };
    profile::write(&path, &profile)?;
    say_who(&profile, args.json)
}

async fn log_in(hub: &Hub, args: &Args) -> anyhow::Result<(Secret, Option<Secret>)> {
    let who = match &args.email {
        Some(email) => email.clone(),
        None if prompt::is_possible() => prompt::text("Email", None)?,
        None => return Err(nothing_given().into()),
    };
    let password = prompt::password(args.password.clone(), args.password_stdin)?;
    let answer = if args.register {
        let name = args.name.clone().unwrap_or_default();
        let body = json!({"email": who, "password": password.expose(), "name": name, "setup_code": args.setup_code});
        hub.post("/v1/auth/register", &body).await?
    } else {
        let field = if who.contains('@') { "email" } else { "name" };
        let body = json!({field: who, "password": password.expose()});
        hub.post("/v1/auth/login", &body).await?
    };
    let device = Some(Secret::new(text(&answer, "device"))).filter(|device| !device.is_empty());
    Ok((token_of(hub, &answer)?, device))
}

fn token_of(hub: &Hub, answer: &Value) -> anyhow::Result<Secret> {
    match text(answer, "token") {
        "" => Err(hub.strange("the login was answered without a token").into()),
        token => Ok(Secret::new(token)),
    }
}

fn nothing_given() -> Fault {
    Fault::usage("neither a token nor an email address was given")
        .hint("use `--token T`, or `--email E` with `--password-stdin`")
}

fn say_who(profile: &Profile, as_json: bool) -> anyhow::Result<()> {
    let Profile { server, name, member_id, workspace_id, .. } = profile;
    if as_json {
        return output::json(
            &json!({"server": server, "name": name, "member_id": member_id, "workspace_id": workspace_id}),
        );
    }
    output::line(&format!("logged in to {server} as {name}"))
}
