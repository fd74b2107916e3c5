//! `moot tail`: watch channels live, through restarts of the hub and bad networks, without loss or doubles.

use std::time::{Duration, Instant};

use folkmoot_clients::Backoff;
use folkmoot_wire::lark::{ChannelJoin, Frame, SyncDone, SyncLagged, SyncResume};
use serde_json::Value;

use self::cursor::Cursor;
use self::socket::{Socket, Trouble};
use crate::client::{HubArgs, Session, items, text};
use crate::names::{self, Target};
use crate::{Settings, output};

mod cursor;
mod print;
mod socket;

pub use print::Printer;

/// The stored events of a channel that are not messages; they take part in its numbering.
const STORED: [&str; 6] =
    ["message.edit", "message.delete", "reaction.add", "reaction.remove", "pin.add", "pin.remove"];

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot tail general
  moot tail general plans @bob          several at once
  moot tail general --since 0           from the beginning
  moot tail general --json | jq -r .content

It reconnects by itself and catches up. Ctrl-C ends it. Times are UTC.
With the API key of an agent it takes the place of that agent's own connection.")]
pub struct Args {
    /// What to watch: channels (name, #name or id) and @members.
    #[arg(required = true)]
    targets: Vec<String>,
    /// Begin after this position (`seq`) instead of showing the last messages.
    #[arg(long, value_name = "SEQ", conflicts_with = "lines")]
    since: Option<u64>,
    /// How many earlier messages to show first.
    #[arg(long, short = 'n', default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=200))]
    lines: u16,
    /// Print one JSON message per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    if session.is_agent {
        output::note(&format!(
            "note: {} is an agent; a connection it already has is replaced by this one",
            session.name
        ));
    }
    let mut tail = Tail { session, watched: Vec::new(), printer: Printer::new(args.json) };
    for name in &args.targets {
        let target = names::target(&tail.session, name).await?;
        if !tail.watched.iter().any(|known| known.target == target) {
            tail.begin(target, &args).await?;
        }
    }
    tail.follow().await
}

/// One channel and how far it was shown; events that are not messages only move it on.
struct Watched {
    target: Target,
    cursor: Cursor<Option<Value>>,
}

struct Tail {
    session: Session,
    watched: Vec<Watched>,
    printer: Printer,
}

impl Tail {
    /// Shows the last messages, or begins after `--since`.
    async fn begin(&mut self, target: Target, args: &Args) -> anyhow::Result<()> {
        let after = match (args.since, args.lines) {
            (Some(seq), _) => seq,
            (None, 0) => self.newest(&target).await?,
            (None, lines) => self.show_last(&target, lines).await?,
        };
        self.watched.push(Watched { target, cursor: Cursor::new(after) });
        Ok(())
    }

    /// The position of the newest event of the channel.
    async fn newest(&self, target: &Target) -> anyhow::Result<u64> {
        let path = self.session.workspace_path(&format!("/channels/{}", target.channel_id));
        Ok(seq_of(&self.session.hub.get(&path, &[]).await?))
    }

    /// Shows the newest messages and returns the position of the last one.
    async fn show_last(&mut self, target: &Target, lines: u16) -> anyhow::Result<u64> {
        let path = format!("/v1/channels/{}/messages", target.channel_id);
        let messages = self.session.hub.get(&path, &[("limit", lines.to_string())]).await?;
        let messages = items(&messages);
        for message in messages.iter().rev() {
            let text = self.printer.line(message);
            self.printer.put(&text)?;
        }
        Ok(messages.iter().map(seq_of).max().unwrap_or(0))
    }

    async fn follow(&mut self) -> anyhow::Result<()> {
        let mut backoff = Backoff::for_reconnecting();
        let mut connected_before = false;
        loop {
            let started = Instant::now();
            match self.connection(&mut connected_before).await? {
                Trouble::Refused(fault) => return Err(fault.into()),
                Trouble::Lost(why) if !connected_before => return Err(crate::Fault::failed(why).into()),
                Trouble::Lost(why) => {
                    // Only a connection that held for a while shows that all is well again.
                    if started.elapsed() > Duration::from_secs(60) {
                        backoff.reset();
                    }
                    let pause = backoff.next(rand::random());
                    output::note(&format!("{why}; trying again in {:.1} s", pause.as_secs_f64()));
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// One connection from its beginning to its end.
    async fn connection(&mut self, connected_before: &mut bool) -> anyhow::Result<Trouble> {
        let mut socket = match Socket::open(&self.session.hub).await {
            Ok(socket) => socket,
            Err(trouble) => return Ok(trouble),
        };
        *connected_before = true;
        for at in 0..self.watched.len() {
            self.watched[at].cursor.restart();
            if let Err(trouble) = self.subscribe(&mut socket, at).await {
                return Ok(trouble);
            }
        }
        loop {
            match socket.next().await {
                Err(trouble) => return Ok(trouble),
                Ok(frame) => {
                    if let Some(trouble) = self.frame(&mut socket, &frame).await? {
                        return Ok(trouble);
                    }
                }
            }
        }
    }

    async fn subscribe(&self, socket: &mut Socket, at: usize) -> Result<(), Trouble> {
        let channel_id = self.watched[at].target.channel_id.as_str().into();
        socket.send(&ChannelJoin { channel_id }).await?;
        self.replay(socket, at).await
    }

    async fn replay(&self, socket: &mut Socket, at: usize) -> Result<(), Trouble> {
        let Watched { target, cursor } = &self.watched[at];
        let channel_id = Some(target.channel_id.as_str().into());
        socket.send(&SyncResume { channel_id, after_seq: Some(cursor.shown()), positions: None }).await
    }

    async fn frame(&mut self, socket: &mut Socket, frame: &Frame) -> anyhow::Result<Option<Trouble>> {
        let kind = frame.kind.as_str();
        match kind {
            "error" if frame.reply_to.is_some() => return Ok(Some(refused(&frame.refused().error))),
            "sync.lagged" => {
                let lagged: Option<SyncLagged> = frame.read();
                for position in lagged.into_iter().flat_map(|lagged| lagged.channels) {
                    if let Some(trouble) = self.ask_again(socket, &position).await {
                        return Ok(Some(trouble));
                    }
                }
                return Ok(None);
            }
            _ => {}
        }
        // What is printed is what came, also where it has fields that are newer than this program.
        let Some(data) = frame.read::<Value>() else { return Ok(None) };
        let Some(at) = self.position(text(&data, "channel_id")) else { return Ok(None) };
        let seq = seq_of(&data);
        let ready = match kind {
            "sync.done" => self.watched[at].cursor.replayed(seq),
            "sync.reload" => match self.reload(at).await? {
                Some(trouble) => return Ok(Some(trouble)),
                None => Vec::new(),
            },
            "message.new" => self.watched[at].cursor.take(seq, Some(message_of(data))),
            "message.edit" if is_answer(&data) => self.watched[at].cursor.take(seq, Some(message_of(data))),
            kind if STORED.contains(&kind) => self.watched[at].cursor.take(seq, None),
            // Elsewhere `seq` means something else, such as how far somebody has read.
            _ => return Ok(None),
        };
        self.show(at, &ready)?;
        if self.watched[at].cursor.must_replay() {
            return Ok(self.replay(socket, at).await.err());
        }
        Ok(None)
    }

    async fn ask_again(&mut self, socket: &mut Socket, position: &SyncDone) -> Option<Trouble> {
        let at = self.position(&position.channel_id)?;
        self.watched[at].cursor.restart();
        self.replay(socket, at).await.err()
    }

    /// The hub has more to replay than it sends over the socket: read it page by page instead.
    async fn reload(&mut self, at: usize) -> anyhow::Result<Option<Trouble>> {
        loop {
            let after = self.watched[at].cursor.shown();
            let page = match self.page(at, after).await {
                Ok(page) => page,
                Err(error) => return Ok(Some(Trouble::Lost(error.to_string()))),
            };
            for message in items(&page) {
                self.watched[at].cursor.take(seq_of(message), Some(message.clone()));
            }
            let last = items(&page).iter().map(seq_of).max().unwrap_or(0);
            let ready = self.watched[at].cursor.replayed(last);
            self.show(at, &ready)?;
            if last <= after {
                // What lies beyond the last page, edits for instance, is little enough to be replayed.
                return Ok(None);
            }
            self.watched[at].cursor.restart();
        }
    }

    /// The oldest messages after a position, replies in threads included.
    async fn page(&self, at: usize, after: u64) -> anyhow::Result<Value> {
        let path = format!("/v1/channels/{}/messages", self.watched[at].target.channel_id);
        let query = [("limit", "200".to_owned()), ("after", after.to_string()), ("replies", "true".to_owned())];
        self.session.hub.get(&path, &query).await
    }

    fn position(&self, channel_id: &str) -> Option<usize> {
        self.watched.iter().position(|watched| watched.target.channel_id == channel_id)
    }

    fn show(&mut self, at: usize, events: &[Option<Value>]) -> anyhow::Result<()> {
        let label = if self.watched.len() > 1 { self.watched[at].target.label.as_str() } else { "" };
        let messages = events.iter().flatten();
        messages.into_iter().try_for_each(|message| {
            let text = self.printer.labelled(message, label);
            self.printer.put(&text)
        })
    }
}

fn refused(said: &str) -> Trouble {
    let fault = crate::Fault::failed(format!("the hub refused: {}", output::printable(said)));
    Trouble::Refused(match said {
        "not a channel member" => fault.hint("somebody in the channel can add you with `moot channel add CHANNEL YOU`"),
        _ => fault,
    })
}

/// The message of a frame as REST has it: the data itself, with the position of the message and not of the event. A hub that
/// knows no plain frames has it under a key of its own.
fn message_of(mut data: Value) -> Value {
    let Some(fields) = data.as_object_mut() else { return data };
    if let Some(message) = fields.remove("message") {
        return message;
    }
    if let Some(seq) = fields.remove("message_seq") {
        fields.insert("seq".to_owned(), seq);
    }
    data
}

/// Whether the message of a run became its answer: it has a position, and nobody changed it afterwards.
fn is_answer(data: &Value) -> bool {
    let of_a_run = data["metadata"]["run_id"].is_string();
    of_a_run && seq_of(data) > 0 && data["edit_count"].as_u64() == Some(0)
}

fn seq_of(value: &Value) -> u64 {
    value.get("seq").and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_of_a_run_is_shown_and_other_edits_are_not() {
        let run = json!({ "run_id": "run_1" });
        assert!(is_answer(&json!({ "seq": 7, "edit_count": 0, "metadata": run })));
        assert!(!is_answer(&json!({ "edit_count": 0, "metadata": run })), "progress");
        assert!(!is_answer(&json!({ "seq": 7, "edit_count": 1, "metadata": run })));
        assert!(!is_answer(&json!({ "seq": 7, "edit_count": 0, "metadata": {} })));
    }

    #[test]
    fn a_message_is_printed_as_rest_has_it_whichever_way_it_came() {
        let expected = json!({ "id": "msg_1", "seq": 7, "content": "hi" });
        assert_eq!(message_of(json!({ "id": "msg_1", "seq": 9, "message_seq": 7, "content": "hi" })), expected);
        assert_eq!(message_of(expected.clone()), expected);
        let double = json!({ "id": "msg_1", "message_id": "msg_1", "seq": 9, "content": "hi", "message": expected });
        assert_eq!(message_of(double), expected);
    }
}
