//! The task of one connection: reads frames, drives the session, and writes only what the socket could not take at once.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use folkmoot_core::ids::MemberId;
use folkmoot_core::quota::{Tab, too_often};
use folkmoot_core::{Actor, Millis, Refusal, access};
use folkmoot_doors::{Ask, Session, Step, Ticket};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tungstenite::error::{CapacityError, Error};
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Message, Utf8Bytes};

use crate::auth::Identity;
use crate::connection::{Chunk, Connection, Phase, frame};
use crate::doors::{Boxed, HostAnswer};
use crate::executor::{Job, Respond, Work};
use crate::hub::Hub;
use crate::login;
use crate::readings::{self, CatchUp};

/// The socket is read into one buffer per thread; a connection keeps only what is left of an unfinished frame.
const READ_BYTES: usize = 64 * 1024;
const KEPT_BYTES: usize = 256;
/// How long a peer may take to answer our close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// Serves a connection until it ends, and tells the hub that it ended.
pub async fn run(
    hub: Hub,
    connection: Arc<Connection>,
    session: Box<dyn Session>,
    mut socket: OwnedReadHalf,
    already_read: Bytes,
    mut stop: watch::Receiver<bool>,
) {
    let limit = connection.protocol.limits().frame_bytes;
    let config = WebSocketConfig::default()
        .read_buffer_size(KEPT_BYTES)
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    let mut driver = Driver {
        hub,
        connection,
        session,
        protocol: WebSocketContext::new(Role::Server, Some(config)),
        frames: Tab::default(),
        is_broken: false,
        pending: VecDeque::new(),
        catching_up: VecDeque::new(),
        closing_until: None,
        expires_at: None,
    };
    if !already_read.is_empty() {
        driver.decode(&already_read);
    }
    driver.serve(&mut socket, &mut stop).await;
    driver.connection.abandon();
    if let Some(member) = driver.session.member() {
        let actor = Actor::connected(member, driver.connection.protocol.door(), driver.connection.id);
        driver.hub.submit(Job { actor, work: Work::Detach(driver.connection.id), respond: Respond::Nobody });
    }
}

struct Driver {
    hub: Hub,
    connection: Arc<Connection>,
    session: Box<dyn Session>,
    protocol: WebSocketContext,
    /// The pace of a connection without an account.
    frames: Tab<()>,
    /// The peer broke the protocol: nothing it sends can be understood any more.
    is_broken: bool,
    /// Frames that were read and wait until the answers to those before them are taken.
    pending: VecDeque<Incoming>,
    /// What is still to be told again, a page at a time; no frame is looked at before.
    catching_up: VecDeque<CatchUp>,
    closing_until: Option<Instant>,
    /// When the token that it logged in with no longer counts.
    expires_at: Option<Millis>,
}

/// What came in, taken out of the shared buffer so that handling it may wait.
enum Incoming {
    Text(Utf8Bytes),
    Binary(Bytes),
    SignOfLife,
    /// What the session wants by itself, after a log-in or at its time.
    Own(Box<(Ask, Ticket)>),
    /// The peer closed, or broke the protocol; this much is said before the end.
    End(Option<(u16, &'static str)>),
}

impl Driver {
    async fn serve(&mut self, socket: &mut OwnedReadHalf, stop: &mut watch::Receiver<bool>) {
        let timer = sleep_until(self.next_deadline());
        tokio::pin!(timer);
        loop {
            let connection = Arc::clone(&self.connection);
            let blocked = connection.blocked_since().is_some();
            let (has_work, may_go_on) = (self.has_work(), connection.may_go_on());
            tokio::select! {
                // One page or one read's frames at a time: in between the clock, the socket and the hub are heard.
                () = ready(()), if has_work && may_go_on => self.work().await,
                is_open = poll_fn(|context| self.poll_read(socket, context)), if !has_work && may_go_on => {
                    if !is_open {
                        return;
                    }
                    self.work().await;
                }
                ready = connection.writable(), if blocked => {
                    if ready.is_err() {
                        return;
                    }
                    connection.flush();
                }
                // Whoever has logged in is closed by the hub, after what it was still to hear.
                _ = stop.changed(), if self.session.member().is_none() => connection.close(1001, "the hub is stopping"),
                () = connection.attention.notified() => {}
                () = &mut timer => self.on_timer(),
            }
            if self.is_over() {
                return;
            }
            let next = self.next_deadline();
            if next != timer.deadline() && (next < timer.deadline() || timer.is_elapsed()) {
                timer.as_mut().reset(next);
            }
        }
    }

    fn is_over(&mut self) -> bool {
        match self.connection.phase() {
            Phase::Dead => true,
            Phase::Open => false,
            Phase::Closing => {
                let until = *self.closing_until.get_or_insert_with(|| Instant::now() + CLOSE_TIMEOUT);
                Instant::now() >= until
            }
        }
    }

    fn next_deadline(&self) -> Instant {
        let due = self.expires_at.map_or(self.session.deadline(), |expires_at| expires_at.min(self.session.deadline()));
        let in_ms = (due - self.hub.now()).max(0);
        let session = Instant::now() + Duration::from_millis(in_ms.unsigned_abs());
        let write_timeout = self.hub.settings().server.write_timeout();
        let write = self.connection.blocked_since().map(|since| Instant::from_std(since + write_timeout));
        [write, self.closing_until].into_iter().flatten().fold(session, Instant::min)
    }

    fn on_timer(&mut self) {
        let write_timeout = self.hub.settings().server.write_timeout();
        if self.connection.blocked_since().is_some_and(|since| since.elapsed() >= write_timeout) {
            tracing::info!(connection = self.connection.id.0, ?write_timeout, "closed: the peer read nothing");
            self.connection.abandon();
            return;
        }
        let now = self.hub.now();
        if self.expires_at.take_if(|expires_at| now >= *expires_at).is_some() {
            self.connection.close(1008, "the token has expired");
        }
        if now >= self.session.deadline() {
            for step in self.session.on_deadline(now) {
                self.do_now(step);
            }
            self.connection.flush();
        }
    }

    /// Reads what is there, into the thread's buffer, and takes the frames out of it; false at the end of the connection.
    fn poll_read(&mut self, socket: &mut OwnedReadHalf, context: &mut Context<'_>) -> Poll<bool> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            match Pin::new(socket).poll_read(context, &mut buffer) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.decode(buffer.filled());
                    Poll::Ready(true)
                }
                Poll::Ready(_) => Poll::Ready(false),
            }
        })
    }

    fn decode(&mut self, bytes: &[u8]) {
        let mut feed = Feed { input: bytes, output: Vec::new() };
        while !self.is_broken {
            let incoming = match self.protocol.read(&mut feed) {
                Ok(Message::Text(text)) => Incoming::Text(text),
                Ok(Message::Binary(data)) => Incoming::Binary(data),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => Incoming::SignOfLife,
                Ok(Message::Close(_)) => continue,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.is_broken = true;
                    Incoming::End(complaint(&error))
                }
            };
            self.pending.push_back(incoming);
        }
        if !feed.output.is_empty() {
            self.connection.send(Chunk::answer(Bytes::from(feed.output)));
        }
    }

    fn has_work(&self) -> bool {
        !self.pending.is_empty() || !self.catching_up.is_empty()
    }

    /// Acts on what was read for as long as the answers are taken; the rest waits, and nothing more is read before it.
    async fn work(&mut self) {
        if let Some(mut catch_up) = self.catching_up.pop_front()
            && Box::pin(catch_up.tell_a_page(&self.hub, &self.connection)).await
        {
            self.catching_up.push_front(catch_up);
        }
        while self.catching_up.is_empty() && self.connection.has_room() {
            let Some(incoming) = self.pending.pop_front() else { break };
            self.handle(incoming).await;
        }
        if !self.has_work() {
            // Ten thousand quiet connections should not each keep the queues of their busiest moment.
            (self.pending, self.catching_up) = (VecDeque::new(), VecDeque::new());
        }
        // All answers to what was read together go out together.
        self.connection.flush();
    }

    async fn handle(&mut self, incoming: Incoming) {
        let now = self.hub.now();
        let steps = match incoming {
            Incoming::Text(text) => {
                let paced = self.pace(now);
                let steps = self.session.on_text(&text, now);
                match paced {
                    Ok(()) => steps,
                    Err(refusal) => return self.refuse(steps, &refusal),
                }
            }
            Incoming::Binary(data) => self.session.on_binary(&data, now),
            Incoming::SignOfLife => return self.session.on_sign_of_life(now),
            Incoming::Own(own) => vec![Step::Ask(own.0, own.1)],
            Incoming::End(None) => return self.connection.abandon(),
            Incoming::End(Some((code, reason))) => return self.connection.fail(code, reason),
        };
        for step in steps {
            if let Some(waiting) = self.perform(step) {
                waiting.await;
            }
        }
    }

    /// Members have one pace over all their connections and requests; whoever has no account has one for the connection.
    fn pace(&mut self, now: Millis) -> Result<(), Refusal> {
        match self.session.member() {
            Some(member) => self.hub.quotas().request(member, now),
            None => {
                let taken = self.frames.take((), self.hub.settings().limits.requests(), now);
                taken.map_err(|wait| too_often("too many frames", wait))
            }
        }
    }

    /// Answers what was asked with a refusal; whom the protocol gives no answer is let go.
    fn refuse(&mut self, steps: Vec<Step>, refusal: &Refusal) {
        for step in steps {
            match step {
                Step::Ask(_, ticket) if self.session.member().is_some() => {
                    readings::refuse(&self.hub, &self.connection, &ticket, refusal);
                }
                Step::Ask(..) => self.connection.close(1008, "too many frames"),
                other => self.do_now(other),
            }
        }
    }

    fn perform(&mut self, step: Step) -> Option<Boxed<'_, ()>> {
        match step {
            Step::Ask(ask, ticket) => self.ask(ask, ticket),
            other => {
                self.do_now(other);
                None
            }
        }
    }

    /// The steps that need nobody else; whoever asks for them flushes.
    fn do_now(&mut self, step: Step) {
        match step {
            Step::Send(text) => {
                self.connection.queue(Chunk::answer(frame::text(&text)));
            }
            Step::Ping => {
                self.connection.queue(Chunk::answer(frame::EMPTY_PING));
            }
            Step::Close { code, reason } => self.connection.close(code, reason),
            // Asking may wait for others. It comes before whatever else was read, in the order in which it was wanted.
            Step::Ask(ask, ticket) => {
                let before = self.pending.iter().take_while(|waiting| matches!(waiting, Incoming::Own(..))).count();
                self.pending.insert(before, Incoming::Own(Box::new((ask, ticket))));
            }
        }
    }

    /// What waits for others is put aside while it does: a connection is as large as its largest part, also when it is quiet.
    fn ask(&mut self, ask: Ask, ticket: Ticket) -> Option<Boxed<'_, ()>> {
        match ask {
            Ask::LogIn { token, agent, dialect } => {
                let proven = self.identify(&token, agent, dialect);
                return Some(Box::pin(self.log_in(proven, ticket)));
            }
            Ask::Prove { login, secret } => return Some(Box::pin(self.prove(login, secret, ticket))),
            Ask::Host(what) => return Some(Box::pin(self.ask_host(what, ticket))),
            Ask::Poll(poll) => {
                let actor = Actor { on_behalf: poll.on_behalf, ..self.actor()? };
                return Some(Box::pin(self.poll(actor, poll, ticket)));
            }
            Ask::Do { command, on_behalf } => {
                let actor = Actor { on_behalf, ..self.actor()? };
                match self.hub.admits(actor, &command) {
                    Ok(()) => self.submit(actor, Work::Decide(command), ticket),
                    Err(refusal) => readings::refuse(&self.hub, &self.connection, &ticket, &refusal),
                }
            }
            Ask::Unsubscribe { channel } => {
                let actor = self.actor()?;
                self.submit(actor, Work::Unsubscribe { connection: self.connection.id, channel }, ticket);
            }
            Ask::Query(query) => readings::query(&self.hub, &self.connection, self.actor()?, query, ticket),
            Ask::Resume { positions } => {
                let actor = self.actor()?;
                self.catching_up.push_back(CatchUp::new(actor, positions, ticket));
            }
        }
        None
    }

    /// Who a token is, and in whose name it speaks; whoever is proven is spoken to as it asked for.
    fn identify(&self, token: &str, agent: Option<MemberId>, dialect: &str) -> Result<Identity, Refusal> {
        let now = self.hub.now();
        let identity = self.hub.with_state(|state| {
            let identity = self.hub.auth().identify(state, token, now)?;
            match agent {
                Some(agent) => {
                    let member = access::speaks_for(state, identity.member, agent)?;
                    Ok(Identity { member, ..identity })
                }
                None => Ok::<_, Refusal>(identity),
            }
        })?;
        let spoken = self.hub.doors().dialect(self.connection.protocol.door(), dialect);
        if let Some(spoken) = spoken.filter(|_| !dialect.is_empty()) {
            self.connection.speak(spoken);
        }
        Ok(identity)
    }

    async fn prove(&mut self, login: String, secret: String, ticket: Ticket) {
        self.connection.flush();
        let proven = login::prove(&self.hub, &login, secret, self.connection.address).await;
        self.log_in(proven.map_err(Refusal::from), ticket).await;
    }

    async fn poll(&mut self, actor: Actor, poll: folkmoot_doors::Poll, ticket: Ticket) {
        readings::poll(&self.hub, &self.connection, actor, poll, &ticket).await;
    }

    async fn ask_host(&mut self, what: Box<dyn Any + Send>, ticket: Ticket) {
        let (hub, connection) = (self.hub.clone(), Arc::clone(&self.connection));
        let Some(host) = hub.doors().host(connection.protocol.door()) else { return };
        if let HostAnswer::LogIn(outcome) = host.asked(&connection, what, ticket) {
            self.finish_login(outcome.await);
        }
    }

    fn actor(&self) -> Option<Actor> {
        let member = self.session.member()?;
        Some(Actor::connected(member, self.connection.protocol.door(), self.connection.id))
    }

    fn submit(&self, actor: Actor, work: Work, ticket: Ticket) {
        self.connection.request_began();
        let respond = Respond::Connection { connection: Arc::clone(&self.connection), ticket };
        self.hub.submit(Job { actor, work, respond });
    }

    /// Waits for the outcome: what the client sends behind its log-in is read as somebody's.
    async fn log_in(&mut self, proven: Result<Identity, Refusal>, ticket: Ticket) {
        let outcome = match proven {
            Ok(identity) => {
                self.expires_at = identity.proof.token().map(|token| token.expires_at);
                login::note_use(&self.hub, &identity, self.connection.address);
                self.hub.attach(Arc::clone(&self.connection), identity, ticket).await
            }
            Err(refusal) => Err(refusal),
        };
        self.finish_login(outcome);
    }

    fn finish_login(&mut self, outcome: Result<MemberId, Refusal>) {
        for step in self.session.on_login(outcome, self.hub.now()) {
            self.do_now(step);
        }
    }
}

/// What a peer that broke the protocol is told; none when it simply left.
fn complaint(error: &Error) -> Option<(u16, &'static str)> {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Some((1009, "frame too large")),
        Error::Utf8(_) => Some((1007, "text is not UTF-8")),
        Error::Protocol(_) => Some((1002, "protocol error")),
        _ => None,
    }
}

/// Hands tungstenite the bytes that were read and collects what it answers by itself (pongs, closes).
struct Feed<'a> {
    input: &'a [u8],
    output: Vec<u8>,
}

impl Read for Feed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.input.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.input.read(buffer)
    }
}

impl Write for Feed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
