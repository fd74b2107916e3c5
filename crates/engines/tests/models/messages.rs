//! Anthropic's Messages: content blocks, each with its start, deltas and stop.

use serde_json::{Value, json};

use super::script::{Step, Turn};
use super::{Beat, pieces};

pub fn error_kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

pub fn read(body: &Value) -> Turn {
    let tools = list(&body["tools"]).iter().filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()));
    let mut turn = Turn { tools: tools.map(str::to_owned).collect(), anthropic: true, ..Turn::default() };
    for message in list(&body["messages"]).iter().filter(|message| message["role"] == "user") {
        let content = &message["content"];
        if let Some(text) = content.as_str() {
            turn.person(text.to_owned());
            continue;
        }
        let texts: Vec<&str> = list(content).iter().filter_map(|block| block["text"].as_str()).filter(said).collect();
        if !texts.is_empty() {
            turn.person(texts.join("\n"));
        }
        let results = list(content).iter().filter(|block| block["type"] == "tool_result").map(result);
        turn.results.extend(results.collect::<Vec<_>>());
    }
    turn
}

/// Whether a person said it, or a task that was left running; the program reminds the model of this and that as well.
fn said(text: &&str) -> bool {
    let reminds = text.trim_start().starts_with("<system-reminder>");
    !text.trim().is_empty() && (!reminds || text.contains("<task-notification>"))
}

fn result(block: &Value) -> String {
    let content = &block["content"];
    let texts = || list(content).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ");
    let text = content.as_str().map_or_else(texts, str::to_owned);
    if block["is_error"] == true { format!("ERROR {text}") } else { text }
}

pub fn stream(model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Vec<Beat> {
    let mut writer = Writer { beats: Vec::new(), block: 0, open: false, stop: "end_turn" };
    writer.event("message_start", json!({"message": message(model, &[], Value::Null, 1, ids())}));
    for step in steps {
        match step {
            Step::Say(text) => writer.say(text),
            Step::Think(text) => {
                let signed = json!({"type": "signature_delta", "signature": "c2ln"});
                let deltas = vec![json!({"type": "thinking_delta", "thinking": text}), signed];
                writer.block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
            }
            Step::Call(name, arguments) => writer.call(name, arguments, ids()),
            Step::Custom(name, input) => writer.call(name, &json!({"input": input}), ids()),
            Step::Wait(pause) => writer.beats.push(Beat::Wait(*pause)),
            Step::Cut => {
                writer.beats.push(Beat::Cut);
                return writer.beats;
            }
            Step::Refuse(_) => {}
        }
    }
    writer.close();
    let stop = json!({"stop_reason": writer.stop, "stop_sequence": null});
    writer.event("message_delta", json!({"delta": stop, "usage": {"output_tokens": 55}}));
    writer.event("message_stop", json!({}));
    writer.beats
}

pub fn whole(model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Value {
    let text: String =
        steps.iter().filter_map(|step| if let Step::Say(text) = step { Some(&**text) } else { None }).collect();
    message(model, &[json!({"type": "text", "text": text})], json!("end_turn"), 7, ids())
}

fn message(model: &str, content: &[Value], stop: Value, output: u64, id: u64) -> Value {
    let usage = json!({"input_tokens": 1234, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 10,
                       "output_tokens": output});
    json!({"id": format!("msg_{id:06}"), "type": "message", "role": "assistant", "model": model, "content": content,
           "stop_reason": stop, "stop_sequence": null, "usage": usage})
}

struct Writer {
    beats: Vec<Beat>,
    block: usize,
    /// A text block is open, and what is said next goes on in it.
    open: bool,
    stop: &'static str,
}

impl Writer {
    fn event(&mut self, kind: &'static str, mut data: Value) {
        data["type"] = json!(kind);
        self.beats.push(Beat::Event(Some(kind), data));
    }

    fn delta(&mut self, delta: Value) {
        self.event("content_block_delta", json!({"index": self.block, "delta": delta}));
    }

    fn start(&mut self, block: Value) {
        self.event("content_block_start", json!({"index": self.block, "content_block": block}));
    }

    fn stop(&mut self) {
        self.event("content_block_stop", json!({"index": self.block}));
        self.block += 1;
    }

    fn say(&mut self, text: &str) {
        if !self.open {
            self.start(json!({"type": "text", "text": ""}));
            self.open = true;
        }
        for piece in pieces(text) {
            self.delta(json!({"type": "text_delta", "text": piece}));
        }
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.stop();
        }
    }

    fn block(&mut self, block: Value, deltas: Vec<Value>) {
        self.close();
        self.start(block);
        deltas.into_iter().for_each(|delta| self.delta(delta));
        self.stop();
    }

    fn call(&mut self, name: &str, arguments: &Value, id: u64) {
        self.stop = "tool_use";
        let block = json!({"type": "tool_use", "id": format!("toolu_{id:06}"), "name": name, "input": {}});
        self.block(block, vec![json!({"type": "input_json_delta", "partial_json": arguments.to_string()})]);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
