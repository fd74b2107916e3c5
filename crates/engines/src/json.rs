//! Looking into JSON values without insisting: a field that is missing or of another kind is simply not there.

use serde_json::{Map, Value};

pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// A text that says something.
pub fn words<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|text| !text.trim().is_empty())
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub fn flag(value: &Value, key: &str) -> Option<bool> {
    value.get(key)?.as_bool()
}

pub fn whole(value: &Value, key: &str) -> Option<i64> {
    value.get(key)?.as_i64()
}

/// The field, or null.
pub fn field<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// Copies the named fields that are there and not null, under their new names.
pub fn copy(from: &Value, names: &[(&str, &str)], into: &mut Map<String, Value>) {
    for (name, as_name) in names {
        if let Some(value) = from.get(*name).filter(|value| !value.is_null()) {
            into.insert((*as_name).to_owned(), value.clone());
        }
    }
}

/// At most `most` characters, the last one an ellipsis when something was cut.
pub fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A line as a JSON object, or a glimpse of what it was.
pub fn object(line: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.is_object() => Ok(value),
        _ => Err(shortened(&String::from_utf8_lossy(line), 200)),
    }
}

/// A message in an `error` that may be a text or an object.
pub fn message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => {
            let data = field(value, "data");
            words(data, "message")
                .or_else(|| words(value, "message"))
                .or_else(|| words(value, "name"))
                .map(str::to_owned)
        }
        _ => None,
    }
}

/// Whether an object has no other names than these.
pub fn holds_only(fields: &Map<String, Value>, names: &[&str]) -> bool {
    fields.keys().all(|name| names.contains(&name.as_str()))
}

/// Takes the texts with these names out of an object; `None`, and nothing is taken, when one of them is no text.
pub fn take_texts(fields: &mut Map<String, Value>, names: &[&str]) -> Option<Vec<String>> {
    let said = || names.iter().filter(|name| fields.contains_key(**name));
    let texts = said().map(|name| fields[*name].as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()?;
    names.iter().for_each(|name| drop(fields.remove(*name)));
    Some(texts)
}

/// All the questions that a request asks, as one line.
pub fn questions(request: &Value) -> String {
    list(request, "questions").iter().filter_map(|question| words(question, "question")).collect::<Vec<_>>().join(" ")
}

/// The words that the first question of a request offers.
pub fn options(request: &Value) -> Vec<String> {
    let first = list(request, "questions").first().map_or(&[][..], |question| list(question, "options"));
    let labels = first.iter().filter_map(|option| text(option, "label").or_else(|| option.as_str()));
    labels.map(str::to_owned).collect()
}
