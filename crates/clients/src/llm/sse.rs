//! Server-sent events: bytes in, the `data` of each event out.

use std::collections::VecDeque;

/// A line or an event longer than this is no event.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub struct Events {
    /// Bytes of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data lines of an event whose end has not come yet.
    data: Option<String>,
    ready: VecDeque<String>,
    /// The last byte was a carriage return, so a line feed that follows ends no further line.
    after_return: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
pub struct TooLong;

impl Events {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    self.end_line();
                }
                _ => {
                    self.after_return = false;
                    self.line.push(byte);
                }
            }
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > MAX_EVENT_BYTES {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// The next whole event.
    pub fn pop(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            self.ready.extend(self.data.take());
            return;
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field != "data" {
            return;
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<String> {
        let mut events = Events::default();
        for chunk in chunks {
            events.push(chunk).unwrap();
        }
        std::iter::from_fn(|| events.pop()).collect()
    }

    #[test]
    fn an_event_ends_with_an_empty_line_whatever_ends_its_lines() {
        for text in ["data: a\n\ndata:b\n\n", "data: a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata:b\r\r"] {
            assert_eq!(events(&[text.as_bytes()]), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn several_data_lines_are_one_event_and_other_fields_and_comments_are_passed_over() {
        assert_eq!(events(&[b": hello\nevent: x\nid: 7\ndata: a\ndata: b\n\n"]), ["a\nb"]);
    }

    #[test]
    fn an_event_without_its_end_has_not_happened() {
        assert!(events(&[b"data: a\n"]).is_empty());
    }

    #[test]
    fn an_event_without_end_is_an_error_and_not_all_of_the_memory() {
        let mut events = Events::default();
        let much = vec![b'x'; MAX_EVENT_BYTES / 2];
        events.push(b"data: ").and_then(|()| events.push(&much)).unwrap();
        assert!(events.push(&much).is_err());
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(text in "(data: ?[a-zé\r\n:]{0,9}[\r\n]{1,3}){0,6}", cuts in proptest::collection::vec(0usize..80, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(events(&chunks), events(&[bytes]));
        }
    }
}
