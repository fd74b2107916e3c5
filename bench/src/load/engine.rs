//! The load generator's event loop and its four commands.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::dialect::{Dialect, MessageMaker};
use crate::frame::{self, BUFFER_BYTES, Got};
use crate::load::books::Books;
use crate::load::connection::{Connection, State};
use crate::load::protocol::{Drive, Open, Pace, Report, Seat};
use crate::load::room::Room;
use crate::poller::{Poller, Ready};
use crate::process::CpuSample;
use crate::stats::Spread;

/// The key of standard input; connections have their place in the list as key.
const COMMANDS: u64 = u64::MAX;
/// A server that makes no progress for so long has failed.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Engine {
    dialect: Dialect,
    address: SocketAddr,
    server_pid: u32,
    poller: Poller,
    ready: Vec<Ready>,
    buffer: Vec<u8>,
    connections: Vec<Connection>,
    books: Books,
    tokens: Vec<String>,
    maker: MessageMaker,
    command_waits: bool,
}

impl Engine {
    pub fn new(dialect: Dialect, address: SocketAddr, server_pid: u32) -> Result<Self> {
        let poller = Poller::new()?;
        poller.add(std::io::stdin(), COMMANDS)?;
        Ok(Self {
            dialect,
            address,
            server_pid,
            poller,
            ready: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            connections: Vec::new(),
            books: Books::default(),
            tokens: Vec::new(),
            maker: MessageMaker::new(dialect, std::process::id()),
            command_waits: false,
        })
    }

    /// Keeps the connections alive until there is a command to read (or the end of commands).
    pub fn idle_until_command(&mut self) -> Result<()> {
        while !self.command_waits {
            self.turn(None)?;
        }
        self.command_waits = false;
        Ok(())
    }

    pub fn open(&mut self, open: Open) -> Result<Report> {
        self.close()?;
        self.tokens = open.tokens;
        self.books.rooms = open.rooms.into_iter().map(Room::new).collect();
        self.maker.set_content(open.content_bytes);
        let meter = Meter::start(self.server_pid)?;
        let mut watch = Watch::new();
        while self.books.ready < open.connections.len() {
            while self.connections.len() < open.connections.len()
                && self.connections.len() - self.books.ready < open.at_once.max(1)
            {
                self.connect(open.connections[self.connections.len()])?;
            }
            self.turn(Some(Duration::from_millis(100)))?;
            self.check_refusal()?;
            watch.see(self.books.frames, || format!("only {} connections got ready", self.books.ready))?;
        }
        meter.stop(self)
    }

    pub fn settle(&mut self, quiet_ms: u64) -> Result<Report> {
        let meter = Meter::start(self.server_pid)?;
        let quiet = Duration::from_millis(quiet_ms);
        let (mut last, mut since) = (self.books.frames, Instant::now());
        while since.elapsed() < quiet {
            self.turn(Some(quiet.saturating_sub(since.elapsed())))?;
            if self.books.frames != last {
                (last, since) = (self.books.frames, Instant::now());
            }
        }
        self.check_refusal()?;
        meter.stop(self)
    }

    pub fn close(&mut self) -> Result<Report> {
        self.connections.clear();
        self.books = Books::default();
        Ok(Report::default())
    }

    pub fn drive(&mut self, drive: &Drive) -> Result<Report> {
        self.books.start();
        let rooms = drive.rooms.unwrap_or(usize::MAX).min(self.books.rooms.len());
        if rooms == 0 {
            bail!("no connection is open");
        }
        let meter = Meter::start(self.server_pid)?;
        match drive.pace {
            Pace::PerSecond(rate) => self.drive_paced(drive, rooms, rate)?,
            Pace::InFlight(window) => {
                let with_ack = self.dialect.acknowledges();
                self.drive_flat_out(drive, rooms, |room| window.saturating_sub(room.in_flight(with_ack)))?;
            }
            Pace::ClosedLoop => self.drive_flat_out(drive, rooms, |room| u64::from(room.acked == room.sent))?,
        }
        self.wait_for_all()?;
        meter.stop(self)
    }

    fn drive_paced(&mut self, drive: &Drive, rooms: usize, rate: f64) -> Result<()> {
        let planned = ((drive.seconds * rate) as u64).min(drive.messages.unwrap_or(u64::MAX));
        let start = Instant::now();
        let due = |nth: u64| Duration::from_secs_f64(nth as f64 / rate);
        let mut sent = 0;
        while sent < planned {
            while sent < planned && start.elapsed() >= due(sent) {
                let room = sent as usize % rooms;
                self.send(room, 1)?;
                sent += 1;
            }
            self.turn(Some(due(sent).saturating_sub(start.elapsed())))?;
            self.check_refusal()?;
        }
        // The last message has its share of the time too, so that all runs are equally long.
        while start.elapsed() < due(planned) {
            self.turn(Some(due(planned).saturating_sub(start.elapsed())))?;
        }
        Ok(())
    }

    /// `free` says how many messages a room may send now.
    fn drive_flat_out(&mut self, drive: &Drive, rooms: usize, free: impl Fn(&Room) -> u64) -> Result<()> {
        let end = Instant::now() + Duration::from_secs_f64(drive.seconds);
        let mut left = drive.messages.unwrap_or(u64::MAX);
        self.books.touched.extend(0..rooms);
        let mut watch = Watch::new();
        while left > 0 && Instant::now() < end {
            let touched = std::mem::take(&mut self.books.touched);
            for &room in touched.iter().filter(|&&room| room < rooms) {
                let count = free(&self.books.rooms[room]).min(left);
                self.send(room, count)?;
                left -= count;
            }
            self.turn(Some(Duration::from_millis(100)))?;
            self.check_refusal()?;
            watch.see(self.books.frames, || "the server has stopped delivering".to_owned())?;
        }
        Ok(())
    }

    /// Missing deliveries are no error here: the report says how many arrived.
    fn wait_for_all(&mut self) -> Result<()> {
        let with_ack = self.dialect.acknowledges();
        let mut watch = Watch::new();
        while self.books.rooms.iter().any(|room| room.in_flight(with_ack) > 0) {
            self.turn(Some(Duration::from_millis(50)))?;
            self.check_refusal()?;
            if watch.see(self.books.frames, String::new).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Sends `count` messages of a room's sender with one write.
    fn send(&mut self, room: usize, count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let (with_ack, now) = (self.dialect.acknowledges(), Instant::now());
        let room = &mut self.books.rooms[room];
        let sender = room.sender;
        for _ in 0..count {
            let text = self.maker.next(&room.id);
            self.connections[sender].queue(frame::TEXT, text.as_bytes());
            room.on_sent(now, with_ack);
        }
        self.flush(sender);
        Ok(())
    }

    fn connect(&mut self, seat: Seat) -> Result<()> {
        let index = self.connections.len();
        let mut connection = Connection::open(self.address, seat)?;
        self.poller.add(&connection.stream, index as u64)?;
        connection.queue_raw(self.dialect.upgrade_request(&self.address.to_string()).as_bytes());
        self.books.rooms[seat.room].seat(index);
        self.connections.push(connection);
        self.flush(index);
        Ok(())
    }

    /// Waits once and handles everything that is ready.
    fn turn(&mut self, timeout: Option<Duration>) -> Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(timeout, &mut ready)?;
        for event in ready.drain(..) {
            match event.key {
                COMMANDS => self.command_waits = true,
                key => self.on_ready(key as usize, event),
            }
        }
        self.ready = ready;
        Ok(())
    }

    fn on_ready(&mut self, index: usize, event: Ready) {
        if event.readable {
            self.on_readable(index);
        }
        if event.writable {
            self.flush(index);
        }
    }

    fn on_readable(&mut self, index: usize) {
        let Self { connections, books, buffer, dialect, tokens, .. } = self;
        let connection = &mut connections[index];
        loop {
            let mut reader = std::mem::take(&mut connection.reader);
            let got = frame::read_some(&connection.stream, &mut reader, buffer);
            let more = match got {
                Got::Bytes { filled, more } => {
                    let now = Instant::now();
                    let bytes = match connection.state {
                        State::Upgrading => upgraded(*dialect, connection, books, tokens, &buffer[..filled]),
                        _ => Some(&buffer[..filled]),
                    };
                    match bytes {
                        Some(bytes) => reader.finish(bytes, |f| {
                            books.on_frame(*dialect, connection, index, now, &f);
                        }),
                        None => reader.keep(&buffer[..filled]),
                    }
                    more
                }
                Got::Nothing => false,
                Got::End => {
                    self.on_end(index);
                    return;
                }
            };
            connection.reader = reader;
            if !more {
                break;
            }
        }
        if self.connections[index].has_unsent() {
            self.flush(index);
        }
    }

    fn on_end(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if connection.state != State::Closed {
            connection.state = State::Closed;
            self.books.refuse(format!("connection {index} was closed by the server"));
            // Level-triggered epoll would report the end for ever.
            self.poller.remove(&connection.stream);
        }
    }

    /// Writes what is queued; what does not fit waits for the socket.
    fn flush(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        match connection.flush() {
            Ok(done) => {
                let wait = !done;
                if wait != connection.waits_to_write {
                    connection.waits_to_write = wait;
                    // Failing means that the connection is gone, which the next read finds out.
                    let _ = self.poller.want_write(&connection.stream, index as u64, wait);
                }
            }
            Err(_) => self.on_end(index),
        }
    }

    fn check_refusal(&self) -> Result<()> {
        if self.command_waits {
            bail!("the suite that started this load generator is gone");
        }
        match &self.books.refusal {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }
}

/// Ends the HTTP part once its head is complete, and sends the opening frame. Gives what follows the head.
fn upgraded<'a>(
    dialect: Dialect,
    connection: &mut Connection,
    books: &mut Books,
    tokens: &[String],
    bytes: &'a [u8],
) -> Option<&'a [u8]> {
    const END: &[u8] = b"\r\n\r\n";
    let head = bytes.windows(END.len()).position(|window| window == END)? + END.len();
    if !bytes.starts_with(b"HTTP/1.1 101") {
        books.refuse(format!("the upgrade was refused: {}", String::from_utf8_lossy(&bytes[..head])));
        return None;
    }
    connection.state = State::Greeting;
    let room = &books.rooms[connection.seat.room].id;
    let token = tokens.get(connection.seat.token).map_or("", String::as_str);
    if let Some(opening) = dialect.opening(token, room) {
        connection.queue(frame::TEXT, opening.as_bytes());
    }
    Some(&bytes[head..])
}

/// Complains when a number has not moved for too long.
struct Watch {
    last: u64,
    since: Instant,
}

impl Watch {
    fn new() -> Self {
        Self { last: 0, since: Instant::now() }
    }

    fn see(&mut self, progress: u64, complaint: impl FnOnce() -> String) -> Result<()> {
        if progress != self.last {
            self.last = progress;
            self.since = Instant::now();
        } else if self.since.elapsed() > WAIT_TIMEOUT {
            bail!("{}", complaint());
        }
        Ok(())
    }
}

/// Time and CPU from the start of a command to its end.
struct Meter {
    start: Instant,
    server: CpuSample,
    load: CpuSample,
}

impl Meter {
    fn start(server_pid: u32) -> Result<Self> {
        let load = CpuSample::of(std::process::id())?;
        Ok(Self { load, server: CpuSample::of(server_pid)?, start: Instant::now() })
    }

    fn stop(self, engine: &mut Engine) -> Result<Report> {
        let seconds = self.start.elapsed().as_secs_f64();
        let server_cpu_s = CpuSample::of(engine.server_pid)?.seconds_since(&self.server);
        let load_cpu_s = CpuSample::of(std::process::id())?.seconds_since(&self.load);
        let books = &mut engine.books;
        let sum = |of: fn(&Room) -> u64| books.rooms.iter().map(of).sum::<u64>();
        let delivered = sum(|room| room.delivered);
        Ok(Report {
            error: None,
            seconds,
            server_cpu_s,
            load_cpu_s,
            sent: sum(|room| room.sent),
            acked: sum(|room| room.acked),
            delivered,
            expected: sum(Room::expected),
            delivery_bytes: books.delivery_bytes as f64 / delivered.max(1) as f64,
            ack: Spread::of_nanos(&mut books.ack_nanos),
            delivery: Spread::of_nanos(&mut books.delivery_nanos),
            others: books.others.clone(),
        })
    }
}
