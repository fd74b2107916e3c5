//! Plays conversations that are written down as text.
//!
//! ```text
//! # A comment. A line that begins with a space continues the one before it.
//! OPEN alice                  a new connection that calls itself alice; `OPEN alice snek` is one of another door
//! LOGIN alice                 the same, logged in; what everybody hears of it is forgotten
//! C alice: {"type": …}        the client sends this frame; also BINARY, PONG, CLOSE
//! S alice: {"type": …}        the next thing it hears; also PING, CLOSE 1008 reason, NOTHING
//! T: +30s                     time passes
//! DO alice: task codebot …    something that comes in through another door
//! WINDOWS                     wakes wait for more, and what becomes of them is heard; otherwise they come at once
//! FORGET                      nobody cares for what was heard so far
//! ```
//! Frames may have more fields than are written down. `"*"` stands for any value, `null` for none, and `"$name"` for a
//! value that is given a name where it is seen first and must be the same from then on. Known from the start are the people
//! and channels of [`cast`]. At the end nothing may be left that somebody heard and nobody expected.

use std::collections::BTreeMap;

use folkmoot_core::command::{Command, CreateTask};
use folkmoot_core::ids::*;
use folkmoot_core::model::{Door, MemberKind, Priority};
use serde_json::{Value, json};

use super::harness::{Harness, Heard};
use super::support::World;
use crate::door::Protocol;
use crate::lark::Lark;
use crate::snek::Snek;

type Names = BTreeMap<String, String>;

/// alice (the owner), bob and the agents codebot and reviewbot are in the channel general; carol is not. `back` is a
/// private channel of alice and bob, `dm` the direct channel of alice and codebot. mallory is of another workspace.
pub fn cast() -> (Harness, Names) {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let (codebot, reviewbot) = (world.agent("codebot"), world.agent("reviewbot"));
    let general = world.channel("general", &[alice, bob, codebot, reviewbot]);
    let back = world.private("back", &[alice, bob]);
    let dm = world.direct(&[alice, codebot]);
    let (_, mallory) = world.register("mallory");
    let spy = world.add(mallory, MemberKind::Agent, "spy", None);
    let members = [("alice", alice), ("bob", bob), ("carol", carol), ("codebot", codebot), ("reviewbot", reviewbot)];
    let members = members.into_iter().chain([("mallory", mallory), ("spy", spy)]);
    let channels = [("general", general), ("back", back), ("dm", dm)];
    let mut names: Names = members.map(|(name, id)| (name.to_owned(), id.to_string())).collect();
    names.extend(channels.map(|(name, id)| (name.to_owned(), id.to_string())));
    names.insert("workspace".to_owned(), world.workspace.to_string());
    (Harness::new(world), names)
}

/// Plays a conversation; connections that name no door come in through `home`.
pub fn play(text: &str, home: &'static dyn Protocol) {
    let (harness, names) = cast();
    let mut player = Player { harness, home, names, line: 0 };
    for (number, line) in lines(text) {
        player.line = number;
        player.play(&line);
    }
    let left = player.harness.left_over();
    assert!(left.is_empty(), "nobody expected this:\n{left:#?}");
}

/// Numbered lines without comments, each with what continues it.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match line.chars().next() {
            None | Some('#') => {}
            Some(' ') => lines.last_mut().expect("something to continue").1.push_str(line.trim_start()),
            Some(_) => lines.push((index + 1, line.trim_end().to_owned())),
        }
    }
    lines
}

struct Player {
    harness: Harness,
    home: &'static dyn Protocol,
    names: Names,
    line: usize,
}

impl Player {
    fn play(&mut self, line: &str) {
        let (head, rest) = line.split_once(": ").unwrap_or((line, ""));
        match head.split_whitespace().collect::<Vec<_>>()[..] {
            ["OPEN", name] => self.harness.open(name, self.home),
            ["OPEN", name, door] => self.harness.open(name, self.door(door)),
            ["LOGIN", name] => self.log_in(name, self.home),
            ["LOGIN", name, door] => self.log_in(name, self.door(door)),
            ["C", name] => self.client(name, rest),
            ["S", name] => self.server(name, rest),
            ["T"] | ["T:"] => self.harness.later(duration(rest)),
            ["DO", name] => self.elsewhere(name, rest),
            ["FORGET"] => self.harness.forget(),
            ["WINDOWS"] => self.harness.with_windows(),
            _ => self.fail(&format!("what is `{line}`?")),
        }
    }

    fn fail(&self, why: &str) -> ! {
        panic!("line {}: {why}", self.line)
    }

    fn door(&self, name: &str) -> &'static dyn Protocol {
        match name {
            "lark" => &Lark,
            "snek" => &Snek::DOCUMENT,
            "snek-v2" => &Snek::V2,
            _ => self.fail(&format!("there is no door `{name}`")),
        }
    }

    fn log_in(&mut self, name: &str, protocol: &'static dyn Protocol) {
        self.harness.open(name, protocol);
        let login = if protocol.door() == Door::Lark {
            json!({ "type": "auth.login", "data": { "token": format!("token-of-{name}") } })
        } else {
            json!({ "method": "login", "args": [name, format!("password-of-{name}")], "callId": "login" })
        };
        self.harness.text(name, &login.to_string());
        let welcome = self.harness.next(name);
        let says = |key: &str, value: Value| matches!(&welcome, Some(Heard::Frame(frame)) if frame[key] == value);
        let is_welcome = says("type", json!("auth.success")) || says("success", json!(true));
        if !is_welcome {
            self.fail(&format!("{name} heard {welcome:?}"));
        }
        self.harness.forget();
    }

    fn client(&mut self, name: &str, what: &str) {
        match what {
            "BINARY" => self.harness.binary(name),
            "PONG" => self.harness.pong(name),
            "CLOSE" => self.harness.leave(name),
            text => self.harness.text(name, &self.with_names(text)),
        }
    }

    /// Known names are put in; what is unknown is left, as part of what the client wrote.
    fn with_names(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            match self.names.get(name) {
                Some(value) => whole.push_str(value),
                None => self.fail(&format!("`${name}` has no value yet")),
            }
            whole.push_str(rest);
        }
        whole
    }

    fn server(&mut self, name: &str, expected: &str) {
        let heard = self.harness.next(name);
        let fits = match (&heard, expected) {
            (None, "NOTHING") | (Some(Heard::Ping), "PING") => true,
            (Some(Heard::Closed(why)), expected) => format!("CLOSE {why}") == expected,
            (Some(Heard::Frame(frame)), expected) if expected.starts_with('{') => {
                let pattern: Value =
                    serde_json::from_str(expected).unwrap_or_else(|error| self.fail(&error.to_string()));
                match fit(&pattern, frame, &mut self.names, "frame") {
                    Ok(()) => true,
                    Err(why) => self.fail(&format!("{why}\nexpected: {expected}\nheard:    {frame}")),
                }
            }
            _ => false,
        };
        if !fits {
            self.fail(&format!("\nexpected: {expected}\n{name} heard: {heard:?}"));
        }
    }

    fn elsewhere(&mut self, name: &str, what: &str) {
        let actor = self.member(name);
        let command = match what.split_whitespace().collect::<Vec<_>>()[..] {
            ["task", to, channel, ref title @ ..] => Command::CreateTask(CreateTask {
                workspace: self.harness.world.workspace,
                channel: Some(self.channel(channel)),
                message: None,
                title: title.join(" "),
                description: String::new(),
                priority: Priority::Medium,
                assigned_to: Some(self.member(to)),
            }),
            ["add", member, channel] => {
                Command::AddToChannel { channel: self.channel(channel), member: self.member(member) }
            }
            ["remove", member, channel] => {
                Command::RemoveFromChannel { channel: self.channel(channel), member: self.member(member) }
            }
            ["expel", member] => Command::RemoveMember { member: self.member(member) },
            _ => self.fail(&format!("nobody can `{what}`")),
        };
        self.harness.elsewhere(actor, command);
    }

    fn member(&self, name: &str) -> MemberId {
        MemberId::parse(self.names.get(name).unwrap_or_else(|| self.fail(name)))
    }

    fn channel(&self, name: &str) -> ChannelId {
        ChannelId::parse(self.names.get(name).unwrap_or_else(|| self.fail(name)))
    }
}

/// `+30s`, `+500ms`
fn duration(text: &str) -> i64 {
    let number = |unit: &str| text.strip_prefix('+')?.strip_suffix(unit)?.parse::<i64>().ok();
    let parsed = number("ms").or_else(|| number("s").map(|seconds| seconds * 1000));
    parsed.unwrap_or_else(|| panic!("`{text}` is no time step"))
}

fn fit(pattern: &Value, actual: &Value, names: &mut Names, place: &str) -> Result<(), String> {
    match (pattern, actual) {
        (Value::String(any), actual) if any == "*" && !actual.is_null() => Ok(()),
        (Value::String(text), Value::String(actual)) if text.starts_with('$') => {
            let known = names.entry(text[1..].to_owned()).or_insert_with(|| actual.clone());
            if known == actual { Ok(()) } else { Err(format!("{place} is {actual}, not {text} ({known})")) }
        }
        (Value::Object(fields), Value::Object(actual)) => fields.iter().try_for_each(|(key, pattern)| {
            fit(pattern, actual.get(key).unwrap_or(&Value::Null), names, &format!("{place}.{key}"))
        }),
        (Value::Array(items), Value::Array(actual)) if items.len() == actual.len() => {
            let mut pairs = items.iter().zip(actual).enumerate();
            pairs.try_for_each(|(index, (pattern, item))| fit(pattern, item, names, &format!("{place}[{index}]")))
        }
        (pattern, actual) if pattern == actual => Ok(()),
        (pattern, actual) => Err(format!("{place} is {actual}, not {pattern}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "line 3")]
    fn a_wrong_expectation_fails_with_its_line() {
        play("# first\nOPEN alice\nS alice: PING\n", &Lark);
    }

    #[test]
    #[should_panic(expected = "nobody expected this")]
    fn what_nobody_expects_fails() {
        play("OPEN alice\nC alice: nonsense\n", &Lark);
    }

    #[test]
    fn patterns_fit_what_they_mean_and_nothing_else() {
        let mut names = Names::new();
        let mut fits = |pattern: &str, actual: &str| {
            let (pattern, actual) = (serde_json::from_str(pattern).unwrap(), serde_json::from_str(actual).unwrap());
            fit(&pattern, &actual, &mut names, "it").is_ok()
        };
        assert!(fits(r#"{"a":"*"}"#, r#"{"a":7,"b":1}"#));
        assert!(!fits(r#"{"a":"*"}"#, r#"{"b":1}"#));
        assert!(fits(r#"{"a":null}"#, "{}") && !fits(r#"{"a":null}"#, r#"{"a":1}"#));
        assert!(fits(r#"["$x"]"#, r#"["one"]"#) && fits(r#"["$x"]"#, r#"["one"]"#) && !fits(r#"["$x"]"#, r#"["two"]"#));
        assert!(!fits("[1]", "[1,2]") && !fits("1", "2"));
    }
}
