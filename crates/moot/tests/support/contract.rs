//! Holds every answer that a test gets against the hub's description of itself: the status is one that the operation
//! names, and the body has the shape that is described for it.

use std::sync::OnceLock;

use serde_json::Value;

const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(DESCRIPTION).expect("a description"))
}

/// Panics when the answer to `request` (`GET /v1/…`) is not as described. What is not described is not looked at.
pub fn check(request: &str, status: u16, content_type: &str, body: &[u8]) {
    let mut words = request.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let Some((template, item)) = item_at(path.split('?').next().unwrap_or_default()) else { return };
    let operation = &item[method.to_ascii_lowercase()];
    if !operation.is_object() {
        return;
    }
    let response = &operation["responses"][status.to_string()];
    assert!(response.is_object(), "{method} {template} does not name {status}: {}", String::from_utf8_lossy(body));
    let content = &followed(response)["content"];
    let kind = content_type.split(';').next().unwrap_or_default();
    if kind == "application/json"
        && let Ok(body) = serde_json::from_slice(body)
    {
        let schema = &content[kind]["schema"];
        if let Err(wrong) = fits(&body, schema) {
            panic!("{method} {template} {status} is not as described: {wrong}\n{body:#}");
        }
    }
}

/// The described path that an address is of: words before variable parts.
fn item_at(path: &str) -> Option<(&'static str, &'static Value)> {
    let paths = document()["paths"].as_object()?;
    let fitting = paths.iter().filter_map(|(template, item)| Some((variable_parts(template, path)?, template, item)));
    fitting.min_by_key(|(variable, ..)| *variable).map(|(_, template, item)| (template.as_str(), item))
}

fn variable_parts(template: &str, path: &str) -> Option<usize> {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    let mut variable = 0;
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(variable),
            (Some(part), Some(text)) if part.starts_with('{') && !text.is_empty() => variable += 1,
            (Some(part), Some(text)) if part == text => {}
            _ => return None,
        }
    }
}

fn followed(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => document().pointer(pointer).expect("a reference that leads somewhere"),
        None => value,
    }
}

/// As much of JSON Schema as the description uses.
fn fits(value: &Value, schema: &'static Value) -> Result<(), String> {
    if schema.is_null() {
        return Err("there is a body, and none is described".to_owned());
    }
    let schema = followed(schema);
    let all = |word: &str| schema[word].as_array().into_iter().flatten();
    all("allOf").try_for_each(|part| fits(value, part))?;
    let any_of = |word: &str| schema[word].is_null() || all(word).any(|part| fits(value, part).is_ok());
    if !any_of("oneOf") || !any_of("anyOf") {
        return Err(format!("{value} is none of what is possible"));
    }
    if !schema["enum"].is_null() && !all("enum").any(|known| known == value) {
        return Err(format!("{value} is no known word"));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_a(value, kind)) {
        return Err(format!("{value} is not of type {kinds:?}"));
    }
    if let (Some(number), Some(least)) = (value.as_f64(), schema["minimum"].as_f64())
        && number < least
    {
        return Err(format!("{value} is less than {least}"));
    }
    if value.is_object() {
        fields_fit(value, schema)?;
    }
    let items = value.as_array().filter(|_| schema["items"].is_object()).into_iter().flatten();
    items.into_iter().try_for_each(|item| fits(item, &schema["items"]))
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn fields_fit(value: &Value, schema: &'static Value) -> Result<(), String> {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            return Err(format!("`{name}` is missing"));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            fits(field, property).map_err(|wrong| format!("`{name}`: {wrong}"))?;
        }
    }
    Ok(())
}
