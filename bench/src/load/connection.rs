//! One client connection: what it has still to write, and where it stands in its greeting.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};

use crate::frame::{self, FrameReader, is_retry};
use crate::load::protocol::Seat;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Upgrading,
    Greeting,
    Ready,
    Closed,
}

pub struct Connection {
    pub stream: TcpStream,
    pub reader: FrameReader,
    pub state: State,
    pub seat: Seat,
    /// Whether the poller was asked to say when there is room to write.
    pub waits_to_write: bool,
    unsent: Vec<u8>,
}

impl Connection {
    /// On loopback the kernel finishes the handshake by itself, so a blocking connect does not wait for the server.
    pub fn open(address: SocketAddr, seat: Seat) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            reader: FrameReader::default(),
            state: State::Upgrading,
            seat,
            waits_to_write: false,
            unsent: Vec::new(),
        })
    }

    pub fn queue_raw(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    pub fn queue(&mut self, opcode: u8, payload: &[u8]) {
        frame::encode_client(&mut self.unsent, opcode, payload);
    }

    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Writes what is queued; true when all of it is out.
    pub fn flush(&mut self) -> io::Result<bool> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(written) if written == self.unsent.len() => self.unsent = Vec::new(),
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if is_retry(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
