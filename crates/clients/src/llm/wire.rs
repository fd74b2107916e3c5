//! What travels: the chat completions format, in its own words.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What is asked. `extra` goes into the body as it is (`temperature`, `max_tokens`, `tool_choice`, …).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Request {
    pub messages: Vec<Message>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub stream: bool,
    #[serde(flatten)]
    pub request: &'a Request,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    System {
        content: String,
    },
    User {
        content: Content,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Assistant {
        content: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

impl Message {
    pub fn system(content: impl Into<String>) -> Self {
        Self::System { content: content.into() }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: Content::Text(content.into()), name: None }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

/// An address, or the picture itself as a `data:` address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageUrl {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Something the model may call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "ToolOnTheWire")]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
}

#[derive(Serialize)]
struct ToolOnTheWire {
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionOnTheWire,
}

#[derive(Serialize)]
struct FunctionOnTheWire {
    name: String,
    description: String,
    parameters: Value,
}

impl From<Tool> for ToolOnTheWire {
    fn from(Tool { name, description, parameters }: Tool) -> Self {
        Self { kind: "function", function: FunctionOnTheWire { name, description, parameters } }
    }
}

/// What the model wants called. The arguments are the model's own text and may be no JSON at all.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    pub function: FunctionCall,
}

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct FunctionCall {
    pub name: String,
    #[serde(default)]
    pub arguments: String,
}

fn function() -> String {
    "function".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub prompt_tokens: u64,
    #[serde(default)]
    pub completion_tokens: u64,
}

/// The model's answer: a text, or calls, or both.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Completion {
    pub content: Option<String>,
    pub tool_calls: Vec<ToolCall>,
    pub finish_reason: Option<String>,
    pub usage: Option<Usage>,
}

impl Completion {
    /// The answer as it goes back into the conversation.
    pub fn to_message(&self) -> Message {
        Message::Assistant { content: self.content.clone(), tool_calls: self.tool_calls.clone() }
    }

    /// Joins one piece of a streamed call to the call it belongs to.
    pub(super) fn add(&mut self, piece: ToolCallPiece) {
        // An index beyond reason is a broken stream, not a reason for a huge list.
        let index = piece.index.unwrap_or(self.tool_calls.len().saturating_sub(1)).min(self.tool_calls.len());
        if index == self.tool_calls.len() {
            self.tool_calls.push(ToolCall { kind: function(), ..ToolCall::default() });
        }
        let call = &mut self.tool_calls[index];
        if let Some(id) = piece.id {
            call.id = id;
        }
        let Some(function) = piece.function else { return };
        call.function.name.push_str(function.name.as_deref().unwrap_or_default());
        call.function.arguments.push_str(function.arguments.as_deref().unwrap_or_default());
    }
}

#[derive(Deserialize)]
pub(super) struct Answer {
    choices: Vec<AnswerChoice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct AnswerChoice {
    message: AnswerMessage,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    #[serde(default)]
    content: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<ToolCall>,
}

impl Answer {
    pub fn into_completion(self) -> Option<Completion> {
        let choice = self.choices.into_iter().next()?;
        let AnswerMessage { content, tool_calls } = choice.message;
        Some(Completion { content, tool_calls, finish_reason: choice.finish_reason, usage: self.usage })
    }
}

/// One piece of a streamed answer.
#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "nullable")]
    pub choices: Vec<ChunkChoice>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ChunkChoice {
    #[serde(default)]
    pub delta: Delta,
    #[serde(default)]
    pub finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub tool_calls: Vec<ToolCallPiece>,
}

#[derive(Deserialize)]
pub(super) struct ToolCallPiece {
    /// Some endpoints leave it out when there is only one call.
    #[serde(default)]
    pub index: Option<usize>,
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
pub(super) struct FunctionPiece {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub arguments: Option<String>,
}

/// Real endpoints send `null` where they have nothing to list.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}
