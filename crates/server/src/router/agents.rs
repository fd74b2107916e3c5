//! Agents of the hub take sentences too: as a direct message of the speaker, which wakes them. An answer there, or taking
//! the item out of the inbox, takes the sentence.

use std::sync::Arc;

use folkmoot_core::command::Send;
use folkmoot_core::ids::{ChannelId, MemberId, RouteId};
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Door, Message, Notification};
use folkmoot_core::route::{Route, Said};
use folkmoot_core::{Actor, Command, Refusal, Reply};

use super::{channels, follow, route_of};
use crate::app::App;

/// Sends the sentence to the agent in the speaker's name.
pub fn hand_over(app: &App, route: &Arc<Route>, agent: MemberId) {
    let (app, route) = (app.clone(), Arc::clone(route));
    tokio::spawn(async move {
        if let Err(refusal) = send(&app, &route, agent).await {
            // Its time runs out, and the sentence goes on.
            tracing::warn!(route = %route.id, cause = %refusal, "a sentence did not reach an agent of the hub");
        }
    });
}

/// The idempotency key of the message that hands a sentence over.
fn client_key(route: RouteId) -> String {
    format!("route:{route}")
}

async fn send(app: &App, route: &Route, agent: MemberId) -> Result<(), Refusal> {
    let speaker = Actor::new(route.speaker, Door::SmartHole);
    let open = Command::OpenDirect { workspace: route.workspace, members: vec![route.speaker, agent] };
    let Reply::Channel { channel, .. } = app.execute(speaker, open).await? else {
        return Err(Refusal::unavailable("the hub gave an answer of another kind"));
    };
    let key = Some(client_key(route.id));
    let send = Send { channel: channel.id, content: route.text.clone(), key, ..Send::default() };
    app.execute(speaker, Command::Send(send)).await.map(drop)
}

/// After a restart: the hand-over may not have happened, or the answer may have come just before.
pub fn take_up(app: &App, route: &Arc<Route>) {
    for attempt in route.pending() {
        let agent = attempt.client;
        let is_agent = app.with_state(|state| state.member(agent).is_some_and(|member| member.guest.is_none()));
        if !is_agent {
            continue;
        }
        let (app, route, since) = (app.clone(), Arc::clone(route), attempt.at);
        tokio::spawn(async move {
            let direct = app.with_state(|state| {
                let mut both = [route.speaker, agent];
                both.sort_unstable();
                state.direct_between(&both).map(|room| room.channel.id)
            });
            match direct {
                Some(channel) if answered(&app, channel, agent, since).await => take(&app, agent, route.id).await,
                _ => hand_over(&app, &route, agent),
            }
        });
    }
}

async fn answered(app: &App, channel: ChannelId, agent: MemberId, since: i64) -> bool {
    let newest = app.read(move |reader| reader.newest_messages(channel, 50)).await.unwrap_or_default();
    newest.iter().any(|message| message.sender == agent && message.created_at >= since)
}

/// An agent whose answer is awaited said something: to the speaker alone, it is the answer.
pub async fn said(app: &App, message: Arc<Message>) {
    let agent = message.sender;
    let partners: Vec<MemberId> = app.with_state(|state| {
        let room = state.channel(message.channel).filter(|room| room.channel.kind.is_direct());
        room.map(|room| room.members.keys().copied().collect()).unwrap_or_default()
    });
    let awaited = app.router().book.lock().awaited_from(agent);
    for id in awaited {
        let route = app.read(move |reader| reader.get::<Route>(id)).await;
        let Ok(Some(route)) = route else { continue };
        if partners.contains(&route.speaker) {
            take(app, agent, id).await;
            channels::pass_on(app, &route, agent, &message);
        }
    }
}

/// An agent took an item out of its inbox: if it was the sentence, it takes that.
pub async fn acked(app: &App, notification: Notification) {
    let Some(message) = notification.message else { return };
    let message = app.read(move |reader| reader.message(message)).await;
    let Ok(Some(message)) = message else { return };
    let agent = notification.member;
    let awaited = app.router().book.lock().awaited_from(agent);
    if let Some(id) = awaited.into_iter().find(|id| message.was_sent_with(&client_key(*id))) {
        take(app, agent, id).await;
    }
}

async fn take(app: &App, agent: MemberId, route: RouteId) {
    let command = Command::AnswerRoute { route, said: Said::Ack };
    match route_of(app.execute(Actor::new(agent, Door::SmartHole), command).await) {
        Ok(route) => follow(app, &route),
        Err(refusal) => tracing::debug!(%route, cause = %refusal, "an agent's answer was ignored"),
    }
}
