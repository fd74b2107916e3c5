//! A request of either era: what it asks, or what is wrong with it in the protocol's numbers.
//!
//! The era is told by how a client opens: newer ones carry their version in every request and repeat it, with the method, in
//! headers; older ones begin with `initialize` and have a header at most.

use axum::http::{HeaderMap, StatusCode};
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::{Value, json};

/// What this door speaks, newest first.
pub const VERSIONS: [&str; 5] = [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MODERN: &str = "2026-07-28";
/// What an older client gets whose version nobody knows.
const NEWEST_LEGACY: &str = "2025-11-25";

pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

const NOT_JSON: i32 = -32700;
const NOT_A_REQUEST: i32 = -32600;
const NO_SUCH_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const HEADERS_DIFFER: i32 = -32020;
const UNKNOWN_VERSION: i32 = -32022;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Modern,
    Legacy,
}

/// A request that is in order.
#[derive(Debug)]
pub struct Asked {
    pub era: Era,
    pub id: Value,
    pub method: String,
    pub params: Value,
    /// What the client knows this call by, if it wants to hear how far it is.
    pub progress: Option<Value>,
    /// Whether the answer may be a stream of events.
    pub takes_events: bool,
}

#[derive(Debug)]
pub enum Incoming {
    Request(Asked),
    /// Something that is never answered.
    Nothing,
}

/// A refusal in the protocol's own shape.
#[derive(Debug, PartialEq)]
pub struct Fault {
    pub status: StatusCode,
    id: Value,
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Fault {
    fn new(id: &Value, code: i32, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, id: id.clone(), code, message: message.into(), data: None }
    }

    pub fn unknown_method(id: &Value, method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self { status: StatusCode::NOT_FOUND, ..Self::new(id, NO_SUCH_METHOD, format!("there is no method `{shown}`")) }
    }

    /// A call that names no tool of ours, or gives no object as arguments.
    pub fn bad_params(id: &Value, message: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, ..Self::new(id, BAD_PARAMS, message) }
    }

    pub fn body(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<String>,
    #[serde(default)]
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

pub fn server_info() -> Value {
    json!({ "name": "folkmoot", "title": "Folkmoot", "version": env!("CARGO_PKG_VERSION") })
}

/// The version an older client is answered with.
pub fn agreed(params: &Value) -> &str {
    let wanted = params["protocolVersion"].as_str().unwrap_or_default();
    VERSIONS[1..].iter().find(|known| **known == wanted).copied().unwrap_or(NEWEST_LEGACY)
}

pub fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Incoming, Fault> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Fault::new(&Value::Null, NOT_JSON, format!("the body is not JSON: {error}")))?;
    if value.is_array() {
        return Err(Fault::new(&Value::Null, NOT_A_REQUEST, "one request at a time: batches are not taken"));
    }
    let envelope: Envelope = serde_json::from_value(value)
        .map_err(|error| Fault::new(&Value::Null, NOT_A_REQUEST, format!("this is no JSON-RPC message: {error}")))?;
    let id = envelope.id.filter(|id| !id.is_null());
    let shown = id.clone().unwrap_or(Value::Null);
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(Fault::new(&shown, NOT_A_REQUEST, "`jsonrpc` must be \"2.0\""));
    }
    if !matches!(shown, Value::Null | Value::String(_) | Value::Number(_)) {
        return Err(Fault::new(&Value::Null, NOT_A_REQUEST, "`id` must be a text or a number"));
    }
    let (Some(id), Some(method)) = (id, envelope.method) else { return Ok(Incoming::Nothing) };
    let request = Parts { headers, id, method, params: envelope.params };
    request.checked().map(Incoming::Request)
}

struct Parts<'a> {
    headers: &'a HeaderMap,
    id: Value,
    method: String,
    params: Value,
}

impl Parts<'_> {
    fn checked(self) -> Result<Asked, Fault> {
        if !matches!(self.params, Value::Null | Value::Object(_)) {
            return Err(Fault::new(&self.id, BAD_PARAMS, "`params` must be an object"));
        }
        let era = self.era();
        match era {
            Era::Modern => self.check_modern()?,
            Era::Legacy => self.check_legacy()?,
        }
        let progress = Some(&self.params["_meta"]["progressToken"]);
        let progress = progress.filter(|token| token.is_string() || token.is_number()).cloned();
        let takes_events = self.header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
        Ok(Asked { era, id: self.id, method: self.method, params: self.params, progress, takes_events })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn era(&self) -> Era {
        let is_newer = |version: &str| !VERSIONS[1..].contains(&version);
        let in_body = self.params["_meta"][VERSION_KEY].is_string();
        let in_header = self.header("mcp-protocol-version").is_some_and(is_newer) && self.method != "initialize";
        let by_name = self.method == "server/discover" || self.headers.contains_key("mcp-method");
        if in_body || in_header || by_name { Era::Modern } else { Era::Legacy }
    }

    fn check_legacy(&self) -> Result<(), Fault> {
        match self.header("mcp-protocol-version") {
            Some(version) if !VERSIONS.contains(&version) && self.method != "initialize" => {
                Err(self.unknown_version(version))
            }
            _ => Ok(()),
        }
    }

    fn check_modern(&self) -> Result<(), Fault> {
        let meta = &self.params["_meta"];
        let Some(version) = meta[VERSION_KEY].as_str() else {
            return Err(Fault::new(&self.id, BAD_PARAMS, format!("`_meta` lacks `{VERSION_KEY}`")));
        };
        if !meta[CAPABILITIES_KEY].is_object() {
            return Err(Fault::new(&self.id, BAD_PARAMS, format!("`_meta` lacks `{CAPABILITIES_KEY}`")));
        }
        self.same("mcp-protocol-version", version)?;
        if version != MODERN {
            return Err(self.unknown_version(version));
        }
        self.same("mcp-method", &self.method)?;
        match self.method.as_str() {
            "tools/call" | "prompts/get" => self.same("mcp-name", self.params["name"].as_str().unwrap_or_default()),
            "resources/read" => self.same("mcp-name", self.params["uri"].as_str().unwrap_or_default()),
            _ => Ok(()),
        }
    }

    /// A header that repeats what the body says, for those on the way who do not read bodies.
    fn same(&self, name: &str, wanted: &str) -> Result<(), Fault> {
        let given = self.header(name).map(plain_header);
        match given {
            Some(given) if given == wanted => Ok(()),
            Some(_) => Err(Fault::new(&self.id, HEADERS_DIFFER, format!("the header `{name}` differs from the body"))),
            None => Err(Fault::new(&self.id, HEADERS_DIFFER, format!("the header `{name}` is missing"))),
        }
    }

    fn unknown_version(&self, requested: &str) -> Fault {
        let message = format!("this version is not spoken here; {} is", VERSIONS.join(", "));
        let data = json!({ "supported": VERSIONS, "requested": requested });
        Fault { data: Some(data), ..Fault::new(&self.id, UNKNOWN_VERSION, message) }
    }
}

/// `=?base64?…?=` is how a header says what is not plain ASCII.
fn plain_header(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let decoded = encoded.and_then(|text| BASE64.decode(text.as_bytes()).ok());
    decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn modern(method: &str, name: Option<&str>) -> (HeaderMap, Value) {
        let mut all = headers(&[("mcp-protocol-version", MODERN), ("mcp-method", method)]);
        let mut params = json!({ "_meta": { VERSION_KEY: MODERN, CAPABILITIES_KEY: {} } });
        if let Some(name) = name {
            all.insert("mcp-name", HeaderValue::from_str(name).unwrap());
            params["name"] = json!(name);
        }
        (all, json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params }))
    }

    fn asked(headers: &HeaderMap, body: &Value) -> Result<Asked, (u16, i32)> {
        match read(headers, body.to_string().as_bytes()) {
            Ok(Incoming::Request(asked)) => Ok(asked),
            Ok(Incoming::Nothing) => panic!("nothing was asked"),
            Err(fault) => Err((fault.status.as_u16(), fault.code)),
        }
    }

    #[test]
    fn how_a_client_opens_says_which_era_it_is_of() {
        let (newer, body) = modern("server/discover", None);
        assert_eq!(asked(&newer, &body).unwrap().era, Era::Modern);
        let older = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": { "protocolVersion": "2025-06-18" } });
        let older = asked(&HeaderMap::new(), &older).unwrap();
        assert_eq!((older.era, older.id), (Era::Legacy, json!("a")));
        let later = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        assert_eq!(asked(&headers(&[("mcp-protocol-version", "2025-06-18")]), &later).unwrap().era, Era::Legacy);
        assert_eq!(asked(&HeaderMap::new(), &later).unwrap().era, Era::Legacy, "the oldest have no header");
    }

    #[test]
    fn an_older_client_gets_its_version_where_it_is_known_and_never_the_newest() {
        assert_eq!(agreed(&json!({ "protocolVersion": "2025-06-18" })), "2025-06-18");
        assert_eq!(agreed(&json!({ "protocolVersion": MODERN })), NEWEST_LEGACY);
        assert_eq!(agreed(&json!({ "protocolVersion": "1999-01-01" })), NEWEST_LEGACY);
        assert_eq!(agreed(&Value::Null), NEWEST_LEGACY);
    }

    #[test]
    fn headers_of_a_newer_request_are_there_and_say_what_the_body_says() {
        for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
            let (mut all, body) = modern("tools/call", Some("send"));
            all.remove(name);
            assert_eq!(asked(&all, &body).unwrap_err(), (400, HEADERS_DIFFER), "{name} is missing");
            all.insert(HeaderName::from_static(name), HeaderValue::from_static("other"));
            assert_eq!(asked(&all, &body).unwrap_err(), (400, HEADERS_DIFFER), "{name} differs");
        }
        let (mut all, body) = modern("tools/call", Some("send"));
        all.insert("mcp-name", HeaderValue::from_static("=?base64?c2VuZA==?="));
        assert!(asked(&all, &body).is_ok(), "a name may be written in base64");
    }

    #[test]
    fn a_newer_request_carries_its_version_and_what_the_client_can() {
        for key in [VERSION_KEY, CAPABILITIES_KEY] {
            let (all, mut body) = modern("tools/list", None);
            body["params"]["_meta"].as_object_mut().unwrap().remove(key);
            assert_eq!(asked(&all, &body).unwrap_err(), (400, BAD_PARAMS), "{key}");
        }
    }

    #[test]
    fn a_version_nobody_knows_is_refused_with_those_that_are() {
        let (mut all, mut body) = modern("tools/list", None);
        all.insert("mcp-protocol-version", HeaderValue::from_static("2031-01-01"));
        body["params"]["_meta"][VERSION_KEY] = json!("2031-01-01");
        let Err(fault) = read(&all, body.to_string().as_bytes()) else { panic!("it was taken") };
        assert_eq!((fault.status.as_u16(), fault.code), (400, UNKNOWN_VERSION));
        assert_eq!(fault.body()["error"]["data"]["requested"], "2031-01-01");
        assert_eq!(fault.body()["error"]["data"]["supported"][0], MODERN);
    }

    #[test]
    fn what_is_no_request_is_refused_or_passed_over() {
        let fault = |body: &str| read(&HeaderMap::new(), body.as_bytes()).unwrap_err().code;
        assert_eq!(fault("{"), NOT_JSON);
        assert_eq!(fault("[]"), NOT_A_REQUEST);
        assert_eq!(fault("7"), NOT_A_REQUEST);
        assert_eq!(fault(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#), NOT_A_REQUEST);
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), NOT_A_REQUEST);
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#), BAD_PARAMS);
        for silent in
            [r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]
        {
            assert!(matches!(read(&HeaderMap::new(), silent.as_bytes()), Ok(Incoming::Nothing)), "{silent}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_and_no_headers_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), value in "[ -~]{0,40}") {
            let _ = read(&headers(&[("mcp-protocol-version", &value), ("mcp-name", &value)]), &bytes);
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": value, "params": { "_meta": { VERSION_KEY: value } } });
            let _ = read(&headers(&[("mcp-method", &value)]), body.to_string().as_bytes());
        }
    }
}
