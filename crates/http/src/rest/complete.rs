//! What every operation of the description has, whoever wrote its handler: an id, its path's parts, every status it
//! answers with, a body that is required only if it must say something, and examples.
//!
//! A handler describes what is its own. What follows from its kind is decided here, once for all of them, so that no
//! description can lack it.

use std::collections::BTreeSet;

use folkmoot_hub::request::bounds::MAX_ITEMS;
use folkmoot_hub::request::kind;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::path_parts;
use super::refusals;
use super::shapes;

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// The whole document, finished.
pub fn completed(openapi: &OpenApi) -> Value {
    let mut document = serde_json::to_value(openapi).unwrap_or_default();
    name_moments(&mut document);
    let schemas = document["components"]["schemas"].clone();
    for (path, item) in fields_mut(&mut document["paths"]) {
        for (method, operation) in fields_mut(item).filter(|(method, _)| METHODS.contains(&method.as_str())) {
            complete(method, path, operation, &schemas);
        }
    }
    document["components"]["responses"] = refusals::responses();
    shapes::finish(&mut document["components"]["schemas"]);
    document
}

fn complete(method: &str, path: &str, operation: &mut Value, schemas: &Value) {
    operation["operationId"] = operation_id(method, path).into();
    let mut parameters: Vec<Value> = path_parts::of(path).map(|part| path_parts::parameter(path, part)).collect();
    parameters.extend(operation["parameters"].as_array().cloned().unwrap_or_default());
    for parameter in parameters.iter_mut().filter(|parameter| parameter["in"] == "header") {
        // A header is there or it is not, and holds what can be typed.
        parameter["schema"] = json!({ "type": "string", "maxLength": 255, "pattern": "^[ -~]*$" });
    }
    let most = parameters.iter_mut().find_map(|parameter| parameter["schema"].as_object_mut()?.remove(MAX_ITEMS));
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    require_body(operation, schemas);
    let statuses = refusals::of(method, path, operation);
    refusals::add(&mut operation["responses"], &statuses);
    for (status, response) in fields_mut(&mut operation["responses"]) {
        finish_response(status, response, most.as_ref());
    }
}

/// Names of handlers repeat from area to area; method and path do not.
fn operation_id(method: &str, path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "v1"));
    let words = parts.map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    std::iter::once(method.to_owned()).chain(words).collect::<Vec<_>>().join("_")
}

/// No body counts as `{}`, so one without required fields may be left out.
fn require_body(operation: &mut Value, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let json = &body["content"]["application/json"]["schema"];
    let is_required = json.is_null() || must_say_something(json, schemas);
    body["required"] = is_required.into();
}

fn must_say_something(schema: &Value, schemas: &Value) -> bool {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let schema = name.map_or(schema, |name| &schemas[name]);
    let has_required = schema["required"].as_array().is_some_and(|required| !required.is_empty());
    let parts = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    has_required || parts.iter().any(|part| must_say_something(part, schemas))
}

/// Every answer says what it is, a list how long it gets, and a file what it can be.
fn finish_response(status: &str, response: &mut Value, most: Option<&Value>) {
    if response["$ref"].is_string() {
        return;
    }
    if response["description"].as_str().is_none_or(str::is_empty) {
        response["description"] = described(status).into();
    }
    if let Some(content) = response["content"].as_object_mut().filter(|content| content.contains_key(kind::UNKNOWN)) {
        let bytes = json!({ "schema": { "type": "string", "format": "binary" } });
        *content = kind::all_served().map(|served| (served.to_owned(), bytes.clone())).collect();
    }
    for (_, content) in fields_mut(&mut response["content"]) {
        if let Some(most) = most.filter(|_| content["schema"]["type"] == "array") {
            content["schema"]["maxItems"] = most.clone();
        }
    }
    if response["content"].is_null()
        && let Some(response) = response.as_object_mut()
    {
        response.remove("content");
    }
}

fn described(status: &str) -> &'static str {
    match status {
        "201" => "what was made",
        _ => "what was asked for, or what became of it",
    }
}

/// A moment is a number of the core, which has no name of its own there.
fn name_moments(document: &mut Value) {
    rename(document, "#/components/schemas/i64", "#/components/schemas/Millis");
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.remove("i64");
        let moment = json!({
            "type": "integer", "format": "int64", "minimum": 0,
            "description": "A moment, in milliseconds since 1970.", "examples": [1_794_741_506_360_i64],
        });
        schemas.insert("Millis".to_owned(), moment);
    }
}

fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => *text = to.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, from, to)),
        _ => {}
    }
}

pub fn fields_mut(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flat_map(Map::iter_mut)
}

/// Names under which two parts of a surface describe different things.
pub fn described_twice(parts: &[OpenApi]) -> BTreeSet<String> {
    let mut twice = BTreeSet::new();
    let mut known = Map::new();
    for part in parts {
        let part = serde_json::to_value(part).unwrap_or_default();
        for (name, schema) in part["components"]["schemas"].as_object().into_iter().flatten() {
            let before = known.entry(name.clone()).or_insert_with(|| schema.clone());
            if before != schema {
                twice.insert(name.clone());
            }
        }
    }
    twice
}
