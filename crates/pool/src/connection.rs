//! One connection to the controller: hello and guilds at the beginning and as a heartbeat, requests in, answers out.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use folkmoot_wire::chopsticks::{AgentFrame, ControllerFrame, Resp};
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::agent::Agent;
use crate::link::Standing;

/// More requests than this are not under way at once; the rest waits in the socket.
const MAX_WORKING: usize = 64;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A controller that does not read must not keep us from stopping.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Working = Pin<Box<dyn Future<Output = Resp> + Send>>;

/// Why a connection is over.
#[derive(Debug)]
pub enum End {
    /// We were asked to stop, and said goodbye.
    Stopped,
    /// There was no connection at all.
    Unreachable(String),
    /// There was one, and it broke.
    Lost(String),
    /// The controller does not want us as we are.
    Refused(String),
}

/// What a connection waits for.
enum Next {
    Frame(Option<Result<Message, tungstenite::Error>>),
    Out(AgentFrame),
    Done(Resp),
    Standing,
    Beat,
    Silence,
    Stop,
}

/// Connects and serves until `stop`, or until the connection ends.
pub async fn run(agent: &Agent, mut stop: Pin<&mut impl Future<Output = ()>>) -> End {
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, connect(&agent.config().url));
    let socket = tokio::select! {
        () = stop.as_mut() => return End::Stopped,
        socket = connecting => match socket {
            Ok(Ok(socket)) => socket,
            Ok(Err(error)) => return End::Unreachable(error.to_string()),
            Err(_) => return End::Unreachable("no answer within 10 s".to_owned()),
        },
    };
    tracing::info!(agent = %agent.config().agent_id, url = %agent.config().url, "connected to the controller");
    let (out, outgoing) = mpsc::unbounded_channel();
    let mut connection = Connection::new(agent, socket, outgoing, out);
    let end = connection.serve(stop).await;
    if matches!(end, End::Stopped) {
        let _ = tokio::time::timeout(GOODBYE_TIMEOUT, connection.say_goodbye()).await;
    }
    agent.context().disconnected(connection.unsent());
    end
}

async fn connect(url: &str) -> Result<Socket, tungstenite::Error> {
    // A request of a controller is small; nobody may make us hold more than this.
    let config = WebSocketConfig::default().max_message_size(Some(1 << 20)).max_frame_size(Some(1 << 20));
    let (socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), true).await?;
    Ok(socket)
}

struct Connection<'a> {
    agent: &'a Agent,
    reading: SplitStream<Socket>,
    writing: SplitSink<Socket, Message>,
    /// Answers and events, in the order in which they were said. It cannot grow without bounds: requests under way are
    /// counted, and nothing new is read while the socket takes nothing.
    outgoing: mpsc::UnboundedReceiver<AgentFrame>,
    out: mpsc::UnboundedSender<AgentFrame>,
    working: FuturesUnordered<Working>,
    standing: watch::Receiver<Standing>,
    beat: Interval,
    alive_until: Instant,
    refusal: Option<String>,
}

impl<'a> Connection<'a> {
    fn new(
        agent: &'a Agent,
        socket: Socket,
        outgoing: mpsc::UnboundedReceiver<AgentFrame>,
        out: mpsc::UnboundedSender<AgentFrame>,
    ) -> Self {
        let (writing, reading) = socket.split();
        let config = agent.config();
        let mut beat = tokio::time::interval_at(Instant::now() + config.heartbeat, config.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut standing = agent.context().watch_standing();
        standing.mark_unchanged();
        let alive_until = Instant::now() + config.silence;
        let working = FuturesUnordered::new();
        Self { agent, reading, writing, outgoing, out, working, standing, beat, alive_until, refusal: None }
    }

    async fn serve(&mut self, mut stop: Pin<&mut impl Future<Output = ()>>) -> End {
        if let Err(error) = self.introduce().await {
            return End::Lost(error.to_string());
        }
        loop {
            let next = self.next(stop.as_mut()).await;
            match self.take(next).await {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => return self.broken(&error),
            }
        }
    }

    /// In the order in which controllers know it: who we are, where we work, then what they have missed.
    async fn introduce(&mut self) -> Result<(), tungstenite::Error> {
        self.send(AgentFrame::Hello(self.agent.hello())).await?;
        self.send(AgentFrame::Guilds(self.agent.guilds())).await?;
        self.agent.context().connected(self.out.clone());
        Ok(())
    }

    async fn next(&mut self, stop: Pin<&mut impl Future<Output = ()>>) -> Next {
        let has_room = self.working.len() < MAX_WORKING;
        tokio::select! {
            biased;
            () = stop => Next::Stop,
            Some(frame) = self.outgoing.recv() => Next::Out(frame),
            Some(resp) = self.working.next() => Next::Done(resp),
            Ok(()) = self.standing.changed() => Next::Standing,
            _ = self.beat.tick() => Next::Beat,
            () = tokio::time::sleep_until(self.alive_until) => Next::Silence,
            frame = self.reading.next(), if has_room => Next::Frame(frame),
        }
    }

    async fn take(&mut self, next: Next) -> Result<Option<End>, tungstenite::Error> {
        match next {
            Next::Stop => return Ok(Some(End::Stopped)),
            Next::Out(frame) => self.send(frame).await?,
            // Behind what the operation said on its way, so that `released` comes before the answer to `stop`.
            Next::Done(resp) => drop(self.out.send(AgentFrame::Resp(resp))),
            Next::Standing => self.introduce_again().await?,
            Next::Beat => self.heartbeat().await?,
            Next::Silence => return Ok(Some(End::Lost("the controller fell silent".to_owned()))),
            Next::Frame(Some(frame)) => return Ok(self.frame(frame?)),
            Next::Frame(None) => return Ok(Some(self.ended("the controller closed the connection".to_owned()))),
        }
        Ok(None)
    }

    fn frame(&mut self, frame: Message) -> Option<End> {
        self.alive_until = Instant::now() + self.agent.config().silence;
        match frame {
            Message::Text(text) => match ControllerFrame::read(&text) {
                ControllerFrame::Req(request) => self.working.push(Box::pin(self.agent.answer(&request))),
                ControllerFrame::Error(sentence) => {
                    tracing::warn!(agent = %self.agent.config().agent_id, error = %sentence, "the controller complains");
                    self.refusal = Some(sentence.into_owned());
                }
                ControllerFrame::Unknown => tracing::debug!("a frame of the controller was not understood"),
            },
            Message::Close(frame) => {
                let refused = frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Policy);
                let reason = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
                let cause = self.refusal.take().filter(|_| refused).unwrap_or(reason);
                return Some(if refused { End::Refused(cause) } else { self.ended(format!("closed: {cause}")) });
            }
            // Pings are answered by the library as we read on.
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
        None
    }

    async fn introduce_again(&mut self) -> Result<(), tungstenite::Error> {
        self.send(AgentFrame::Guilds(self.agent.guilds())).await?;
        self.send(AgentFrame::Hello(self.agent.hello())).await
    }

    async fn heartbeat(&mut self) -> Result<(), tungstenite::Error> {
        self.introduce_again().await?;
        // Success is silence in this protocol; the answer to this is how we know that somebody is there.
        self.writing.send(Message::Ping(Vec::new().into())).await
    }

    async fn send(&mut self, frame: AgentFrame) -> Result<(), tungstenite::Error> {
        self.writing.send(Message::text(frame.text())).await
    }

    fn broken(&self, error: &tungstenite::Error) -> End {
        self.ended(error.to_string())
    }

    fn ended(&self, cause: String) -> End {
        End::Lost(cause)
    }

    /// `released` for every session, what was still to be said, then the close.
    async fn say_goodbye(&mut self) -> Result<(), tungstenite::Error> {
        self.agent.context().release_all("shutdown");
        while let Ok(frame) = self.outgoing.try_recv() {
            self.send(frame).await?;
        }
        let close = CloseFrame { code: CloseCode::Normal, reason: "shutdown".into() };
        self.writing.send(Message::Close(Some(close))).await?;
        // The other side closes too when it has read everything; until then the frames could still be lost.
        while let Some(Ok(_)) = self.reading.next().await {}
        Ok(())
    }

    fn unsent(&mut self) -> Vec<AgentFrame> {
        self.outgoing.close();
        std::iter::from_fn(|| self.outgoing.try_recv().ok()).collect()
    }
}
