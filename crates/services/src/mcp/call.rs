//! One call of a tool: which, with what, and how it ended. A call that cannot be done is an answer, not a fault of the
//! protocol: the model reads it and does something else.

use folkmoot_core::Refusal;
use folkmoot_hub::request::{ApiError, Caller};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rpc::{Asked, Fault};
use super::{Mcp, look, wait, work};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tool {
    Whoami,
    Channels,
    Read,
    Search,
    Send,
    Wait,
    Ack,
    Members,
    Tasks,
    Task,
    Ask,
    Status,
}

pub struct Call {
    tool: Tool,
    arguments: Value,
}

/// What the caller is told instead of a result.
#[derive(Debug)]
pub struct Failure(String);

pub type Told = Result<String, Failure>;

pub struct Outcome(Told);

impl Failure {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let sentence = match error.detail {
            Some(detail) => format!("{}: {detail}", error.sentence),
            None => error.sentence.into_owned(),
        };
        Self(match error.retry_after {
            Some(wait) => format!("{sentence} (try again in {} s)", wait.whole_seconds()),
            None => sentence,
        })
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        ApiError::from(refusal).into()
    }
}

impl Outcome {
    pub fn into_result(self) -> Value {
        let (text, is_error) = match self.0 {
            Ok(text) => (text, false),
            Err(Failure(sentence)) => (sentence, true),
        };
        let content = json!([{ "type": "text", "text": text }]);
        if is_error { json!({ "content": content, "isError": true }) } else { json!({ "content": content }) }
    }
}

pub fn read(asked: &Asked) -> Result<Call, Fault> {
    let name = &asked.params["name"];
    let tool = Tool::deserialize(name)
        .map_err(|_| Fault::bad_params(&asked.id, format!("there is no tool {}; see tools/list", shown(name))))?;
    match &asked.params["arguments"] {
        Value::Null => Ok(Call { tool, arguments: json!({}) }),
        Value::Object(arguments) => Ok(Call { tool, arguments: Value::Object(arguments.clone()) }),
        _ => Err(Fault::bad_params(&asked.id, "`arguments` must be an object")),
    }
}

fn shown(name: &Value) -> String {
    name.to_string().chars().take(100).collect()
}

impl Call {
    pub fn may_take_long(&self) -> bool {
        self.tool == Tool::Wait
    }

    pub async fn run(self, mcp: &Mcp, caller: &Caller) -> Outcome {
        Outcome(self.told(mcp, caller).await)
    }

    async fn told(self, mcp: &Mcp, caller: &Caller) -> Told {
        match self.tool {
            Tool::Whoami => look::whoami(caller).await,
            Tool::Channels => look::channels(caller),
            Tool::Read => look::read(caller, self.arguments()?).await,
            Tool::Search => look::search(caller, self.arguments()?).await,
            Tool::Members => look::members(caller, self.arguments()?),
            Tool::Tasks => look::tasks(caller, self.arguments()?).await,
            Tool::Wait => wait::wait(mcp, caller, self.arguments()?).await,
            Tool::Send => work::send(caller, self.arguments()?).await,
            Tool::Ack => work::ack(caller, self.arguments()?).await,
            Tool::Task => work::task(caller, self.arguments()?).await,
            Tool::Ask => work::ask(caller, self.arguments()?).await,
            Tool::Status => work::status(caller, self.arguments()?).await,
        }
    }

    fn arguments<T: DeserializeOwned>(self) -> Result<T, Failure> {
        serde_json::from_value(self.arguments).map_err(|error| Failure(format!("the arguments are wrong: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::rpc::Era;
    use crate::mcp::tools;

    fn asked(params: Value) -> Asked {
        let (id, method) = (json!(1), "tools/call".to_owned());
        Asked { era: Era::Modern, id, method, params, progress: None, takes_events: false }
    }

    #[test]
    fn every_tool_that_is_listed_can_be_called() {
        for tool in tools::all(true).as_array().unwrap() {
            assert!(read(&asked(json!({ "name": tool["name"] }))).is_ok(), "{}", tool["name"]);
        }
    }

    #[test]
    fn an_unknown_tool_and_arguments_that_are_no_object_are_faults_of_the_protocol() {
        for params in [json!({ "name": "shell" }), json!({}), json!({ "name": "send", "arguments": [] })] {
            let Err(fault) = read(&asked(params)) else { panic!("it was taken") };
            assert_eq!(fault.body()["error"]["code"], -32602);
        }
    }
}
