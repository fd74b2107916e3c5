//! What the schemas of bodies and answers share: the shapes of texts, and examples by the name of a field.

use serde_json::{Value, json};

use super::complete::fields_mut;

/// One character that can be seen, and none of these. The core's rule is finer where letters join and in emoji.
macro_rules! name_class {
    ($also_not:literal) => {
        concat!(
            "[^",
            $also_not,
            r"\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u1680",
            r"\u17b4\u17b5\u180b-\u180f\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff",
            r"\uffa0\ufff0-\ufffb",
            "\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]"
        )
    };
}

/// A field says by name what its text must look like; here is what that means.
const SHAPES: &[(&str, &str)] = &[
    // Something that can be read, on one line, without the spaces around it that are cut off.
    ("line", r"^[^\s\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f])?$"),
    // Nothing but what can be read, on any number of lines.
    ("lines", r"^[^\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f]*$"),
    // The same on one line, or nothing.
    ("plain", r"^[^\u0000-\u001f\u007f-\u009f]*$"),
    // Something, on any number of lines.
    ("text", r"\S"),
    // A name in which everything can be seen.
    ("name", concat!("^", name_class!("@# "), "(", name_class!(""), "*", name_class!(" "), ")?$")),
    ("nick", concat!("^(", name_class!(" "), "(", name_class!(""), "*", name_class!(" "), ")?)?$")),
    ("email_or_none", r"^([^\s@\u0000-\u001f\u007f-\u009f]+@[^\s\u0000-\u001f\u007f-\u009f]+)?$"),
    ("email", r"^[^\s@\u0000-\u001f\u007f-\u009f]+@[^\s\u0000-\u001f\u007f-\u009f]+$"),
];

/// Examples for fields that have none of their own.
const EXAMPLES: &[(&str, &str)] = &[
    ("workspace_id", "ws_01JCZ8Q3V7K5R2M9X4T6B8C0D1"),
    ("member_id", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2"),
    ("agent_id", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3"),
    ("sender_id", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2"),
    ("reviewer_id", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2"),
    ("assigned_to", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D3"),
    ("created_by", "mem_01JCZ8Q3V7K5R2M9X4T6B8C0D2"),
    ("channel_id", "ch_01JCZ8Q3V7K5R2M9X4T6B8C0D4"),
    ("message_id", "msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5"),
    ("thread_id", "msg_01JCZ8Q3V7K5R2M9X4T6B8C0D5"),
    ("file_id", "file_01JCZ8Q3V7K5R2M9X4T6B8C0D6"),
    ("run_id", "run_01JCZ8Q3V7K5R2M9X4T6B8C0D7"),
    ("delivery_id", "dlv_01JCZ8Q3V7K5R2M9X4T6B8C0D8"),
    ("guild_id", "guild-1"),
    ("voice_channel_id", "voice-1"),
    ("content", "hello @codebot"),
    ("title", "Write the release notes"),
    ("subject", "The release notes"),
    ("description", "what changed, in plain words"),
    ("name", "general"),
    ("topic", "what everybody should know"),
    ("email", "ann@example.org"),
    ("password", "correct horse battery"),
    ("new_password", "correct horse battery"),
    ("code", "5f0c9b27ae1d4c83a6f2e9b07d51c4aa"),
    ("key", "standup"),
    ("namespace", "default"),
    ("value", "Tuesday"),
    ("payload", "{\"version\":\"1.2.0\"}"),
    ("why", "somebody else answered"),
    ("note", "go ahead"),
    ("comment", "reads well"),
    ("text", "remember to buy milk"),
    ("slug", "ann"),
];

/// Resolves the names of shapes and fills in examples, in all schemas.
pub fn finish(schemas: &mut Value) {
    for (_, schema) in fields_mut(schemas) {
        finish_one(schema);
    }
}

fn finish_one(schema: &mut Value) {
    for (name, property) in fields_mut(&mut schema["properties"]) {
        shape(property);
        bound(property);
        exemplify(name, property);
    }
    for part in schema["allOf"].as_array_mut().into_iter().flatten() {
        finish_one(part);
    }
    tidy(schema);
}

fn shape(property: &mut Value) {
    let named = SHAPES.iter().find(|(name, _)| property["pattern"] == *name);
    if let Some((_, pattern)) = named {
        property["pattern"] = (*pattern).into();
    }
}

/// A number that is never negative ends where its type does; the format of signed numbers ends earlier.
fn bound(property: &mut Value) {
    if property["minimum"] != 0 || !property["maximum"].is_null() {
        return;
    }
    match property["format"].as_str() {
        Some("int64") => property["maximum"] = u64::MAX.into(),
        Some("int32") => {
            property["format"] = "int64".into();
            property["maximum"] = u32::MAX.into();
        }
        _ => {}
    }
}

fn exemplify(name: &str, property: &mut Value) {
    let is_any = property["type"].is_null() && ["$ref", "oneOf"].iter().all(|word| property[word].is_null());
    let is_text = is_any || property["type"] == "string" || property["type"] == json!(["string", "null"]);
    let example = EXAMPLES.iter().find(|(field, _)| *field == name).map(|(_, example)| *example);
    match (property.as_object_mut(), example) {
        // JSON Schema's own word, since 3.1; the other one is of OpenAPI before it.
        (Some(fields), _) if fields.contains_key("example") => {
            let own = fields.remove("example").unwrap_or_default();
            fields.insert("examples".to_owned(), json!([own]));
        }
        (Some(fields), Some(example)) if is_text => {
            fields.insert("examples".to_owned(), json!([example]));
        }
        _ => {}
    }
}

/// Looking into a field that is not there makes it `null`.
fn tidy(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, value| !value.is_null() || name == "const" || name == "default");
    }
}
