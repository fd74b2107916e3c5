//! Values: reading them from text, checking their kind, and showing them without secrets.

use toml::{Table, Value};

use super::Problem;
use super::keys::{self, Found, Kind};

/// Reads a value that came as text: from the environment, a flag, or `moot config set`.
pub fn parse_text(path: &str, text: &str) -> Result<Value, Problem> {
    let Found { kind, secret } = keys::find(path).unwrap_or(Found { kind: Kind::Any, secret: false });
    let parsed = match kind {
        Kind::Text => Some(Value::String(text.to_owned())),
        Kind::Choice(words) => words.contains(&text).then(|| Value::String(text.to_owned())),
        Kind::Flag => parse_flag(text).map(Value::Boolean),
        Kind::Integer => text.trim().parse().ok().map(Value::Integer),
        Kind::Count => text.trim().parse::<u32>().ok().map(|number| Value::Integer(number.into())),
        Kind::Number | Kind::Seconds => parse_number(text.trim()),
        Kind::TextList | Kind::IntegerList => parse_list(kind, text),
        Kind::Any => Some(toml_value(text).unwrap_or_else(|| Value::String(text.to_owned()))),
    };
    parsed.ok_or_else(|| {
        let shown = if secret { "***".to_owned() } else { format!("`{text}`") };
        Problem::new(format!("`{path}` must be {}, got {shown}", kind.expected()))
    })
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn parse_number(text: &str) -> Option<Value> {
    let whole = text.parse().ok().map(Value::Integer);
    whole.or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float))
}

/// `["a", "b"]` or `a, b`.
fn parse_list(kind: Kind, text: &str) -> Option<Value> {
    if text.trim_start().starts_with('[') {
        return toml_value(text).filter(|value| fits(kind, value));
    }
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let item = |word: &str| match kind {
        Kind::IntegerList => word.parse().ok().map(Value::Integer),
        _ => Some(Value::String(word.to_owned())),
    };
    words.map(item).collect::<Option<Vec<_>>>().map(Value::Array)
}

fn toml_value(text: &str) -> Option<Value> {
    let mut table: Table = format!("value = {text}").parse().ok()?;
    let value = table.remove("value")?;
    table.is_empty().then_some(value)
}

/// Whether a value of the file is of the kind that its key takes.
pub fn fits(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => true,
        (Kind::Integer | Kind::Number | Kind::Seconds, Value::Integer(_)) | (Kind::Any, _) => true,
        (Kind::Count, Value::Integer(number)) => u32::try_from(*number).is_ok(),
        (Kind::Choice(words), Value::String(word)) => words.contains(&word.as_str()),
        (Kind::Number | Kind::Seconds, Value::Float(number)) => number.is_finite(),
        (Kind::TextList, Value::Array(items)) => items.iter().all(Value::is_str),
        (Kind::IntegerList, Value::Array(items)) => items.iter().all(Value::is_integer),
        _ => false,
    }
}

/// "`key` must be … , got …".
pub fn wrong_type(path: &str, expected: &str, value: &Value) -> Problem {
    let secret = keys::find(path).is_some_and(|known| known.secret);
    let got = match value {
        Value::String(text) if !secret => format!("the text \"{text}\""),
        Value::Integer(number) if !secret => format!("the number {number}"),
        Value::Float(number) if !secret => format!("the number {number}"),
        Value::Boolean(flag) => flag.to_string(),
        Value::Array(items) => {
            match items.iter().map(bare).reduce(|all, item| if all == item { all } else { "mixed items" }) {
                None => "an empty list".to_owned(),
                Some(items) => format!("a list with {items}"),
            }
        }
        other => bare(other).to_owned(),
    };
    Problem::new(format!("`{path}` must be {expected}, got {got}"))
}

fn bare(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// The value as it may be shown: secrets and the passwords inside addresses are `***`.
pub fn shown(path: &str, value: &Value) -> Value {
    let secret = keys::find(path).is_some_and(|known| known.secret);
    match value {
        Value::String(text) if text.is_empty() => value.clone(),
        Value::String(text) if !secret => Value::String(without_password(text)),
        _ if secret => Value::String("***".to_owned()),
        _ => value.clone(),
    }
}

fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else {
        return text.to_owned();
    };
    match rest[..at].split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***{}", &rest[at..]),
        None => text.to_owned(),
    }
}

/// Every leaf of a table as (`dotted.path`, value), in the order of the catalogue.
pub fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    collect("", table, &mut found);
    let place = |path: &str| keys::sections().iter().position(|name| path.starts_with(&format!("{name}.")));
    let row = |path: &str| keys::KEYS.iter().position(|key| key.path == path);
    found.sort_by_cached_key(|(path, _)| (place(path), row(path).is_none(), row(path), path.clone()));
    found
}

fn collect<'a>(prefix: &str, table: &'a Table, found: &mut Vec<(String, &'a Value)>) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(below) if keys::is_section(&path) => collect(&path, below, found),
            _ => found.push((path, value)),
        }
    }
}
