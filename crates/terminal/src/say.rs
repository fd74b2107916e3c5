//! `moot say`: hands a sentence to the router and shows who took it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Hub, HubArgs, Session, items, text};
use crate::{Fault, Settings, output};
use conversation::Conversation;
use folkmoot_services::routing::words as told;
use progress::ProgressLine;

mod conversation;
mod progress;

const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How long a client that took a sentence is listened to at the prompt.
const MAY_SAY_MORE: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot say remind me to water the plants    the client that should take it gets it
  moot say \"notebook: buy milk\"             only the client named notebook
  moot say --timeout 120 sum up my week     its answer may take two minutes
  moot say --no-wait water the plants       only who took it
  moot say --voice note.ogg                 a recording
  moot say                                  a prompt; answers are shown as they come
  moot say < sentences.txt                  every line is a sentence
  moot say --history                        what became of earlier sentences

Who takes the sentence may answer a while later: `moot say` waits for it and shows it.
Exit code 0 means that somebody took the sentence, whether it was answered or not.")]
pub struct Args {
    /// The sentence; left out, a prompt opens.
    #[arg(allow_negative_numbers = true)]
    text: Vec<String>,
    /// Transcribe this recording and route what was said.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "history"])]
    voice: Option<PathBuf>,
    /// How long to wait for the answer of whoever took it.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, conflicts_with = "no_wait")]
    timeout: u64,
    /// Do not wait for an answer: end as soon as somebody took it.
    #[arg(long)]
    no_wait: bool,
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
    let timeout = if args.no_wait { Duration::ZERO } else { Duration::from_secs(args.timeout) };
    let answer = match (&args.voice, args.text.is_empty()) {
        (Some(recording), _) => speak(hub, recording).await?,
        (None, false) => hub.post("/v1/route", &json!({ "text": args.text.join(" ") })).await?,
        (None, true) => return converse(hub, timeout).await,
    };
    if args.voice.is_some() && !args.json {
        output::line(&format!("“{}”", output::printable(text(&answer, "text"))))?;
    }
    let route = followed(hub, Sentence::new(answer), timeout, !args.json).await?;
    if args.json {
        output::json(&route)?;
    }
    verdict(&route).map_err(Into::into)
}

async fn speak(hub: &Hub, recording: &PathBuf) -> anyhow::Result<Value> {
    let bytes = std::fs::read(recording)
        .map_err(|error| Fault::failed(format!("{} cannot be read: {error}", recording.display())))?;
    let name = recording.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    hub.upload("/v1/route/voice", name, bytes).await
}

/// Waits until whoever took it has answered, or nobody will take it; shows what happens when it does.
async fn followed(hub: &Hub, mut sentence: Sentence, timeout: Duration, is_shown: bool) -> anyhow::Result<Value> {
    let mut progress = ProgressLine::new();
    loop {
        let route = hub.get(&sentence.path(), &[]).await?;
        for line in sentence.news(&route).iter().filter(|_| is_shown) {
            progress.clear();
            output::line(line)?;
        }
        if sentence.is_over(&route, timeout) {
            progress.clear();
            sentence.note_missing(&route, timeout, output::note);
            return Ok(route);
        }
        progress.show(&told::progress(&route), sentence.at.elapsed());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// How it ended, once it has.
fn verdict(route: &Value) -> Result<(), Fault> {
    if told::is_taken(route) {
        return Ok(());
    }
    let names: Vec<_> = items(&route["candidates"]).iter().filter_map(Value::as_str).collect();
    let example = names.first().copied().unwrap_or("name");
    match text(route, "state") {
        "no_clients" => {
            Err(Fault::failed("no clients are connected").hint("start one; `moot client echo` is an example"))
        }
        "asked" => {
            let fault = Fault::failed("it is not clear who should take this");
            Err(fault.hint(format!("name one of {}, like `moot say \"{example}: …\"`", names.join(", "))))
        }
        _ if names.is_empty() => Err(Fault::failed("nobody took it")),
        _ => {
            let fault = Fault::failed("nobody took it");
            Err(fault.hint(format!("there are also {}; name one, like `moot say \"{example}: …\"`", names.join(", "))))
        }
    }
}

async fn history(hub: &Hub, as_json: bool) -> anyhow::Result<()> {
    let routes = hub.get("/v1/route", &[]).await?;
    if as_json {
        return output::json(&routes);
    }
    for route in items(&routes).iter().rev() {
        output::line(&format!("{}  [{}]", output::printable(text(route, "text")), text(route, "state")))?;
        for line in told::lines(route) {
            output::line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

/// Every line is a sentence, and what comes of it is shown when it comes.
async fn converse(hub: &Hub, timeout: Duration) -> anyhow::Result<()> {
    let mut conversation = Conversation::open();
    let mut open: Vec<Sentence> = Vec::new();
    let (mut said, mut failed) = (0, 0);
    let mut is_over = false;
    while !is_over || !open.is_empty() {
        tokio::select! {
            line = conversation.line(), if !is_over => match line {
                Some(line) => {
                    said += 1;
                    match hub.post("/v1/route", &json!({ "text": line })).await {
                        Ok(answer) => open.push(Sentence::new(answer)),
                        Err(error) => {
                            failed += 1;
                            conversation.note(&format!("{error:#}"))?;
                        }
                    }
                }
                None => is_over = true,
            },
            () = tokio::time::sleep(LOOK_EVERY), if !open.is_empty() => {
                for mut sentence in std::mem::take(&mut open) {
                    match sentence.show_news(hub, &mut conversation, is_over.then_some(timeout)).await? {
                        Standing::Open => open.push(sentence),
                        Standing::Taken => {}
                        Standing::Failed => failed += 1,
                    }
                }
            }
        }
    }
    if failed > 0 && !conversation.is_attended() {
        return Err(Fault::failed(format!("nobody took {failed} of {said} sentences")).into());
    }
    Ok(())
}

/// A sentence that may be answered yet.
struct Sentence {
    /// What the hub said at once.
    answer: Value,
    shown: Vec<String>,
    at: Instant,
    taken: Option<Instant>,
}

/// Where a sentence of a conversation stands.
enum Standing {
    /// More may come.
    Open,
    Taken,
    Failed,
}

impl Sentence {
    fn new(answer: Value) -> Self {
        Self { answer, shown: Vec::new(), at: Instant::now(), taken: None }
    }

    fn path(&self) -> String {
        format!("/v1/route/{}", text(&self.answer, "message_id"))
    }

    /// The lines that were not there before. Of several clients any may be the next to answer, so they are not always the last.
    fn news(&mut self, route: &Value) -> Vec<String> {
        let lines = told::lines(route);
        let mut known = std::mem::replace(&mut self.shown, lines.clone());
        let is_new = |line: &String| match known.iter().position(|shown| shown == line) {
            Some(at) => {
                known.swap_remove(at);
                false
            }
            None => true,
        };
        lines.into_iter().filter(is_new).collect()
    }

    /// Whether there is nothing more to wait for: nobody will take it, or all who did have answered or had their time.
    fn is_over(&mut self, route: &Value, timeout: Duration) -> bool {
        if !told::is_taken(route) {
            return !told::is_open(route);
        }
        let taken = *self.taken.get_or_insert_with(Instant::now);
        told::awaited(route).is_empty() || taken.elapsed() >= timeout
    }

    /// Says who was waited for in vain.
    fn note_missing(&self, route: &Value, timeout: Duration, note: impl FnOnce(&str)) {
        let names = told::awaited(route);
        if self.taken.is_some() && !names.is_empty() && !timeout.is_zero() {
            let names = names.join(", ");
            note(&format!("no answer of {names} within {} s; `moot say --history` shows it later", timeout.as_secs()));
        }
    }

    /// Shows what is new. With a time limit no more sentences come, and only answers are waited for; not at a prompt,
    /// which somebody wants to leave then.
    async fn show_news(
        &mut self,
        hub: &Hub,
        conversation: &mut Conversation,
        timeout: Option<Duration>,
    ) -> anyhow::Result<Standing> {
        let route = match hub.get(&self.path(), &[]).await {
            Ok(route) => route,
            Err(error) if timeout.is_some() => return Err(error),
            // The hub may come back, and the next sentence tells if it does not.
            Err(_) => return Ok(Standing::Open),
        };
        for line in self.news(&route) {
            conversation.show(&line)?;
        }
        let timeout = timeout.map(|timeout| if conversation.is_attended() { Duration::ZERO } else { timeout });
        if !self.is_over(&route, timeout.unwrap_or(MAY_SAY_MORE)) || (timeout.is_none() && self.may_say_more(&route)) {
            return Ok(Standing::Open);
        }
        if let Err(fault) = verdict(&route) {
            conversation.note(&fault.sentence)?;
            fault.hint.map_or(Ok(()), |hint| conversation.note(&format!("hint: {hint}")))?;
            return Ok(Standing::Failed);
        }
        if let Some(timeout) = timeout {
            self.note_missing(&route, timeout, output::note);
        }
        Ok(Standing::Taken)
    }

    /// As long as sentences may come, also those who have answered are listened to for a while.
    fn may_say_more(&self, route: &Value) -> bool {
        told::is_taken(route) && self.at.elapsed() < MAY_SAY_MORE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_nobody_took_it_the_candidates_are_named() {
        let hint = |state: &str| {
            let route = json!({ "state": state, "attempts": [], "candidates": ["calendar", "weather"] });
            verdict(&route).unwrap_err().hint.unwrap()
        };
        assert_eq!(hint("asked"), "name one of calendar, weather, like `moot say \"calendar: …\"`");
        assert_eq!(hint("failed"), "there are also calendar, weather; name one, like `moot say \"calendar: …\"`");
        assert_eq!(verdict(&json!({ "state": "failed" })).unwrap_err().hint, None);
    }
}
