//! The lines of a script: the events of the model, with everything optional that we can fill in.

use serde_json::{Value, json};

use super::ID;
use crate::event::EngineEvent;

/// The event of a line; fields that a script need not repeat are filled in.
pub fn read(line: &Value) -> Option<EngineEvent> {
    let mut line = line.clone();
    let object = line.as_object_mut()?;
    object.insert("engine".into(), json!(ID));
    match object.get("type")?.as_str()? {
        "started" => {
            object.entry("resume").or_insert_with(|| json!({"engine": ID, "value": ""}));
        }
        "action" => {
            object.entry("phase").or_insert_with(|| json!("completed"));
        }
        "completed" => {
            object.entry("ok").or_insert_with(|| json!(true));
            object.entry("answer").or_insert_with(|| json!(""));
        }
        _ => {}
    }
    serde_json::from_value(line).ok()
}
