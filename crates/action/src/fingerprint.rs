//! What makes two actions the same: everything that is asked for, and nothing that an engine only counts.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What an engine asked, without the numbers that its adapter names as its own bookkeeping. Only the top of the engine's own
/// envelope is looked at: inside what a tool is given, every field counts, whatever it is called.
pub fn lasting(detail: &Map<String, Value>, bookkeeping: &[&str]) -> Map<String, Value> {
    let lasts = |name: &str| !bookkeeping.contains(&name);
    detail.iter().filter(|(name, _)| lasts(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Everything that identifies an action.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    pub agent: &'a str,
    pub engine: &'a str,
    pub kind: &'a str,
    pub title: &'a str,
    /// Without bookkeeping; see [`lasting`].
    pub detail: &'a Map<String, Value>,
    pub options: &'a [String],
    pub folder: &'a str,
    pub machine: &'a str,
}

impl Identity<'_> {
    pub fn fingerprint(&self) -> String {
        let all = json!([
            self.agent,
            self.engine,
            self.kind,
            self.title,
            self.detail,
            self.options,
            self.folder,
            self.machine
        ]);
        Sha256::digest(all.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(detail: &Value) -> String {
        let detail = lasting(detail.as_object().unwrap(), &["threadId", "itemId"]);
        let (title, folder, machine) = ("t", "/p", "laptop");
        let identity = Identity {
            agent: "a",
            engine: "e",
            kind: "permission",
            title,
            detail: &detail,
            options: &[],
            folder,
            machine,
        };
        identity.fingerprint()
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
        let detail = Map::new();
        let (title, options): (_, &[String]) = ("t", &[]);
        let one =
            Identity { agent: "a", engine: "e", kind: "k", title, detail: &detail, options, folder: "f", machine: "m" };
        let others = [
            Identity { agent: "b", ..one },
            Identity { engine: "x", ..one },
            Identity { kind: "plan", ..one },
            Identity { folder: "g", ..one },
            Identity { machine: "n", ..one },
            // Values do not run into each other.
            Identity { folder: "fm", machine: "", ..one },
        ];
        for other in others {
            assert_ne!(one.fingerprint(), other.fingerprint(), "{other:?}");
        }
    }
}
