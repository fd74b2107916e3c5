//! What the load generator says to each kind of server, and what their frames mean.

use anyhow::{Result, bail};

use crate::socket::upgrade_request;

/// Which server is at the other end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dialect {
    /// The hub: Lark over `/ws`.
    Lark,
    /// The hub: Snek over `/rpc.ws`, messages to a channel.
    Snek,
    /// The same, but each message is a call that is answered and reaches nobody else.
    SnekCalls,
    /// The bare server of this bench.
    Bare,
    /// socket.io 4 over its WebSocket transport.
    SocketIo,
}

/// What one text frame from the server means to the load generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    /// The next step of the greeting is due.
    Greeting(Step),
    /// Logged in and subscribed.
    Ready,
    /// A message of the room.
    Delivery,
    /// The sender's own message is accepted.
    Ack,
    /// The server wants a sign of life.
    Heartbeat,
    /// The server refused something.
    Refusal,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Connect,
    Join,
}

impl Dialect {
    pub fn name(self) -> &'static str {
        match self {
            Self::Lark => "lark",
            Self::Snek => "snek",
            Self::SnekCalls => "snek-calls",
            Self::Bare => "bare",
            Self::SocketIo => "socketio",
        }
    }

    pub fn from_name(name: &str) -> Result<Self> {
        match [Self::Lark, Self::Snek, Self::SnekCalls, Self::Bare, Self::SocketIo]
            .into_iter()
            .find(|d| d.name() == name)
        {
            Some(dialect) => Ok(dialect),
            None => bail!("`{name}` is no dialect of the load generator"),
        }
    }

    pub fn upgrade_request(self, address: &str) -> String {
        let path = match self {
            Self::Lark => "/ws",
            Self::Snek | Self::SnekCalls => "/rpc.ws",
            Self::Bare => "/",
            Self::SocketIo => "/socket.io/?EIO=4&transport=websocket",
        };
        upgrade_request(path, address)
    }

    /// The first frame after the upgrade, where the client speaks first.
    pub fn opening(self, token: &str, room: &str) -> Option<String> {
        match self {
            Self::Lark => {
                Some(format!(r#"{{"v":1,"type":"auth.login","ts":0,"data":{{"token":"{token}","frames":"plain"}}}}"#))
            }
            // The token is the pair of name and key, as JSON.
            Self::Snek | Self::SnekCalls => Some(format!(r#"{{"method":"login","args":{token},"callId":"login"}}"#)),
            Self::Bare => Some(room.to_owned()),
            Self::SocketIo => None,
        }
    }

    /// The answer to a step of the greeting.
    pub fn step(self, step: Step, room: &str) -> String {
        match step {
            Step::Connect => "40".to_owned(),
            Step::Join => format!(r#"420["join","{room}"]"#),
        }
    }

    pub fn heartbeat(self) -> &'static [u8] {
        b"3"
    }

    /// Only the hub and the peer acknowledge; the bare server just writes, and a call's answer is its delivery.
    pub fn acknowledges(self) -> bool {
        !matches!(self, Self::Bare | Self::SnekCalls)
    }

    pub fn meaning(self, payload: &[u8]) -> Meaning {
        match self {
            Self::Lark => lark_meaning(payload),
            Self::Snek => snek_meaning(payload, Meaning::Ack),
            Self::SnekCalls => snek_meaning(payload, Meaning::Delivery),
            Self::Bare if payload == BARE_READY => Meaning::Ready,
            Self::Bare => Meaning::Delivery,
            Self::SocketIo => socket_io_meaning(payload),
        }
    }
}

/// What the bare server answers to the frame that names the room.
pub const BARE_READY: &[u8] = b"ok";

fn lark_meaning(payload: &[u8]) -> Meaning {
    match lark_type(payload) {
        b"message.new" => Meaning::Delivery,
        b"message.ack" => Meaning::Ack,
        b"auth.success" => Meaning::Ready,
        b"auth.fail" | b"error" => Meaning::Refusal,
        _ => Meaning::Other,
    }
}

/// The value of the first `"type"` key. Inside strings quotes are escaped, and the envelope's own type
/// comes before its data, so the first one is the right one.
pub fn lark_type(payload: &[u8]) -> &[u8] {
    const KEY: &[u8] = br#""type":""#;
    let Some(at) = payload.windows(KEY.len()).position(|window| window == KEY) else {
        return b"";
    };
    let value = &payload[at + KEY.len()..];
    let end = value.iter().position(|&byte| byte == b'"').unwrap_or(value.len());
    &value[..end]
}

/// An answer is what the load generator takes answers for, unless it is a refusal or the one to the login.
fn snek_meaning(payload: &[u8], answer: Meaning) -> Meaning {
    let says = |text: &[u8]| payload.windows(text.len()).any(|window| window == text);
    if payload.starts_with(br#"{"event":"message""#) {
        Meaning::Delivery
    } else if !payload.starts_with(br#"{"callId":"#) {
        Meaning::Other
    } else if says(br#""success":false"#) {
        Meaning::Refusal
    } else if payload.starts_with(br#"{"callId":"login""#) {
        Meaning::Ready
    } else {
        answer
    }
}

fn socket_io_meaning(payload: &[u8]) -> Meaning {
    match payload {
        [b'0', ..] => Meaning::Greeting(Step::Connect),
        b"2" => Meaning::Heartbeat,
        [b'4', b'0', ..] => Meaning::Greeting(Step::Join),
        [b'4', b'2', ..] => Meaning::Delivery,
        [b'4', b'3', b'0', ..] => Meaning::Ready,
        [b'4', b'3', b'1', ..] => Meaning::Ack,
        [b'4', b'4', ..] => Meaning::Refusal,
        _ => Meaning::Other,
    }
}

/// Builds the frames that senders send; each has a fresh id, because the hub takes a repeated one for a retry.
pub struct MessageMaker {
    dialect: Dialect,
    content: String,
    run: u32,
    count: u64,
}

/// The text of a message: an ordinary short chat line.
pub const CONTENT_BYTES: usize = 100;

impl MessageMaker {
    /// `run` tells the ids of processes apart.
    pub fn new(dialect: Dialect, run: u32) -> Self {
        Self { dialect, content: String::new(), run, count: 0 }
    }

    /// How many bytes of text each message carries from now on.
    pub fn set_content(&mut self, bytes: usize) {
        self.content = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(bytes).collect();
    }

    pub fn next(&mut self, room: &str) -> String {
        self.count += 1;
        let Self { content, run, count, .. } = self;
        match self.dialect {
            Dialect::SocketIo => format!(r#"421["send","{room}","{content}"]"#),
            Dialect::Snek => format!(
                r#"{{"method":"send_message","args":["{room}","{content}",true],"kwargs":{{}},"callId":"{count:016x}"}}"#
            ),
            Dialect::SnekCalls => {
                format!(r#"{{"method":"echo","args":["{content}"],"kwargs":{{}},"callId":"{count:016x}"}}"#)
            }
            Dialect::Lark | Dialect::Bare => format!(
                r#"{{"v":1,"id":"{run:08x}-0000-4000-8000-{count:012x}","type":"message.send","ts":0,"data":{{"channel_id":"{room}","content":"{content}"}}}}"#
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lark_type_is_the_envelopes_own() {
        let frame =
            br#"{"v":1,"id":"x","type":"message.new","ts":1,"data":{"content":"\"type\":\"error\"","type":"text"}}"#;
        assert_eq!(lark_type(frame), b"message.new");
        assert_eq!(Dialect::Lark.meaning(frame), Meaning::Delivery);
    }

    #[test]
    fn lark_refusals_are_seen() {
        assert_eq!(Dialect::Lark.meaning(br#"{"type":"auth.fail"}"#), Meaning::Refusal);
        assert_eq!(Dialect::Lark.meaning(br#"{"type":"error"}"#), Meaning::Refusal);
        assert_eq!(Dialect::Lark.meaning(b"{}"), Meaning::Other);
    }

    #[test]
    fn snek_answers_are_acknowledgements_or_what_was_called_for() {
        let frames: [(&[u8], Meaning, Meaning); 4] = [
            (br#"{"callId":"login","success":true,"data":{}}"#, Meaning::Ready, Meaning::Ready),
            (br#"{"callId":"01","success":true,"data":[]}"#, Meaning::Ack, Meaning::Delivery),
            (br#"{"callId":"01","success":false,"data":{}}"#, Meaning::Refusal, Meaning::Refusal),
            (br#"{"event":"message","message":"x"}"#, Meaning::Delivery, Meaning::Delivery),
        ];
        for (frame, talking, calling) in frames {
            assert_eq!((Dialect::Snek.meaning(frame), Dialect::SnekCalls.meaning(frame)), (talking, calling));
        }
    }

    #[test]
    fn socket_io_greeting_leads_to_ready() {
        let meaning = |text: &str| Dialect::SocketIo.meaning(text.as_bytes());
        assert_eq!(meaning(r#"0{"sid":"a"}"#), Meaning::Greeting(Step::Connect));
        assert_eq!(meaning(r#"40{"sid":"a"}"#), Meaning::Greeting(Step::Join));
        assert_eq!(meaning("430[]"), Meaning::Ready);
        assert_eq!(meaning("431[]"), Meaning::Ack);
        assert_eq!(meaning(r#"42["message.new","x"]"#), Meaning::Delivery);
        assert_eq!(meaning("2"), Meaning::Heartbeat);
    }

    #[test]
    fn every_message_has_an_id_of_its_own_and_the_same_length() {
        let mut maker = MessageMaker::new(Dialect::Lark, 7);
        maker.set_content(CONTENT_BYTES);
        let (first, second) = (maker.next("ch_1"), maker.next("ch_1"));
        assert_ne!(first, second);
        assert_eq!(first.len(), second.len());
    }
}
