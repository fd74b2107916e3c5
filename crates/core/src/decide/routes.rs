//! Sentences for whoever should take them: who may be given one, what an answer changes, and when it is over.
//!
//! Who should have a sentence is found out elsewhere (a direct address, a model, a ranking) and arrives as a
//! [`Choice`]; here is what a choice may be. A sentence never just ends: its speaker is told.

use std::sync::Arc;

use super::messages::MAX_CONTENT_CHARS;
use super::{Context, Decision, Outcome, notify, wakes};
use crate::command::{AttemptEnd, Reply, Say};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::route::*;
use crate::{Actor, Millis, access};

const MAX_REASON_CHARS: usize = 500;
const MAX_TITLE_CHARS: usize = 200;
const MAX_BODY_CHARS: usize = 4000;

pub fn say(context: &mut Context<'_>, actor: Actor, say: Say) -> Outcome {
    let speaker = Arc::clone(access::member(context.state, actor)?);
    check_sentence(&say.text)?;
    check_source(context, &speaker, say.source)?;
    let mut counted = Vec::new();
    wakes::on_sentence(context, &speaker, &mut counted)?;
    let route = Route {
        id: RouteId(context.new_id()),
        workspace: speaker.workspace,
        speaker: speaker.id,
        text: say.text,
        input: say.input,
        confidence: say.confidence.filter(|_| say.input == InputMethod::Voice),
        direct: false,
        source: say.source,
        state: RouteState::Choosing,
        attempts: Vec::new(),
        created_at: context.now,
        updated_at: context.now,
    };
    let mut decision = Step::new(route).choose(context, say.choice, say.timeout)?;
    decision.events.extend(counted);
    Ok(decision)
}

pub fn hand(context: &mut Context<'_>, actor: Actor, id: RouteId, choice: Choice, timeout: Millis) -> Outcome {
    access::hub(actor)?;
    let route = context.history.get::<Route>(id)?.ok_or(refusal::ROUTE_NOT_FOUND)?;
    if route.state != RouteState::Choosing {
        return Err(refusal::ROUTE_OVER);
    }
    Step::new(route).choose(context, choice, timeout)
}

pub fn answer(context: &mut Context<'_>, actor: Actor, id: RouteId, said: Said) -> Outcome {
    let client = access::member(context.state, actor)?.id;
    let given = |route: &Route| route.was_tried(client);
    let route = context.history.get::<Route>(id)?.filter(given).ok_or(refusal::ROUTE_NOT_FOUND)?;
    let said = bounded(said);
    let mut step = Step::new(route);
    step.note_answer(context, client, &said);
    // The first answer settles the attempt; what comes later is kept and shown, and changes nothing.
    let end = match said {
        Said::Ack | Said::Reply { .. } | Said::Notification { .. } => (AttemptStatus::Acked, None),
        Said::Reject { reason } => (AttemptStatus::Rejected, Some(reason)),
    };
    step.end(client, end.0, end.1);
    step.settle(context)
}

pub fn end_attempt(context: &mut Context<'_>, actor: Actor, id: RouteId, client: MemberId, end: AttemptEnd) -> Outcome {
    access::hub(actor)?;
    let route = awaited_from(context, id, client)?;
    let attempt = route.attempt_of(client).ok_or(refusal::ROUTE_OVER)?;
    if end == AttemptEnd::Timeout && context.now < attempt.due {
        return Err(refusal::ROUTE_OVER);
    }
    let mut step = Step::new(route);
    match end {
        AttemptEnd::Timeout => step.end(client, AttemptStatus::Timeout, Some(TIMED_OUT.to_owned())),
        AttemptEnd::Disconnected => step.end(client, AttemptStatus::Rejected, Some(DISCONNECTED.to_owned())),
    }
    step.settle(context)
}

pub fn hand_again(context: &mut Context<'_>, actor: Actor, id: RouteId, client: MemberId) -> Outcome {
    access::hub(actor)?;
    let route = Arc::new(awaited_from(context, id, client)?);
    let event = Event::Handed { to: client, route: Arc::clone(&route) };
    Ok(Decision::new(Reply::Route(route), vec![event]))
}

/// A sentence that this client has and has not answered.
fn awaited_from(context: &Context<'_>, id: RouteId, client: MemberId) -> Result<Route, Refusal> {
    let route = context.history.get::<Route>(id)?.ok_or(refusal::ROUTE_NOT_FOUND)?;
    let awaited = route.pending().any(|attempt| attempt.client == client);
    if awaited { Ok(route) } else { Err(refusal::ROUTE_OVER) }
}

fn check_sentence(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::bad_request("text is required"));
    }
    if text.chars().count() > MAX_CONTENT_CHARS {
        return Err(Refusal::bad_request(format!("text is too long (max {MAX_CONTENT_CHARS} characters)")));
    }
    Ok(())
}

/// Only one's own line can ask the router for something.
fn check_source(context: &Context<'_>, speaker: &Member, source: Option<MessageId>) -> Result<(), Refusal> {
    let Some(source) = source else { return Ok(()) };
    let own = |message: &Message| message.sender == speaker.id && !message.deleted;
    context.history.message(source)?.filter(own).map(drop).ok_or(refusal::MESSAGE_NOT_FOUND)
}

fn bounded(said: Said) -> Said {
    let short = |text: Option<String>, max| {
        text.map(|text| text.trim().chars().take(max).collect::<String>()).filter(|text| !text.is_empty())
    };
    match said {
        Said::Ack => Said::Ack,
        Said::Reject { reason } => {
            let reason = short(Some(reason), MAX_REASON_CHARS).unwrap_or_else(|| NO_REASON.to_owned());
            Said::Reject { reason }
        }
        Said::Reply { body } => Said::Reply { body: short(Some(body), MAX_BODY_CHARS).unwrap_or_default() },
        Said::Notification { title, body, priority } => {
            Said::Notification { title: short(title, MAX_TITLE_CHARS), body: short(body, MAX_BODY_CHARS), priority }
        }
    }
}

/// One change of a route, and what is told because of it.
struct Step {
    route: Route,
    events: Vec<Event>,
    /// Who is given it in this step.
    given: Vec<MemberId>,
    /// Who refused in this step.
    refused: Option<MemberId>,
}

impl Step {
    fn new(route: Route) -> Self {
        Self { route, events: Vec::new(), given: Vec::new(), refused: None }
    }

    fn choose(mut self, context: &mut Context<'_>, choice: Choice, timeout: Millis) -> Outcome {
        let candidates = self.candidates(context);
        if candidates.is_empty() && self.route.attempts.is_empty() {
            return self.no_clients(context);
        }
        match choice {
            Choice::Later => {}
            Choice::Direct { client, text } => {
                self.route.direct = true;
                self.route.text = text;
                self.give(context, &candidates, vec![Chosen { client, reason: None }], timeout)?;
            }
            Choice::These(chosen) => self.give(context, &candidates, chosen, timeout)?,
            Choice::Unsure(likely) => return self.ask(context, &likely),
        }
        Ok(self.finish(context))
    }

    /// Whoever is connected, may take it and did not have it.
    fn candidates(&self, context: &Context<'_>) -> Vec<Arc<Member>> {
        let Some(speaker) = context.state.member(self.route.speaker) else { return Vec::new() };
        let free = |client: &&Arc<Member>| !self.route.was_tried(client.id);
        access::takers(context.state, speaker).filter(free).cloned().collect()
    }

    /// How many clients may still be given the sentence after it was refused: min(3, clients) in all.
    fn attempts_left(&self, candidates: usize) -> usize {
        let clients = candidates + self.route.attempts.len();
        MAX_ATTEMPTS.min(clients).saturating_sub(self.route.attempts.len())
    }

    fn give(
        &mut self,
        context: &mut Context<'_>,
        candidates: &[Arc<Member>],
        chosen: Vec<Chosen>,
        timeout: Millis,
    ) -> Result<(), Refusal> {
        let is_again = !self.route.attempts.is_empty();
        let room = if is_again { self.attempts_left(candidates.len()) } else { usize::MAX };
        for Chosen { client, reason } in chosen.into_iter().take(room) {
            let Some(member) = candidates.iter().find(|member| member.id == client) else { continue };
            if self.route.was_tried(client) {
                continue;
            }
            let name = member.client_name().to_owned();
            if is_again {
                let title = format!("Passed on to {name}");
                self.tell(context, "route_rerouted", Urgency::Low, title, self.route.text.clone());
            }
            self.given.push(client);
            self.route.attempts.push(Attempt {
                client,
                name,
                reason: reason.map(|reason| reason.chars().take(MAX_REASON_CHARS).collect()),
                status: AttemptStatus::Delivered,
                refusal: None,
                at: context.now,
                due: context.now + timeout,
                answers: Vec::new(),
            });
        }
        if self.given.is_empty() {
            return Err(refusal::NOT_A_CANDIDATE);
        }
        self.route.state = RouteState::Waiting;
        Ok(())
    }

    fn note_answer(&mut self, context: &mut Context<'_>, client: MemberId, said: &Said) {
        let now = context.now;
        let Some(attempt) = self.route.attempts.iter_mut().find(|attempt| attempt.client == client) else { return };
        if attempt.answers.len() < MAX_ANSWERS {
            attempt.answers.push(RouteAnswer { at: now, said: said.clone() });
        }
        let name = attempt.name.clone();
        if let Said::Notification { title, body, priority } = said
            && (title.is_some() || body.is_some())
        {
            let title = title.clone().unwrap_or(name);
            self.tell(context, "route_notification", *priority, title, body.clone().unwrap_or_default());
        }
    }

    fn end(&mut self, client: MemberId, status: AttemptStatus, refusal: Option<String>) {
        let mut pending = self.route.attempts.iter_mut().filter(|attempt| attempt.status == AttemptStatus::Delivered);
        let Some(attempt) = pending.find(|attempt| attempt.client == client) else { return };
        attempt.status = status;
        attempt.refusal = refusal;
        self.refused = (status != AttemptStatus::Acked).then_some(client);
    }

    /// Where the sentence stands after an attempt ended.
    fn settle(mut self, context: &mut Context<'_>) -> Outcome {
        if self.route.state != RouteState::Waiting {
            return Ok(self.finish(context));
        }
        if self.route.pending().next().is_some() {
            self.tell_refusal(context);
            return Ok(self.finish(context));
        }
        if self.route.takers().next().is_some() {
            self.route.state = RouteState::Taken;
            self.tell_refusal(context);
            return Ok(self.finish(context));
        }
        let candidates = self.candidates(context).len();
        if self.route.direct || candidates == 0 || self.attempts_left(candidates) == 0 {
            self.fail(context, None);
        } else {
            self.route.state = RouteState::Choosing;
            self.tell_refusal(context);
        }
        Ok(self.finish(context))
    }

    fn tell_refusal(&mut self, context: &mut Context<'_>) {
        let refused = self.refused.and_then(|client| self.route.attempt_of(client));
        let Some((name, reason)) = refused.map(|attempt| (attempt.name.clone(), attempt.refusal.clone())) else {
            return;
        };
        self.tell(context, "route_rejected", Urgency::Low, format!("{name} declined"), reason.unwrap_or_default());
    }

    fn fail(&mut self, context: &mut Context<'_>, advice: Option<String>) {
        self.route.state = RouteState::Failed;
        let body = [Some(self.route.refusals()), advice].into_iter().flatten().collect::<Vec<_>>().join("\n");
        self.tell(context, "route_failed", Urgency::Normal, "Unable to route message".to_owned(), body);
    }

    fn ask(mut self, context: &mut Context<'_>, likely: &[MemberId]) -> Outcome {
        let names: Vec<_> = likely.iter().map(|id| context.state.member(*id)).collect();
        let names: Vec<_> = names.into_iter().flatten().map(|member| member.client_name()).collect();
        let advice = match names.first() {
            Some(first) => format!("Name who should take it, like `{first}: …`. There are {}.", names.join(", ")),
            None => "Name who should take it, like `name: …`.".to_owned(),
        };
        if self.route.attempts.is_empty() {
            self.route.state = RouteState::Asked;
            let body = format!("{}\n{advice}", self.route.text);
            self.tell(context, "route_question", Urgency::Normal, "Who should take this?".to_owned(), body);
        } else {
            self.fail(context, Some(advice));
        }
        Ok(self.finish(context))
    }

    fn no_clients(mut self, context: &mut Context<'_>) -> Outcome {
        self.route.state = RouteState::NoClients;
        let body = "No clients are connected. Start a client and try again.".to_owned();
        self.tell(context, "route_failed", Urgency::Normal, "No clients connected".to_owned(), body);
        Ok(self.finish(context))
    }

    fn tell(&mut self, context: &mut Context<'_>, kind: &str, priority: Urgency, title: String, body: String) {
        let notification = Notification {
            priority: priority.as_str().to_owned(),
            payload: Some(format!("{{\"message_id\":\"{}\"}}", self.route.id)),
            message: self.route.source,
            ..notify::plain(context, self.route.speaker, kind, title, body)
        };
        self.events.push(Event::Saved(notification.into()));
    }

    /// The change as it is stored, then who is given the sentence, then what its speaker is told.
    fn finish(mut self, context: &Context<'_>) -> Decision {
        self.route.updated_at = context.now;
        let route = Arc::new(self.route);
        let mut events = vec![Event::Saved((*route).clone().into())];
        events.extend(self.given.iter().map(|to| Event::Handed { to: *to, route: Arc::clone(&route) }));
        events.append(&mut self.events);
        Decision::new(Reply::Route(route), events)
    }
}
