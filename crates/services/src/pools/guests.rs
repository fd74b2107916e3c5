//! Agents of pools as members: guests of the oldest workspace, present while they are connected.

use std::sync::Arc;

use folkmoot_core::command::{Reply, WelcomeGuest};
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Door, RoleCard};
use folkmoot_core::{Actor, Command};

use super::{Agent, Pools};

/// Under this name answers are given when no agent can.
const CONTROLLER: &str = "pool";
/// No agent can be called this: ids of agents have no control characters.
const CONTROLLER_KEY: &str = "\u{1f}controller";

impl Pools {
    /// Makes an agent a member and present. Before anybody has an account this fails, and the next hello tries again.
    pub(super) fn introduce(&self, agent: &Arc<Agent>) {
        let (pools, agent) = (self.clone(), Arc::clone(agent));
        tokio::spawn(async move {
            let said = agent.said();
            let name = said.tag.unwrap_or_else(|| agent.id.to_string());
            let Some(member) = welcome(&pools, &agent.id, &name, &format!("An agent of the pool {}.", said.pool)).await
            else {
                return;
            };
            agent.is_guest(member);
            let actor = Actor::connected(member, Door::Chopsticks, agent.connection.id);
            let _ = pools.hub.execute(actor, Command::Connect).await;
            if agent.is_gone() {
                let _ = pools.hub.execute(actor, Command::Disconnect).await;
            }
        });
    }

    /// A connection of the agent ended.
    pub(super) fn take_leave(&self, agent: &Arc<Agent>) {
        let Some(member) = agent.guest() else { return };
        let actor = Actor::connected(member, Door::Chopsticks, agent.connection.id);
        let pools = self.clone();
        tokio::spawn(async move { pools.hub.execute(actor, Command::Disconnect).await.map(drop) });
    }
}

/// Who speaks for the pools where no agent can.
pub(super) async fn controller(pools: &Pools) -> Option<MemberId> {
    welcome(pools, CONTROLLER_KEY, CONTROLLER, "Speaks for the pools of worker agents.").await
}

async fn welcome(pools: &Pools, key: &str, name: &str, about: &str) -> Option<MemberId> {
    let role_card = RoleCard { system_prompt: about.to_owned(), capabilities: vec!["pool".to_owned()] };
    let welcome = |name: &str| {
        Command::WelcomeGuest(WelcomeGuest {
            door: Door::Chopsticks,
            key: key.to_owned(),
            name: name.to_owned(),
            role_card: role_card.clone(),
        })
    };
    let hub = Actor::hub(Door::Chopsticks);
    let mut outcome = pools.hub.execute(hub, welcome(name)).await;
    if outcome.as_ref().is_err_and(|refusal| refusal.code == folkmoot_core::Code::BadRequest) {
        // A tag that cannot be a member's name; an id nearly always can.
        outcome = pools.hub.execute(hub, welcome(&format!("agent-{key}"))).await;
    }
    match outcome {
        Ok(Reply::Member(member)) => Some(member.id),
        Ok(_) => None,
        Err(refusal) => {
            tracing::debug!(%refusal, "an agent of a pool could not become a member");
            None
        }
    }
}
