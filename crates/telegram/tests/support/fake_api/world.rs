//! What Telegram would remember: chats, messages, updates that wait, and every call.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use super::Fault;
use super::limits::{Faults, Pace};

pub const TOKEN: &str = "4242:fake-token_for-tests";
pub const BOT: i64 = 4242;
pub const BOT_NAME: &str = "moot_test_bot";

/// All of it.
#[derive(Debug)]
pub struct World {
    pub chats: BTreeMap<i64, Chat>,
    pub calls: Vec<Record>,
    pub faults: Faults,
    pub pace: Pace,
    /// The menu, as it was set last.
    pub commands: Vec<Value>,
    /// Documents that the bot sent: chat, name, content.
    pub documents: Vec<(i64, String, String)>,
    /// Callback queries and what they were answered, once they were.
    pub callbacks: BTreeMap<String, Option<Value>>,
    /// The time of the call that is being answered.
    pub now: Duration,
    files: HashMap<String, (String, Vec<u8>)>,
    updates: VecDeque<Value>,
    next_update: i64,
    /// Private chats and small groups share one count of messages.
    count: i64,
    polls: u64,
}

#[derive(Clone, Debug)]
pub struct Chat {
    pub id: i64,
    /// `private`, `group` or `supergroup`.
    pub kind: &'static str,
    pub is_forum: bool,
    pub topics: BTreeSet<i64>,
    pub messages: BTreeMap<i64, Message>,
    /// What `getChatMember` says; people who are not here are members.
    pub members: HashMap<i64, &'static str>,
    /// Why nothing can be sent, such as `Forbidden: bot was blocked by the user`.
    pub closed: Option<&'static str>,
    pub moved_to: Option<i64>,
    count: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: i64,
    /// Nobody's: the bot's own.
    pub from: Option<i64>,
    pub text: String,
    pub entities: Value,
    pub keyboard: Value,
    pub topic: Option<i64>,
    pub reply_to: Option<i64>,
    pub silent: bool,
    pub deleted: bool,
    /// What it said before.
    pub history: Vec<String>,
    pub sent_at: Duration,
    pub changed_at: Duration,
}

impl Message {
    /// The data of its buttons.
    pub fn buttons(&self) -> Vec<String> {
        let rows = self.keyboard.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
        rows.filter_map(|button| button["callback_data"].as_str().map(str::to_owned)).collect()
    }
}

/// A call as it came in.
#[derive(Clone, Debug)]
pub struct Record {
    pub method: String,
    pub body: Value,
    pub at: Duration,
    /// 200, or how it was refused.
    pub status: u16,
}

impl World {
    pub fn new() -> Self {
        Self {
            chats: BTreeMap::new(),
            calls: Vec::new(),
            faults: Faults::default(),
            pace: Pace::default(),
            commands: Vec::new(),
            documents: Vec::new(),
            callbacks: BTreeMap::new(),
            now: Duration::ZERO,
            files: HashMap::new(),
            updates: VecDeque::new(),
            next_update: 700_000_001,
            count: 10,
            polls: 0,
        }
    }

    /// A chat with a person; its id is the person's.
    pub fn add_private(&mut self, id: i64) -> &mut Chat {
        self.add_chat(id, "private", false)
    }

    /// A group; ids below -1000000000000 are supergroups.
    pub fn add_group(&mut self, id: i64) -> &mut Chat {
        let kind = if id < -1_000_000_000_000 { "supergroup" } else { "group" };
        self.add_chat(id, kind, false)
    }

    pub fn add_forum(&mut self, id: i64) -> &mut Chat {
        self.add_chat(id, "supergroup", true)
    }

    fn add_chat(&mut self, id: i64, kind: &'static str, is_forum: bool) -> &mut Chat {
        self.chats.entry(id).or_insert_with(|| Chat {
            id,
            kind,
            is_forum,
            topics: BTreeSet::new(),
            messages: BTreeMap::new(),
            members: HashMap::from([(BOT, if is_forum { "administrator" } else { "member" })]),
            closed: None,
            moved_to: None,
            count: 0,
        })
    }

    pub fn chat(&mut self, id: i64) -> &mut Chat {
        self.chats.get_mut(&id).unwrap_or_else(|| panic!("there is no chat {id}"))
    }

    pub fn add_file(&mut self, id: &str, path: &str, content: &[u8]) {
        self.files.insert(id.to_owned(), (path.to_owned(), content.to_owned()));
    }

    pub fn file(&self, id: &str) -> Option<(&str, usize)> {
        self.files.get(id).map(|(path, content)| (path.as_str(), content.len()))
    }

    pub fn file_at(&self, path: &str) -> Option<Vec<u8>> {
        self.files.values().find(|(known, _)| known == path).map(|(_, content)| content.clone())
    }

    /// What the bot has in a chat now, oldest first.
    pub fn shown(&self, chat: i64) -> Vec<Message> {
        let messages = self.chats.get(&chat).into_iter().flat_map(|chat| chat.messages.values());
        messages.filter(|message| message.from.is_none() && !message.deleted).cloned().collect()
    }

    pub fn everything_shown(&self) -> BTreeMap<i64, Vec<String>> {
        let texts = |chat: &i64| self.shown(*chat).into_iter().map(|message| message.text).collect();
        self.chats.keys().map(|chat| (*chat, texts(chat))).collect()
    }

    /// The number of the next message in a chat.
    pub fn next_message(&mut self, chat: i64) -> i64 {
        let supergroup = self.chats.get(&chat).is_some_and(|chat| chat.kind == "supergroup");
        let count = if supergroup { &mut self.chat(chat).count } else { &mut self.count };
        *count += 1;
        *count
    }

    pub fn say(&mut self, chat: i64, user: i64, mut fields: Value) -> i64 {
        let id = self.next_message(chat);
        let reply_to = fields.as_object_mut().and_then(|fields| fields.remove("reply_to")).and_then(|id| id.as_i64());
        let mut message = json!({
            "message_id": id,
            "date": 1_700_000_000 + id,
            "chat": self.chat_object(chat),
            "from": user_object(user),
        });
        if let Some(target) = reply_to.map(|target| self.message_object(chat, target)) {
            message["reply_to_message"] = target;
        }
        for (key, value) in fields.as_object().cloned().unwrap_or_default() {
            message[key] = value;
        }
        let text = fields["text"].as_str().unwrap_or_default();
        let topic = fields["message_thread_id"].as_i64();
        let stored = Message { from: Some(user), topic, reply_to, ..self.new_message(id, text) };
        self.chat(chat).messages.insert(id, stored);
        self.push_update(json!({ "message": message }));
        id
    }

    pub fn press(&mut self, chat: i64, message: i64, user: i64, data: &str) -> String {
        let id = format!("callback-{}", self.callbacks.len() + 1);
        self.callbacks.insert(id.clone(), None);
        let message = self.message_object(chat, message);
        let query = json!({ "id": id, "from": user_object(user), "message": message, "data": data });
        self.push_update(json!({ "callback_query": query }));
        id
    }

    /// Puts any update into the queue.
    pub fn push_update(&mut self, mut update: Value) {
        update["update_id"] = json!(self.next_update);
        self.next_update += 1;
        self.updates.push_back(update);
    }

    /// Whether the bot has taken everything that was said to it: it asked for what comes after.
    pub fn is_all_taken(&self) -> bool {
        self.updates.is_empty()
    }

    pub fn forget_before(&mut self, offset: Option<i64>) {
        let from = offset.unwrap_or(0);
        self.updates.retain(|update| update["update_id"].as_i64() >= Some(from));
    }

    /// Updates from `offset` on; those before it are forgotten.
    pub fn updates_from(&mut self, offset: Option<i64>, most: u64) -> Vec<Value> {
        self.forget_before(offset);
        self.updates.iter().take(most as usize).cloned().collect()
    }

    /// A new poll ends the one before.
    pub fn begin_poll(&mut self) -> u64 {
        self.polls += 1;
        self.polls
    }

    pub fn current_poll(&self) -> u64 {
        self.polls
    }

    /// Whether something goes wrong with a call before the server looks at it.
    pub fn fault(&mut self, method: &str, body: &Value, now: Duration) -> Option<Fault> {
        let fault = self.faults.take(method).or_else(|| self.pace.check(method, body, now).map(Fault::Reply))?;
        if let (Fault::Reply(reply), Some(chat)) = (&fault, body["chat_id"].as_i64())
            && let Some(seconds) = reply.body["parameters"]["retry_after"].as_u64()
        {
            self.pace.pause(chat, now + Duration::from_secs(seconds));
        }
        let status = match &fault {
            Fault::Status(status) => *status,
            Fault::Reply(reply) => reply.status,
            Fault::BeforeAnswer => return Some(fault),
            Fault::Hang => 0,
        };
        self.calls.push(Record { method: method.to_owned(), body: body.clone(), at: now, status });
        Some(fault)
    }

    pub fn new_message(&self, id: i64, text: &str) -> Message {
        Message {
            id,
            from: None,
            text: text.to_owned(),
            entities: json!([]),
            keyboard: json!([]),
            topic: None,
            reply_to: None,
            silent: false,
            deleted: false,
            history: Vec::new(),
            sent_at: self.now,
            changed_at: self.now,
        }
    }

    pub fn chat_object(&self, id: i64) -> Value {
        let chat = self.chats.get(&id).unwrap_or_else(|| panic!("there is no chat {id}"));
        let mut object = json!({ "id": id, "type": chat.kind });
        match chat.kind {
            "private" => object["first_name"] = json!(format!("User {id}")),
            _ => object["title"] = json!(format!("Group {id}")),
        }
        if chat.is_forum {
            object["is_forum"] = json!(true);
        }
        object
    }

    pub fn message_object(&self, chat: i64, id: i64) -> Value {
        let Some(message) = self.chats.get(&chat).and_then(|chat| chat.messages.get(&id)) else {
            return json!({ "message_id": id, "chat": self.chat_object(chat), "date": 0 });
        };
        let mut object = json!({
            "message_id": id,
            "date": 1_700_000_000 + id,
            "chat": self.chat_object(chat),
            "from": message.from.map_or_else(bot_object, user_object),
            "text": message.text,
            "entities": message.entities,
        });
        if let Some(topic) = message.topic {
            object["message_thread_id"] = json!(topic);
            object["is_topic_message"] = json!(true);
        }
        if message.keyboard.as_array().is_some_and(|rows| !rows.is_empty()) {
            object["reply_markup"] = json!({ "inline_keyboard": message.keyboard });
        }
        object
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

fn user_object(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": format!("User {id}"), "username": format!("user{id}") })
}

fn bot_object() -> Value {
    json!({ "id": BOT, "is_bot": true, "first_name": "Moot", "username": BOT_NAME })
}
