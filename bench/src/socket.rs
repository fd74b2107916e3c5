//! One WebSocket connection that a scenario drives by hand; crowds are the load generator's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::frame::{self, CLOSE, FrameReader, Got, PING, PONG, TEXT};

/// Longer than any frame that such a connection gets.
const BUFFER_BYTES: usize = 16 * 1024;
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

pub struct Socket {
    pub stream: TcpStream,
    reader: FrameReader,
}

/// What asks a server to speak WebSocket from now on.
pub fn upgrade_request(path: &str, address: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

impl Socket {
    pub fn connect(address: SocketAddr, path: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
        stream.write_all(upgrade_request(path, &address.to_string()).as_bytes())?;
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).context("the upgrade was not answered")?;
            answer.push(byte[0]);
        }
        if !answer.starts_with(b"HTTP/1.1 101") {
            bail!("the upgrade was refused: {}", String::from_utf8_lossy(&answer));
        }
        Ok(Self { stream, reader: FrameReader::default() })
    }

    pub fn send(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        frame::encode_client(&mut bytes, opcode, payload);
        Ok(self.stream.write_all(&bytes)?)
    }

    /// The text frames that one read gives; pings are answered on the way.
    pub fn take(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut buffer = [0; BUFFER_BYTES];
        let (mut texts, mut pings, mut closed) = (Vec::new(), 0, false);
        match frame::read_some(&self.stream, &mut self.reader, &mut buffer) {
            Got::Bytes { filled, .. } => self.reader.finish(&buffer[..filled], |frame| match frame.opcode {
                TEXT => texts.push(frame.unmasked()),
                PING => pings += 1,
                CLOSE => closed = true,
                _ => {}
            }),
            Got::Nothing => {}
            Got::End => closed = true,
        }
        if closed {
            bail!("the server closed the connection");
        }
        (0..pings).try_for_each(|_| self.send(PONG, b""))?;
        Ok(texts)
    }

    /// Waits for the one text frame that is due.
    pub fn wait(&mut self) -> Result<Vec<u8>> {
        let give_up = Instant::now() + WAIT_TIMEOUT;
        while Instant::now() < give_up {
            let mut texts = self.take()?;
            match texts.len() {
                0 => {}
                1 => return Ok(texts.remove(0)),
                n => bail!("{n} frames came where one was due"),
            }
        }
        bail!("no frame came within {WAIT_TIMEOUT:?}")
    }
}
