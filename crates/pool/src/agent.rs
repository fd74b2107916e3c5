//! What an agent is: how it introduces itself, and its operations.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_wire::chopsticks::{Guilds, Hello, MAX_GUILDS, PROTOCOL_VERSION, Req, Resp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::OpError;
use crate::link::Context;

/// How an agent introduces itself, and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// `ws://…` or `wss://…` of the controller.
    pub url: String,
    pub agent_id: String,
    pub pool_id: String,
    pub tag: Option<String>,
    pub guilds: Vec<String>,
    pub runner_id: String,
    /// What the controller may want to see before it believes the rest.
    pub runner_secret: Option<String>,
    /// How often the agent says hello and names its guilds.
    pub heartbeat: Duration,
    /// A controller that gives no sign of life for this long is taken for dead.
    pub silence: Duration,
}

impl Config {
    pub fn new(url: impl Into<String>, agent_id: impl Into<String>) -> Self {
        let agent_id = agent_id.into();
        Self {
            url: url.into(),
            pool_id: "default".into(),
            tag: Some(agent_id.clone()),
            guilds: Vec::new(),
            runner_id: format!("runner-{}", std::process::id()),
            runner_secret: None,
            heartbeat: Duration::from_secs(30),
            silence: Duration::from_secs(75),
            agent_id,
        }
    }

    /// Adds a guild to those the agent works in.
    #[must_use]
    pub fn guild(mut self, guild: impl Into<String>) -> Self {
        self.guilds.push(guild.into());
        self.guilds.truncate(MAX_GUILDS);
        self
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Value, OpError>> + Send>>;
type Handler = Box<dyn Fn(Context, Value) -> Answering + Send + Sync>;

/// An agent with its operations. [`Agent::run`] is its life.
pub struct Agent {
    config: Config,
    context: Context,
    ops: Arc<HashMap<&'static str, Handler>>,
}

impl Agent {
    pub fn new(config: Config) -> Self {
        let context = Context::new(&config.agent_id, &config.runner_id, config.guilds.clone());
        Self { config, context, ops: Arc::default() }
    }

    /// Adds an operation. Its request is read from `data`; a request that does not fit is answered with `bad-data`.
    ///
    /// Requests are taken up in the order in which they come, and run beside each other: one that waits holds up nobody.
    /// One that blocks does, so that work belongs on a thread of its own (`tokio::task::spawn_blocking`).
    #[must_use]
    pub fn op<Q, R, F, W>(mut self, name: &'static str, operation: F) -> Self
    where
        Q: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Context, Q) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, OpError>> + Send + 'static,
    {
        let operation = Arc::new(operation);
        let handler = move |context: Context, data: Value| -> Answering {
            let operation = Arc::clone(&operation);
            Box::pin(async move {
                let working = operation(context, read_data::<Q>(data)?);
                write_answer(working.await?)
            })
        };
        // Operations are added before anything runs, so nobody else holds the table yet.
        if let Some(ops) = Arc::get_mut(&mut self.ops) {
            ops.insert(name, Box::new(handler));
        }
        self
    }

    /// What operations get, for work that no request begins: timers, for example.
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello {
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            agent_id: Some(self.config.agent_id.clone()),
            tag: self.config.tag.clone(),
            ready: self.context.is_ready(),
            guild_ids: Some(self.context.guilds()),
            pool_id: Some(self.config.pool_id.clone()),
            runner_id: Some(self.config.runner_id.clone()),
            runner_secret: self.config.runner_secret.clone(),
            ..Hello::default()
        }
    }

    pub(crate) fn guilds(&self) -> Guilds {
        Guilds {
            guild_ids: Some(self.context.guilds()),
            agent_id: Some(self.config.agent_id.clone()),
            runner_id: Some(self.config.runner_id.clone()),
        }
    }

    /// The work on one request; it always ends in an answer.
    pub(crate) fn answer(&self, request: &Req<'_>) -> impl Future<Output = Resp> + Send + use<> {
        let context = self.context();
        let (id, op) = (request.id.to_string(), request.op.to_string());
        // What is JSON by the letter but cannot be read (a lone surrogate) is as if it were left out.
        let data = request.data.and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or(Value::Null);
        let working = self.ops.get(op.as_str()).map(|handler| handler(context.clone(), data));
        async move {
            let outcome = match working {
                Some(working) => contained(&op, working).await,
                None => Err(OpError::new("unknown-op")),
            };
            let (data, error) = match outcome {
                Ok(data) => (Some(data), None),
                Err(error) => (None, Some(error.to_string())),
            };
            let (agent_id, runner_id) = (context.agent_id().to_owned(), context.runner_id().to_owned());
            Resp { id, ok: error.is_none(), data, error, agent_id, runner_id }
        }
    }
}

/// A panic in an operation is that operation's failure, not the agent's.
async fn contained(op: &str, working: Answering) -> Result<Value, OpError> {
    use futures_util::FutureExt;
    let outcome = std::panic::AssertUnwindSafe(working).catch_unwind().await;
    outcome.unwrap_or_else(|_| {
        tracing::error!(op, "an operation panicked");
        Err(OpError::new("agent-error"))
    })
}

fn read_data<Q: DeserializeOwned>(data: Value) -> Result<Q, OpError> {
    let data = if data.is_null() { json!({}) } else { data };
    serde_json::from_value(data).map_err(|error| OpError::new(format!("bad-data: {error}")))
}

fn write_answer(answer: impl Serialize) -> Result<Value, OpError> {
    serde_json::to_value(answer).map_err(|error| OpError::new(format!("agent-error: {error}")))
}
