//! Tokens that a hub never made, signed or not, for the tests that must see them refused.

use std::time::{SystemTime, UNIX_EPOCH};

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
    format!("{}.{}.", base64url(header.to_string().as_bytes()), base64url(claims.to_string().as_bytes()))
}

/// The parts of a token as JSON, without checking anything.
pub fn decoded(token: &str) -> (Value, Value) {
    let mut parts =
        token.split('.').map(|part| serde_json::from_slice::<Value>(&from_base64url(part)).unwrap_or(Value::Null));
    (parts.next().expect("a header"), parts.next().expect("claims"))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut bits = 0u32;
        for place in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(place).copied().unwrap_or(0));
        }
        for place in 0..=chunk.len() {
            let index = bits >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

fn from_base64url(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for letter in text.bytes() {
        let Some(value) = ALPHABET.iter().position(|known| *known == letter) else {
            return Vec::new();
        };
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
        }
    }
    bytes
}
