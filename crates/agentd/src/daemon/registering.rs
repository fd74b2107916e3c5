//! After every log-in: the hub hears whom we carry, gets what it is owed, and then the wakes are taken up.

use std::sync::Arc;

use folkmoot_clients::lark::CallError;
use folkmoot_wire::lark::{AgentHello, Carried, DaemonAgent, DaemonRegister, Runtime};

use super::{Daemon, DaemonEvent, Hosted};
use crate::hub::role_card;
use crate::settings::{AgentSpec, Kind};

impl Daemon {
    /// Finds our agents and registers them, one time after the other; the outcome comes as an event.
    pub(super) fn register(&mut self) {
        let Some(identity) = self.identity.clone() else { return };
        if self.registering {
            self.register_again = true;
            return;
        }
        self.registering = true;
        let login = self.login;
        let (link, rest, events) = (self.link.clone(), self.rest.clone(), self.events.clone());
        let mut agents = self.wanted.clone();
        tokio::spawn(async move {
            let registered = async {
                rest.find_agents(&identity.workspace_id, &mut agents).await?;
                let carried = |agent: &&AgentSpec| matches!(agent.kind, Kind::Engine(_)) && agent.id.is_some();
                let named = |agent: &AgentSpec| DaemonAgent {
                    name: agent.name.clone(),
                    agent_id: agent.id.as_deref().unwrap_or_default().into(),
                };
                let list: Vec<_> = agents.iter().filter(carried).map(named).collect();
                if list.is_empty() {
                    return Ok(agents);
                }
                let said = link.first(&DaemonRegister { agents: list }).await;
                let said = said.map_err(|error: CallError| error.to_string())?;
                let taken: Vec<&str> = said.agents.iter().map(|agent| agent.agent_id.as_str()).collect();
                for agent in agents.iter().filter(|agent| carried(agent)) {
                    if !taken.contains(&agent.id.as_deref().unwrap_or_default()) {
                        tracing::error!(agent = agent.name, "the hub does not let this daemon carry the agent");
                    }
                }
                Ok(agents)
            };
            let agents = registered.await;
            let _ = events.send(DaemonEvent::Registered { login, agents });
        });
    }

    pub(super) async fn registered(&mut self, login: u64, agents: Result<Vec<AgentSpec>, String>) {
        if login != self.login {
            return;
        }
        self.registering = false;
        let again = std::mem::take(&mut self.register_again);
        let agents = match agents {
            Ok(agents) => agents,
            Err(why) => {
                // The connection goes, and with the next one everything begins anew.
                tracing::warn!(why, "the agents could not be registered; trying again");
                return self.link.close();
            }
        };
        self.agents.clear();
        for agent in &agents {
            let (Some(id), Some(engine)) = (agent.id.clone(), Self::engine_of(agent)) else { continue };
            let hosted = Hosted { id, name: agent.name.clone(), spec: Arc::new(engine.clone()) };
            self.agents.insert(agent.name.to_lowercase(), hosted);
        }
        if again {
            self.register();
        } else {
            self.wanted = agents;
        }
        self.link.ready();
        self.introduce();
        self.programs.host(&self.wanted, self.identity.as_ref().map(|identity| &*identity.workspace_id));
        tracing::info!(agents = self.agents.len(), "the agents are registered");
        self.act_again();
        self.resend().await;
        self.ask_again();
        for wake in std::mem::take(&mut self.early) {
            self.woken(wake).await;
        }
    }

    /// The role cards, as the configuration has them.
    fn introduce(&self) {
        for agent in self.agents.values() {
            let hello = AgentHello {
                name: Some(agent.name.clone()),
                role_card: role_card(&agent.spec.system_prompt, &agent.spec.capabilities),
                runtime: Some(Runtime {
                    kind: Some("cli".to_owned()),
                    provider: Some(agent.spec.engine.clone()),
                    model: agent.spec.model.clone(),
                }),
            };
            self.link.send(&Carried { agent_id: (&agent.id).into(), request: hello });
        }
    }

    pub(super) fn host(&mut self, agents: Vec<AgentSpec>) {
        self.wanted = agents;
        // Before the first registration has ended the link is not ready, and nobody else would look at the list again.
        if self.registering {
            self.register_again = true;
        } else if self.link.is_ready() {
            self.register();
        }
    }
}
