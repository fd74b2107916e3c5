//! From a typed Rust function to the definition of a tool (section 12).

use folkmoot_clients::llm;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The definition of a tool whose arguments are `A`: the comment on the type describes the tool, its fields are the
/// parameters, and a field with a default is optional.
pub fn definition<A: JsonSchema>(name: &str) -> llm::Tool {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let description = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    let properties: Map<String, Value> = fields.iter().map(|(name, field)| (name.clone(), parameter(field))).collect();
    let required = match schema.get("required") {
        Some(required) => required.clone(),
        None => json!([]),
    };
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    llm::Tool { name: name.to_owned(), description, parameters }
}

/// Names that are never offered to the model: what begins with `_`, and the two that belong to the system itself.
pub fn is_offered(name: &str) -> bool {
    !name.starts_with('_') && !matches!(name, "serialize" | "handle")
}

/// One parameter in the document's words: its type, and what else helps the model.
fn parameter(field: &Value) -> Value {
    let mut result = Map::new();
    result.insert("type".to_owned(), json!(json_type(field)));
    for kept in ["description", "default", "enum"] {
        // `null` as a default only says that the parameter may be left out, and being optional says that already.
        if let Some(value) = field.get(kept).filter(|value| !value.is_null()) {
            result.insert(kept.to_owned(), value.clone());
        }
    }
    if let Some(items) = field.get("items") {
        result.insert("items".to_owned(), parameter(items));
    }
    Value::Object(result)
}

/// The type mapping of the document; an optional value has the type of the value, and the default is `string`.
fn json_type(field: &Value) -> &str {
    match &field["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("string"),
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Looks something up.
    /// In two lines.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Everything {
        /// What to look for.
        text: String,
        count: i64,
        exact: bool,
        names: Vec<String>,
        query: Map<String, Value>,
        nothing: (),
        anything: Value,
        #[serde(default = "ten")]
        limit: u32,
        #[serde(default)]
        hint: Option<String>,
    }

    fn ten() -> u32 {
        10
    }

    fn parameters() -> Value {
        definition::<Everything>("look_up").parameters
    }

    #[test]
    fn the_types_are_mapped_as_the_table_says() {
        let rows = [
            ("text", "string"),
            ("count", "integer"),
            ("exact", "boolean"),
            ("names", "array"),
            ("query", "object"),
            ("nothing", "null"),
            ("anything", "string"),
            ("hint", "string"),
        ];
        for (name, expected) in rows {
            assert_eq!(parameters()["properties"][name]["type"], expected, "{name}");
        }
    }

    #[test]
    fn parameters_with_defaults_are_optional_and_the_others_required() {
        let required = ["text", "count", "exact", "names", "query", "nothing", "anything"];
        assert_eq!(parameters()["required"], json!(required));
        assert_eq!(parameters()["properties"]["limit"], json!({"type": "integer", "default": 10}));
    }

    #[test]
    fn name_and_comment_become_name_and_description() {
        let tool = serde_json::to_value(definition::<Everything>("look_up")).unwrap();
        assert_eq!(tool["type"], "function");
        assert_eq!(tool["function"]["name"], "look_up");
        assert_eq!(tool["function"]["description"], "Looks something up. In two lines.");
        assert_eq!(tool["function"]["parameters"]["type"], "object");
        let text = &tool["function"]["parameters"]["properties"]["text"];
        assert_eq!(text, &json!({"type": "string", "description": "What to look for."}));
    }

    #[test]
    fn private_names_and_the_systems_own_are_not_offered() {
        for name in ["_secret", "serialize", "handle"] {
            assert!(!is_offered(name), "{name}");
        }
        assert!(is_offered("database_find"));
    }
}
