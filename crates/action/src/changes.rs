//! Changes of files as differences, out of the fields in which engines put them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{diff, json, known};

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file, with what happens to it as a whole.
    pub file: String,
    pub text: String,
}

/// Takes a change of one file out of what a tool is given: old and new text, a whole content, a patch. What is not
/// recognised stays where it is.
pub fn take(fields: &mut Map<String, Value>) -> Vec<FileDiff> {
    let path = known::PATHS.into_iter().find(|name| fields.get(*name).is_some_and(Value::is_string));
    let file = path.and_then(|name| fields[name].as_str()).unwrap_or("Changes").to_owned();
    let mut texts: Vec<String> = Vec::new();
    for (old, new) in [("old_string", "new_string"), ("oldString", "newString"), ("old_source", "new_source")] {
        if let (Some(before), Some(after)) = (text(fields, old), text(fields, new)) {
            texts.push(diff::between(before, after));
            fields.remove(old);
            fields.remove(new);
        }
    }
    if path.is_some() {
        for new in ["content", "new_source", "file_text"] {
            if let Some(after) = text(fields, new) {
                texts.push(diff::all('+', after));
                fields.remove(new);
            }
        }
        if let Some(all) = fields.get("edits").and_then(edits) {
            texts.extend(all);
            fields.remove("edits");
        }
    }
    for name in ["diff", "unified_diff", "patch"] {
        if let Some(patch) = text(fields, name).map(str::to_owned) {
            texts.push(patch);
            fields.remove(name);
        }
    }
    if let Some(name) = path.filter(|_| !texts.is_empty()) {
        fields.remove(name);
    }
    texts.into_iter().map(|text| FileDiff { file: file.clone(), text }).collect()
}

/// Changes of several files as codex names them; none when they look otherwise.
pub fn of_files(changes: &Value) -> Option<Vec<FileDiff>> {
    let files: Vec<(&str, &Value)> = match changes {
        Value::Array(all) => all.iter().map(|file| Some((file.get("path")?.as_str()?, file))).collect::<Option<_>>()?,
        Value::Object(all) => all.iter().map(|(path, file)| (path.as_str(), file)).collect(),
        _ => return None,
    };
    (!files.is_empty()).then(|| files.into_iter().map(|(path, file)| one_file(path, file)).collect())
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// Several edits of a file; none when one of them has more to it than old and new text.
fn edits(edits: &Value) -> Option<Vec<String>> {
    let all: Vec<String> = edits.as_array()?.iter().map(one_edit).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

fn one_edit(edit: &Value) -> Option<String> {
    let pair = |old: &str, new: &str| Some((edit.get(old)?.as_str()?, edit.get(new)?.as_str()?));
    let (old, new) = pair("old_string", "new_string").or_else(|| pair("oldString", "newString"))?;
    let plain = json::only(edit, &["old_string", "new_string", "oldString", "newString", "replace_all", "replaceAll"]);
    let everywhere = ["replace_all", "replaceAll"].iter().any(|name| edit.get(*name).is_some_and(|all| *all != false));
    let word = if everywhere { "@@ everywhere @@\n" } else { "" };
    plain.then(|| format!("{word}{}", diff::between(old, new)))
}

fn one_file(path: &str, file: &Value) -> FileDiff {
    let kind = file.get("kind").unwrap_or(file);
    let word = kind.as_str().or_else(|| kind.get("type").and_then(Value::as_str));
    let moved = [kind, file].iter().find_map(|at| at.get("move_path").and_then(Value::as_str));
    let text = ["diff", "unified_diff", "content"].iter().find_map(|name| file.get(*name).and_then(Value::as_str));
    let known = ["path", "kind", "type", "move_path", "diff", "unified_diff", "content"];
    let plain =
        json::only(file, &known) && (kind == file || kind.is_string() || json::only(kind, &["type", "move_path"]));
    let (Some(word), Some(text), true) = (word, text, plain) else {
        return FileDiff { file: path.to_owned(), text: json::pretty(file) };
    };
    let label = match (word, moved) {
        (_, Some(moved)) => format!("{path} → {moved}"),
        ("add", None) => format!("{path} (new)"),
        ("delete", None) => format!("{path} (deleted)"),
        _ => path.to_owned(),
    };
    let text = match word {
        "add" if !text.starts_with("@@") => diff::all('+', text),
        "delete" if !text.starts_with("@@") => diff::all('-', text),
        _ => text.to_owned(),
    };
    // Both could be there; the one that was not taken must not be lost.
    let texts = known[4..].iter().filter(|name| file.get(**name).is_some()).count();
    let text = if texts > 1 { json::pretty(file) } else { text };
    FileDiff { file: label, text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_taken_is_gone_and_the_rest_stays() {
        let mut fields = json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
        let fields = fields.as_object_mut().unwrap();
        assert_eq!(take(fields), [FileDiff { file: "a".into(), text: "-x\n+y".into() }]);
        assert_eq!(*fields, *json!({"replace_all": true}).as_object().unwrap());
        let mut half = json!({"file_path": "a", "old_string": "x"});
        let before = half.clone();
        assert!(take(half.as_object_mut().unwrap()).is_empty());
        assert_eq!(half, before, "half a change is none");
    }
}
