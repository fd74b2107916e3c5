//! Changes one key of the configuration file and leaves comments, order and layout as they were.

use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::load::{file_path, load_text};
use super::{ConfigError, Problem, Sources, keys, values};

/// Sets `path` to the value that `text` means and returns the file; nothing is written unless the result is good.
pub fn set(sources: &Sources, path: &str, text: &str) -> Result<PathBuf, ConfigError> {
    if keys::find(path).is_none() {
        let problem = Problem::new(format!("unknown key `{path}`"));
        return Err(match keys::suggest(path) {
            Some(near) => problem.hint(format!("the nearest known one is `{near}`")).into(),
            None => problem.into(),
        });
    }
    let value = values::parse_text(path, text)?;
    let (file, _) = file_path(sources)?;
    let before = read_or_empty(&file)?;
    let after = replaced(&file, &before, path, &value)?;
    refuse_new_problems(sources, &file, &before, &after)?;
    write(&file, &after).map_err(|error| {
        Problem::new(format!("the configuration file cannot be written: {error}")).at(file.display().to_string())
    })?;
    Ok(file)
}

/// Takes a table or a key out of the file; nothing is written unless the result is good.
pub fn remove(sources: &Sources, path: &str) -> Result<PathBuf, ConfigError> {
    let (file, _) = file_path(sources)?;
    let before = read_or_empty(&file)?;
    let named = |problem: Problem| problem.at(file.display().to_string());
    let mut document: DocumentMut = before
        .parse()
        .map_err(|error: toml_edit::TomlError| named(Problem::new(error.message().trim().replace('\n', ", "))))?;
    let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for part in above.split('.').filter(|part| !part.is_empty()) {
        table = table.and_then(|table| table.get_mut(part)?.as_table_like_mut());
    }
    if table.and_then(|table| table.remove(name)).is_none() {
        return Err(named(Problem::new(format!("`{path}` is not in the configuration file"))).into());
    }
    let after = document.to_string();
    refuse_new_problems(sources, &file, &before, &after)?;
    write(&file, &after)
        .map_err(|error| named(Problem::new(format!("the configuration file cannot be written: {error}"))))?;
    Ok(file)
}

fn read_or_empty(file: &Path) -> Result<String, Problem> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|error| {
            Problem::new(format!("the configuration file cannot be read: {error}")).at(file.display().to_string())
        }),
    }
}

fn replaced(file: &Path, before: &str, path: &str, value: &toml::Value) -> Result<String, Problem> {
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| {
        Problem::new(error.message().trim().replace('\n', ", ")).at(file.display().to_string())
    })?;
    put(document.as_table_mut(), path, item_of(value)).map_err(|problem| problem.at(file.display().to_string()))?;
    Ok(document.to_string())
}

fn item_of(value: &toml::Value) -> Item {
    let text = format!("value = {value}");
    let document: DocumentMut = text.parse().expect("a printed value can be read");
    document["value"].clone()
}

fn put(table: &mut dyn TableLike, path: &str, new: Item) -> Result<(), Problem> {
    let Some((head, rest)) = path.split_once('.') else {
        place(table, path, new);
        return Ok(());
    };
    let below = table.entry(head).or_insert_with(|| Item::Table(section(rest)));
    match below.as_table_like_mut() {
        Some(below) => put(below, rest, new),
        None => Err(Problem::new(format!("`{head}` is not a table"))),
    }
}

/// A table that only holds further tables needs no header of its own.
fn section(rest: &str) -> Table {
    let mut table = Table::new();
    table.set_implicit(rest.contains('.'));
    table
}

fn place(table: &mut dyn TableLike, name: &str, mut new: Item) {
    if let (Some(old), Some(new)) = (table.get(name).and_then(Item::as_value), new.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(name) {
        Some(old) => *old = new,
        None => {
            table.insert(name, new);
        }
    }
}

/// A file that was wrong before may stay wrong elsewhere, or it could never be mended key by key.
fn refuse_new_problems(sources: &Sources, file: &Path, before: &str, after: &str) -> Result<(), ConfigError> {
    let problems = |text: &str| match load_text(sources, file.to_owned(), text.to_owned()) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems,
    };
    let known = problems(before);
    let fresh: Vec<Problem> = problems(after)
        .into_iter()
        .filter(|problem| !known.iter().any(|old| old.sentence == problem.sentence))
        .collect();
    if fresh.is_empty() { Ok(()) } else { Err(ConfigError { problems: fresh }) }
}

/// Writes beside the file and renames, so that nobody ever reads half of it. New files are for the owner only.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folkmoot_hub::modes::make_folder(folder)?;
    let mode = std::fs::metadata(&target).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
    let draft = folder.join(format!(".config.toml.{}", std::process::id()));
    let mut output = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&draft)?;
    let written = output.write_all(text.as_bytes()).and_then(|()| output.sync_all());
    let renamed = written.and_then(|()| std::fs::rename(&draft, &target));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    renamed
}
