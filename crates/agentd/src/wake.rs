//! A wake as the daemon reads it: who is wanted, what for, and what was said before.

use std::borrow::Cow;

use folkmoot_wire::lark::{AgentWake, RecentMessage, WokenBy};

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
pub struct ThreadSession {
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
    pub session: ThreadSession,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub title: String,
    pub description: String,
}

impl Wake {
    /// Reads `agent.wake`; none when it has no delivery, which is a wake by hand.
    pub fn read(wake: AgentWake<'_, WokenBy>) -> Option<Self> {
        let context = wake.context;
        let delivery = context.delivery?;
        let ids: Vec<String> = delivery.message_ids.into_iter().map(String::from).collect();
        let mut said = said_in(context.recent_messages);
        let (thread, root, replies) = match context.thread {
            Some(thread) => (Some(thread.id), thread.root, thread.messages),
            None => (None, None, Vec::new()),
        };
        let mut in_thread = said_in(root.into_iter().chain(replies));
        let thread = [delivery.thread_id, thread].into_iter().flatten().find(|id| !id.is_empty());
        // In a thread the thread is what matters; the channel around it is not.
        if thread.is_some() && !in_thread.is_empty() {
            said.retain(|one| ids.contains(&one.id) && !in_thread.iter().any(|known| known.id == one.id));
            in_thread.append(&mut said);
            said = in_thread;
        }
        let (messages, before): (Vec<Said>, Vec<Said>) = said.into_iter().partition(|one| ids.contains(&one.id));
        let first = messages.first().map(|first| first.id.clone());
        let before = before.into_iter().filter(|one| first.as_ref().is_none_or(|first| one.id < *first)).collect();
        let session = context.session.unwrap_or_default();
        Some(Self {
            agent: Some(wake.agent_name.into_owned()).filter(|name| !name.is_empty())?,
            agent_id: wake.agent_id.map(String::from),
            reason: wake.reason.into_owned(),
            delivery: Some(String::from(delivery.id)).filter(|id| !id.is_empty())?,
            channel: context.channel.as_ref().map(|channel| channel.id.to_string()).unwrap_or_default(),
            channel_name: context.channel.and_then(|channel| channel.name).map(Cow::into_owned),
            thread: thread.map(String::from),
            messages,
            message_ids: ids,
            before,
            task: context
                .task
                .filter(|task| !task.title.is_empty())
                .map(|task| Task { title: task.title, description: task.description }),
            session: ThreadSession {
                engine: session.engine.map(Cow::into_owned),
                model: session.model.map(Cow::into_owned),
                resume: session.resume.map(Cow::into_owned),
            },
        })
    }

    /// Whose thread this is: the one it was said in, or the one that will be below the first message.
    pub fn root(&self) -> Option<&str> {
        self.thread.as_deref().or_else(|| self.message_ids.first().map(String::as_str))
    }
}

fn said_in<'a>(messages: impl IntoIterator<Item = RecentMessage<'a>>) -> Vec<Said> {
    let said = |message: RecentMessage<'_>| Said {
        sender: if message.sender_name.is_empty() {
            message.sender_id.to_string()
        } else {
            message.sender_name.into_owned()
        },
        id: message.id.into(),
        sender_id: message.sender_id.into(),
        text: message.content.into_owned(),
        thread_id: message.thread_id.map(String::from),
    };
    messages.into_iter().map(said).collect()
}

#[cfg(test)]
pub mod tests {
    use folkmoot_wire::lark::Frame;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
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
        read(example(text)).unwrap()
    }

    fn read(data: Value) -> Option<Wake> {
        Wake::read(serde_json::from_value(data).ok()?)
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
            if let Some(wake) = read(data) {
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
        let wake = read(json!({"reason": "thread_reply", "agent_name": "claude", "context": {
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
        assert_eq!(read(json!({"reason": "manual", "agent_name": "x", "context": {}})), None);
        assert_eq!(read(Value::Null), None);
    }
}
