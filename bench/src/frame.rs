//! WebSocket framing, as little as a load generator and a bare server need.
//!
//! Frames are found by their headers and handed out as slices of the read buffer; nothing is copied
//! except the unfinished frame at the end of a read.

use std::io::{self, Read};
use std::net::TcpStream;

pub const TEXT: u8 = 0x1;
pub const CLOSE: u8 = 0x8;
pub const PING: u8 = 0x9;
pub const PONG: u8 = 0xA;

/// Larger than any frame that the hub may send, so that a carried part and its rest always fit.
pub const BUFFER_BYTES: usize = 256 * 1024;

/// Any key is as good as another here: nothing sits between the two ends that masking would confuse.
const MASK: [u8; 4] = [0x5A, 0xC3, 0x69, 0x0F];

/// One complete frame; `payload` is still masked when `mask` is given.
#[derive(Debug, PartialEq)]
pub struct Frame<'a> {
    pub opcode: u8,
    pub payload: &'a [u8],
    pub mask: Option<[u8; 4]>,
}

impl Frame<'_> {
    pub fn unmasked(&self) -> Vec<u8> {
        let mut payload = self.payload.to_vec();
        if let Some(mask) = self.mask {
            apply_mask(&mut payload, mask);
        }
        payload
    }
}

/// The frame at the start of `bytes` and its length, or nothing when it is not complete yet.
pub fn parse(bytes: &[u8]) -> Option<(Frame<'_>, usize)> {
    let (&first, &second) = (bytes.first()?, bytes.get(1)?);
    let (length, mut at) = match second & 0x7F {
        126 => (u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?) as usize, 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) as usize, 10),
        short => (short as usize, 2),
    };
    let mask = if second & 0x80 != 0 {
        let key = bytes.get(at..at + 4)?.try_into().ok()?;
        at += 4;
        Some(key)
    } else {
        None
    };
    let end = at.checked_add(length)?;
    let payload = bytes.get(at..end)?;
    let opcode = first & 0x0F;
    Some((Frame { opcode, payload, mask }, end))
}

/// Appends a frame as a client must send it: masked.
pub fn encode_client(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    encode_header(out, opcode, payload.len(), 0x80);
    out.extend_from_slice(&MASK);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], MASK);
}

/// Appends a frame as a server must send it: unmasked.
pub fn encode_server(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    encode_header(out, opcode, payload.len(), 0);
    out.extend_from_slice(payload);
}

fn encode_header(out: &mut Vec<u8>, opcode: u8, length: usize, mask_bit: u8) {
    out.push(0x80 | opcode);
    if length < 126 {
        out.push(mask_bit | length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        out.push(mask_bit | 126);
        out.extend_from_slice(&length.to_be_bytes());
    } else {
        out.push(mask_bit | 127);
        out.extend_from_slice(&(length as u64).to_be_bytes());
    }
}

fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    for chunk in payload.chunks_mut(4) {
        for (byte, key) in chunk.iter_mut().zip(mask) {
            *byte ^= key;
        }
    }
}

/// What one connection keeps between two reads: the part of a frame that has come so far.
#[derive(Debug, Default)]
pub struct FrameReader {
    carry: Vec<u8>,
}

impl FrameReader {
    /// Puts the carried bytes at the start of the buffer and says how many they are.
    pub fn begin(&mut self, buffer: &mut [u8]) -> usize {
        let carried = self.carry.len();
        buffer[..carried].copy_from_slice(&self.carry);
        // An idle connection holds no memory; clearing would keep the capacity.
        self.carry = Vec::new();
        carried
    }

    /// Hands out every complete frame in `filled` and carries the rest.
    pub fn finish(&mut self, filled: &[u8], mut on_frame: impl FnMut(Frame<'_>)) {
        let mut at = 0;
        while let Some((frame, length)) = parse(&filled[at..]) {
            on_frame(frame);
            at += length;
        }
        self.keep(&filled[at..]);
    }

    /// Carries bytes that are not looked at yet (an unfinished HTTP head).
    pub fn keep(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.carry.extend_from_slice(rest);
        }
    }
}

/// What one non-blocking read gave.
pub enum Got {
    /// So many bytes of the buffer are filled; `more` when the socket may hold still more.
    Bytes {
        filled: usize,
        more: bool,
    },
    Nothing,
    End,
}

/// Reads once into `buffer` behind what the reader carried.
pub fn read_some(stream: &TcpStream, reader: &mut FrameReader, buffer: &mut [u8]) -> Got {
    let carried = reader.begin(buffer);
    let mut stream = stream;
    match stream.read(&mut buffer[carried..]) {
        Ok(0) => Got::End,
        Ok(n) => Got::Bytes { filled: carried + n, more: carried + n == buffer.len() },
        Err(error) if is_retry(&error) => {
            reader.keep(&buffer[..carried]);
            Got::Nothing
        }
        Err(_) => Got::End,
    }
}

pub fn is_retry(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames_in_pieces(stream: &[u8], piece: usize) -> Vec<(u8, Vec<u8>)> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut reader = FrameReader::default();
        let mut seen = Vec::new();
        for chunk in stream.chunks(piece) {
            let carried = reader.begin(&mut buffer);
            buffer[carried..carried + chunk.len()].copy_from_slice(chunk);
            reader.finish(&buffer[..carried + chunk.len()], |frame| {
                seen.push((frame.opcode, frame.unmasked()));
            });
        }
        assert!(reader.carry.is_empty(), "a whole stream leaves nothing behind");
        seen
    }

    fn sample_payloads() -> Vec<Vec<u8>> {
        // Both sides of each change of header size.
        [0, 1, 125, 126, 127, 65_535, 65_536, 70_000].map(|n| (0..n).map(|i| i as u8).collect()).to_vec()
    }

    #[test]
    fn counts_every_frame_once_however_the_stream_is_cut() {
        let payloads = sample_payloads();
        let mut stream = Vec::new();
        for payload in &payloads {
            encode_server(&mut stream, TEXT, payload);
        }
        for piece in [1, 2, 3, 7, 1_000, 65_537, BUFFER_BYTES / 2] {
            let seen = frames_in_pieces(&stream, piece);
            assert_eq!(seen.len(), payloads.len(), "pieces of {piece}");
            assert!(seen.iter().zip(&payloads).all(|((opcode, got), sent)| *opcode == TEXT && got == sent));
        }
    }

    #[test]
    fn masked_frames_read_back_as_they_were() {
        let mut stream = Vec::new();
        for payload in sample_payloads() {
            encode_client(&mut stream, PING, &payload);
        }
        let seen = frames_in_pieces(&stream, 4_096);
        let expected: Vec<_> = sample_payloads().into_iter().map(|p| (PING, p)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn incomplete_frame_is_no_frame() {
        let mut stream = Vec::new();
        encode_client(&mut stream, TEXT, &[7; 300]);
        for cut in 0..stream.len() {
            assert!(parse(&stream[..cut]).is_none(), "cut at {cut}");
        }
        assert_eq!(parse(&stream).map(|(_, length)| length), Some(stream.len()));
    }

    #[test]
    fn absurd_length_is_waited_for_rather_than_overflowing() {
        let mut stream = vec![0x81, 127];
        stream.extend_from_slice(&u64::MAX.to_be_bytes());
        assert!(parse(&stream).is_none());
    }
}
