//! `moot say`: hands a sentence to the router and shows who took it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use conversation::Conversation;
use serde_json::{Value, json};

use super::client::{Hub, HubArgs, Session, items, text};
use super::{Fault, Settings, output};

mod conversation;

const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How long a client that took a sentence is listened to at the prompt.
const MAY_SAY_MORE: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot say remind me to water the plants    the client that should take it gets it
  moot say \"notebook: buy milk\"             only the client named notebook
  moot say --voice note.ogg                 a recording
  moot say                                  a prompt; answers are shown as they come
  moot say --history                        what became of earlier sentences

Exit code 0 means that somebody took the sentence.")]
pub struct Args {
    /// The sentence; left out, a prompt opens.
    #[arg(allow_negative_numbers = true)]
    text: Vec<String>,
    /// Transcribe this recording and route what was said.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "history"])]
    voice: Option<PathBuf>,
    /// Show earlier sentences with their attempts, reasons and responses.
    #[arg(long, conflicts_with = "text")]
    history: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let hub = &session.hub;
    if args.history {
        return history(hub, args.json).await;
    }
    let answer = match (&args.voice, args.text.is_empty()) {
        (Some(recording), _) => speak(hub, recording).await?,
        (None, false) => hub.post("/v1/route", &json!({ "text": args.text.join(" ") })).await?,
        (None, true) => return converse(hub).await,
    };
    if args.voice.is_some() && !args.json {
        output::line(&format!("“{}”", output::printable(text(&answer, "text"))))?;
    }
    let route = settled(hub, &answer).await?;
    if args.json {
        output::json(&route)?;
    } else {
        for line in said(&route) {
            output::line(&line)?;
        }
    }
    verdict(&route, &answer).map_err(Into::into)
}

async fn speak(hub: &Hub, recording: &PathBuf) -> anyhow::Result<Value> {
    let bytes = std::fs::read(recording)
        .map_err(|error| Fault::failed(format!("{} cannot be read: {error}", recording.display())))?;
    let name = recording.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    hub.upload("/v1/route/voice", name, bytes).await
}

/// Waits until somebody took it, or nobody will.
async fn settled(hub: &Hub, answer: &Value) -> anyhow::Result<Value> {
    let path = route_path(answer);
    loop {
        let route = hub.get(&path, &[]).await?;
        if !is_open(&route) || taker(&route).is_some() {
            return Ok(route);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn route_path(answer: &Value) -> String {
    format!("/v1/route/{}", text(answer, "message_id"))
}

fn is_open(route: &Value) -> bool {
    ["choosing", "waiting"].contains(&text(route, "state"))
}

fn taker(route: &Value) -> Option<&str> {
    let acked = items(&route["attempts"]).iter().find(|attempt| text(attempt, "status") == "acked");
    acked.map(|attempt| text(attempt, "client"))
}

/// What happened to a sentence so far, one line each.
fn said(route: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for attempt in items(&route["attempts"]) {
        let client = output::printable(text(attempt, "client"));
        match text(attempt, "status") {
            "acked" => lines.push(format!("{client} took it")),
            "rejected" | "timeout" => {
                lines.push(format!("{client} did not: {}", output::printable(text(attempt, "reject_reason"))));
            }
            _ => {}
        }
        for response in items(&attempt["responses"]).iter().filter(|said| text(said, "type") == "notification") {
            let words: Vec<_> = ["title", "body"].iter().map(|part| text(response, part)).collect();
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            lines.push(format!("{client}: {}", output::printable(&words.join(": "))));
        }
    }
    lines
}

fn verdict(route: &Value, answer: &Value) -> Result<(), Fault> {
    if taker(route).is_some() {
        return Ok(());
    }
    match text(route, "state") {
        "no_clients" => {
            Err(Fault::failed("no clients are connected").hint("start one; `moot client echo` is an example"))
        }
        "asked" => {
            let names: Vec<_> = items(&answer["candidates"]).iter().filter_map(Value::as_str).collect();
            let fault = Fault::failed("it is not clear who should take this");
            Err(fault.hint(format!("name one of {}, like `moot say \"name: …\"`", names.join(", "))))
        }
        _ => Err(Fault::failed("nobody took it")),
    }
}

async fn history(hub: &Hub, as_json: bool) -> anyhow::Result<()> {
    let routes = hub.get("/v1/route", &[]).await?;
    if as_json {
        return output::json(&routes);
    }
    for route in items(&routes).iter().rev() {
        output::line(&format!("{}  [{}]", output::printable(text(route, "text")), text(route, "state")))?;
        for line in said(route) {
            output::line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

/// Every line is a sentence, and what comes of it is shown when it comes.
async fn converse(hub: &Hub) -> anyhow::Result<()> {
    let mut conversation = Conversation::open();
    let mut open: Vec<Sentence> = Vec::new();
    let mut is_over = false;
    while !is_over || !open.is_empty() {
        tokio::select! {
            line = conversation.line(), if !is_over => match line {
                Some(line) => match hub.post("/v1/route", &json!({ "text": line })).await {
                    Ok(answer) => open.push(Sentence { answer, shown: Vec::new(), at: Instant::now() }),
                    Err(error) => conversation.note(&format!("{error:#}"))?,
                },
                None => is_over = true,
            },
            () = tokio::time::sleep(LOOK_EVERY), if !open.is_empty() => {
                for mut sentence in std::mem::take(&mut open) {
                    if sentence.show_news(hub, &mut conversation, is_over).await? {
                        open.push(sentence);
                    }
                }
            }
        }
    }
    Ok(())
}

/// A sentence of this conversation that may be answered yet.
struct Sentence {
    /// What the hub said at once.
    answer: Value,
    shown: Vec<String>,
    at: Instant,
}

impl Sentence {
    /// Shows what is new, and tells whether more may come.
    async fn show_news(&mut self, hub: &Hub, conversation: &mut Conversation, is_over: bool) -> anyhow::Result<bool> {
        let route = match hub.get(&route_path(&self.answer), &[]).await {
            Ok(route) => route,
            Err(error) if is_over => return Err(error),
            // The hub may come back, and the next sentence tells if it does not.
            Err(_) => return Ok(true),
        };
        let lines = said(&route);
        // Of several clients any may be the next to answer, so new lines are not always the last.
        let mut known = std::mem::take(&mut self.shown);
        for line in &lines {
            match known.iter().position(|shown| shown == line) {
                Some(at) => drop(known.swap_remove(at)),
                None => conversation.show(line)?,
            }
        }
        self.shown = lines;
        if is_open(&route) {
            return Ok(true);
        }
        if let Err(fault) = verdict(&route, &self.answer) {
            conversation.note(&fault.sentence)?;
            fault.hint.map_or(Ok(()), |hint| conversation.note(&format!("hint: {hint}")))?;
            return Ok(false);
        }
        Ok(!is_over && self.at.elapsed() < MAY_SAY_MORE)
    }
}
