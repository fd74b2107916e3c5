//! `moot telegram setup`: from a token to a configuration that works.

use std::time::Duration;

use folkmoot_engines::engine::Engine;
use folkmoot_engines::engines::ALL;
use folkmoot_runs::availability;
use folkmoot_telegram::api::{ApiError, Bot, Content, Me, Message, UpdateId, User};
use folkmoot_telegram::permission;
use folkmoot_telegram::retry::{self, retrying};

use crate::cli::{Fault, Settings, output, prompt};
use crate::config::{Loaded, edit, load_path, load_text};
use crate::runner;

/// How long one look for a message takes.
const LOOK: Duration = Duration::from_secs(25);

/// What is said about a message that nobody in particular wrote.
const ANONYMOUS: &str = "That was written anonymously, and orders are taken from people only.\n\
    hint: turn off “remain anonymous” among your rights as an admin, and write again";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Make a bot first: write /newbot to @BotFather in Telegram; it gives you the token.

Examples:
  moot telegram setup
  moot telegram setup --token-stdin --chat 123456 --engine claude < token.txt")]
pub struct Args {
    /// Read the token from standard input instead of asking for it.
    #[arg(long)]
    token_stdin: bool,
    /// The chat to serve; without it you are asked to write to the bot.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    chat: Option<i64>,
    /// A user who may give orders; needed for a group.
    #[arg(long, value_name = "ID")]
    user: Option<i64>,
    /// The engine of new threads.
    #[arg(long)]
    engine: Option<String>,
}

/// What is written down at the end.
struct Choice {
    token: String,
    chat: i64,
    users: Vec<i64>,
    engine: String,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let loaded = load(settings)?;
    let (token, bot, me) = bot(&args, &loaded.config.telegram.api_base).await?;
    output::note(&format!("This is @{}.", me.username));
    let (chat, user) = match args.chat {
        Some(chat) => (chat, args.user),
        None => capture(&bot, &me.username).await?,
    };
    let mut users = loaded.config.telegram.allowed_user_ids.clone();
    users.extend(args.user.or(user).filter(|user| !users.contains(user)));
    if chat < 0 && users.is_empty() {
        return Err(Fault::usage("a group needs somebody who may give orders")
            .hint("name one with `--user ID`")
            .into());
    }
    let engine = engine(&args, &loaded)?;
    let file = write(settings, &Choice { token, chat, users, engine })?;
    output::note(&format!("Written to {file}. Start with `moot telegram`, or `moot serve` for the whole hub."));
    Ok(())
}

/// The configuration as it is; a file that is not there yet is what this command makes.
fn load(settings: &Settings) -> anyhow::Result<Loaded> {
    let sources = settings.sources();
    let (file, _) = load_path(&sources)?;
    match file.exists() {
        true => settings.load(),
        false => Ok(load_text(&sources, file, String::new())?),
    }
}

/// The bot of a token that Telegram knows. Whoever mistypes it at a terminal is asked again.
async fn bot(args: &Args, api_base: &str) -> anyhow::Result<(String, Bot, Me)> {
    if !args.token_stdin {
        output::note("Write /newbot to @BotFather in Telegram, and paste the token that it gives you.");
    }
    loop {
        let token = prompt::secret("Token", args.token_stdin)?.expose().trim().to_owned();
        let fault = match Bot::new(api_base, &token) {
            Err(error) => Fault::usage(error.to_string()).hint("copy the whole token that @BotFather gave you"),
            Ok(bot) => match asked(retry::A_MOMENT, || bot.get_me()).await {
                Ok(me) => return Ok((token, bot, me)),
                Err(error) if error.is_unauthorized() => token_fault(&error),
                Err(error) => return Err(token_fault(&error).into()),
            },
        };
        if args.token_stdin {
            return Err(fault.into());
        }
        output::note(&format!("{fault}\nTry again, or end with Ctrl+C."));
    }
}

/// Asks Telegram for something, again where the network or the server fails; whoever waits is told.
async fn asked<T, F>(timeout: Option<Duration>, mut call: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let told = std::cell::Cell::new(false);
    let noted = || {
        let call = call();
        async {
            let answer = call.await;
            if let Err(error @ (ApiError::Unreachable { .. } | ApiError::RateLimited { .. })) = &answer
                && !told.replace(true)
            {
                output::note(&format!("{error}; trying again."));
            }
            answer
        }
    };
    retrying(timeout, retry::unless_refused, noted).await
}

fn token_fault(error: &ApiError) -> Fault {
    match error.is_unauthorized() {
        true => Fault::failed("Telegram does not know this token").hint("ask @BotFather for it with /token"),
        false => Fault::failed(error.to_string()).hint("check the network and `telegram.api_base`"),
    }
}

/// Waits for a message to the bot, and takes its chat.
async fn capture(bot: &Bot, name: &str) -> anyhow::Result<(i64, Option<i64>)> {
    if !prompt::is_possible() {
        return Err(Fault::usage("no chat was named, and there is nobody to ask")
            .hint("name it with `--chat ID`")
            .into());
    }
    let mut offset = skip_old(bot).await?;
    output::note(&format!("Now write anything to @{name}, in the chat or group that it should serve."));
    loop {
        let updates = asked(retry::MINUTES, || bot.get_updates(offset, LOOK)).await;
        let updates = updates.map_err(|error| token_fault(&error))?;
        for update in updates {
            offset = Some(UpdateId(update.update_id.0 + 1));
            let Content::Message(message) = update.content else { continue };
            let Some(author) = permission::author(&message) else {
                output::note(ANONYMOUS);
                continue;
            };
            if prompt::confirm(&question(&message, author))? {
                // Taken as read, so that the bridge does not take it for a prompt.
                let _ = bot.get_updates(offset, Duration::ZERO).await;
                return Ok((message.chat.id.0, Some(author.id.0)));
            }
        }
    }
}

/// What was written before is not meant as an answer to us.
async fn skip_old(bot: &Bot) -> anyhow::Result<Option<UpdateId>> {
    let mut offset = None;
    loop {
        let old = asked(retry::MINUTES, || bot.get_updates(offset, Duration::ZERO)).await;
        let old = old.map_err(|error| token_fault(&error))?;
        match old.last() {
            Some(last) => offset = Some(UpdateId(last.update_id.0 + 1)),
            None => return Ok(offset),
        }
    }
}

fn question(message: &Message, author: &User) -> String {
    let chat = &message.chat;
    let place = match (&chat.title, chat.is_private()) {
        (Some(title), _) => format!("the group “{title}”"),
        (None, true) => "your private chat".to_owned(),
        (None, false) => "a group".to_owned(),
    };
    output::printable(&format!("{} wrote in {place} ({}). Serve this chat?", author.first_name, chat.id))
}

fn engine(args: &Args, loaded: &Loaded) -> anyhow::Result<String> {
    let runner = runner::runner(&loaded.config);
    let installed = |engine: &'static dyn Engine| availability::is_installed(engine, &runner.settings(&engine.id()));
    let default = &loaded.config.engines.default;
    let wanted = match &args.engine {
        Some(engine) => engine.clone(),
        None if !prompt::is_possible() => default.clone(),
        None => {
            // The one that needs no program is a demonstration; nobody gets it without asking for it.
            let found = ALL.into_iter().filter(|engine| engine.needs_program() && installed(*engine));
            let found: Vec<String> = found.map(|engine| engine.id().to_string()).collect();
            output::note(&match found.is_empty() {
                true => "No engine is installed on this machine yet.".to_owned(),
                false => format!("Engines on this machine: {}.", found.join(", ")),
            });
            let default = if found.contains(default) { default } else { found.first().unwrap_or(default) };
            prompt::text("Engine of new threads", Some(default))?
        }
    };
    if !installed(crate::cli::engines::find(&wanted)?) {
        let hint = format!("install it, or set `engines.{wanted}.command` to where it is");
        output::note(&format!("note: {wanted} is not installed yet\nhint: {hint}"));
    }
    Ok(wanted)
}

fn write(settings: &Settings, choice: &Choice) -> anyhow::Result<String> {
    let sources = settings.sources();
    let users: Vec<String> = choice.users.iter().map(ToString::to_string).collect();
    edit::set(&sources, "telegram.bot_token", &choice.token)?;
    edit::set(&sources, "telegram.chat_id", &choice.chat.to_string())?;
    if !users.is_empty() {
        edit::set(&sources, "telegram.allowed_user_ids", &format!("[{}]", users.join(", ")))?;
    }
    let file = edit::set(&sources, "engines.default", &choice.engine)?;
    Ok(file.display().to_string())
}
