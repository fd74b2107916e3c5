//! Messages as lines of a terminal.

use folkmoot_core::moment;
use serde_json::Value;

use crate::client::text;
use crate::output::{self, Paint, printable};

/// Prints messages; remembers the day, so that a new one gets a line of its own.
pub struct Printer {
    json: bool,
    paint: Paint,
    day: String,
}

impl Printer {
    pub fn new(json: bool) -> Self {
        Self { json, paint: Paint::of_stdout(), day: String::new() }
    }

    /// The text for one message, without the last line end.
    pub fn line(&mut self, message: &Value) -> String {
        self.labelled(message, "")
    }

    /// Like `line`, with the channel in front when several are watched.
    pub fn labelled(&mut self, message: &Value, channel: &str) -> String {
        if self.json {
            return message.to_string();
        }
        let created = message.get("created_at").and_then(Value::as_i64).unwrap_or_default();
        let mut out = self.day_line(&moment::date(created));
        let time = moment::time(created);
        let sender = output::name(sender(message));
        let reply = if text(message, "thread_id").is_empty() { "" } else { "    ↳ " };
        let channel = if channel.is_empty() { String::new() } else { format!("{} ", output::name(channel)) };
        let indent = " ".repeat(time.len() + 2 + channel.chars().count() + reply.chars().count());
        let content = printable(text(message, "content")).replace('\n', &format!("\n{indent}"));
        out.push_str(&format!(
            "{}  {}{reply}{}  {content}",
            self.paint.dim(&time),
            self.paint.dim(&channel),
            self.paint.bold(&sender),
        ));
        out
    }

    /// Writes such a text; JSON stays as it is.
    pub fn put(&self, text: &str) -> anyhow::Result<()> {
        if self.json { output::exact(text) } else { output::line(text) }
    }

    fn day_line(&mut self, day: &str) -> String {
        if self.day == day {
            return String::new();
        }
        self.day = day.to_owned();
        format!("{}\n", self.paint.dim(&format!("— {day} (UTC) —")))
    }
}

fn sender(message: &Value) -> &str {
    match text(message, "sender_name") {
        "" => text(message, "sender_id"),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain() -> Printer {
        Printer { json: false, paint: Paint::none(), day: String::new() }
    }

    #[test]
    fn a_line_has_time_sender_and_text_and_the_day_once() {
        let mut printer = plain();
        let message = json!({"created_at": 1_709_210_096_789_i64, "sender_name": "ann", "content": "hi\nthere"});
        assert_eq!(printer.line(&message), "— 2024-02-29 (UTC) —\n12:34:56  ann  hi\n          there");
        assert_eq!(printer.line(&message), "12:34:56  ann  hi\n          there");
    }

    #[test]
    fn thread_replies_are_indented() {
        let mut printer = plain();
        let message = json!({"created_at": 0, "sender_name": "bob", "content": "yes", "thread_id": "msg_1"});
        assert_eq!(printer.line(&message), "— 1970-01-01 (UTC) —\n00:00:00      ↳ bob  yes");
    }

    #[test]
    fn json_is_one_message_per_line_as_it_came() {
        let message = json!({"content": "a\nb"});
        assert_eq!(Printer::new(true).line(&message), "{\"content\":\"a\\nb\"}");
    }
}
