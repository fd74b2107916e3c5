//! `moot send`: one message to a channel or a member.

use std::io::{IsTerminal, Read};

use serde_json::{Value, json};

use crate::client::{HubArgs, Session, text};
use crate::{Fault, Settings, names, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot send general \"hello\"
  moot send '#general' hello everybody
  moot send @bob \"only for you\"            opens the direct channel
  git log -1 | moot send general            the text from standard input
  moot send general --thread msg_01… \"me too\"

Prints the id of the message. Exit code 0 means that the message is on the hub's disk.")]
pub struct Args {
    /// Where to: a channel (name, #name or id) or a @member.
    target: String,
    /// The text; left out or `-`, it is read from standard input. Put `--` before a text that begins with a dash.
    #[arg(allow_negative_numbers = true)]
    text: Vec<String>,
    /// Answer in the thread of this message.
    #[arg(long, value_name = "MESSAGE_ID")]
    thread: Option<String>,
    /// The text is Markdown.
    #[arg(long)]
    markdown: bool,
    /// Print the message as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let content = content(&args.text)?;
    let session = Session::open(settings, &args.hub).await?;
    let target = names::target(&session, &args.target).await?;
    let mut body = json!({"content": content});
    if let Some(thread) = args.thread {
        body["thread_id"] = Value::from(thread);
    }
    if args.markdown {
        body["content_type"] = Value::from("markdown");
    }
    let path = format!("/v1/channels/{}/messages", target.channel_id);
    let message = session.hub.post_once(&path, &body, &uuid::Uuid::new_v4().to_string()).await?;
    if args.json {
        return output::json(&message);
    }
    output::line(text(&message, "id"))
}

fn content(words: &[String]) -> anyhow::Result<String> {
    let content = match words {
        [] => from_stdin()?,
        [dash] if dash == "-" => from_stdin()?,
        words => words.join(" "),
    };
    if content.trim().is_empty() {
        return Err(Fault::usage("there is no text to send").into());
    }
    Ok(content)
}

fn from_stdin() -> anyhow::Result<String> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        output::note("Type the message, then Ctrl-D:");
    }
    let mut text = String::new();
    stdin
        .read_to_string(&mut text)
        .map_err(|error| Fault::failed(format!("standard input cannot be read: {error}")))?;
    text.truncate(text.trim_end().len());
    Ok(text)
}
