//! What makes two actions the same: everything that is asked for, and nothing that an engine only counts.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::subject::AskKind;

/// What an engine asked, without the numbers that its adapter names as its own bookkeeping. Only the top of the engine's own
/// envelope is looked at: inside what a tool is given, every field counts, whatever it is called.
pub fn lasting(detail: &Map<String, Value>, bookkeeping: &[&str]) -> Map<String, Value> {
    let lasts = |name: &str| !bookkeeping.contains(&name);
    detail.iter().filter(|(name, _)| lasts(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// An action itself: the same whenever the same is asked for, and never that of another action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(String);

impl Identity {
    /// `asked` is everything that is asked for, without bookkeeping; see [`lasting`].
    pub fn of(kind: AskKind, title: &str, asked: &Map<String, Value>, options: &[String]) -> Self {
        Self(digest(&json!([kind, title, asked, options])))
    }

    /// The action of this agent at this place.
    pub fn fingerprint(&self, place: &Place<'_>) -> String {
        let Place { agent, engine, folder, machine } = place;
        digest(&json!([self.0, agent, engine, folder, machine]))
    }
}

/// Who would do it, and where.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub agent: &'a str,
    pub engine: &'a str,
    pub folder: &'a str,
    pub machine: &'a str,
}

fn digest(value: &Value) -> String {
    HEXLOWER.encode(&Sha256::digest(value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(detail: &Value) -> String {
        let detail = lasting(detail.as_object().unwrap(), &["threadId", "itemId"]);
        let place = Place { agent: "a", engine: "e", folder: "/p", machine: "laptop" };
        Identity::of(AskKind::Permission, "t", &detail, &[]).fingerprint(&place)
    }

    #[test]
    fn every_argument_of_a_tool_counts_whatever_it_is_called() {
        let call = |row: Value| print(&json!({"tool_name": "delete", "input": {"row_id": row}}));
        assert_ne!(call(json!(7)), call(json!("*")));
        for name in ["id", "itemId", "threadId", "uuid", "time", "startedAtMs", "row_ids"] {
            assert_ne!(print(&json!({"input": {name: 1}})), print(&json!({"input": {name: 2}})), "{name}");
        }
        assert_ne!(print(&json!({"grid": 1})), print(&json!({"grid": 2})));
    }

    #[test]
    fn what_the_adapter_names_as_bookkeeping_does_not_count_at_the_top() {
        let asked = |item: &str| print(&json!({"threadId": "t", "itemId": item, "command": "rm x"}));
        assert_eq!(asked("1"), asked("2"));
    }

    #[test]
    fn agent_engine_kind_folder_and_machine_count() {
        let one = Place { agent: "a", engine: "e", folder: "f", machine: "m" };
        let asked = |kind| Identity::of(kind, "t", &Map::new(), &[]);
        let others = [
            Place { agent: "b", ..one },
            Place { engine: "x", ..one },
            Place { folder: "g", ..one },
            Place { machine: "n", ..one },
            // Values do not run into each other.
            Place { folder: "fm", machine: "", ..one },
        ];
        for other in others {
            let same = asked(AskKind::Permission);
            assert_ne!(same.fingerprint(&one), same.fingerprint(&other), "{other:?}");
        }
        assert_ne!(asked(AskKind::Permission), asked(AskKind::Plan));
    }

    #[test]
    fn title_and_options_count() {
        let asked = |title: &str, options: &[&str]| {
            let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
            Identity::of(AskKind::Question, title, &Map::new(), &options)
        };
        assert_ne!(asked("a", &[]), asked("b", &[]));
        assert_ne!(asked("a", &["x"]), asked("a", &["y"]));
        assert_ne!(asked("a", &["x", "y"]), asked("a", &["x,y"]));
    }
}
