//! What all doors have in common: the traits the hub drives, and the steps a session asks it to take.

use std::any::Any;

use folkmoot_core::event::Audience;
use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::model::{Door, Message, Notification};
use folkmoot_core::record::Change;
use folkmoot_core::{Actor, Command, Event, Millis, Refusal, Reply, State};

use crate::query::{Query, QueryResult};

/// One protocol: where it is found and how its connections begin.
pub trait Protocol: Events + Sync + Send {
    fn door(&self) -> Door;

    /// The path of its WebSocket on the main listener.
    fn path(&self) -> &'static str;

    /// A door may speak in several dialects; the value of `events` in the query of its address picks one, or the log-in.
    fn dialect(&self) -> &'static str {
        ""
    }

    /// An address at which nothing but this dialect is spoken, for clients that cannot add to the one of the door.
    fn own_path(&self) -> Option<&'static str> {
        None
    }

    fn limits(&self) -> Limits;

    fn open(&self, now: Millis) -> Box<dyn Session>;
}

/// How what happens looks on the wire of a protocol. What it has no word for, it leaves out: the default says nothing.
pub trait Events {
    /// The frame for an event, made once and shared by every connection of this door that hears it.
    fn event(&self, _event: &Event, _view: View<'_>) -> Option<String> {
        None
    }

    /// Who is told of an event, where the protocol means others than the hub does.
    fn audience(&self, _event: &Event, audience: Audience) -> Audience {
        audience
    }

    /// The answer to one request.
    fn reply(&self, _ticket: &Ticket, _outcome: Result<&Reply, &Refusal>, _view: View<'_>) -> Option<String> {
        None
    }

    /// The answer to [`Ask::Poll`].
    fn inbox(&self, _ticket: &Ticket, _items: &[Notification], _view: View<'_>) -> Option<String> {
        None
    }

    /// The answer to [`Ask::Query`].
    fn result(&self, _ticket: &Ticket, _reader: Actor, _result: &QueryResult, _view: View<'_>) -> Option<String> {
        None
    }

    /// A stored event, told again after [`Ask::Resume`].
    fn replayed(&self, _event: &Replayed<'_>, _view: View<'_>) -> Option<String> {
        None
    }

    /// The end of a catch-up of one channel; not `complete` when too much was missed to be told again.
    fn resumed(&self, _: &Ticket, _: ChannelId, _seq: u64, _complete: bool, _: View<'_>) -> Option<String> {
        None
    }

    /// Whether a reader that could not keep up can ask for what it missed. One that cannot is closed instead.
    fn can_catch_up(&self) -> bool {
        false
    }

    /// What a reader that could not keep up is told, once it reads again: how many frames it missed, and the
    /// position after which to resume each channel.
    fn lagged(&self, _dropped: u64, _positions: &[(ChannelId, u64)], _now: Millis) -> Option<String> {
        None
    }
}

/// What a mapping may look at: names and channels as they are now, and a fresh id and time for the envelope.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub state: &'a State,
    pub now: Millis,
    /// 128 fresh bits for an envelope's id.
    pub nonce: u128,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub frame_bytes: usize,
    pub queued_frames: usize,
    pub subscriptions: usize,
}

/// One connection of a door. It never waits: it says what to do next and is told what came of it.
pub trait Session: Send {
    fn on_text(&mut self, text: &str, now: Millis) -> Vec<Step>;

    fn on_binary(&mut self, data: &[u8], now: Millis) -> Vec<Step>;

    /// Anything arrived, a pong for instance: the peer is alive.
    fn on_sign_of_life(&mut self, now: Millis);

    /// The outcome of [`Ask::LogIn`] or [`Ask::Prove`]: who it is, or the refusal.
    fn on_login(&mut self, outcome: Result<MemberId, Refusal>, now: Millis) -> Vec<Step>;

    fn on_deadline(&mut self, now: Millis) -> Vec<Step>;

    /// When [`Session::on_deadline`] is due next.
    fn deadline(&self) -> Millis;

    /// Who is logged in.
    fn member(&self) -> Option<MemberId>;
}

#[derive(Debug)]
pub enum Step {
    Send(String),
    Ask(Ask, Ticket),
    Ping,
    Close { code: u16, reason: &'static str },
}

/// What a session wants of the hub.
#[derive(Debug)]
pub enum Ask {
    LogIn {
        token: String,
        /// The agent that the token's owner speaks for, if not for itself.
        agent: Option<MemberId>,
        /// The dialect in which it wants to hear events, see [`Protocol::dialect`].
        dialect: &'static str,
    },
    /// A log-in by name: with the password of a person or the API key of an agent.
    Prove {
        login: String,
        secret: String,
    },
    Do {
        command: Box<Command>,
        on_behalf: Option<MemberId>,
    },
    Unsubscribe {
        channel: ChannelId,
    },
    Poll(Poll),
    Query(Query),
    Resume {
        positions: Vec<(ChannelId, u64)>,
    },
    /// What only this door knows: it goes to the door's host as it is.
    Host(Box<dyn Any + Send>),
}

/// A query of the inbox.
#[derive(Debug, Clone, Default)]
pub struct Poll {
    pub on_behalf: Option<MemberId>,
    pub source_type: Option<String>,
    pub unread_only: bool,
    pub since: Option<Millis>,
    pub limit: usize,
}

/// Remembers which request an answer belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The request's own id, given back as it was.
    pub id: Option<String>,
    /// The request's type, where the answer's shape depends on it.
    pub request: &'static str,
}

/// One stored event of a channel, as replayed to a client that was away.
#[derive(Debug)]
pub enum Replayed<'a> {
    Message(&'a Message),
    Change(&'a Change, Option<&'a Message>),
}
