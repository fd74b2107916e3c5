//! Reading what many hands have written: a field of the wrong type counts as missing.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The value, if it is one of this type.
pub fn fitting<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// A list, with whatever in it is of this type; none when it is no list.
pub fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    let fitting = |item: Value| serde_json::from_value(item).ok();
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => Some(items.into_iter().filter_map(fitting).collect()),
        _ => None,
    })
}

/// Text, or any other value as it was written; none when there is nothing in it.
pub fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

/// The value, or what stands for nothing.
pub fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(fitting(deserializer)?.unwrap_or_default())
}

/// Text, or none at all.
pub fn text<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    Ok(Cow::Owned(or_default(deserializer)?))
}

/// Everything but `false` says yes.
pub fn unless_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)? != Value::Bool(false))
}
