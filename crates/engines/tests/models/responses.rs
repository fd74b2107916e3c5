//! OpenAI's Responses: output items, with deltas for what is said and thought.

use serde_json::{Value, json};

use super::script::{Step, Turn};
use super::{Beat, pieces};

/// How texts begin that the program puts before the person's own.
const NOT_SAID: [&str; 6] =
    ["<environment_context>", "# AGENTS.md", "<user_instructions>", "<permissions", "<skills", "<apps_instructions>"];

pub fn read(body: &Value) -> Turn {
    let tools = list(&body["tools"]).iter().filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()));
    let mut turn = Turn { tools: tools.map(str::to_owned).collect(), ..Turn::default() };
    if let Some(text) = body["input"].as_str() {
        turn.person(text.to_owned());
    }
    for item in list(&body["input"]) {
        match item["type"].as_str().unwrap_or("message") {
            "message" if item["role"] == "user" => {
                let text = text_of(&item["content"]);
                if !NOT_SAID.iter().any(|begin| text.trim_start().starts_with(begin)) {
                    turn.person(text);
                }
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let output = &item["output"];
                turn.results.push(output.as_str().map_or_else(|| output.to_string(), str::to_owned));
            }
            _ => {}
        }
    }
    turn
}

fn text_of(content: &Value) -> String {
    let parts = || list(content).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
    content.as_str().map_or_else(parts, str::to_owned)
}

pub fn stream(steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Vec<Beat> {
    let id = format!("resp_{:06}", ids());
    let mut writer = Writer { beats: Vec::new(), items: Vec::new(), open: None };
    let begun = json!({"id": id, "object": "response", "status": "in_progress", "output": []});
    writer.event("response.created", json!({"response": begun}));
    for step in steps {
        match step {
            Step::Say(text) => writer.say(text, ids),
            Step::Think(text) => writer.think(text, ids()),
            Step::Call(name, arguments) => writer.item(call(name, arguments, ids())),
            Step::Custom(name, input) => writer.item(custom(name, input, ids())),
            Step::Wait(pause) => writer.beats.push(Beat::Wait(*pause)),
            Step::Cut => {
                writer.beats.push(Beat::Cut);
                return writer.beats;
            }
            Step::Refuse(_) => {}
        }
    }
    writer.close();
    let response = completed(&id, &writer.items);
    writer.event("response.completed", json!({"response": response}));
    writer.beats
}

pub fn whole(steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Value {
    let last = stream(steps, ids).pop();
    match last {
        Some(Beat::Event(_, data)) => data["response"].clone(),
        _ => Value::Null,
    }
}

fn completed(id: &str, output: &[Value]) -> Value {
    let usage = json!({"input_tokens": 1234, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 55,
                       "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1289});
    json!({"id": id, "object": "response", "status": "completed", "output": output, "usage": usage})
}

fn message(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
}

fn call(name: &str, arguments: &Value, id: u64) -> Value {
    let (space, name) = name.split_once('/').map_or((None, name), |(space, name)| (Some(space), name));
    let mut item = json!({"type": "function_call", "id": format!("fc_{id:06}"), "call_id": format!("call_{id:06}"),
                          "name": name, "arguments": arguments.to_string(), "status": "completed"});
    if let Some(space) = space {
        item["namespace"] = json!(space);
    }
    item
}

fn custom(name: &str, input: &str, id: u64) -> Value {
    json!({"type": "custom_tool_call", "id": format!("ctc_{id:06}"), "call_id": format!("call_{id:06}"), "name": name,
           "input": input, "status": "completed"})
}

struct Writer {
    beats: Vec<Beat>,
    items: Vec<Value>,
    /// The message that is being said: its id and its text so far.
    open: Option<(String, String)>,
}

impl Writer {
    fn event(&mut self, kind: &'static str, mut data: Value) {
        data["type"] = json!(kind);
        self.beats.push(Beat::Event(Some(kind), data));
    }

    fn say(&mut self, text: &str, ids: &mut dyn FnMut() -> u64) {
        let index = self.items.len();
        let (id, mut said) = self.open.take().unwrap_or_else(|| {
            let id = format!("msg_{:06}", ids());
            let mut item = message(&id, "");
            (item["status"], item["content"]) = (json!("in_progress"), json!([]));
            self.event("response.output_item.added", json!({"output_index": index, "item": item}));
            (id, String::new())
        });
        for piece in pieces(text) {
            let delta = json!({"output_index": index, "content_index": 0, "item_id": id, "delta": piece});
            self.event("response.output_text.delta", delta);
        }
        said.push_str(text);
        self.open = Some((id, said));
    }

    fn think(&mut self, text: &str, id: u64) {
        self.close();
        let (index, id) = (self.items.len(), format!("rs_{id:06}"));
        let text = format!("**Thinking**\n\n{text}");
        let summary = json!([{"type": "summary_text", "text": text}]);
        let item = json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "ZW5j"});
        let mut begun = item.clone();
        begun["summary"] = json!([]);
        self.event("response.output_item.added", json!({"output_index": index, "item": begun}));
        let place = json!({"item_id": id, "output_index": index, "summary_index": 0});
        let with = |name: &str, value: Value| {
            let mut data = place.clone();
            data[name] = value;
            data
        };
        let part = json!({"type": "summary_text", "text": ""});
        self.event("response.reasoning_summary_part.added", with("part", part));
        self.event("response.reasoning_summary_text.delta", with("delta", json!(text)));
        self.done(item);
    }

    fn item(&mut self, item: Value) {
        self.close();
        self.done(item);
    }

    fn close(&mut self) {
        if let Some((id, text)) = self.open.take() {
            self.done(message(&id, &text));
        }
    }

    fn done(&mut self, item: Value) {
        self.event("response.output_item.done", json!({"output_index": self.items.len(), "item": item}));
        self.items.push(item);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
