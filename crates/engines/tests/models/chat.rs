//! OpenAI's Chat Completions: chunks with a delta each, then the reason why it ended, then what was used.

use serde_json::{Value, json};

use super::script::{Step, Turn};
use super::{Beat, pieces};

pub fn read(body: &Value) -> Turn {
    let tools = list(&body["tools"]).iter().filter_map(|tool| tool["function"]["name"].as_str());
    let mut turn = Turn { tools: tools.map(str::to_owned).collect(), ..Turn::default() };
    for message in list(&body["messages"]) {
        let content = &message["content"];
        let parts = || list(content).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
        let text = content.as_str().map_or_else(parts, str::to_owned);
        match message["role"].as_str() {
            Some("user") => turn.person(text),
            Some("tool") => turn.results.push(text),
            _ => {}
        }
    }
    turn
}

pub fn stream(model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Vec<Beat> {
    let id = format!("chatcmpl-{:06}", ids());
    let chunk = |choices: Value| json!({"id": id, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices});
    let choice = |delta: Value, end: Value| json!([{"index": 0, "delta": delta, "finish_reason": end}]);
    let event = |delta: Value| Beat::Event(None, chunk(choice(delta, Value::Null)));
    let mut beats = vec![event(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for step in steps {
        match step {
            Step::Say(text) => beats.extend(pieces(text).into_iter().map(|piece| event(json!({"content": piece})))),
            Step::Think(text) => beats.push(event(json!({"reasoning_content": text}))),
            Step::Call(..) | Step::Custom(..) => {
                beats.push(event(json!({"tool_calls": [call(step, calls, ids())]})));
                calls += 1;
            }
            Step::Wait(pause) => beats.push(Beat::Wait(*pause)),
            Step::Cut => {
                beats.push(Beat::Cut);
                return beats;
            }
            Step::Refuse(_) => {}
        }
    }
    let end = if calls > 0 { "tool_calls" } else { "stop" };
    beats.push(Beat::Event(None, chunk(choice(json!({}), json!(end)))));
    let mut last = chunk(json!([]));
    last["usage"] = usage();
    beats.extend([Beat::Event(None, last), Beat::Raw("[DONE]")]);
    beats
}

fn call(step: &Step, index: usize, id: u64) -> Value {
    let (name, arguments) = match step {
        Step::Call(name, arguments) => (name.as_str(), arguments.to_string()),
        Step::Custom(name, input) => (name.as_str(), json!({"input": input}).to_string()),
        _ => ("", String::new()),
    };
    let function = json!({"name": name, "arguments": arguments});
    json!({"index": index, "id": format!("call_{id:06}"), "type": "function", "function": function})
}

pub fn whole(model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Value {
    let text: String =
        steps.iter().filter_map(|step| if let Step::Say(text) = step { Some(&**text) } else { None }).collect();
    let message = json!({"role": "assistant", "content": text});
    json!({"id": format!("chatcmpl-{:06}", ids()), "object": "chat.completion", "created": 0, "model": model,
           "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage()})
}

fn usage() -> Value {
    json!({"prompt_tokens": 1234, "completion_tokens": 55, "total_tokens": 1289,
           "prompt_tokens_details": {"cached_tokens": 1000}})
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
