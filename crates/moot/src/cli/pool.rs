//! `moot pool`: workers that are leased, and the hub's view of them.

use std::process::ExitCode;

use folkmoot_hub::request::names::segment;
use serde_json::{Map, Value, json};

use super::client::{HubArgs, ListArgs, Session, block_on, cell, items, text};
use super::{Fault, Settings, names, output, pool_agent, pool_listen};
use folkmoot_services::pools::words;

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot pool agents                                  who is connected
  moot pool link music g1 v1                        #music commands the voice channel v1 of g1
  moot pool play --in music never gonna give you up
  moot pool play --in g1/v1 never gonna give you up
  moot pool listen music                            a link to hear it
  moot pool sessions                                who serves what
  moot pool ask agent1 status                       about the voice channel that agent1 serves
  moot pool ask agent1 status '{\"guildId\":\"g1\",\"voiceChannelId\":\"v1\"}'
  moot pool release g1 v1")]
pub enum Command {
    /// Run an agent for pools, with a folder of music as its jukebox.
    Agent(pool_agent::Args),
    /// Print a link to hear what plays in a linked channel.
    Listen(pool_listen::Args),
    /// List the connected agents.
    Agents(ListArgs),
    /// List the voice channels that agents serve.
    Sessions(ListArgs),
    /// Ask one agent, and print its answer as JSON.
    Ask(AskArgs),
    /// Ask whoever serves a voice channel, giving it to an agent if need be.
    Dispatch(DispatchArgs),
    /// Free a voice channel; its agent is told to leave.
    Release(ReleaseArgs),
    /// Let a channel command a voice channel: from then on `/play …` works there.
    Link(LinkArgs),
    /// Let a channel command nothing any more.
    Unlink(UnlinkArgs),
    /// Play something, now or after what is playing.
    Play(WordsArgs),
    /// Look for something to play.
    Search(WordsArgs),
    /// Set how loud it is, from 0 to 150.
    Volume(WordsArgs),
    /// Remove a track from the queue, by its number.
    Remove(WordsArgs),
    /// Move a track within the queue: from which number to which.
    Move(WordsArgs),
    /// Pause what is playing.
    Pause(PlainArgs),
    /// Play on.
    Resume(PlainArgs),
    /// Go on with the next track.
    Skip(PlainArgs),
    /// Stop, and let the agent leave.
    Stop(PlainArgs),
    /// Show what is playing and what comes next.
    Queue(PlainArgs),
    /// Show what is playing.
    Status(PlainArgs),
    /// Mix the queue.
    Shuffle(PlainArgs),
    /// Empty the queue.
    Clear(PlainArgs),
}

#[derive(Debug, clap::Args)]
pub struct AskArgs {
    /// The agent's id.
    agent: String,
    /// The operation, `status` for instance.
    op: String,
    /// What the operation needs, as a JSON object. Left out, you are `actorUserId` and `ownerUserId`, and the voice
    /// channel is the one that the agent serves.
    #[arg(value_parser = object, default_value = "{}")]
    data: Map<String, Value>,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct DispatchArgs {
    /// The guild.
    guild: String,
    /// The voice channel.
    voice_channel: String,
    /// The operation, `play` for instance.
    op: String,
    /// What the operation needs besides guild and channel, as a JSON object.
    #[arg(value_parser = object, default_value = "{}")]
    data: Map<String, Value>,
    /// What is done there.
    #[arg(long, default_value = "music", value_parser = ["music", "assistant"])]
    kind: String,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    /// The guild.
    guild: String,
    /// The voice channel.
    voice_channel: String,
    /// What is done there.
    #[arg(long, default_value = "music", value_parser = ["music", "assistant"])]
    kind: String,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct LinkArgs {
    /// The channel: name, #name or id.
    channel: String,
    /// The guild.
    guild: String,
    /// The voice channel.
    voice_channel: String,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct UnlinkArgs {
    /// The channel: name, #name or id.
    channel: String,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct PlainArgs {
    /// Where: GUILD/VOICE_CHANNEL, or a channel that is linked to one; may be left out while there is one session only.
    #[arg(long = "in", value_name = "PLACE")]
    place: Option<String>,
    /// Print the agent's answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, clap::Args)]
pub struct WordsArgs {
    /// What to play, to look for, how loud, or which.
    #[arg(required = true)]
    words: Vec<String>,
    #[command(flatten)]
    plain: PlainArgs,
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

pub fn run(settings: &Settings, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Agent(args) => pool_agent::run(settings, args),
        Command::Listen(args) => block_on(pool_listen::run(settings, args)),
        Command::Agents(args) => block_on(agents(settings, args)),
        Command::Sessions(args) => block_on(sessions(settings, args)),
        Command::Ask(args) => block_on(ask(settings, args)),
        Command::Dispatch(args) => block_on(dispatch(settings, args)),
        Command::Release(args) => block_on(release(settings, args)),
        Command::Link(args) => block_on(link(settings, args)),
        Command::Unlink(args) => block_on(unlink(settings, args)),
        Command::Play(args) => block_on(with_words(settings, "play", args)),
        Command::Search(args) => block_on(with_words(settings, "search", args)),
        Command::Volume(args) => block_on(with_words(settings, "volume", args)),
        Command::Remove(args) => block_on(with_words(settings, "remove", args)),
        Command::Move(args) => block_on(with_words(settings, "move", args)),
        Command::Pause(args) => block_on(order(settings, "pause", args)),
        Command::Resume(args) => block_on(order(settings, "resume", args)),
        Command::Skip(args) => block_on(order(settings, "skip", args)),
        Command::Stop(args) => block_on(order(settings, "stop", args)),
        Command::Queue(args) => block_on(order(settings, "queue", args)),
        Command::Status(args) => block_on(order(settings, "status", args)),
        Command::Shuffle(args) => block_on(order(settings, "shuffle", args)),
        Command::Clear(args) => block_on(order(settings, "clear", args)),
    }
}

async fn agents(settings: &Settings, args: ListArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let agents = session.hub.get("/v1/pools/agents", &[]).await?;
    if args.json {
        return output::json(&agents);
    }
    let row = |agent: &Value| {
        let state = match (agent["ready"].as_bool(), agent["kind"].as_str()) {
            (_, Some(kind)) => kind,
            (Some(true), None) => "free",
            _ => "not ready",
        };
        let guilds: Vec<&str> = items(&agent["guild_ids"]).iter().filter_map(Value::as_str).collect();
        vec![cell(agent, "agent_id"), cell(agent, "tag"), cell(agent, "pool_id"), state.to_owned(), guilds.join(",")]
    };
    let rows: Vec<_> = items(&agents).iter().map(row).collect();
    output::table(&["AGENT", "NAME", "POOL", "STATE", "GUILDS"], &rows)
}

async fn sessions(settings: &Settings, args: ListArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let sessions = session.hub.get("/v1/pools/sessions", &[]).await?;
    if args.json {
        return output::json(&sessions);
    }
    let fields = ["guild_id", "voice_channel_id", "kind", "agent_id"];
    let row = |session: &Value| fields.map(|field| cell(session, field)).to_vec();
    let rows: Vec<Vec<String>> = items(&sessions).iter().map(row).collect();
    output::table(&["GUILD", "VOICE CHANNEL", "KIND", "AGENT"], &rows)
}

async fn ask(settings: &Settings, args: AskArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let path = format!("/v1/pools/agents/{}/requests", segment(&args.agent));
    let data = completed(&session, &args.agent, args.data).await?;
    let answer = session.hub.post(&path, &json!({ "op": args.op, "data": data })).await?;
    print_data(&answer)
}

/// Agents answer nobody who does not say where and for whom; the hub passes a plain request on as it is.
async fn completed(session: &Session, agent: &str, mut data: Map<String, Value>) -> anyhow::Result<Map<String, Value>> {
    if !data.contains_key("guildId") && !data.contains_key("voiceChannelId") {
        let sessions = session.hub.get("/v1/pools/sessions", &[]).await?;
        if let Some(served) = items(&sessions).iter().find(|served| text(served, "agent_id") == agent) {
            data.insert("guildId".to_owned(), served["guild_id"].clone());
            data.insert("voiceChannelId".to_owned(), served["voice_channel_id"].clone());
        }
    }
    for who in ["actorUserId", "ownerUserId"] {
        data.entry(who).or_insert_with(|| json!(session.member_id));
    }
    Ok(data)
}

async fn dispatch(settings: &Settings, args: DispatchArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let place = Place { guild: args.guild, voice_channel: args.voice_channel };
    let answer = place.dispatch(&session, &args.kind, &args.op, args.data).await?;
    print_data(&answer)
}

/// What the agent answered, or its error as ours.
fn print_data(answer: &Value) -> anyhow::Result<()> {
    if answer["ok"] == true {
        return output::json(&answer["data"]);
    }
    Err(Fault::failed(format!("the agent refused: {}", output::printable(text(answer, "error")))).into())
}

async fn release(settings: &Settings, args: ReleaseArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let (guild, voice_channel) = (segment(&args.guild), segment(&args.voice_channel));
    session.hub.delete(&format!("/v1/pools/sessions/{guild}/{voice_channel}?kind={}", args.kind)).await?;
    output::note(&format!("freed {} of {}", args.voice_channel, args.guild));
    Ok(())
}

async fn link(settings: &Settings, args: LinkArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let channel = names::target(&session, &args.channel).await?;
    let body = json!({ "guild_id": args.guild, "voice_channel_id": args.voice_channel });
    session.hub.put(&format!("/v1/channels/{}/pool", channel.channel_id), &body).await?;
    output::line(&format!("{} commands {} of {}", channel.label, args.voice_channel, args.guild))
}

async fn unlink(settings: &Settings, args: UnlinkArgs) -> anyhow::Result<()> {
    let session = Session::open(settings, &args.hub).await?;
    let channel = names::target(&session, &args.channel).await?;
    session.hub.delete(&format!("/v1/channels/{}/pool", channel.channel_id)).await?;
    output::line(&format!("{} commands nothing", channel.label))
}

async fn with_words(settings: &Settings, op: &str, args: WordsArgs) -> anyhow::Result<()> {
    order(settings, &format!("{op} {}", args.words.join(" ")), args.plain).await
}

/// Does what the same words would do in a linked channel.
async fn order(settings: &Settings, typed: &str, args: PlainArgs) -> anyhow::Result<()> {
    let order = match words::understand(&format!("/{typed}")) {
        Some(Ok(order)) => order,
        Some(Err(usage)) => return Err(Fault::usage(usage.replace('/', "moot pool ")).into()),
        None => return Err(Fault::usage(format!("`{typed}` is no command of pools")).into()),
    };
    let session = Session::open(settings, &args.hub).await?;
    let place = Place::find(&session, args.place.as_deref()).await?;
    let answer = place.dispatch(&session, "music", order.op, order.data).await?;
    if args.json {
        return output::json(&answer);
    }
    if answer["ok"] == true {
        return output::line(&output::printable(&words::answer(order.op, &Ok(answer["data"].clone()))));
    }
    let sentence = words::answer(order.op, &Err(text(&answer, "error").to_owned()));
    Err(Fault::failed(output::printable(&sentence)).into())
}

/// A voice channel of a guild.
struct Place {
    guild: String,
    voice_channel: String,
}

impl Place {
    async fn find(session: &Session, named: Option<&str>) -> anyhow::Result<Self> {
        match named.map(|named| (named, named.split_once('/'))) {
            Some((_, Some((guild, voice_channel)))) => {
                Ok(Self { guild: guild.to_owned(), voice_channel: voice_channel.to_owned() })
            }
            Some((channel, None)) => {
                let channel = names::target(session, channel).await?;
                Ok(Self::of(&session.hub.get(&format!("/v1/channels/{}/pool", channel.channel_id), &[]).await?))
            }
            None => Self::only(session).await,
        }
    }

    /// The only place there is.
    async fn only(session: &Session) -> anyhow::Result<Self> {
        let sessions = session.hub.get("/v1/pools/sessions", &[]).await?;
        match items(&sessions) {
            [session] => Ok(Self::of(session)),
            sessions => {
                let fault = Fault::usage(format!("there are {} sessions; say which is meant", sessions.len()));
                Err(fault.hint("name it with `--in GUILD/VOICE_CHANNEL` or `--in CHANNEL`").into())
            }
        }
    }

    fn of(value: &Value) -> Self {
        Self { guild: text(value, "guild_id").to_owned(), voice_channel: text(value, "voice_channel_id").to_owned() }
    }

    async fn dispatch(
        &self,
        session: &Session,
        kind: &str,
        op: &str,
        data: Map<String, Value>,
    ) -> anyhow::Result<Value> {
        let body = json!({
            "guild_id": self.guild, "voice_channel_id": self.voice_channel, "kind": kind, "op": op, "data": data,
        });
        session.hub.post("/v1/pools/dispatch", &body).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(segment("g1_-.~"), "g1_-.~");
        assert_eq!(segment("a/b?c ü"), "a%2Fb%3Fc%20%C3%BC");
    }

    #[test]
    fn data_is_an_object() {
        assert!(object("{\"a\":1}").is_ok());
        for wrong in ["", "7", "[]", "{"] {
            assert!(object(wrong).unwrap_err().starts_with("not a JSON object"), "{wrong}");
        }
    }
}
