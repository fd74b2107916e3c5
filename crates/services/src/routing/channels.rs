//! `@router` in a channel: the rest of the line is routed, and what comes of it is said there.

use std::sync::Arc;

use folkmoot_core::command::{AnswerAsGuest, WelcomeGuest};
use folkmoot_core::event::Event;
use folkmoot_core::ids::{MemberId, MessageId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Guest, Member, Message, RoleCard};
use folkmoot_core::record::Filter;
use folkmoot_core::route::{Attempt, AttemptStatus, InputMethod, Route, RouteState, Said};
use folkmoot_core::{Actor, Command, Millis, Record, Refusal, Reply, State};
use folkmoot_hub::Sighting;

use super::{Routing, Sentence, agents, clients, say};

const NAME: &str = "router";
const HELP: &str =
    "Write `@router` and a sentence, and the client that should take it gets it; `@router name: …` names the client.";
/// What ended this long before a restart is looked at again, in case its answer was not said in the channel.
const RECENT: Millis = 10 * 60 * 1000;
const RECENT_ROUTES: usize = 200;

/// Hears what is said in channels and what awaited agents do.
pub async fn follow(routing: Routing) {
    let watching = routing.clone();
    let mut watch = routing.hub.watch(Box::new(move |event, _| is_of_interest(&watching, event)));
    while let Some(sighting) = watch.next().await {
        let Sighting::Event(event) = sighting else {
            tracing::warn!("the router could not keep up with what was said");
            continue;
        };
        let routing = routing.clone();
        // One after the other would let a slow model hold up everybody's lines.
        tokio::spawn(async move { react(&routing, *event).await });
    }
}

fn is_of_interest(routing: &Routing, event: &Event) -> bool {
    match event {
        Event::MessageSent(message) => {
            addresses_router(&message.content) || routing.registry.lock().is_awaited(message.sender)
        }
        Event::Saved(Record::Notification(notification)) => {
            notification.acked_at.is_some() && routing.registry.lock().is_awaited(notification.member)
        }
        Event::Saved(Record::Workspace(_)) => true,
        _ => false,
    }
}

async fn react(routing: &Routing, event: Event) {
    match event {
        Event::MessageSent(message) => {
            if addresses_router(&message.content) {
                route_lines(routing, &message).await;
            }
            agents::said(routing, message).await;
        }
        Event::Saved(Record::Notification(notification)) => agents::acked(routing, notification).await,
        Event::Saved(Record::Workspace(_)) => clients::welcome_waiting(routing).await,
        _ => {}
    }
}

fn addresses_router(content: &str) -> bool {
    content.contains('@') && lines_for_router(content).next().is_some()
}

/// What stands behind `@router` at the beginning of a line.
fn lines_for_router(content: &str) -> impl Iterator<Item = &str> {
    content.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('@')?;
        let (name, rest) = rest.split_at_checked(NAME.len())?;
        let ends = rest.chars().next().is_none_or(|next| next.is_whitespace() || next == ',' || next == ':');
        (name.eq_ignore_ascii_case(NAME) && ends).then(|| rest.trim_start_matches([',', ':']).trim())
    })
}

async fn route_lines(routing: &Routing, message: &Arc<Message>) {
    let router = match appear(routing, message.sender).await {
        Ok(Some(router)) if router != message.sender => router,
        Ok(_) => return,
        Err(refusal) => {
            tracing::warn!(cause = %refusal, "the router could not appear in the workspace");
            return;
        }
    };
    for (number, line) in lines_for_router(&message.content).enumerate() {
        if line.is_empty() {
            post(routing, router, message.id, HELP.to_owned(), format!("route:help:{number}:{}", message.id)).await;
            continue;
        }
        let source = Some(message.id);
        let sentence = Sentence { text: line.to_owned(), input: InputMethod::Text, confidence: None, source };
        if let Err(refusal) = say(routing, Actor::new(message.sender, Door::SmartHole), sentence).await {
            let key = format!("route:refused:{number}:{}", message.id);
            post(routing, router, message.id, format!("I could not route this: {refusal}"), key).await;
        }
    }
}

/// The router as a member where it is spoken to: there from its first use on. None where somebody else has the name, or in
/// a workspace whose machine this is not.
async fn appear(routing: &Routing, speaker: MemberId) -> Result<Option<MemberId>, Refusal> {
    let known = routing.hub.with_state(|state| {
        let speaker = state.member(speaker)?;
        let oldest = state.workspaces().map(|workspace| workspace.id).min();
        (oldest == Some(speaker.workspace)).then(|| state.member_named(speaker.workspace, NAME).cloned())
    });
    match known {
        None => Ok(None),
        Some(Some(member)) => Ok(is_router(&member).then_some(member.id)),
        Some(None) => welcome(routing).await.map(Some),
    }
}

fn is_router(member: &Member) -> bool {
    member.guest.as_ref().is_some_and(Guest::is_the_hubs_own)
}

async fn welcome(routing: &Routing) -> Result<MemberId, Refusal> {
    let Guest { door, key } = Guest::router();
    let role_card =
        RoleCard { system_prompt: "Hands sentences to whoever should take them.".to_owned(), capabilities: Vec::new() };
    let welcome = Command::WelcomeGuest(WelcomeGuest { door, key, name: NAME.to_owned(), role_card });
    let Reply::Member(member) = routing.hub.execute(Actor::hub(door), welcome).await? else {
        return Err(Refusal::unavailable("the hub gave an answer of another kind"));
    };
    Ok(member.id)
}

/// Says in the channel what has become of a line of it. Everything has a key of its own, so nothing is said twice.
pub fn relay(routing: &Routing, route: &Arc<Route>) {
    if route.source.is_none() {
        return;
    }
    let (routing, route) = (routing.clone(), Arc::clone(route));
    tokio::spawn(async move { relay_now(&routing, &route).await });
}

async fn relay_now(routing: &Routing, route: &Route) {
    let Some(source) = route.source else { return };
    let Some(router) = routing.hub.with_state(|state| router_of(state, route)) else { return };
    for attempt in &route.attempts {
        if attempt.status == AttemptStatus::Acked {
            let key = format!("route:taken:{}:{}", route.id, attempt.client);
            post(routing, router, source, format!("{} took it.", attempt.name), key).await;
        }
        for (number, shown) in shown(attempt).enumerate() {
            let key = format!("route:said:{}:{}:{number}", route.id, attempt.client);
            post(routing, attempt.client, source, shown, key).await;
        }
    }
    if let Some(end) = ending(route, &clients::candidates(routing, route.speaker, route)) {
        post(routing, router, source, end, format!("route:end:{}", route.id)).await;
    }
}

fn router_of(state: &State, route: &Route) -> Option<MemberId> {
    state.member_named(route.workspace, NAME).filter(|member| is_router(member)).map(|member| member.id)
}

/// What a client wants shown to the speaker, as a message.
fn shown(attempt: &Attempt) -> impl Iterator<Item = String> {
    attempt.answers.iter().filter_map(|answer| match &answer.said {
        Said::Notification { title: Some(title), body: Some(body), .. } => Some(format!("{title}: {body}")),
        Said::Notification { title, body, .. } => title.clone().or_else(|| body.clone()),
        // The router passes on what an agent of the hub answers.
        Said::Ack | Said::Reply { .. } | Said::Reject { .. } => None,
    })
}

fn ending(route: &Route, candidates: &[String]) -> Option<String> {
    let there_are = match candidates {
        [] => String::new(),
        names => format!(" There are {}.", names.join(", ")),
    };
    match route.state {
        RouteState::NoClients => Some("No clients are connected.".to_owned()),
        RouteState::Asked => Some(format!("Who should take this? Write `@router name: …`.{there_are}")),
        RouteState::Failed if candidates.is_empty() => Some(format!("Nobody took it.\n{}", route.refusals())),
        RouteState::Failed => {
            Some(format!("Nobody took it.\n{}\nTo ask another, write `@router name: …`.{there_are}", route.refusals()))
        }
        RouteState::Choosing | RouteState::Waiting | RouteState::Taken => None,
    }
}

/// What an agent of the hub answered to the speaker alone, said where the speaker asked.
pub fn pass_on(routing: &Routing, route: &Route, agent: MemberId, message: &Message) {
    let (Some(source), Some(router)) = (route.source, routing.hub.with_state(|state| router_of(state, route))) else {
        return;
    };
    let name = routing.hub.with_state(|state| state.name_of(agent).to_owned());
    let (routing, content) = (routing.clone(), format!("{name}: {}", message.content));
    let key = format!("route:answer:{}:{}", route.id, message.id);
    tokio::spawn(async move { post(&routing, router, source, content, key).await });
}

/// After a restart: what ended shortly before may not have been said in its channel.
pub async fn relay_again(routing: &Routing) -> Result<(), Refusal> {
    let since = routing.hub.now() - RECENT;
    let newest = routing.hub.read(|reader| reader.list::<Route>(&Filter::default().limit(RECENT_ROUTES))).await?;
    for route in newest.into_iter().filter(|route| route.source.is_some() && route.updated_at >= since) {
        relay_now(routing, &route).await;
    }
    Ok(())
}

async fn post(routing: &Routing, guest: MemberId, message: MessageId, content: String, key: String) {
    let content = content.chars().take(folkmoot_core::decide::MAX_CONTENT_CHARS).collect();
    let answer = AnswerAsGuest { guest, message, content, metadata: None, key: Some(key) };
    if let Err(refusal) = routing.hub.execute(Actor::hub(Door::SmartHole), Command::AnswerAsGuest(answer)).await {
        tracing::info!(cause = %refusal, "an answer could not be said in the channel");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &str) -> Vec<&str> {
        lines_for_router(content).collect()
    }

    #[test]
    fn a_line_that_begins_with_the_router_is_for_it_and_the_rest_is_not() {
        assert_eq!(lines("@router remember the milk"), ["remember the milk"]);
        assert_eq!(lines("hello\n  @Router: notebook: milk\nand @router not this"), ["notebook: milk"]);
        assert_eq!(lines("@router, a\n@ROUTER b"), ["a", "b"]);
        assert_eq!(lines("@router"), [""]);
        for other in ["@routers x", "@route x", "@rou", "router x", "@röuter"] {
            assert!(lines(other).is_empty(), "{other}");
        }
    }
}
