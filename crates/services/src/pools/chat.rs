//! Commands from channels: in a channel linked to a voice channel, `/play …` is done by the agent that serves it.
//!
//! Whoever may write in the channel may command its session; what the owner of a session alone may do is the agent's to say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::command::AnswerAsGuest;
use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::model::{Door, Message};
use folkmoot_core::pools::{PoolLink, SessionKind};
use folkmoot_core::{Actor, Command, Event, State};
use folkmoot_hub::Sighting;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::leases::about;
use super::words::{self, Order};
use super::{Asked, Pools, guests, listen as listening};

/// A command waits this long for the one before it in its channel; an agent that hangs does not hold up "/stop" for ever.
const IN_TURN: Duration = Duration::from_secs(2);

/// Runs as long as the hub.
pub async fn listen(pools: Pools) {
    let mut watch = pools.hub.watch(Box::new(is_command));
    let mut before: HashMap<ChannelId, oneshot::Receiver<()>> = HashMap::new();
    while let Some(sighting) = watch.next().await {
        let Sighting::Event(event) = sighting else {
            tracing::warn!("commands for pools came faster than they could be taken; some were not");
            continue;
        };
        let Event::MessageSent(message) = *event else { continue };
        let (done, is_done) = oneshot::channel();
        let previous = before.insert(message.channel, is_done);
        tokio::spawn(follow(pools.clone(), message, previous, done));
    }
}

fn is_command(event: &Event, state: &State) -> bool {
    let Event::MessageSent(message) = event else { return false };
    message.content.trim_start().starts_with('/')
        && state.pools().link(message.channel).is_some()
        && words::understand(&message.content).is_some()
}

/// Does what a message commands, after the one before it.
async fn follow(
    pools: Pools,
    message: Arc<Message>,
    previous: Option<oneshot::Receiver<()>>,
    done: oneshot::Sender<()>,
) {
    if let Some(previous) = previous {
        let _ = tokio::time::timeout(IN_TURN, previous).await;
    }
    let Some(link) = pools.hub.with_state(|state| state.pools().link(message.channel).cloned()) else { return };
    let (agent, content) = match words::understand(&message.content) {
        Some(Ok(order)) => pools.obey(&message, &link, order).await,
        Some(Err(usage)) => (None, usage.to_owned()),
        None => return,
    };
    drop(done);
    reply(&pools, &message, agent, content).await;
}

async fn reply(pools: &Pools, message: &Message, agent: Option<String>, content: String) {
    let guest = agent.and_then(|agent| pools.agent(&agent)).and_then(|agent| agent.guest());
    let guest: Option<MemberId> = match guest {
        Some(guest) => Some(guest),
        None => guests::controller(pools).await,
    };
    let Some(guest) = guest else { return };
    let answer = AnswerAsGuest {
        guest,
        message: message.id,
        content,
        metadata: None,
        key: Some(format!("pool-{}", message.id)),
    };
    if let Err(refusal) = pools.hub.execute(Actor::hub(Door::Chopsticks), Command::AnswerAsGuest(answer)).await {
        tracing::warn!(%refusal, "an answer of a pool could not be posted");
    }
}

impl Pools {
    /// The agent that did it, if one did, and what to say.
    async fn obey(&self, message: &Message, link: &PoolLink, order: Order) -> (Option<String>, String) {
        let place = link.place(SessionKind::Music);
        let actor = Actor::new(message.sender, Door::Chopsticks);
        let Order { op, mut data } = order;
        let holder = self.hub.with_state(|state| state.pools().lease(&place).map(|lease| lease.agent.clone()));
        if holder.is_none() && op == "search" {
            return self.search(link, message.sender, data).await;
        }
        if holder.is_none() && op != "play" {
            return (None, words::answer(op, &Err("no-session".to_owned())));
        }
        let name = self.hub.with_state(|state| state.name_of(message.sender).to_owned());
        data.insert("requester".to_owned(), json!({ "id": message.sender, "name": name }));
        data.insert("textChannelId".to_owned(), json!(message.channel));
        match self.dispatch(actor, &place, op, data).await {
            Ok((lease, asked)) => {
                let outcome = plain(asked);
                let invitation = outcome.as_ref().ok().and_then(|data| listening::invitation(self, link, op, data));
                let lines = [Some(words::answer(op, &outcome)), invitation];
                (Some(lease.agent), lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
            }
            Err(not_leased) => (None, words::answer(op, &Err(not_leased.code().to_owned()))),
        }
    }

    /// Looking for something takes no place: any free agent of the guild can.
    async fn search(
        &self,
        link: &PoolLink,
        sender: MemberId,
        data: serde_json::Map<String, Value>,
    ) -> (Option<String>, String) {
        let agent = match self.pick(&link.guild) {
            Ok(agent) => agent,
            Err(none) => return (None, words::answer("search", &Err(super::NotLeased::None(none).code().to_owned()))),
        };
        let data = about(&link.place(SessionKind::Music), data, sender);
        let asked = self.ask(&agent, "search", &data).await;
        (Some(agent.to_string()), words::answer("search", &plain(asked)))
    }
}

/// An answer as data, or the word for what went wrong.
fn plain(asked: Asked) -> Result<Value, String> {
    match asked {
        Ok(Ok(data)) => Ok(data.and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()),
        Ok(Err(error)) => Err(error),
        Err(trouble) => Err(trouble.code().to_owned()),
    }
}
