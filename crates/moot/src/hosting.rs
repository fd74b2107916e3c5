//! The agents that the hub hosts itself: those of its configuration, and those that were made over REST.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRef;
use folkmoot_core::event::Event;
use folkmoot_core::hosting::{Hosted, Policy};
use folkmoot_core::ids::HostedId;
use folkmoot_core::record::Record;
use folkmoot_core::{State, access};
use folkmoot_engines::engine::{EngineError, Mode};
use folkmoot_engines::engines;
use folkmoot_hub::Hub;
use folkmoot_runs::availability;
use tokio::sync::watch;

use crate::config::{Config, Environment, paths};
use crate::runner;
use folkmoot_runs::engine_list::EngineList;

/// The machine that the hub runs on: how it is set up, and the agents it hosts itself; clones share it.
#[derive(Clone)]
pub struct Local {
    pub hub: Hub,
    config: Arc<Config>,
    hosting: Arc<Hosting>,
}

/// Tells the hub's own daemon that there are others to host, and knows what they can be made of.
#[derive(Debug, Default)]
pub struct Hosting {
    changed: watch::Sender<u64>,
    engines: EngineList,
}

impl FromRef<Local> for Hub {
    fn from_ref(local: &Local) -> Self {
        local.hub.clone()
    }
}

impl Local {
    pub fn new(hub: &Hub, config: Config) -> Self {
        Self { hub: hub.clone(), config: Arc::new(config), hosting: Arc::default() }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn hosting(&self) -> &Hosting {
        &self.hosting
    }
}

impl Hosting {
    pub fn engines(&self) -> &EngineList {
        &self.engines
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Somebody was hired or dismissed.
    pub fn has_changed(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

/// A workspace is what configured agents wait for: with the first account they are hired. Nothing that is decided from now on
/// is missed.
pub fn follow_accounts(local: &Local) {
    let local = local.clone();
    let mut watch = local.hub.watch(Box::new(|event, _| matches!(event, Event::Saved(Record::Workspace(_)))));
    tokio::spawn(async move {
        while watch.next().await.is_some() {
            local.hosting().has_changed();
        }
    });
}

/// Everybody whom the hub hosts.
pub fn hosted(state: &State, config: &Config) -> Vec<Hosted> {
    let mut all: Vec<Hosted> = state.hosted().filter(|hosted| state.member(hosted.agent).is_some()).cloned().collect();
    let Some(workspace) = access::oldest_workspace(state) else { return all };
    let configured = config.agents.iter().filter(|(_, agent)| !agent.is_program());
    for (name, agent) in configured {
        let Some(member) = state.member_named(workspace, name).filter(|member| member.is_agent()) else { continue };
        all.retain(|hosted| hosted.agent != member.id);
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        all.push(Hosted {
            id: HostedId::NONE,
            workspace,
            agent: member.id,
            engine: agent.engine.clone(),
            model: text(&agent.model),
            project: text(&agent.project),
            policy: agent.policy,
            deny: agent.deny.clone(),
            worktrees: agent.worktrees,
            created_by: member.created_by.unwrap_or_default(),
            created_at: member.created_at,
        });
    }
    all
}

/// Why an agent could not work now.
pub fn problem(local: &Local, hosted: &Hosted) -> Option<String> {
    let Some(engine) = engines::find(&hosted.engine) else {
        return Some(format!("there is no engine `{}`", hosted.engine));
    };
    let settings = runner::settings(local.config()).remove(&hosted.engine).unwrap_or_default();
    if !availability::is_installed(engine, &settings) {
        return Some(format!("the program of the engine `{}` is not installed", hosted.engine));
    }
    if let Some(error) = unheld(local.config(), &hosted.engine, hosted.policy, &hosted.deny) {
        return Some(error.sentence);
    }
    project_folder(local.config(), hosted.project.as_deref()).err()
}

/// Why the engine, as the configuration has it, cannot be held to this policy.
pub fn unheld(config: &Config, engine: &str, policy: Policy, deny: &[String]) -> Option<EngineError> {
    folkmoot_agentd::policy::unheld(engine, asks(config, engine, true), self::policy(policy), deny)
}

/// Whether agents of this engine ask before they act, if its program knows the warm mode, or else does not.
pub fn asks(config: &Config, engine: &str, knows_warm: bool) -> bool {
    let settings = runner::settings(config).remove(engine).unwrap_or_default();
    let warm = knows_warm && settings.own_text("mode") != Some("plain");
    availability::asks(engine, &settings, if warm { Mode::Warm } else { Mode::Plain })
}

/// A policy as the daemon knows it; one that it does not know asks.
pub fn policy(policy: Policy) -> folkmoot_agentd::Policy {
    folkmoot_agentd::Policy::named(policy.as_str()).unwrap_or_default()
}

/// Where an agent with a project works: the folder of a configured project, or any other folder.
pub fn project_folder(config: &Config, project: Option<&str>) -> Result<Option<PathBuf>, String> {
    let Some(project) = project.filter(|project| !project.trim().is_empty()) else { return Ok(None) };
    let folder = match config.projects.get(project) {
        Some(known) => known.folder(),
        None => paths::expand_home(project, &Environment::of_process()),
    };
    if folder.is_absolute() && folder.is_dir() {
        return Ok(Some(folder));
    }
    Err(format!("`{project}` is neither a configured project nor a folder of this machine"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_the_same_one_to_the_daemon() {
        for core in [Policy::Ask, Policy::AskCommands, Policy::AcceptEdits, Policy::DangerouslyAllowAll] {
            assert_eq!(policy(core).word(), core.as_str());
        }
    }
}
