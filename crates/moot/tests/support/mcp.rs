//! An assistant that speaks MCP, of either era.

use reqwest::Method;
use serde_json::{Value, json};

use super::member::Member;
use super::rest::{Answer, Rest};

pub const MODERN: &str = "2026-07-28";

pub struct Mcp {
    rest: Rest,
    is_modern: bool,
}

/// What every newer request carries.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Mcp {
    pub fn modern(member: &Member) -> Self {
        Self { rest: member.rest.clone(), is_modern: true }
    }

    pub fn legacy(member: &Member) -> Self {
        Self { rest: member.rest.clone(), is_modern: false }
    }

    /// The whole answer to a request, read from JSON or from the last event of a stream.
    pub async fn answer(&self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params, json!({})).await;
        answer.json()
    }

    pub async fn post(&self, method: &str, mut params: Value, more_meta: Value) -> Answer {
        let mut request =
            self.rest.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
        if self.is_modern {
            request = request.header("mcp-protocol-version", MODERN).header("mcp-method", method);
            if let Some(name) = params["name"].as_str() {
                request = request.header("mcp-name", name);
            }
            params["_meta"] = meta();
        }
        for (key, value) in more_meta.as_object().into_iter().flatten() {
            params["_meta"][key] = value.clone();
        }
        let body = json!({ "jsonrpc": "2.0", "id": "r1", "method": method, "params": params });
        Answer::of(format!("POST /mcp {body}"), request.json(&body)).await
    }

    pub async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert_eq!(answer["id"], "r1", "{answer}");
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// What a tool says.
    pub async fn call(&self, name: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(result["isError"], Value::Null, "{name}: {result}");
        said(&result)
    }

    /// What a tool says that could not do it.
    pub async fn failed(&self, name: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(result["isError"], true, "{name}: {result}");
        said(&result)
    }
}

fn said(result: &Value) -> String {
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}
