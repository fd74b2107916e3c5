//! The MCP door: assistants reach channels, tasks and people through tools at `/mcp`. One address, both eras of the protocol, no
//! sessions: whoever shows a key is that member, in every request anew.
//!
//! [`rpc`] reads a request and says what is wrong with it, [`tools`] lists what there is, [`call`] does it with the same
//! commands and reads as every other door, [`wait`] lets a caller wait without costing anything, [`text`] writes what a
//! language model reads.

mod call;
mod look;
mod rpc;
mod text;
mod tools;
mod wait;
mod work;

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRef, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use folkmoot_hub::Hub;
use folkmoot_hub::request::extract::json_bytes;
use folkmoot_hub::request::{ApiError, Caller, Surface, reply};
use futures_util::stream;
use serde_json::{Value, json};

use call::Outcome;
use rpc::{Asked, Era, Fault, Incoming};
use wait::Waiting;

/// How often a client that asked for it hears that a call is still under way.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// The MCP door; clones share it.
#[derive(Clone)]
pub struct Mcp(Arc<Shared>);

pub struct Shared {
    hub: Hub,
    waiting: Waiting,
}

impl Deref for Mcp {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl FromRef<Mcp> for Hub {
    fn from_ref(mcp: &Mcp) -> Self {
        mcp.hub.clone()
    }
}

impl Mcp {
    pub fn new(hub: &Hub) -> Self {
        Self(Arc::new(Shared { hub: hub.clone(), waiting: Waiting::default() }))
    }

    /// `/mcp`. It is described by itself (`tools/list`), not with `/v1`.
    pub fn surface(&self) -> Surface {
        let routes = post(answer).fallback(async || not_this_way()).with_state::<()>(self.clone());
        Surface { routes: axum::Router::new().route("/mcp", routes), described: Vec::new }
    }
}

/// Begins to hear what callers wait for.
pub fn start(mcp: &Mcp) {
    tokio::spawn(wait::follow(mcp.clone()));
}

/// There is nothing to listen to and no session to end; clients of either era go on without.
fn not_this_way() -> Response {
    let mut response = ApiError::method_not_allowed().into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

async fn answer(caller: Caller, State(mcp): State<Mcp>, request: Request) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let bytes = json_bytes(request).await?;
    match rpc::read(&headers, &bytes) {
        Ok(Incoming::Request(asked)) => Ok(answer_request(&mcp, caller, asked).await),
        // A notification, or the answer to a question that was never asked: nothing to say to either.
        Ok(Incoming::Nothing) => Ok(StatusCode::ACCEPTED.into_response()),
        Err(fault) => Ok(refused(&fault)),
    }
}

async fn answer_request(mcp: &Mcp, caller: Caller, asked: Asked) -> Response {
    match asked.method.as_str() {
        "tools/call" => call_tool(mcp, caller, asked).await,
        method => match plain(mcp, &caller, &asked, method) {
            Ok(result) => done(&asked, result),
            Err(fault) => refused(&fault),
        },
    }
}

/// What needs no waiting.
fn plain(mcp: &Mcp, caller: &Caller, asked: &Asked, method: &str) -> Result<Value, Fault> {
    let result = match (asked.era, method) {
        (Era::Modern, "server/discover") => json!({
            "supportedVersions": rpc::VERSIONS, "capabilities": { "tools": {} }, "instructions": tools::INSTRUCTIONS,
            "ttlMs": tools::TTL_MS, "cacheScope": "private",
        }),
        (Era::Legacy, "initialize") => json!({
            "protocolVersion": rpc::agreed(&asked.params), "capabilities": { "tools": {} },
            "serverInfo": rpc::server_info(), "instructions": tools::INSTRUCTIONS,
        }),
        (Era::Legacy, "ping") => json!({}),
        (_, "tools/list") => listed(asked.era, "tools", tools::all(look::is_agent(mcp, caller))),
        (_, "prompts/list") => listed(asked.era, "prompts", json!([])),
        (_, "resources/list") => listed(asked.era, "resources", json!([])),
        (_, "resources/templates/list") => listed(asked.era, "resourceTemplates", json!([])),
        _ => return Err(Fault::unknown_method(&asked.id, method)),
    };
    Ok(result)
}

fn listed(era: Era, what: &str, items: Value) -> Value {
    match era {
        Era::Modern => json!({ what: items, "ttlMs": tools::TTL_MS, "cacheScope": "private" }),
        Era::Legacy => json!({ what: items }),
    }
}

async fn call_tool(mcp: &Mcp, caller: Caller, asked: Asked) -> Response {
    let call = match call::read(&asked) {
        Ok(call) => call,
        Err(fault) => return refused(&fault),
    };
    match asked.progress.clone().filter(|_| asked.takes_events && call.may_take_long()) {
        Some(token) => with_progress(mcp.clone(), caller, asked, call, token),
        None => {
            let outcome = call.run(mcp, &caller).await;
            done(&asked, outcome.into_result())
        }
    }
}

/// A stream: a word every ten seconds, then the answer. A client that hangs up cancels the call.
fn with_progress(mcp: Mcp, caller: Caller, asked: Asked, call: call::Call, token: Value) -> Response {
    let running = Box::pin(async move { call.run(&mcp, &caller).await });
    let events = stream::unfold(Some((running, asked, token, 0_u64)), |left| async move {
        let (mut running, asked, token, told) = left?;
        match tokio::time::timeout(PROGRESS_EVERY, &mut running).await {
            Ok(outcome) => Some((event(&response(&asked, Outcome::into_result(outcome))), None)),
            Err(_) => {
                let params = json!({ "progressToken": token, "progress": told + 1, "message": "waiting" });
                let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                Some((event(&note), Some((running, asked, token, told + 1))))
            }
        }
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn event(message: &Value) -> Result<Bytes, Infallible> {
    Ok(Bytes::from(format!("event: message\ndata: {message}\n\n")))
}

fn response(asked: &Asked, mut result: Value) -> Value {
    if asked.era == Era::Modern {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ rpc::SERVER_INFO: rpc::server_info() });
    }
    json!({ "jsonrpc": "2.0", "id": asked.id, "result": result })
}

fn done(asked: &Asked, result: Value) -> Response {
    reply::json(StatusCode::OK, &response(asked, result))
}

fn refused(fault: &Fault) -> Response {
    reply::json(fault.status, &fault.body())
}
