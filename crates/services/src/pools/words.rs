//! Commands that people type and what agents answer, in words; used in channels and in the terminal.

use serde_json::{Map, Value, json};

/// Longer lists are cut, and say so.
const MAX_LISTED: usize = 10;

/// What somebody typed, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub op: &'static str,
    pub data: Map<String, Value>,
}

/// Reads a message that begins with `/`: none when it is no command of pools, the right usage when it is a wrong one.
pub fn understand(text: &str) -> Option<Result<Order, &'static str>> {
    let text = text.trim().strip_prefix('/')?;
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let order = match word.to_lowercase().as_str() {
        "play" => with_text("play", rest).ok_or("say what to play: /play TITLE or ARTIST"),
        "search" => with_text("search", rest).ok_or("say what to look for: /search WORDS"),
        "volume" => volume(rest).ok_or("say how loud, from 0 to 150: /volume 80"),
        "remove" => positions(rest, &["index"], "remove").ok_or("say which of the queue: /remove 2"),
        "move" => positions(rest, &["from", "to"], "move").ok_or("say from where to where: /move 5 1"),
        plain => match PLAIN.iter().find(|known| **known == plain) {
            Some(op) => Ok(Order { op, data: Map::new() }),
            None => return None,
        },
    };
    Some(order)
}

/// Commands that take nothing.
const PLAIN: [&str; 8] = ["pause", "resume", "skip", "stop", "queue", "status", "shuffle", "clear"];

fn with_text(op: &'static str, query: &str) -> Option<Order> {
    (!query.is_empty()).then(|| Order { op, data: Map::from_iter([("query".to_owned(), json!(query))]) })
}

fn volume(rest: &str) -> Option<Order> {
    let volume: u32 = rest.trim_end_matches('%').parse().ok().filter(|volume| *volume <= 150)?;
    Some(Order { op: "volume", data: Map::from_iter([("volume".to_owned(), json!(volume))]) })
}

/// People count from one, agents from zero.
fn positions(rest: &str, names: &[&str], op: &'static str) -> Option<Order> {
    let numbers: Vec<u32> = rest.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    if numbers.len() != names.len() || numbers.contains(&0) {
        return None;
    }
    let data = names.iter().zip(numbers).map(|(name, number)| ((*name).to_owned(), json!(number - 1)));
    Some(Order { op, data: data.collect() })
}

/// What an agent answered to an operation, in a sentence or a short list.
pub fn answer(op: &str, outcome: &Result<Value, String>) -> String {
    match outcome {
        Ok(data) => answered(op, data),
        Err(error) => complaint(error),
    }
}

fn answered(op: &str, data: &Value) -> String {
    match op {
        "play" => played(data),
        "search" => listed("Found", &data["tracks"], "Nothing found."),
        "queue" => queue(data),
        "status" => status(data),
        "volume" => format!("Volume {}.", data["volume"].as_u64().map_or_else(String::new, |level| level.to_string())),
        "shuffle" => "Shuffled the queue.".to_owned(),
        "clear" => "Cleared the queue.".to_owned(),
        "remove" => "Removed it from the queue.".to_owned(),
        "move" => "Moved it.".to_owned(),
        _ => data["action"].as_str().map_or_else(|| "Done.".to_owned(), action),
    }
}

fn played(data: &Value) -> String {
    match (track(&data["track"]), data["action"].as_str()) {
        (Some(track), Some("queued")) => format!("Queued: {track}"),
        (Some(track), _) => format!("Playing: {track}"),
        (None, _) => "Nothing found.".to_owned(),
    }
}

fn queue(data: &Value) -> String {
    let current = track(&data["current"]).map(|track| format!("Playing: {track}\n")).unwrap_or_default();
    format!("{current}{}", listed("Queue", &data["tracks"], "The queue is empty."))
}

fn status(data: &Value) -> String {
    let Some(track) = track(&data["current"]) else { return "Nothing is playing.".to_owned() };
    let state = if data["paused"].as_bool().unwrap_or(false) { "Paused" } else { "Playing" };
    let waiting = data["queueLength"].as_u64().unwrap_or(0);
    let volume = data["volume"].as_u64().map(|volume| format!(", volume {volume}")).unwrap_or_default();
    format!("{state}: {track} ({waiting} waiting{volume})")
}

fn action(action: &str) -> String {
    match action {
        "paused" => "Paused.",
        "already-paused" => "It is paused already.",
        "resumed" => "Playing again.",
        "already-playing" => "It is playing already.",
        "nothing-playing" => "Nothing is playing.",
        "nothing-to-skip" => "There is nothing to skip.",
        "skipped" => "Skipped.",
        "stopped" => "Stopped.",
        "stopping" => "Stopping.",
        other => return format!("Done: {other}."),
    }
    .to_owned()
}

/// The errors of the protocol for people; an agent's own sentence is passed on.
fn complaint(error: &str) -> String {
    match error {
        "no-session" | "missing-session" => "Nothing is playing here.",
        "not-owner" | "assistant-not-owner" => "Only whoever began this session may do that.",
        "not-in-voice" => "You have to be in the voice channel for that.",
        "not-in-guild" => "The agent, or whoever asks, is not in this guild.",
        "queue-full" => "The queue is full.",
        "queue-too-long" => "The queue would get too long.",
        "track-too-long" => "That track is too long.",
        "bad-volume" => "The volume goes from 0 to 150.",
        "bad-index" => "There is no such place in the queue.",
        "unknown-op" => "The agent does not know this command.",
        "agent-timeout" => "The agent did not answer in time.",
        "agent-offline" => "The agent is not connected.",
        "agent-circuit-open" => "The agent failed too often and is left alone for a while.",
        "agent-overloaded" => "The agent is too busy.",
        "no-free-agents" => "All agents of this guild are busy.",
        "no-agents-in-guild" => "No agent is in this guild.",
        other => return format!("It did not work: {other}"),
    }
    .to_owned()
}

fn listed(title: &str, tracks: &Value, empty: &str) -> String {
    let tracks: Vec<_> = tracks.as_array().into_iter().flatten().filter_map(track).collect();
    if tracks.is_empty() {
        return empty.to_owned();
    }
    let shown = tracks.iter().take(MAX_LISTED).enumerate().map(|(index, track)| format!("{}. {track}", index + 1));
    let more = tracks.len().saturating_sub(MAX_LISTED);
    let rest = (more > 0).then(|| format!("and {more} more"));
    let lines: Vec<_> = std::iter::once(format!("{title}:")).chain(shown).chain(rest).collect();
    lines.join("\n")
}

/// `Title — Artist (3:33)`; none when there is no track.
fn track(track: &Value) -> Option<String> {
    let title = track["title"].as_str()?;
    let author = track["author"].as_str().filter(|author| !author.is_empty());
    let length = [&track["length"], &track["duration"]].into_iter().find_map(Value::as_f64);
    let author = author.map(|author| format!(" — {author}")).unwrap_or_default();
    let length = length.map(|length| format!(" ({})", minutes(length / 1000.0))).unwrap_or_default();
    Some(format!("{title}{author}{length}"))
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Option<(&'static str, Value)> {
        understand(text)?.ok().map(|order| (order.op, Value::Object(order.data)))
    }

    #[test]
    fn commands_are_read_in_any_case_and_with_any_blanks() {
        assert_eq!(order("/play  never gonna "), Some(("play", json!({ "query": "never gonna" }))));
        assert_eq!(order(" /PAUSE"), Some(("pause", json!({}))));
        assert_eq!(order("/volume 80%"), Some(("volume", json!({ "volume": 80 }))));
        assert_eq!(order("/move 5 1"), Some(("move", json!({ "from": 4, "to": 0 }))));
        assert_eq!(order("/remove 2"), Some(("remove", json!({ "index": 1 }))));
        for plain in PLAIN {
            assert_eq!(order(&format!("/{plain}")), Some((plain, json!({}))));
        }
    }

    #[test]
    fn other_words_are_not_for_pools() {
        for text in ["", "/", "play x", "/players", "/wake bob", "//play x"] {
            assert!(understand(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_command_that_lacks_something_is_told_what() {
        for text in
            ["/play", "/search  ", "/volume", "/volume 151", "/volume loud", "/remove 0", "/remove x", "/move 1"]
        {
            assert!(understand(text).unwrap().is_err(), "{text:?}");
        }
    }

    #[test]
    fn answers_of_agents_become_sentences() {
        let track = json!({ "title": "Song", "author": "Band", "length": 213_000 });
        let cases = [
            ("play", json!({ "track": track, "action": "playing" }), "Playing: Song — Band (3:33)"),
            ("play", json!({ "track": track, "action": "queued" }), "Queued: Song — Band (3:33)"),
            ("play", json!({ "track": null, "action": "none" }), "Nothing found."),
            ("search", json!({ "tracks": [track] }), "Found:\n1. Song — Band (3:33)"),
            ("search", json!({ "tracks": [] }), "Nothing found."),
            ("queue", json!({ "current": track, "tracks": [] }), "Playing: Song — Band (3:33)\nThe queue is empty."),
            ("status", json!({ "current": null }), "Nothing is playing."),
            (
                "status",
                json!({ "current": track, "paused": true, "queueLength": 2, "volume": 80 }),
                "Paused: Song — Band (3:33) (2 waiting, volume 80)",
            ),
            ("pause", json!({ "ok": true, "action": "already-paused" }), "It is paused already."),
            ("skip", json!({ "ok": true, "action": "skipped" }), "Skipped."),
            ("volume", json!({ "ok": true, "volume": 30 }), "Volume 30."),
            ("shuffle", json!({ "ok": true }), "Shuffled the queue."),
            ("pause", Value::Null, "Done."),
        ];
        for (op, data, expected) in cases {
            assert_eq!(answer(op, &Ok(data)), expected);
        }
    }

    #[test]
    fn a_length_is_read_from_either_field_and_may_be_missing() {
        let played = |track: Value| answer("play", &Ok(json!({ "track": track })));
        assert_eq!(played(json!({ "title": "S", "duration": 61_000 })), "Playing: S (1:01)");
        assert_eq!(played(json!({ "title": "S", "author": "" })), "Playing: S");
    }

    #[test]
    fn errors_are_told_in_words_and_an_agents_own_sentence_is_kept() {
        assert_eq!(answer("play", &Err("not-owner".to_owned())), "Only whoever began this session may do that.");
        assert_eq!(answer("play", &Err("Track not found".to_owned())), "It did not work: Track not found");
    }

    #[test]
    fn long_lists_are_cut() {
        let tracks: Vec<_> = (0..12).map(|number| json!({ "title": format!("t{number}") })).collect();
        let text = answer("search", &Ok(json!({ "tracks": tracks })));
        assert!(text.ends_with("10. t9\nand 2 more"), "{text}");
    }
}
