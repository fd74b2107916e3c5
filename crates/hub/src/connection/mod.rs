//! The writing half of a connection: a bounded queue of shared frames, written by whoever adds to it.

pub mod frame;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use folkmoot_core::ids::{ChannelId, ConnectionId, MemberId};
use folkmoot_core::{Millis, State};
use folkmoot_doors::Protocol;
use parking_lot::Mutex;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

use crate::auth::Login;

/// Requests of one connection that may be undecided at a time; beyond it the hub stops reading from it.
pub const MAX_IN_FLIGHT: usize = 256;
/// A request that reads pages from the store counts as this many: a few at a time, and the others get their turns.
const WEIGHT_OF_A_READ: usize = MAX_IN_FLIGHT / 4;
/// Answers that are gathered before they are written; when the socket does not take them, nothing more is asked for.
const ANSWER_BYTES: usize = 64 * 1024;
const SLICES_PER_WRITE: usize = 32;
const SMALL_QUEUE_BYTES: usize = 4096;

/// Frames that travel together, made once and shared by every connection that queues them.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub bytes: Bytes,
    pub frames: u32,
    pub class: Class,
}

/// What may be dropped when a reader is too slow, and what it is told then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Typing and presence: the first to go, without a word.
    Passing,
    /// Events of a channel from this position on: the reader is told to resume before it.
    Channel { channel: ChannelId, first_seq: u64 },
    /// Meant for this member alone; counted when dropped, found again over REST.
    Personal,
    /// Answers and control frames: never dropped, bounded by the requests in flight.
    Answer,
}

impl Chunk {
    pub fn answer(bytes: Bytes) -> Self {
        Self { bytes, frames: 1, class: Class::Answer }
    }
}

pub struct Connection {
    pub id: ConnectionId,
    pub protocol: &'static dyn Protocol,
    /// The dialect that the log-in asked for.
    dialect: OnceLock<&'static dyn Protocol>,
    /// Where the peer is, for the limit of failed log-ins.
    pub address: IpAddr,
    socket: OwnedWriteHalf,
    outbox: Mutex<Outbox>,
    in_flight: AtomicUsize,
    /// Wakes the connection's task: the socket is full, the connection is closing, or reading may go on.
    pub attention: Notify,
}

#[derive(Default)]
struct Outbox {
    queue: VecDeque<Chunk>,
    /// How much of the first chunk is already written.
    written: usize,
    frames: usize,
    bytes: usize,
    blocked_since: Option<Instant>,
    lag: Option<Box<Lag>>,
    phase: Phase,
    /// The close frame is the last thing we send, whatever the peer does.
    is_failing: bool,
    who: Option<(MemberId, Login)>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    #[default]
    Open,
    /// The close frame is queued; nothing is queued after it.
    Closing,
    Dead,
}

/// What a slow reader missed.
#[derive(Default)]
struct Lag {
    dropped: u64,
    positions: Vec<(ChannelId, u64)>,
}

/// What became of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    Yes,
    /// It did not fit; the reader will be told.
    Overflow,
    Gone,
}

impl Connection {
    pub fn new(id: ConnectionId, protocol: &'static dyn Protocol, address: IpAddr, socket: OwnedWriteHalf) -> Self {
        let (attention, dialect) = (Notify::new(), OnceLock::new());
        Self {
            id,
            protocol,
            dialect,
            address,
            socket,
            outbox: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            attention,
        }
    }

    /// Whoever logs in may ask for a dialect; until then, and without asking, it is that of the address.
    pub fn speak(&self, dialect: &'static dyn Protocol) {
        let _ = self.dialect.set(dialect);
    }

    /// How events are written for it.
    pub fn spoken(&self) -> &'static dyn Protocol {
        self.dialect.get().copied().unwrap_or(self.protocol)
    }

    /// Waits until the socket takes more.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Adds to the queue; [`Connection::flush`] writes it.
    pub fn queue(&self, chunk: Chunk) -> Queued {
        let mut outbox = self.outbox.lock();
        if outbox.phase != Phase::Open {
            return Queued::Gone;
        }
        let limit = self.protocol.limits().queued_frames;
        if outbox.frames + chunk.frames as usize > limit && !outbox.queue.is_empty() {
            // What waits may be only waiting for this write.
            self.write(&mut outbox);
        }
        outbox.add(chunk, limit)
    }

    pub fn flush(&self) {
        let mut outbox = self.outbox.lock();
        self.write(&mut outbox);
        if outbox.blocked_since.is_some() || outbox.phase == Phase::Dead {
            drop(outbox);
            self.attention.notify_one();
        }
    }

    pub fn send(&self, chunk: Chunk) -> Queued {
        let queued = self.queue(chunk);
        self.flush();
        queued
    }

    /// Writes at once, past the queue when nothing waits in it: the cheapest way for one frame to many connections.
    pub fn write_through(&self, chunk: &Chunk) -> Queued {
        let mut outbox = self.outbox.lock();
        let straight = outbox.phase == Phase::Open && outbox.queue.is_empty() && outbox.lag.is_none();
        // Past tokio's readiness too, which is one more place in memory per connection; a full socket takes the long way below.
        let written = if straight { self.send_now(&chunk.bytes) } else { Ok(0) };
        match written {
            Ok(count) if count == chunk.bytes.len() => Queued::Yes,
            Ok(count) if count > 0 => {
                outbox.push(chunk.clone());
                outbox.written = count;
                drop(outbox);
                self.flush();
                Queued::Yes
            }
            _ => {
                drop(outbox);
                self.send(chunk.clone())
            }
        }
    }

    /// Says goodbye after what is queued; nothing follows.
    pub fn close(&self, code: u16, reason: &str) {
        let mut outbox = self.outbox.lock();
        if outbox.phase == Phase::Open {
            outbox.queue.push_back(Chunk::answer(frame::close(code, reason)));
            outbox.phase = Phase::Closing;
            self.write(&mut outbox);
        }
        drop(outbox);
        self.attention.notify_one();
    }

    /// Says goodbye to a peer that cannot be understood any more, and ends our half: there is no answer to wait for.
    pub fn fail(&self, code: u16, reason: &str) {
        self.outbox.lock().is_failing = true;
        self.close(code, reason);
    }

    /// The peer is gone: whatever is queued has no reader.
    pub fn abandon(&self) {
        self.outbox.lock().die();
    }

    pub fn phase(&self) -> Phase {
        self.outbox.lock().phase
    }

    /// Since when the socket has taken nothing.
    pub fn blocked_since(&self) -> Option<Instant> {
        self.outbox.lock().blocked_since
    }

    /// Whether more may be read and done for it: not while too much is undecided or answers pile up unread.
    pub fn may_go_on(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) < MAX_IN_FLIGHT && self.blocked_since().is_none()
    }

    /// The same in the middle of many frames that were read together: now and then what was gathered is written.
    pub fn has_room(&self) -> bool {
        if self.outbox.lock().bytes >= ANSWER_BYTES {
            self.flush();
        }
        self.may_go_on()
    }

    pub fn request_began(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub fn request_ended(&self) {
        self.ended(1);
    }

    pub fn read_began(&self) {
        self.in_flight.fetch_add(WEIGHT_OF_A_READ, Ordering::Relaxed);
    }

    pub fn read_ended(&self) {
        self.ended(WEIGHT_OF_A_READ);
    }

    fn ended(&self, weight: usize) {
        let before = self.in_flight.fetch_sub(weight, Ordering::Relaxed);
        if before >= MAX_IN_FLIGHT && before - weight < MAX_IN_FLIGHT {
            self.attention.notify_one();
        }
    }

    pub fn set_member(&self, member: MemberId, login: Login) {
        self.outbox.lock().who = Some((member, login));
    }

    /// Whether what it logged in with would be refused now.
    pub fn login_has_ended(&self, state: &State) -> bool {
        self.outbox.lock().who.as_ref().is_some_and(|(member, login)| login.has_ended(state, *member))
    }

    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.socket.as_ref(), bytes, rustix::net::SendFlags::NOSIGNAL)?)
    }

    fn write(&self, outbox: &mut Outbox) {
        while outbox.phase != Phase::Dead {
            if outbox.queue.is_empty() {
                outbox.blocked_since = None;
                if outbox.phase == Phase::Closing {
                    return self.end_if_failing(outbox);
                }
                match outbox.lag.take().and_then(|lag| self.lag_notice(&lag)) {
                    Some(notice) => outbox.queue.push_back(notice),
                    None => return,
                }
            }
            match self.write_once(outbox) {
                Ok(count) => outbox.wrote(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    outbox.blocked_since.get_or_insert_with(Instant::now);
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => outbox.die(),
            }
        }
    }

    /// Only our half: closing all of it while something unread has come would take the close frame back from the peer.
    fn end_if_failing(&self, outbox: &Outbox) {
        if outbox.is_failing {
            let _ = rustix::net::shutdown(self.socket.as_ref(), rustix::net::Shutdown::Write);
        }
    }

    fn write_once(&self, outbox: &Outbox) -> io::Result<usize> {
        let first = &outbox.queue[0].bytes[outbox.written..];
        if outbox.queue.len() == 1 {
            return self.socket.try_write(first);
        }
        if let Some(together) = outbox.small_queue() {
            return self.socket.try_write(&together);
        }
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        slices[0] = IoSlice::new(first);
        let rest = outbox.queue.iter().skip(1);
        let filled = slices[1..].iter_mut().zip(rest).map(|(slice, chunk)| *slice = IoSlice::new(&chunk.bytes)).count();
        self.socket.try_write_vectored(&slices[..=filled])
    }

    fn lag_notice(&self, lag: &Lag) -> Option<Chunk> {
        let text = self.protocol.lagged(lag.dropped, &lag.positions, wall_clock())?;
        Some(Chunk::answer(frame::text(&text)))
    }
}

fn wall_clock() -> Millis {
    crate::clock::wall_clock()
}

impl Outbox {
    /// All that waits in one piece, when it is little: copying it costs less than naming the pieces to the kernel.
    fn small_queue(&self) -> Option<Vec<u8>> {
        let bytes: usize = self.queue.iter().map(|chunk| chunk.bytes.len()).sum();
        if self.queue.len() > SLICES_PER_WRITE || bytes > SMALL_QUEUE_BYTES {
            return None;
        }
        let mut together = Vec::with_capacity(bytes);
        for chunk in &self.queue {
            together.extend_from_slice(&chunk.bytes);
        }
        together.drain(..self.written);
        Some(together)
    }

    fn add(&mut self, chunk: Chunk, limit: usize) -> Queued {
        let fits = self.frames == 0 || self.frames + chunk.frames as usize <= limit;
        if fits && self.lag.is_none() || chunk.class == Class::Answer {
            self.push(chunk);
            return Queued::Yes;
        }
        if self.lag.is_none() {
            self.drop_where(|class| class == Class::Passing);
            if self.frames + chunk.frames as usize <= limit {
                self.push(chunk);
                return Queued::Yes;
            }
        }
        self.lag_behind(&chunk);
        Queued::Overflow
    }

    fn push(&mut self, chunk: Chunk) {
        self.frames += chunk.frames as usize;
        self.bytes += chunk.bytes.len();
        self.queue.push_back(chunk);
    }

    /// Drops what is not an answer; from now on the reader gets answers only, until it has read what is left.
    fn lag_behind(&mut self, chunk: &Chunk) {
        let mut lag = self.lag.take().unwrap_or_default();
        let waiting: Vec<_> = self.drop_where(|class| class != Class::Answer);
        for dropped in waiting.iter().chain([chunk]) {
            lag.note(dropped);
        }
        self.lag = Some(lag);
    }

    /// Removes queued chunks of a class; one that is half written must go out whole.
    fn drop_where(&mut self, unwanted: impl Fn(Class) -> bool) -> Vec<Chunk> {
        let half_written = usize::from(self.written > 0);
        let mut dropped = Vec::new();
        let mut kept = VecDeque::with_capacity(self.queue.len());
        for (index, chunk) in self.queue.drain(..).enumerate() {
            if index >= half_written && unwanted(chunk.class) {
                self.frames -= chunk.frames as usize;
                self.bytes -= chunk.bytes.len();
                dropped.push(chunk);
            } else {
                kept.push_back(chunk);
            }
        }
        self.queue = kept;
        dropped
    }

    fn wrote(&mut self, mut count: usize) {
        self.blocked_since = None;
        while let Some(first) = self.queue.front() {
            let left = first.bytes.len() - self.written;
            if count < left {
                self.written += count;
                return;
            }
            count -= left;
            self.written = 0;
            self.frames = self.frames.saturating_sub(first.frames as usize);
            self.bytes = self.bytes.saturating_sub(first.bytes.len());
            self.queue.pop_front();
        }
        if self.queue.capacity() > 8 {
            // Ten thousand quiet connections should not each keep the queue of their busiest moment.
            self.queue.shrink_to(0);
        }
    }

    fn die(&mut self) {
        self.phase = Phase::Dead;
        self.queue = VecDeque::new();
        self.frames = 0;
        self.bytes = 0;
        self.written = 0;
        self.lag = None;
        self.blocked_since = None;
    }
}

impl Lag {
    fn note(&mut self, chunk: &Chunk) {
        if chunk.class == Class::Passing {
            return;
        }
        self.dropped += u64::from(chunk.frames);
        let Class::Channel { channel, first_seq } = chunk.class else { return };
        let before = first_seq.saturating_sub(1);
        match self.positions.iter_mut().find(|(known, _)| *known == channel) {
            Some((_, seq)) => *seq = before.min(*seq),
            None => self.positions.push((channel, before)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt;
    use tokio::net::tcp::OwnedReadHalf;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const LIMIT: usize = 4;
    const ROOM: ChannelId = ChannelId(7);

    fn chunk(class: Class) -> Chunk {
        Chunk { bytes: Bytes::from_static(b"frame"), frames: 1, class }
    }

    fn event(seq: u64) -> Chunk {
        chunk(Class::Channel { channel: ROOM, first_seq: seq })
    }

    fn classes(outbox: &Outbox) -> Vec<Class> {
        outbox.queue.iter().map(|chunk| chunk.class).collect()
    }

    #[test]
    fn when_the_queue_is_full_passing_frames_go_first_and_nobody_is_told() {
        let mut outbox = Outbox::default();
        outbox.add(event(1), LIMIT);
        for _ in 0..3 {
            outbox.add(chunk(Class::Passing), LIMIT);
        }
        assert_eq!(outbox.add(event(2), LIMIT), Queued::Yes);
        assert_eq!(classes(&outbox), [event(1).class, event(2).class]);
        assert!(outbox.lag.is_none());
    }

    #[test]
    fn a_reader_that_lags_is_told_the_position_before_the_first_event_it_missed() {
        let mut outbox = Outbox::default();
        for seq in 5..9 {
            assert_eq!(outbox.add(event(seq), LIMIT), Queued::Yes);
        }
        assert_eq!(outbox.add(event(9), LIMIT), Queued::Overflow);
        assert_eq!(outbox.add(event(10), LIMIT), Queued::Overflow);
        let lag = outbox.lag.as_ref().expect("a lag");
        assert_eq!((lag.dropped, lag.positions.as_slice()), (6, [(ROOM, 4)].as_slice()));
    }

    /// A connection of the Lark door, and its peer.
    async fn connected() -> (Connection, OwnedReadHalf, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let peer = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (stream, address) = listener.accept().await.expect("the peer");
        let (reading, writing) = stream.into_split();
        (Connection::new(ConnectionId(1), folkmoot_doors::DOORS[0], address.ip(), writing), reading, peer)
    }

    async fn all_that_comes(peer: &mut TcpStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        let reading = tokio::time::timeout(Duration::from_secs(30), peer.read_to_end(&mut bytes));
        reading.await.expect("the end of what is written").expect("bytes");
        bytes
    }

    #[tokio::test]
    async fn whoever_broke_the_protocol_gets_the_close_frame_and_the_end_at_once() {
        let (connection, _reading, mut peer) = connected().await;
        connection.fail(1002, "protocol error");
        assert_eq!(all_that_comes(&mut peer).await, frame::close(1002, "protocol error"));
    }

    #[tokio::test]
    async fn nothing_follows_the_close_frame_not_even_that_the_reader_lags() {
        let (connection, reading, mut peer) = connected().await;
        connection.outbox.lock().lag = Some(Box::new(Lag { dropped: 7, positions: Vec::new() }));
        connection.close(1008, "the token has expired");
        drop((connection, reading));
        assert_eq!(all_that_comes(&mut peer).await, frame::close(1008, "the token has expired"));
    }

    #[test]
    fn answers_are_never_dropped_and_a_half_written_frame_goes_out_whole() {
        let mut outbox = Outbox::default();
        outbox.add(event(1), LIMIT);
        outbox.wrote(2);
        outbox.add(chunk(Class::Answer), LIMIT);
        for seq in 2..6 {
            outbox.add(event(seq), LIMIT);
        }
        assert_eq!(classes(&outbox), [event(1).class, Class::Answer]);
        assert_eq!(outbox.add(chunk(Class::Answer), LIMIT), Queued::Yes);
        assert_eq!(outbox.lag.as_ref().expect("a lag").positions, [(ROOM, 1)]);
    }
}
