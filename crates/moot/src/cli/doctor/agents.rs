//! Whether the agents of the configuration can work: their engine is there and logged in, and holds what their policy promises.

use std::collections::BTreeMap;

use folkmoot_agentd::policy;
use folkmoot_engines::engines;
use folkmoot_runs::availability::{self, Availability};
use futures_util::future::join_all;

use super::Finding;
use crate::config::{Agent, Config};
use crate::{hosting, runner};

const AGENT: &str = "agent";

pub async fn check(config: &Config) -> Vec<Finding> {
    let agents = || config.agents.iter().filter(|(_, agent)| !agent.is_program());
    let runner = runner::runner(config);
    let wanted = engines::ALL.into_iter().filter(|engine| agents().any(|(_, agent)| engine.id() == *agent.engine));
    let looks = wanted.map(|engine| {
        let (settings, host) = (runner.settings(&engine.id()), runner.host());
        async move {
            let mut found = availability::look(engine, &settings, &host).await;
            found.warm = Some(availability::has_warm(engine, &settings, &host).await);
            (found.engine.clone(), found)
        }
    });
    let found: BTreeMap<String, Availability> = join_all(looks).await.into_iter().collect();
    agents().filter_map(|(name, agent)| Some(one(config, name, agent, found.get(&agent.engine)?))).collect()
}

fn one(config: &Config, name: &str, agent: &Agent, found: &Availability) -> Finding {
    let engine = &agent.engine;
    if let Some(problem) = &found.problem {
        let remedy = problem.hint.clone().unwrap_or_else(|| "see `moot engines`".to_owned());
        return Finding::fail(AGENT, format!("{name} cannot work: {}", problem.sentence), remedy);
    }
    let asks = hosting::asks(config, engine, found.warm == Some(true));
    if let Some(error) = policy::unheld(engine, asks, hosting::policy(agent.policy), &agent.deny) {
        let remedy = error.hint.unwrap_or_default();
        return Finding::fail(AGENT, format!("{name} does not work: {}", error.sentence), remedy);
    }
    match found.trouble() {
        Some(trouble) => {
            let remedy = trouble.hint.clone().unwrap_or_default();
            Finding::warn(AGENT, format!("{name} gets no answer: {}", trouble.sentence), remedy)
        }
        None => {
            let version = found.version.as_deref().unwrap_or_default();
            Finding::ok(AGENT, format!("{name} works as {engine} {version}, policy `{}`", agent.policy.as_str()))
        }
    }
}
