//! A tiny protocol: whatever comes is said back, `join TOKEN` logs in, `say TEXT` speaks in the first channel one is in.

pub mod session;

use folkmoot_core::model::{Door, DoorFacts};
use folkmoot_core::{Event, Millis, Refusal, Reply};
use folkmoot_doors::{Events, Limits, Protocol, Session, Ticket, View};

pub struct Echo;

static FACTS: DoorFacts = DoorFacts::plain(200, "echo");

impl Protocol for Echo {
    fn door(&self) -> Door {
        Door::new(&FACTS)
    }

    fn path(&self) -> &'static str {
        "/echo"
    }

    fn limits(&self) -> Limits {
        Limits { frame_bytes: 1024, queued_frames: 64, subscriptions: 16 }
    }

    fn open(&self, _now: Millis) -> Box<dyn Session> {
        Box::<session::EchoSession>::default()
    }
}

impl Events for Echo {
    fn event(&self, event: &Event, view: View<'_>) -> Option<String> {
        let Event::MessageSent(message) = event else { return None };
        Some(format!("{}: {}", view.state.name_of(message.sender), message.content))
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, _view: View<'_>) -> Option<String> {
        let said = outcome.map_or_else(|refusal| refusal.to_string(), |_| "ok".to_owned());
        Some(format!("{} {said}", ticket.request))
    }
}
