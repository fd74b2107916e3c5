//! Agents of the hub take sentences too: as a direct message of the speaker, which wakes them. An answer there, or taking
//! the item out of the inbox, takes the sentence.

use std::sync::Arc;

use folkmoot_core::command::Send;
use folkmoot_core::ids::{ChannelId, MemberId, RouteId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Message, Notification};
use folkmoot_core::route::{Route, Said};
use folkmoot_core::{Actor, Command, Refusal, Reply};

use super::{Routing, channels, follow, route_of};

/// Sends the sentence to the agent in the speaker's name.
pub fn hand_over(routing: &Routing, route: &Arc<Route>, agent: MemberId) {
    let (routing, route) = (routing.clone(), Arc::clone(route));
    tokio::spawn(async move {
        if let Err(refusal) = send(&routing, &route, agent).await {
            // Its time runs out, and the sentence goes on.
            tracing::warn!(route = %route.id, cause = %refusal, "a sentence did not reach an agent of the hub");
        }
    });
}

/// The idempotency key of the message that hands a sentence over.
fn client_key(route: RouteId) -> String {
    format!("route:{route}")
}

async fn send(routing: &Routing, route: &Route, agent: MemberId) -> Result<(), Refusal> {
    let speaker = Actor::new(route.speaker, Door::SmartHole);
    let open = Command::OpenDirect { workspace: route.workspace, members: vec![route.speaker, agent] };
    let Reply::Channel { channel, .. } = routing.hub.execute(speaker, open).await? else {
        return Err(Refusal::unavailable("the hub gave an answer of another kind"));
    };
    let key = Some(client_key(route.id));
    let send = Send { channel: channel.id, content: route.text.clone(), key, ..Send::default() };
    routing.hub.execute(speaker, Command::Send(send)).await.map(drop)
}

/// After a restart: the hand-over may not have happened, or the answer may have come just before.
pub fn take_up(routing: &Routing, route: &Arc<Route>) {
    for attempt in route.pending() {
        let agent = attempt.client;
        let is_agent = routing.hub.with_state(|state| state.member(agent).is_some_and(|member| member.guest.is_none()));
        if !is_agent {
            continue;
        }
        let (routing, route, since) = (routing.clone(), Arc::clone(route), attempt.at);
        tokio::spawn(async move {
            let direct = routing.hub.with_state(|state| {
                let mut both = [route.speaker, agent];
                both.sort_unstable();
                state.direct_between(&both).map(|room| room.channel.id)
            });
            match direct {
                Some(channel) if answered(&routing, channel, agent, since).await => {
                    take(&routing, agent, route.id, Said::Ack).await;
                }
                _ => hand_over(&routing, &route, agent),
            }
        });
    }
}

async fn answered(routing: &Routing, channel: ChannelId, agent: MemberId, since: i64) -> bool {
    let newest = routing.hub.read(move |reader| reader.newest_messages(channel, 50)).await.unwrap_or_default();
    newest.iter().any(|message| message.sender == agent && message.created_at >= since)
}

/// An agent whose answer is awaited said something: to the speaker alone, it is the answer.
pub async fn said(routing: &Routing, message: Arc<Message>) {
    let agent = message.sender;
    let partners: Vec<MemberId> = routing.hub.with_state(|state| {
        let room = state.channel(message.channel).filter(|room| room.channel.kind.is_direct());
        room.map(|room| room.members.keys().copied().collect()).unwrap_or_default()
    });
    let awaited = routing.registry.lock().awaited_from(agent);
    for id in awaited {
        let route = routing.hub.read(move |reader| reader.get::<Route>(id)).await;
        let Ok(Some(route)) = route else { continue };
        if partners.contains(&route.speaker) {
            take(routing, agent, id, Said::Reply { body: message.content.clone() }).await;
            channels::pass_on(routing, &route, agent, &message);
        }
    }
}

/// An agent took an item out of its inbox: if it was the sentence, it takes that.
pub async fn acked(routing: &Routing, notification: Notification) {
    let Some(message) = notification.message else { return };
    let message = routing.hub.read(move |reader| reader.message(message)).await;
    let Ok(Some(message)) = message else { return };
    let agent = notification.member;
    let awaited = routing.registry.lock().awaited_from(agent);
    if let Some(id) = awaited.into_iter().find(|id| message.was_sent_with(&client_key(*id))) {
        take(routing, agent, id, Said::Ack).await;
    }
}

async fn take(routing: &Routing, agent: MemberId, route: RouteId, said: Said) {
    let command = Command::AnswerRoute { route, said };
    match route_of(routing.hub.execute(Actor::new(agent, Door::SmartHole), command).await) {
        Ok(route) => follow(routing, &route),
        Err(refusal) => tracing::debug!(%route, cause = %refusal, "an agent's answer was ignored"),
    }
}
