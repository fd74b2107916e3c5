//! Lines of a stream: bounded, tolerant of a missing last line end, and safe to stop in the middle of.

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line that is understood.
pub const MAX_LINE: usize = 10 * 1024 * 1024;
/// What a buffer may keep between lines.
const KEPT: usize = 64 * 1024;

pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the unread part begins, and how far it was searched for a line end.
    start: usize,
    searched: usize,
    /// Length so far of a line that is too long and is being skipped.
    skipped: usize,
    ended: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Text(Vec<u8>),
    /// A line of this many bytes was skipped.
    TooLong(usize),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, searched: 0, skipped: 0, ended: false }
    }

    /// The next line that is not blank; `None` at the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.take() {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            self.compact();
            // A stream that breaks has ended as far as we are concerned.
            let read = self.reader.read_buf(&mut self.buffer).await.unwrap_or(0);
            self.ended = read == 0;
        }
    }

    fn take(&mut self) -> Option<Line> {
        loop {
            let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
            let Some(end) = end.or_else(|| (self.ended && self.start < self.buffer.len()).then_some(self.buffer.len()))
            else {
                self.searched = self.buffer.len();
                self.skip_if_too_long();
                return self.end_of_skipped();
            };
            let line = &self.buffer[self.start..end];
            let length = line.len() + std::mem::take(&mut self.skipped);
            let found = if length > MAX_LINE {
                Some(Line::TooLong(length))
            } else {
                let line = line.trim_ascii();
                (!line.is_empty()).then(|| Line::Text(line.to_vec()))
            };
            self.start = (end + 1).min(self.buffer.len());
            self.searched = self.start;
            if found.is_some() {
                return found;
            }
        }
    }

    fn skip_if_too_long(&mut self) {
        let length = self.buffer.len() - self.start;
        if length + self.skipped > MAX_LINE {
            self.skipped += length;
            self.buffer.truncate(self.start);
            self.searched = self.start;
        }
    }

    fn end_of_skipped(&mut self) -> Option<Line> {
        let at_end = self.ended && self.skipped > 0;
        at_end.then(|| Line::TooLong(std::mem::take(&mut self.skipped)))
    }

    /// Moves the unread part to the front and gives back what one huge line needed.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < KEPT && self.buffer.capacity() > 4 * KEPT {
            self.buffer.shrink_to(KEPT);
        }
        self.buffer.reserve(16 * 1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await {
            found.push(line);
        }
        assert!(lines.next().await.is_none());
        found
    }

    fn text(text: &str) -> Line {
        Line::Text(text.into())
    }

    #[tokio::test]
    async fn blank_lines_are_skipped_and_the_last_line_counts_without_its_end() {
        assert_eq!(read(b"a\r\n\n  \nb\nlast").await, [text("a"), text("b"), text("last")]);
        assert_eq!(read(b"").await, []);
    }

    #[tokio::test]
    async fn lines_up_to_the_limit_are_read_and_longer_ones_are_named() {
        let mut long = vec![b'x'; MAX_LINE];
        assert_eq!(read(&long).await, [Line::Text(long.clone())]);
        long.extend_from_slice(b"yy\nafter\n");
        assert_eq!(read(&long).await, [Line::TooLong(MAX_LINE + 2), text("after")]);
        assert_eq!(read(&vec![b'x'; MAX_LINE + 1]).await, [Line::TooLong(MAX_LINE + 1)]);
    }

    #[tokio::test]
    async fn a_huge_line_does_not_keep_its_memory() {
        let mut input = vec![b'x'; 5_000_000];
        input.extend_from_slice(b"\na\nb\n");
        let mut lines = Lines::new(&input[..]);
        while lines.next().await.is_some() {}
        assert!(lines.buffer.capacity() <= 4 * KEPT, "{}", lines.buffer.capacity());
    }
}
