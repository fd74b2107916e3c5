//! Server frames as bytes: unmasked, so the same bytes serve every connection.

use bytes::{BufMut, Bytes, BytesMut};

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;

pub const EMPTY_PING: Bytes = Bytes::from_static(&[PING, 0]);

/// Appends one text frame.
pub fn put_text(buffer: &mut BytesMut, text: &str) {
    put_header(buffer, TEXT, text.len());
    buffer.put_slice(text.as_bytes());
}

pub fn text(text: &str) -> Bytes {
    let mut buffer = BytesMut::with_capacity(text.len() + 10);
    put_text(&mut buffer, text);
    buffer.freeze()
}

pub fn close(code: u16, reason: &str) -> Bytes {
    // A control frame holds 125 bytes; ours are short sentences.
    let reason = &reason.as_bytes()[..reason.len().min(123)];
    let mut buffer = BytesMut::with_capacity(reason.len() + 4);
    put_header(&mut buffer, CLOSE, reason.len() + 2);
    buffer.put_u16(code);
    buffer.put_slice(reason);
    buffer.freeze()
}

fn put_header(buffer: &mut BytesMut, opcode: u8, length: usize) {
    buffer.put_u8(opcode);
    match length {
        0..=125 => buffer.put_u8(length as u8),
        126..=0xFFFF => {
            buffer.put_u8(126);
            buffer.put_u16(length as u16);
        }
        _ => {
            buffer.put_u8(127);
            buffer.put_u64(length as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tungstenite::Message;
    use tungstenite::protocol::{Role, WebSocket};

    use super::*;

    fn read_back(bytes: Bytes) -> Message {
        WebSocket::from_raw_socket(Cursor::new(bytes.to_vec()), Role::Client, None).read().expect("a frame")
    }

    #[test]
    fn frames_of_every_length_class_read_back() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 100_000] {
            let sent = "x".repeat(length);
            assert_eq!(read_back(text(&sent)), Message::text(sent));
        }
    }

    #[test]
    fn a_close_frame_carries_code_and_reason() {
        let Message::Close(Some(frame)) = read_back(close(1001, "stopping")) else { panic!("not a close frame") };
        assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1001, "stopping"));
    }
}
