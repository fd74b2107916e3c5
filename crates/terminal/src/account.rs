//! `moot account`: one's own password, and everything else that lets somebody in as oneself.

use serde_json::{Value, json};

use crate::client::{HubArgs, ListArgs, Session, cell, items, text};
use crate::profile::{self, Profile};
use crate::{Fault, Settings, output, prompt};
use folkmoot_config::Secret;

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot account list                                  where you are logged in, and your keys
  moot account end tok_…                             end one of them
  moot account password                              a new password; everything else ends
  moot account password --keep tok_… --keep key_…    but for these
  printf '%s\\n%s\\n' \"$OLD\" \"$NEW\" | moot account password --password-stdin")]
pub enum Command {
    /// List your sessions and keys.
    List(ListArgs),
    /// End a session or a key.
    End(EndArgs),
    /// Change your password; other sessions and your API key end, unless you keep them.
    Password(PasswordArgs),
}

#[derive(Debug, clap::Args)]
pub struct EndArgs {
    /// Its id, as `moot account list` shows it.
    id: String,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct PasswordArgs {
    /// A session or key that goes on, by its id; may be given several times.
    #[arg(long, value_name = "ID")]
    keep: Vec<String>,
    /// Read the old and the new password from standard input, a line each.
    #[arg(long)]
    password_stdin: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

const CREDENTIALS: &str = "/v1/members/me/credentials";

pub async fn run(settings: &Settings, command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(args) => list(&Session::open(settings, &args.hub).await?, args.json).await,
        Command::End(args) => end(&Session::open(settings, &args.hub).await?, &args.id).await,
        Command::Password(args) => password(&Session::open(settings, &args.hub).await?, &args).await,
    }
}

async fn list(session: &Session, as_json: bool) -> anyhow::Result<()> {
    let credentials = session.hub.get(CREDENTIALS, &[]).await?;
    if as_json {
        return output::json(&credentials);
    }
    let sessions = items(&credentials["sessions"]).iter().map(|one| {
        let mark = if one["current"] == true { "this one" } else { "" };
        let name = format!("{} {}", text(one, "address"), text(one, "device"));
        vec![cell(one, "id"), "session".to_owned(), moment(one, "last_seen_at"), name, mark.to_owned()]
    });
    let keys = items(&credentials["keys"]).iter();
    let keys = keys.map(|one| {
        vec![cell(one, "id"), cell(one, "kind"), moment(one, "created_at"), cell(one, "name"), String::new()]
    });
    let rows: Vec<_> = sessions.chain(keys).collect();
    output::table(&["ID", "KIND", "LAST USED OR MADE", "NAME", ""], &rows)
}

/// A time for people; empty where it is not known.
fn moment(value: &Value, field: &str) -> String {
    use folkmoot_core::moment;
    let at = value[field].as_i64().filter(|at| *at > 0);
    at.map(|at| format!("{} {} UTC", moment::date(at), moment::time(at))).unwrap_or_default()
}

async fn end(session: &Session, id: &str) -> anyhow::Result<()> {
    if !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(Fault::usage(format!("`{id}` is not an id")).hint("`moot account list` shows them").into());
    }
    session.hub.delete(&format!("{CREDENTIALS}/{id}")).await?;
    output::note(&format!("ended {id}"));
    Ok(())
}

async fn password(session: &Session, args: &PasswordArgs) -> anyhow::Result<()> {
    if !args.password_stdin && !prompt::is_possible() {
        let fault = Fault::usage("there is no terminal to ask for the passwords");
        return Err(fault.hint("pipe them in with `--password-stdin`, a line each").into());
    }
    let old = prompt::secret("Old password", args.password_stdin)?;
    let new = prompt::secret("New password", args.password_stdin)?;
    if !args.password_stdin && prompt::secret("New password again", false)? != new {
        return Err(Fault::usage("the two new passwords are not the same").into());
    }
    let body = json!({"current_password": old.expose(), "new_password": new.expose(), "keep": args.keep});
    let answer = session.hub.post("/v1/members/me/password", &body).await?;
    remember(session, &answer)?;
    if args.json {
        return output::json(&json!({"ended": answer["ended"]}));
    }
    let ended = items(&answer["ended"]).len();
    output::note(&format!("the password is changed; {ended} other ways in have ended"));
    Ok(())
}

/// The profile's own session has ended too; it goes on with the new one.
fn remember(session: &Session, answer: &Value) -> anyhow::Result<()> {
    let path = profile::path()?;
    let Some(kept) = profile::read(&path)? else { return Ok(()) };
    if session.hub.token() != Some(&kept.token) {
        return Ok(());
    }
    let device = Some(Secret::new(text(answer, "device"))).filter(|device| !device.is_empty());
    profile::write(&path, &Profile { token: Secret::new(text(answer, "token")), device, ..kept })
}
