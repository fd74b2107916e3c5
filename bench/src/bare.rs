//! The bare server: the least that any server must do to deliver a frame to every socket of a room.
//!
//! It keeps no messages, reads no payload and builds no frame: each frame from a connection makes it
//! write one pre-built frame to every socket of that connection's room. With `coalesce` it first takes
//! everything that is readable and then writes to each socket once. Its CPU is the limit against which
//! the hub is measured. With a database it stores a row for every frame, all of a turn in one commit, before it
//! writes: the limit for durable sends.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::dialect::BARE_READY;
use crate::frame::{self, BUFFER_BYTES, FrameReader, Got, is_retry};
use crate::poller::{Poller, Ready};
use crate::process::{self, Managed, SERVER_CORE};
use crate::sqlite::Rows;

const LISTENER: u64 = u64::MAX;
const PARENT: u64 = u64::MAX - 1;

/// Fixed, because the load generator does not check the key.
const UPGRADED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Most frames that one write may carry.
const MAX_AT_ONCE: usize = 256;

/// Starts a bare server as a child process on the server's core; gives it and its port.
pub fn start(payload_bytes: usize, coalesce: bool, database: Option<&Path>) -> Result<(Managed, u16)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bare").arg(payload_bytes.to_string()).arg(coalesce.to_string());
    command.args(database);
    let mut process = Managed::start("the bare server", &mut command, SERVER_CORE)?;
    let port = listening_port(&mut process)?;
    Ok((process, port))
}

/// Reads the line `listening PORT` that the bare server and the peer print.
pub fn listening_port(process: &mut Managed) -> Result<u16> {
    let line = process.read_line()?;
    line.trim().strip_prefix("listening ").and_then(|port| port.parse().ok()).context("no port was printed")
}

/// Serves until standard input ends.
pub fn serve(payload_bytes: usize, coalesce: bool, database: Option<&Path>) -> Result<()> {
    process::raise_file_limit();
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    println!("listening {}", listener.local_addr()?.port());
    let mut server = BareServer::new(listener, payload_bytes, coalesce)?;
    server.rows = database.map(Rows::open).transpose()?;
    let mut ready = Vec::new();
    loop {
        server.poller.wait(None, &mut ready)?;
        for event in ready.drain(..) {
            match event.key {
                LISTENER => server.accept()?,
                PARENT => return Ok(()),
                key => server.on_ready(key as usize, event),
            }
        }
        server.store_gathered()?;
        server.write_gathered();
    }
}

struct BareServer {
    listener: TcpListener,
    poller: Poller,
    coalesce: bool,
    frame_bytes: usize,
    /// The pre-built frame, many times over, so that any number of them is one slice.
    frames: Vec<u8>,
    buffer: Vec<u8>,
    sockets: Vec<Option<Socket>>,
    free: Vec<usize>,
    rooms: Vec<Room>,
    gathered: Vec<usize>,
    rows: Option<Rows>,
}

struct Socket {
    stream: TcpStream,
    reader: FrameReader,
    upgraded: bool,
    room: Option<usize>,
    unsent: Vec<u8>,
}

#[derive(Default)]
struct Room {
    sockets: Vec<usize>,
    /// Frames to write at the end of this turn.
    due: usize,
}

impl BareServer {
    fn new(listener: TcpListener, payload_bytes: usize, coalesce: bool) -> Result<Self> {
        let poller = Poller::new()?;
        poller.add(&listener, LISTENER)?;
        poller.add(std::io::stdin(), PARENT)?;
        let mut frames = Vec::new();
        frame::encode_server(&mut frames, frame::TEXT, &vec![b'x'; payload_bytes]);
        let frame_bytes = frames.len();
        Ok(Self {
            listener,
            poller,
            coalesce,
            frame_bytes,
            frames: frames.repeat(MAX_AT_ONCE),
            buffer: vec![0; BUFFER_BYTES],
            sockets: Vec::new(),
            free: Vec::new(),
            rooms: Vec::new(),
            gathered: Vec::new(),
            rows: None,
        })
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if is_retry(&error) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let key = self.free.pop().unwrap_or(self.sockets.len());
            self.poller.add(&stream, key as u64)?;
            let reader = FrameReader::default();
            let socket = Socket { stream, reader, upgraded: false, room: None, unsent: Vec::new() };
            match self.sockets.get_mut(key) {
                Some(place) => *place = Some(socket),
                None => self.sockets.push(Some(socket)),
            }
        }
    }

    fn on_ready(&mut self, key: usize, event: Ready) {
        let Some(socket) = self.sockets.get_mut(key).and_then(Option::as_mut) else {
            return;
        };
        if event.writable {
            let unsent = std::mem::take(&mut socket.unsent);
            write_or_keep(&self.poller, socket, key, &unsent);
            if socket.unsent.is_empty() {
                let _ = self.poller.want_write(&socket.stream, key as u64, false);
            }
        }
        if event.readable {
            self.on_readable(key);
        }
    }

    fn on_readable(&mut self, key: usize) {
        let Some(socket) = self.sockets[key].as_mut() else {
            return;
        };
        let mut reader = std::mem::take(&mut socket.reader);
        let filled = match frame::read_some(&socket.stream, &mut reader, &mut self.buffer) {
            Got::Bytes { filled, .. } => filled,
            Got::Nothing => 0,
            Got::End => return self.remove(key),
        };
        let mut bytes = &self.buffer[..filled];
        if !socket.upgraded {
            let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
                reader.keep(bytes);
                socket.reader = reader;
                return;
            };
            socket.upgraded = true;
            bytes = &bytes[head + 4..];
            write_or_keep(&self.poller, socket, key, UPGRADED);
        }
        let (mut triggers, mut joined) = (0, None);
        let in_room = socket.room.is_some();
        reader.finish(bytes, |frame| match (frame.opcode, in_room || joined.is_some()) {
            (frame::TEXT, true) => triggers += 1,
            (frame::TEXT, false) => joined = Some(frame.unmasked()),
            _ => {}
        });
        socket.reader = reader;
        if let Some(name) = joined {
            self.join(key, &name);
        }
        self.trigger(key, triggers);
    }

    fn join(&mut self, key: usize, name: &[u8]) {
        let Some(socket) = self.sockets[key].as_mut() else {
            return;
        };
        let room: usize = std::str::from_utf8(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        if self.rooms.len() <= room {
            self.rooms.resize_with(room + 1, Room::default);
        }
        self.rooms[room].sockets.push(key);
        socket.room = Some(room);
        let mut answer = Vec::new();
        frame::encode_server(&mut answer, frame::TEXT, BARE_READY);
        write_or_keep(&self.poller, socket, key, &answer);
    }

    /// Writes at once, a write per frame and socket; or notes the frames for the end of the turn.
    fn trigger(&mut self, key: usize, triggers: usize) {
        let Some(room) = self.sockets[key].as_ref().and_then(|socket| socket.room) else {
            return;
        };
        if triggers == 0 {
            return;
        }
        if self.coalesce {
            if self.rooms[room].due == 0 {
                self.gathered.push(room);
            }
            self.rooms[room].due += triggers;
        } else {
            (0..triggers).for_each(|_| self.write_room(room, 1));
        }
    }

    fn store_gathered(&mut self) -> Result<()> {
        match &mut self.rows {
            Some(rows) if !self.gathered.is_empty() => {
                let due = |&room: &usize| std::iter::repeat_n(room, self.rooms[room].due);
                rows.store(self.gathered.iter().flat_map(due))
            }
            _ => Ok(()),
        }
    }

    fn write_gathered(&mut self) {
        for room in std::mem::take(&mut self.gathered) {
            let mut due = std::mem::take(&mut self.rooms[room].due);
            while due > 0 {
                let count = due.min(MAX_AT_ONCE);
                self.write_room(room, count);
                due -= count;
            }
        }
    }

    fn write_room(&mut self, room: usize, count: usize) {
        let bytes = &self.frames[..count * self.frame_bytes];
        for &key in &self.rooms[room].sockets {
            if let Some(socket) = self.sockets[key].as_mut() {
                write_or_keep(&self.poller, socket, key, bytes);
            }
        }
    }

    fn remove(&mut self, key: usize) {
        if let Some(socket) = self.sockets[key].take()
            && let Some(room) = socket.room
        {
            self.rooms[room].sockets.retain(|&other| other != key);
        }
        self.free.push(key);
    }
}

/// One write; what the socket does not take is kept, because the limit may not lose frames either.
fn write_or_keep(poller: &Poller, socket: &mut Socket, key: usize, bytes: &[u8]) {
    if !socket.unsent.is_empty() {
        socket.unsent.extend_from_slice(bytes);
        return;
    }
    let written = match socket.stream.write(bytes) {
        Ok(written) => written,
        Err(error) if is_retry(&error) => 0,
        // The next read finds the end of the connection.
        Err(_) => return,
    };
    if written < bytes.len() {
        socket.unsent.extend_from_slice(&bytes[written..]);
        let _ = poller.want_write(&socket.stream, key as u64, true);
    }
}
