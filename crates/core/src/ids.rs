//! Identifiers: 128 bits that sort by creation time, one type per thing, a prefix in the text form (`msg_01J…`).
//!
//! Inside the hub an id is a number (copied, hashed and compared cheaply); its text exists only on the wire.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::Millis;

/// What every id has: the beginning of its text form, and a way to read it that tells a malformed one.
pub trait NamedId: Sized {
    const PREFIX: &'static str;

    fn read(text: &str) -> Option<Self>;

    /// The text form as a regular expression, without anchors.
    fn pattern() -> String {
        format!("{}[0-7][0-9A-HJKMNP-TV-Z]{{25}}", Self::PREFIX)
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u128);

        impl $name {
            pub const PREFIX: &'static str = concat!($prefix, "_");
            /// An id that nothing has: what an unreadable id on the wire stands for.
            pub const NONE: Self = Self(0);

            /// Reads the text form; anything else is [`Self::NONE`], so that a malformed id and an unknown id meet
            /// the same "not found" instead of two answers that differ.
            pub fn parse(text: &str) -> Self {
                Self(parse_with_prefix(text, Self::PREFIX).unwrap_or(0))
            }

            pub fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl NamedId for $name {
            const PREFIX: &'static str = Self::PREFIX;

            fn read(text: &str) -> Option<Self> {
                parse_with_prefix(text, Self::PREFIX).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut buffer = [0; ulid::ULID_LEN];
                f.write_str(Self::PREFIX)?;
                f.write_str(Ulid(self.0).array_to_str(&mut buffer))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::parse(&text))
            }
        }
    )*};
}

ids! {
    WorkspaceId "ws";
    MemberId "mem";
    ChannelId "ch";
    MembershipId "ms";
    MessageId "msg";
    NotificationId "notif";
    DraftId "draft";
    ReviewId "rev";
    TaskId "task";
    ApprovalId "appr";
    DeliveryId "dlv";
    RunId "run";
    RunActionId "act";
    SessionId "sess";
    CallId "call";
    WebhookId "hook";
    FileId "file";
    PinId "pin";
    EditId "edit";
    ItemId "item";
    MemoryId "memo";
    TokenId "tok";
    LeaseId "lease";
    FenceId "fence";
    PoolLinkId "plink";
    InviteId "inv";
    HostedId "host";
    TelegramLinkId "tglink";
    MachineId "mach";
}

/// A routed sentence. Its text form is the SmartHole document's, `msg-` and a UUID, because that is what clients see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RouteId(pub u128);

impl RouteId {
    pub const PREFIX: &'static str = "msg-";
    pub const NONE: Self = Self(0);

    /// Reads the text form; anything else is [`Self::NONE`], as with every other id.
    pub fn parse(text: &str) -> Self {
        let groups =
            text.strip_prefix(Self::PREFIX).map(|text| text.split('-').collect::<Vec<_>>()).unwrap_or_default();
        let lengths = groups.iter().map(|group| group.len());
        let digits: String = groups.concat();
        let well_formed = lengths.eq([8, 4, 4, 4, 12]) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        Self(if well_formed { u128::from_str_radix(&digits, 16).unwrap_or(0) } else { 0 })
    }
}

impl NamedId for RouteId {
    const PREFIX: &'static str = Self::PREFIX;

    fn read(text: &str) -> Option<Self> {
        Some(Self::parse(text)).filter(|id| *id != Self::NONE)
    }

    fn pattern() -> String {
        format!("{}[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", Self::PREFIX)
    }
}

impl fmt::Display for RouteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = |shift: u32, mask: u128| (self.0 >> shift) & mask;
        let groups = [bits(80, 0xFFFF), bits(64, 0xFFFF), bits(48, 0xFFFF)];
        write!(f, "{}{:08x}-", Self::PREFIX, bits(96, 0xFFFF_FFFF))?;
        groups.iter().try_for_each(|group| write!(f, "{group:04x}-"))?;
        write!(f, "{:012x}", bits(0, 0xFFFF_FFFF_FFFF))
    }
}

impl fmt::Debug for RouteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RouteId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RouteId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Ok(Self::parse(&text))
    }
}

/// One connection of one process; never stored, never on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ConnectionId(pub u64);

fn parse_with_prefix(text: &str, prefix: &str) -> Option<u128> {
    let digits = text.strip_prefix(prefix)?;
    Ulid::from_string(digits).ok().map(|ulid| ulid.0)
}

/// Makes ids that rise strictly, also within one millisecond and when the clock steps back.
#[derive(Debug, Clone)]
pub struct IdSource {
    last: u128,
    entropy: u64,
}

impl IdSource {
    pub fn new(seed: u64) -> Self {
        Self { last: 0, entropy: seed | 1 }
    }

    pub fn next(&mut self, now: Millis) -> u128 {
        let time = u128::try_from(now.max(0)).unwrap_or(0) & ((1 << 48) - 1);
        let candidate = (time << 80) | (u128::from(self.random()) << 16);
        // The random part leaves room below it, so that ids of one millisecond can follow each other by small steps.
        self.last = if candidate > self.last { candidate } else { self.last + 1 + u128::from(self.random() >> 48) };
        self.last
    }

    /// xorshift64*: ids need to be unlikely to collide across hubs, not secret.
    fn random(&mut self) -> u64 {
        self.entropy ^= self.entropy >> 12;
        self.entropy ^= self.entropy << 25;
        self.entropy ^= self.entropy >> 27;
        self.entropy.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_reads_back_and_matches_the_promised_alphabet() {
        let id = MessageId(IdSource::new(7).next(1_716_849_600_000));
        let text = id.to_string();
        assert_eq!(MessageId::parse(&text), id);
        assert!(text.starts_with("msg_"));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
    }

    #[test]
    fn ids_sort_by_creation_time_also_within_one_millisecond_and_when_the_clock_steps_back() {
        let mut ids = IdSource::new(3);
        let times = [5, 5, 5, 9, 4, 4, 10];
        let made: Vec<_> = times.iter().map(|&now| MessageId(ids.next(now))).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string()));
    }

    #[test]
    fn a_routes_id_is_the_documents_and_reads_back() {
        let id = RouteId(IdSource::new(7).next(1_716_849_600_000));
        let text = id.to_string();
        assert_eq!((text.len(), &text[..4], RouteId::parse(&text)), (40, "msg-", id));
        for wrong in ["", "msg-1", "msg_018f", &text[4..], &text.replace('-', ""), &format!("{text}0")] {
            assert_eq!(RouteId::parse(wrong), RouteId::NONE, "{wrong}");
        }
    }

    #[test]
    fn another_kind_of_id_or_garbage_is_nobodys_id() {
        let member = MemberId(IdSource::new(1).next(1));
        assert!(ChannelId::parse(&member.to_string()).is_none());
        assert!(ChannelId::parse("ch_123").is_none());
        assert!(ChannelId::parse("").is_none());
    }
}
