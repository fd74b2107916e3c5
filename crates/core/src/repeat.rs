//! Telling a send from its repeats.

use ulid::Ulid;

use crate::hash::fnv128;
use crate::ids::*;

/// What a send and its repeats have in common, made of the client's key, the place and the words: a client that gives every
/// message the same key must not lose any, and what became of the first message since must not make a repeat a new one.
/// Short, because every message carries it.
pub fn key(
    client_key: &str,
    channel: ChannelId,
    thread: Option<MessageId>,
    file: Option<FileId>,
    content: &str,
) -> String {
    let thread = thread.map_or(0, |thread| thread.0).to_be_bytes();
    let file = file.map_or(0, |file| file.0).to_be_bytes();
    // Lengths that are not fixed are told apart by the length before them.
    let length = (client_key.len() as u64).to_be_bytes();
    let parts = [&length[..], client_key.as_bytes(), &channel.0.to_be_bytes(), &thread, &file, content.as_bytes()];
    // Whoever makes two of them meet only loses a message of their own.
    Ulid(fnv128(&parts)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_for_ever() {
        let made = key("a-key", ChannelId(1), Some(MessageId(2)), None, "the words");
        assert_eq!(made, "26M74S53KNTM22VC31WV10TJB4");
    }

    #[test]
    fn everything_counts() {
        let (channel, thread, file) = (ChannelId(1), Some(MessageId(2)), Some(FileId(3)));
        let all = [
            key("k", channel, thread, file, "words"),
            key("K", channel, thread, file, "words"),
            key("k", ChannelId(9), thread, file, "words"),
            key("k", channel, None, file, "words"),
            key("k", channel, thread, None, "words"),
            key("k", channel, thread, file, "Words"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{at}");
        }
    }
}
