//! Tokens that a hub never made, signed or not, for the tests that must see them refused.

use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// The secret every test hub is started with.
pub const SECRET: &str = "a secret that only the end-to-end tests use, 48 bytes";

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_secs()).expect("before the year 292 billion")
}

/// The claims of the document for a member, valid from `issued` for a day.
pub fn claims(member: &str, workspace: &str, issued: i64) -> Value {
    json!({
        "member_id": member,
        "workspace_id": workspace,
        "jti": uuid::Uuid::new_v4().simple().to_string(),
        "iss": "lark",
        "iat": issued,
        "exp": issued + 86_400,
    })
}

pub fn signed(claims: &Value, algorithm: Algorithm, secret: &str) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&Header::new(algorithm), claims, &key).expect("a token")
}

/// A token that claims to need no signature.
pub fn unsigned(claims: &Value) -> String {
    let header = json!({ "alg": "none", "typ": "JWT" });
    format!(
        "{}.{}.",
        BASE64URL_NOPAD.encode(header.to_string().as_bytes()),
        BASE64URL_NOPAD.encode(claims.to_string().as_bytes())
    )
}

/// The parts of a token as JSON, without checking anything.
pub fn decoded(token: &str) -> (Value, Value) {
    let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).unwrap_or_default();
    let mut parts = token.split('.').map(|part| serde_json::from_slice(&bytes(part)).unwrap_or(Value::Null));
    (parts.next().expect("a header"), parts.next().expect("claims"))
}
