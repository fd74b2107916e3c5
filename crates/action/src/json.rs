//! Reading JSON in which nothing hides: a name that stands twice in an object makes it plain text to us.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The value of a text, if it is JSON and every name stands once.
pub fn read(text: &str) -> Option<Value> {
    serde_json::from_str::<Plain>(text).ok().map(|plain| plain.0)
}

/// A value for people: short ones as they are, deep ones without the blanks that would drown them.
pub fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        deep if depth(deep) > 6 => deep.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

/// Whether an object has no other names than these.
pub fn only(value: &Value, names: &[&str]) -> bool {
    value.as_object().is_some_and(|fields| fields.keys().all(|name| names.contains(&name.as_str())))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON in which every name stands once")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Plain(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Plain(value))) = fields.next_entry::<String, Plain>()? {
            if all.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands twice"));
            }
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_no_json_to_us() {
        assert_eq!(
            read(r#"{"a":[1,null,"x",{"b":1.5}]}"#),
            serde_json::from_str(r#"{"a":[1,null,"x",{"b":1.5}]}"#).ok()
        );
        assert_eq!(read(r#"{"command":"ls","command":"rm -rf /"}"#), None);
        assert_eq!(read(r#"{"a":{"b":1,"b":2}}"#), None);
        assert_eq!(read("deploy"), None);
    }
}
