//! A wake as the daemon reads it: who is wanted, what for, and what was said before.

use serde_json::Value;

use crate::wire::{owned, text};

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub id: String,
    pub sender_id: String,
    pub sender: String,
    pub text: String,
    pub thread_id: Option<String>,
}

/// The engine's session that the hub keeps for a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub engine: Option<String>,
    pub model: Option<String>,
    pub resume: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    pub agent: String,
    pub agent_id: Option<String>,
    pub reason: String,
    pub delivery: String,
    pub channel: String,
    pub channel_name: Option<String>,
    /// The thread it was said in; none outside of threads.
    pub thread: Option<String>,
    /// What woke it, oldest first.
    pub messages: Vec<Said>,
    pub message_ids: Vec<String>,
    /// What was said before, oldest first.
    pub before: Vec<Said>,
    pub task: Option<Task>,
    pub session: Session,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub title: String,
    pub description: String,
}

impl Wake {
    /// Reads `agent.wake`; none when it has no delivery, which is a wake by hand.
    pub fn read(data: &Value) -> Option<Self> {
        let context = &data["context"];
        let delivery = &context["delivery"];
        let ids: Vec<String> = delivery["message_ids"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str())
            .map(str::to_owned)
            .collect();
        let mut said = said_in(&context["recent_messages"]);
        let thread = &context["thread"];
        let mut in_thread = said_in(&thread["messages"]);
        in_thread.splice(0..0, one(&thread["root"]));
        let thread = owned(delivery, "thread_id").or_else(|| owned(thread, "id"));
        // In a thread the thread is what matters; the channel around it is not.
        if thread.is_some() && !in_thread.is_empty() {
            said.retain(|one| ids.contains(&one.id) && !in_thread.iter().any(|known| known.id == one.id));
            in_thread.append(&mut said);
            said = in_thread;
        }
        let (messages, before): (Vec<Said>, Vec<Said>) = said.into_iter().partition(|one| ids.contains(&one.id));
        let first = messages.first().map(|first| first.id.clone());
        let before = before.into_iter().filter(|one| first.as_ref().is_none_or(|first| one.id < *first)).collect();
        let session = &context["session"];
        Some(Self {
            agent: owned(data, "agent_name")?,
            agent_id: owned(data, "agent_id"),
            reason: owned(data, "reason").unwrap_or_default(),
            delivery: owned(delivery, "id")?,
            channel: owned(&context["channel"], "id").or_else(|| owned(delivery, "channel_id")).unwrap_or_default(),
            channel_name: owned(&context["channel"], "name"),
            thread,
            messages,
            message_ids: ids,
            before,
            task: text(&context["task"], "title").map(|title| Task {
                title: title.to_owned(),
                description: owned(&context["task"], "description").unwrap_or_default(),
            }),
            session: Session {
                engine: owned(session, "engine"),
                model: owned(session, "model"),
                resume: owned(session, "resume"),
            },
        })
    }

    /// Whose thread this is: the one it was said in, or the one that will be below the first message.
    pub fn root(&self) -> Option<&str> {
        self.thread.as_deref().or_else(|| self.message_ids.first().map(String::as_str))
    }
}

fn said_in(list: &Value) -> Vec<Said> {
    list.as_array().into_iter().flatten().filter_map(one).collect()
}

fn one(message: &Value) -> Option<Said> {
    Some(Said {
        id: owned(message, "id")?,
        sender_id: owned(message, "sender_id").unwrap_or_default(),
        sender: owned(message, "sender_name").or_else(|| owned(message, "sender_id")).unwrap_or_default(),
        text: owned(message, "content").unwrap_or_default(),
        thread_id: owned(message, "thread_id"),
    })
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::wire::Frame;
    use crate::{command, prompt};

    const PLACES: [&str; 9] = [
        "",
        "/context",
        "/context/channel",
        "/context/recent_messages",
        "/context/recent_messages/1",
        "/context/recent_messages/1/content",
        "/context/delivery",
        "/context/delivery/message_ids",
        "/context/session",
    ];

    pub fn wake(text: &str) -> Wake {
        Wake::read(&example(text)).unwrap()
    }

    fn example(text: &str) -> Value {
        json!({"reason": "mention", "agent_id": "mem_9", "agent_name": "claude", "context": {
            "channel": {"id": "ch_1", "name": "general"},
            "recent_messages": [
                {"id": "msg_1", "sender_id": "mem_1", "sender_name": "ann", "content": "hello", "created_at": 1},
                {"id": "msg_2", "sender_id": "mem_2", "sender_name": "bob", "content": text, "created_at": 2}],
            "delivery": {"id": "dlv_1", "message_ids": ["msg_2"], "root_id": "msg_2", "depth": 0},
            "session": {"engine": "codex", "resume": "t1"}}})
    }

    fn junk() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from)
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from);
            let map = prop::collection::hash_map(".{0,6}", inner, 0..3).prop_map(Value::from_iter);
            prop_oneof![list, map]
        })
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in ".{0,200}", value in junk()) {
            let _ = Frame::parse(&line);
            let _ = Frame::parse(&value.to_string());
        }

        #[test]
        fn a_wake_with_something_else_in_any_place_is_read_or_refused(place in 0..PLACES.len(), value in junk()) {
            let mut data = example("@claude /model `x`");
            *data.pointer_mut(PLACES[place]).expect("a place") = value;
            if let Some(wake) = Wake::read(&data) {
                let words = prompt::words(&wake);
                let _ = command::parse(&words);
                prop_assert!(wake.messages.iter().all(|said| wake.message_ids.contains(&said.id)));
            }
        }
    }

    #[test]
    fn what_woke_it_stands_apart_from_what_was_said_before() {
        let wake = wake("@claude fix it");
        assert_eq!(wake.messages.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(), ["@claude fix it"]);
        assert_eq!(wake.before.iter().map(|said| said.sender.as_str()).collect::<Vec<_>>(), ["ann"]);
        assert_eq!((wake.delivery.as_str(), wake.root()), ("dlv_1", Some("msg_2")));
        assert_eq!(wake.session.resume.as_deref(), Some("t1"));
    }

    #[test]
    fn in_a_thread_the_thread_is_the_context() {
        let said =
            |id: &str, text: &str| json!({"id": id, "sender_id": "mem_1", "sender_name": "ann", "content": text});
        let wake = Wake::read(&json!({"reason": "thread_reply", "agent_name": "claude", "context": {
            "channel": {"id": "ch_1"},
            "recent_messages": [said("msg_5", "noise"), said("msg_7", "and now?")],
            "thread": {"id": "msg_1", "root": said("msg_1", "fix it"), "messages": [said("msg_2", "done")]},
            "delivery": {"id": "dlv_2", "message_ids": ["msg_7"]}}}))
        .unwrap();
        assert_eq!(wake.before.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(), ["fix it", "done"]);
        assert_eq!(wake.messages[0].text, "and now?");
        assert_eq!(wake.root(), Some("msg_1"));
    }

    #[test]
    fn a_wake_by_hand_has_no_delivery_and_is_none() {
        assert_eq!(Wake::read(&json!({"reason": "manual", "agent_name": "x", "context": {}})), None);
        assert_eq!(Wake::read(&Value::Null), None);
    }
}
