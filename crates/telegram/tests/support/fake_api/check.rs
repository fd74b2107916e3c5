//! What the server refuses about a text, its entities, buttons and commands, in its own words.

use serde_json::Value;

const MAX_TEXT: usize = 4096;
/// The rest is ignored.
const MAX_ENTITIES: usize = 100;
const MAX_ENTITY_BYTES: usize = 9500;

pub fn text(body: &Value) -> Result<String, String> {
    let text = body["text"].as_str().unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return Err("Bad Request: message text is empty".into());
    }
    // Servers count either characters or UTF-16 units.
    if text.chars().count().max(text.encode_utf16().count()) > MAX_TEXT {
        return Err("Bad Request: message is too long".into());
    }
    Ok(text)
}

pub fn entities(body: &Value) -> Result<Value, String> {
    let text = body["text"].as_str().unwrap_or_default();
    let Some(entities) = body["entities"].as_array() else { return Ok(Value::Array(Vec::new())) };
    let mut bytes = 0;
    for entity in entities {
        one_entity(entity, text)?;
        let extra = |key: &str| entity[key].as_str().map_or(0, |value| value.len() + 4);
        bytes += 12 + extra("url") + extra("language");
    }
    if bytes > MAX_ENTITY_BYTES {
        return Err("Bad Request: ENTITIES_TOO_LONG".into());
    }
    Ok(entities.iter().take(MAX_ENTITIES).cloned().collect())
}

fn one_entity(entity: &Value, text: &str) -> Result<(), String> {
    let known = [
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "blockquote",
        "expandable_blockquote",
        "code",
        "pre",
        "text_link",
    ];
    let kind = entity["type"].as_str().unwrap_or_default();
    if !known.contains(&kind) {
        return Err(format!("Bad Request: can't parse entities: unsupported type \"{kind}\" specified"));
    }
    let (Some(offset), Some(length)) = (entity["offset"].as_u64(), entity["length"].as_u64()) else {
        return Err("Bad Request: can't parse entities: no offset or length".into());
    };
    let (offset, end) = (offset as usize, (offset + length) as usize);
    let units: Vec<u16> = text.encode_utf16().collect();
    if length == 0 || end > units.len() {
        return Err(format!("Bad Request: entity beginning at UTF-16 offset {offset} ends after the end of the text"));
    }
    let splits = |at: usize| at > 0 && at < units.len() && (0xdc00..0xe000).contains(&units[at]);
    if splits(offset) || splits(end) {
        return Err("Bad Request: entity begins or ends in a middle of a UTF-16 symbol".into());
    }
    let url = entity["url"].as_str().unwrap_or_default();
    if kind == "text_link" && !["http://", "https://", "tg://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err("Bad Request: can't parse entities: wrong URL".into());
    }
    Ok(())
}

pub fn keyboard(body: &Value) -> Result<Value, String> {
    let rows = body["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    for button in rows.iter().filter_map(Value::as_array).flatten() {
        let data = button["callback_data"].as_str().unwrap_or_default();
        if data.is_empty() || data.len() > 64 {
            return Err("Bad Request: BUTTON_DATA_INVALID".into());
        }
        if button["text"].as_str().unwrap_or_default().is_empty() {
            return Err("Bad Request: text buttons are not allowed to be empty".into());
        }
    }
    Ok(Value::Array(rows.into_iter().filter(|row| row.as_array().is_some_and(|row| !row.is_empty())).collect()))
}

pub fn commands(body: &Value) -> Result<(), String> {
    let commands = body["commands"].as_array().ok_or("Bad Request: can't parse commands")?;
    if commands.len() > 100 {
        return Err("Bad Request: BOT_COMMANDS_TOO_MUCH".into());
    }
    for command in commands {
        let name = command["command"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            return Err("Bad Request: BOT_COMMAND_INVALID".into());
        }
        let description = command["description"].as_str().unwrap_or_default().chars().count();
        if !(1..=256).contains(&description) {
            return Err("Bad Request: BOT_COMMAND_DESCRIPTION_INVALID".into());
        }
    }
    Ok(())
}
