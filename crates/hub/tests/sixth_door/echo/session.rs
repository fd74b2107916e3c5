//! One connection of the echo protocol.

use folkmoot_core::command::{Command, Send};
use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::{Millis, Refusal};
use folkmoot_doors::{Ask, Session, Step, Ticket};

#[derive(Default)]
pub struct EchoSession {
    member: Option<MemberId>,
}

/// What only this door knows; its host takes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Whisper(pub String);

fn ticket(request: &'static str) -> Ticket {
    Ticket { id: None, request }
}

impl Session for EchoSession {
    fn on_text(&mut self, text: &str, _now: Millis) -> Vec<Step> {
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        match words[..] {
            ["join", token] => {
                vec![Step::Ask(Ask::LogIn { token: token.to_owned(), agent: None, dialect: "" }, ticket("join"))]
            }
            ["say", channel, content] => {
                let send = Send { channel: ChannelId::parse(channel), content: content.to_owned(), ..Send::default() };
                let ask = Ask::Do { command: Box::new(Command::Send(send)), on_behalf: None };
                vec![Step::Ask(ask, ticket("say"))]
            }
            ["whisper", ..] => vec![Step::Ask(Ask::Host(Box::new(Whisper(text.to_owned()))), ticket("whisper"))],
            _ => vec![Step::Send(text.to_owned())],
        }
    }

    fn on_binary(&mut self, _data: &[u8], _now: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn on_sign_of_life(&mut self, _now: Millis) {}

    /// What a session asks once it is logged in is asked too, as everything else that it asks.
    fn on_login(&mut self, outcome: Result<MemberId, Refusal>, _now: Millis) -> Vec<Step> {
        self.member = outcome.ok();
        let whisper = Ask::Host(Box::new(Whisper("joined".to_owned())));
        vec![Step::Send(format!("welcome {}", self.member.is_some())), Step::Ask(whisper, ticket("whisper"))]
    }

    fn on_deadline(&mut self, _now: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn deadline(&self) -> Millis {
        Millis::MAX / 2
    }

    fn member(&self) -> Option<MemberId> {
        self.member
    }
}
