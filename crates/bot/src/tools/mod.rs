//! Tools: typed functions that the model may call, each behind its circuit breaker.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use folkmoot_clients::llm;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub mod breaker;
pub mod builtin;
mod database;
pub mod desk;
mod pages;
mod research;
pub mod rounds;
pub mod schema;
mod scratchpad;

use crate::error::BotError;
use crate::settings::{Limits, seconds};
use breaker::Breaker;
pub use desk::Desk;
pub use scratchpad::Scratchpads;

/// A result longer than this is cut; the model has other things to read too.
const MAX_RESULT_CHARS: usize = 20_000;

type Run = Box<dyn Fn(Desk, &str) -> Result<BoxFuture<'static, Result<String, BotError>>, BotError> + Send + Sync>;

struct Tool {
    definition: llm::Tool,
    run: Run,
    breaker: Mutex<Breaker>,
}

/// All tools of a bot.
pub struct Toolbox {
    tools: BTreeMap<String, Tool>,
    limits: Limits,
    patience: Duration,
}

impl Toolbox {
    pub fn new(limits: &Limits) -> Self {
        Self { tools: BTreeMap::new(), limits: limits.clone(), patience: seconds(limits.request_timeout_s) }
    }

    /// Adds a function as a tool. Its argument type says everything about it: the comment on the type describes the
    /// tool, its fields are the parameters.
    #[must_use]
    pub fn with<A, R, F>(mut self, name: &str, function: fn(Desk, A) -> F) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize,
        F: Future<Output = Result<R, BotError>> + Send + 'static,
    {
        let called = name.to_owned();
        let run = move |desk: Desk, arguments: &str| {
            let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
            let arguments = serde_json::from_str::<A>(arguments)
                .map_err(|error| BotError::Validation(format!("the arguments of `{called}` are wrong: {error}")))?;
            Ok(function(desk, arguments).map(|result| result.and_then(|value| as_text(&value))).boxed())
        };
        let tool = Tool {
            definition: schema::definition::<A>(name),
            run: Box::new(run),
            breaker: Mutex::new(Breaker::new(&self.limits)),
        };
        self.tools.insert(name.to_owned(), tool);
        self
    }

    /// The definitions for the model.
    pub fn serialize(&self) -> Vec<llm::Tool> {
        let offered = self.tools.iter().filter(|(name, _)| schema::is_offered(name));
        offered.map(|(_, tool)| tool.definition.clone()).collect()
    }

    /// Makes one call of the model and returns what it gets to read.
    pub async fn call(&self, desk: Desk, name: &str, arguments: &str) -> Result<String, BotError> {
        let tool = self.tools.get(name).filter(|_| schema::is_offered(name));
        let tool = tool.ok_or_else(|| BotError::Validation(format!("there is no tool `{name}`")))?;
        let work = (tool.run)(desk, arguments)?;
        let open = |retry_in| BotError::CircuitBreakerOpen { tool: name.to_owned(), retry_in };
        tool.breaker.lock().admit(Instant::now()).map_err(open)?;
        let late = |_| BotError::Tool(format!("`{name}` took longer than {} s", self.patience.as_secs_f64()));
        let result = tokio::time::timeout(self.patience, work).await.map_err(late).flatten();
        match &result {
            // The tool did its work: the question was wrong, not the tool.
            Ok(_) | Err(BotError::Validation(_)) => tool.breaker.lock().succeeded(),
            Err(_) => tool.breaker.lock().failed(Instant::now()),
        }
        result
    }
}

/// A text as it is, anything else as JSON, neither without end.
fn as_text(value: &impl Serialize) -> Result<String, BotError> {
    let value = serde_json::to_value(value).map_err(|error| BotError::Tool(error.to_string()))?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(cut(text, MAX_RESULT_CHARS))
}

/// The beginning of a text, with a sign that there was more.
pub fn cut(mut text: String, most: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push_str("\n[… cut]");
    }
    text
}

#[cfg(test)]
mod tests;
