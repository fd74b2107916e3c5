//! Between SmartHole's wire and the core: frames become requests, handed sentences become frames. Total functions.

use folkmoot_core::event::Event;
use folkmoot_core::ids::{MemberId, RouteId};
use folkmoot_core::route::{InputMethod, Route, Said, Urgency};
use folkmoot_core::{Code, Refusal, Reply, moment};
use folkmoot_wire::Id;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Enlistment;
use super::wire::*;
use crate::door::{Ticket, View};

/// The ticket of a registration; its id is the client's name.
pub const REGISTRATION: &str = "registration";
/// The ticket of a response, which has no answer.
pub const RESPONSE: &str = "response";

/// What a client wants.
#[derive(Debug, PartialEq)]
pub enum Request {
    Register(Result<Enlistment, (ErrorCode, String)>),
    Answer { route: RouteId, said: Said },
}

/// Reads a frame; what is no message of the protocol is none, and is neither answered nor a reason to close.
pub fn request(text: &str) -> Option<Request> {
    let frame: Incoming<'_> = serde_json::from_str(text).ok()?;
    match &*frame.kind {
        "registration" => Some(Request::Register(registration(frame.payload))),
        "response" => response(frame.payload?),
        _ => None,
    }
}

fn registration(payload: Option<&RawValue>) -> Result<Enlistment, (ErrorCode, String)> {
    let registration = payload.and_then(|raw| serde_json::from_str::<Registration>(raw.get()).ok());
    let Some(Registration { name, description, version, capabilities }) = registration else {
        return Err((ErrorCode::ValidationError, "The payload must be an object".to_owned()));
    };
    Ok(Enlistment {
        name: checked_name(&name).map_err(|text| (ErrorCode::InvalidName, text.to_owned()))?,
        description: checked_description(&description)
            .map_err(|text| (ErrorCode::InvalidDescription, text.to_owned()))?,
        version: checked_version(&version).map_err(|text| (ErrorCode::ValidationError, text.to_owned()))?,
        capabilities: checked_capabilities(&capabilities)
            .map_err(|text| (ErrorCode::ValidationError, text.to_owned()))?,
    })
}

fn checked_name(name: &Value) -> Result<String, &'static str> {
    let name = name.as_str().filter(|name| !name.is_empty()).ok_or("Name is required and must be text")?;
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err("Name must start with a letter (a-z, A-Z)");
    }
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_') {
        return Err("Name may contain only letters, digits, hyphens and underscores");
    }
    if name.len() > MAX_NAME_CHARS {
        return Err("Name must have at most 64 characters");
    }
    Ok(name.to_owned())
}

fn checked_description(description: &Value) -> Result<String, &'static str> {
    let description = description.as_str().ok_or("Description is required and must be text")?;
    if description.trim().is_empty() {
        return Err("Description cannot be empty");
    }
    if description.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err("Description must have at most 1024 characters");
    }
    Ok(description.to_owned())
}

fn checked_version(version: &Value) -> Result<Option<String>, &'static str> {
    match version {
        Value::Null => Ok(None),
        Value::String(version) if version.chars().count() <= MAX_VERSION_CHARS => Ok(Some(version.clone())),
        _ => Err("Version must be text of at most 100 characters"),
    }
}

fn checked_capabilities(capabilities: &Value) -> Result<Vec<String>, &'static str> {
    const SENTENCE: &str = "Capabilities must be a list of at most 100 texts of at most 200 characters";
    let fits = |text: &&str| text.chars().count() <= MAX_CAPABILITY_CHARS;
    match capabilities {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) if items.len() <= MAX_CAPABILITIES => {
            let text = |item: &Value| item.as_str().filter(fits).map(str::to_owned).ok_or(SENTENCE);
            items.iter().map(text).collect()
        }
        _ => Err(SENTENCE),
    }
}

fn response(payload: &RawValue) -> Option<Request> {
    let Response { message_id, kind, payload } = serde_json::from_str(payload.get()).ok()?;
    let text = |value: Value| value.as_str().map(str::to_owned);
    let said = match kind {
        ResponseKind::Ack => Said::Ack,
        ResponseKind::Reject => Said::Reject { reason: text(payload.reason).unwrap_or_default() },
        ResponseKind::Notification => Said::Notification {
            title: text(payload.title),
            body: text(payload.body),
            priority: match payload.priority.as_str() {
                Some("low") => Urgency::Low,
                Some("high") => Urgency::High,
                _ => Urgency::Normal,
            },
        },
    };
    Some(Request::Answer { route: RouteId::parse(&message_id), said })
}

fn frame(kind: &str, payload: impl Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(&Outgoing { kind, payload }).unwrap_or_default()
}

fn registered(name: &str, view: View<'_>) -> String {
    let client_id = uuid::Builder::from_random_bytes(view.nonce.to_be_bytes()).into_uuid();
    let message = format!("Client '{name}' registered successfully");
    let payload =
        RegistrationResponse { success: true, client_id: Some(Id::of(client_id)), code: None, message: message.into() };
    frame("registration_response", payload)
}

pub fn not_registered(code: ErrorCode, message: &str) -> String {
    let payload = RegistrationResponse { success: false, client_id: None, code: Some(code), message: message.into() };
    frame("registration_response", payload)
}

/// Why the hub did not take a registration, in the document's words.
pub fn refused(name: &str, refusal: &Refusal) -> String {
    match refusal.code {
        Code::Conflict => {
            let message = format!("A client with name '{name}' is already registered");
            not_registered(ErrorCode::DuplicateName, &message)
        }
        _ => not_registered(ErrorCode::ValidationError, &refusal.text),
    }
}

/// Only a registration has an answer; a refused one is the session's to tell.
pub fn reply(ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
    match (ticket.request, &ticket.id, outcome) {
        (REGISTRATION, Some(name), Ok(_)) => Some(registered(name, view)),
        _ => None,
    }
}

/// The frame for an event: a client hears of the sentences that are handed to it and of nothing else.
pub fn event(event: &Event) -> Option<String> {
    match event {
        Event::Handed { to, route } => message(*to, route),
        Event::MessageSent(_)
        | Event::Streamed(_)
        | Event::StreamEnded { .. }
        | Event::MessageEdited { .. }
        | Event::Progressed(_)
        | Event::StopAsked { .. }
        | Event::MessageDeleted { .. }
        | Event::Reacted { .. }
        | Event::Pinned { .. }
        | Event::Unpinned { .. }
        | Event::Joined(_)
        | Event::Left(_)
        | Event::Saved(_)
        | Event::Removed(_)
        | Event::PresenceChanged { .. }
        | Event::Typing { .. }
        | Event::Woken(_)
        | Event::TaskAssigned { .. }
        | Event::CallSignal { .. }
        | Event::ConnectionReplaced(_)
        | Event::Connected { .. }
        | Event::Disconnected { .. }
        | Event::DaemonRegistered { .. } => None,
    }
}

/// A sentence as its client gets it.
pub fn message(to: MemberId, route: &Route) -> Option<String> {
    let attempt = route.attempt_of(to)?;
    let metadata = Metadata {
        input_method: match route.input {
            InputMethod::Text => "text".into(),
            InputMethod::Voice => "voice".into(),
        },
        direct_routed: route.direct,
        confidence: route.confidence,
        routing_reason: attempt.reason.as_deref().map(Into::into),
    };
    let payload = RoutedMessage {
        id: Id::of(route.id),
        text: (&route.text).into(),
        timestamp: moment::iso(route.created_at).into(),
        metadata,
    };
    Some(frame("message", payload))
}
