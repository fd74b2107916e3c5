//! Local programs come, answer and go.

use std::collections::HashMap;
use std::sync::Arc;

use folkmoot_core::command::{AttemptEnd, WelcomeGuest};
use folkmoot_core::ids::{ConnectionId, IdSource, MemberId, RouteId};
use folkmoot_core::model::{Door, Member, RoleCard};
use folkmoot_core::route::{Route, RouteState, Said};
use folkmoot_core::state::fold_name;
use folkmoot_core::{Actor, Command, Refusal, Reply, State, access};
use folkmoot_doors::smarthole::Enlistment;
use folkmoot_doors::smarthole::objects::ClientObject;
use folkmoot_doors::{Ticket, View};
use folkmoot_hub::auth::{Identity, Proof};
use folkmoot_hub::connection::frame;
use folkmoot_hub::connection::{Chunk, Connection};
use folkmoot_hub::executor::{Job, Respond, Work};
use tokio::sync::oneshot;

use super::registry::Client;
use super::{Routing, end_later, follow, route_of};

/// Lets a program in under its name, or says why not. Its answer is on its way when this returns.
pub async fn enlist(
    routing: &Routing,
    connection: &Arc<Connection>,
    enlistment: Enlistment,
    ticket: Ticket,
) -> Result<MemberId, Refusal> {
    if !routing.registry.lock().enter(connection, enlistment.clone()) {
        return Err(Refusal::conflict("the name is taken"));
    }
    if routing.hub.with_state(State::is_empty) {
        // Nobody has an account yet: the program is let in, and becomes a member as soon as somebody has one.
        answer_now(routing, connection, &ticket);
        return Ok(MemberId::NONE);
    }
    let outcome = become_member(routing, connection, &enlistment, ticket).await;
    if outcome.is_err() {
        routing.registry.lock().leave(connection.id);
    }
    outcome
}

fn answer_now(routing: &Routing, connection: &Arc<Connection>, ticket: &Ticket) {
    let now = routing.hub.now();
    let nonce = IdSource::new(rand::random()).next(now);
    let answer = |state: &State| connection.protocol.reply(ticket, Ok(&Reply::Done), View { state, now, nonce });
    if let Some(text) = routing.hub.with_state(answer) {
        connection.send(Chunk::answer(frame::text(&text)));
    }
}

async fn become_member(
    routing: &Routing,
    connection: &Arc<Connection>,
    enlistment: &Enlistment,
    ticket: Ticket,
) -> Result<MemberId, Refusal> {
    let member = welcome(routing, enlistment).await?;
    let identity = Identity::own(member.id, Proof::None);
    routing.registry.lock().is_member(connection.id, member.id);
    routing.hub.attach(Arc::clone(connection), identity, ticket).await?;
    hand_again(routing, member.id).await;
    Ok(member.id)
}

async fn welcome(routing: &Routing, enlistment: &Enlistment) -> Result<Arc<Member>, Refusal> {
    let role_card =
        RoleCard { system_prompt: enlistment.description.clone(), capabilities: enlistment.capabilities.clone() };
    let (key, name) = (fold_name(&enlistment.name), enlistment.name.clone());
    let welcome = Command::WelcomeGuest(WelcomeGuest { door: Door::SmartHole, key, name, role_card });
    match routing.hub.execute(Actor::hub(Door::SmartHole), welcome).await? {
        Reply::Member(member) => Ok(member),
        _ => Err(Refusal::unavailable("the hub gave an answer of another kind")),
    }
}

/// The first account was made: whoever waited becomes a member.
pub async fn welcome_waiting(routing: &Routing) {
    let waiting: Vec<_> = {
        let registry = routing.registry.lock();
        let without = registry.clients().filter(|client| client.member.is_none());
        without.map(|client| (Arc::clone(&client.connection), client.enlistment.clone())).collect()
    };
    for (connection, enlistment) in waiting {
        if let Err(refusal) = become_member(routing, &connection, &enlistment, Ticket::default()).await {
            tracing::warn!(client = enlistment.name, cause = %refusal, "a waiting client could not become a member");
        }
    }
}

/// A client that comes back after a restart of the hub gets what it had not answered, under the same id.
async fn hand_again(routing: &Routing, client: MemberId) {
    let awaited = routing.registry.lock().awaited_from(client);
    for route in awaited {
        let command = Command::HandAgain { route, client };
        if let Err(refusal) = routing.hub.execute(Actor::hub(Door::SmartHole), command).await {
            tracing::debug!(%route, cause = %refusal, "a sentence need not be handed over again");
        }
    }
}

/// Takes up what a program says to a sentence; in the order it was said.
pub fn answer(routing: &Routing, connection: &Arc<Connection>, route: RouteId, said: Said) {
    let member = routing.registry.lock().client(connection.id).and_then(|client| client.member);
    let Some(member) = member else { return };
    let actor = Actor::connected(member, Door::SmartHole, connection.id);
    let (sender, receiver) = oneshot::channel();
    let work = Work::Decide(Box::new(Command::AnswerRoute { route, said }));
    connection.request_began();
    routing.hub.submit(Job { actor, work, respond: Respond::Caller(sender) });
    let (routing, connection) = (routing.clone(), Arc::clone(connection));
    tokio::spawn(async move {
        let answer = receiver.await;
        connection.request_ended();
        match answer.map(route_of) {
            Ok(Ok(route)) => follow(&routing, &route),
            Ok(Err(refusal)) => tracing::debug!(%route, cause = %refusal, "an answer of a client was ignored"),
            Err(_) => {}
        }
    });
}

/// A program is gone: its name is free, and what it had not answered looks for somebody else.
pub fn left(routing: &Routing, connection: ConnectionId) {
    let Some(client) = routing.registry.lock().leave(connection) else { return };
    let Some(member) = client.member else { return };
    let actor = Actor::connected(member, Door::SmartHole, connection);
    routing.hub.submit(Job { actor, work: Work::Detach(connection), respond: Respond::Nobody });
    if routing.hub.is_stopping() {
        // It is the hub that leaves; clients answer when it is back.
        return;
    }
    let awaited = routing.registry.lock().awaited_from(member);
    for route in awaited {
        end_later(routing, route, member, AttemptEnd::Disconnected);
    }
}

/// Whom to name when nobody took a sentence: whoever could have it now and did not.
pub fn candidates(routing: &Routing, speaker: MemberId, route: &Route) -> Vec<String> {
    if !matches!(route.state, RouteState::Asked | RouteState::Failed) {
        return Vec::new();
    }
    let was_tried =
        |client: &ClientObject| route.attempts.iter().any(|attempt| attempt.client.to_string() == client.member_id);
    let known = known_to(routing, speaker).into_iter();
    known.filter(|client| !was_tried(client)).map(|client| client.name).collect()
}

/// Everybody a member's sentence could be handed to now.
pub fn known_to(routing: &Routing, speaker: MemberId) -> Vec<ClientObject> {
    let versions: HashMap<MemberId, String> = {
        let registry = routing.registry.lock();
        let version = |client: &Client| Some((client.member?, client.enlistment.version.clone()?));
        registry.clients().filter_map(version).collect()
    };
    routing.hub.with_state(|state| {
        let Some(speaker) = state.member(speaker) else { return Vec::new() };
        let object = |member: &Arc<Member>| {
            let card = member.role_card.clone().unwrap_or_default();
            ClientObject {
                name: member.client_name().to_owned(),
                description: card.system_prompt,
                version: versions.get(&member.id).cloned(),
                capabilities: card.capabilities,
                kind: if member.guest.is_some() { "client" } else { "agent" },
                member_id: member.id.to_string(),
            }
        };
        access::takers(state, speaker).map(object).collect()
    })
}
