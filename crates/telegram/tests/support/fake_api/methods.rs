//! The methods, one function each, refusing what the real server refuses.

use std::time::Duration;

use serde_json::{Value, json};

use super::check;
use super::world::{BOT, BOT_NAME, Chat, Message, Record, World};

/// An answer of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

impl Reply {
    pub fn ok(result: Value) -> Self {
        Self { status: 200, body: json!({ "ok": true, "result": result }) }
    }

    pub fn refused(code: u16, description: &str) -> Self {
        Self { status: code, body: json!({ "ok": false, "error_code": code, "description": description }) }
    }

    pub fn too_many(seconds: u64) -> Self {
        let mut reply = Self::refused(429, &format!("Too Many Requests: retry after {seconds}"));
        reply.body["parameters"] = json!({ "retry_after": seconds });
        reply
    }

    pub fn conflict() -> Self {
        Self::refused(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        )
    }

    fn moved(to: i64) -> Self {
        let mut reply = Self::refused(400, "Bad Request: group chat was upgraded to a supergroup chat");
        reply.body["parameters"] = json!({ "migrate_to_chat_id": to });
        reply
    }
}

/// Either what a method returns, or why it does not.
type Outcome = Result<Value, Reply>;

impl World {
    /// Does what a call asks for.
    pub fn call(&mut self, method: &str, body: &Value, now: Duration) -> Reply {
        self.now = now;
        let outcome = match method {
            "getMe" => Ok(json!({
                "id": BOT, "is_bot": true, "first_name": "Moot", "username": BOT_NAME,
                "can_join_groups": true, "can_read_all_group_messages": true,
            })),
            "sendMessage" => self.send_message(body),
            "editMessageText" => self.edit_message_text(body),
            "deleteMessage" => self.delete_message(body),
            "sendDocument" => self.send_document(body),
            "answerCallbackQuery" => self.answer_callback_query(body),
            "setMyCommands" => self.set_my_commands(body),
            "getChat" => self.known_chat(body).map(|chat| self.chat_object(chat)),
            "getChatMember" => self.get_chat_member(body),
            "createForumTopic" => self.create_forum_topic(body),
            "editForumTopic" => self.edit_forum_topic(body),
            "getFile" => self.get_file(body),
            "getUpdates" => Ok(Value::Array(self.updates_from(body["offset"].as_i64(), 100))),
            _ => Err(Reply::refused(404, "Not Found: method not found")),
        };
        let reply = outcome.map_or_else(|refusal| refusal, Reply::ok);
        self.calls.push(Record { method: method.to_owned(), body: body.clone(), at: now, status: reply.status });
        reply
    }

    fn send_message(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        let text = check::text(body).map_err(bad)?;
        let (entities, keyboard) = (check::entities(body).map_err(bad)?, check::keyboard(body).map_err(bad)?);
        let (topic, reply_to) = self.place(chat, body)?;
        let id = self.next_message(chat);
        let silent = body["disable_notification"].as_bool().unwrap_or(false);
        let message = Message { entities, keyboard, topic, reply_to, silent, ..self.new_message(id, &text) };
        self.chat(chat).messages.insert(id, message);
        Ok(self.message_object(chat, id))
    }

    fn edit_message_text(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        let text = check::text(body).map_err(bad)?;
        let (entities, keyboard) = (check::entities(body).map_err(bad)?, check::keyboard(body).map_err(bad)?);
        let (now, id) = (self.now, body["message_id"].as_i64().unwrap_or(0));
        let message = self.chat(chat).messages.get_mut(&id).filter(|message| !message.deleted);
        let message = message.ok_or_else(|| bad("Bad Request: message to edit not found"))?;
        if message.from.is_some() {
            return Err(bad("Bad Request: message can't be edited"));
        }
        if (&message.text, &message.entities, &message.keyboard) == (&text, &entities, &keyboard) {
            return Err(bad(
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            ));
        }
        message.history.push(std::mem::replace(&mut message.text, text));
        (message.entities, message.keyboard, message.changed_at) = (entities, keyboard, now);
        Ok(self.message_object(chat, id))
    }

    fn delete_message(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        let id = body["message_id"].as_i64().unwrap_or(0);
        let message = self.chat(chat).messages.get_mut(&id).filter(|message| !message.deleted);
        message.ok_or_else(|| bad("Bad Request: message to delete not found"))?.deleted = true;
        Ok(json!(true))
    }

    fn send_document(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        if body["caption"].as_str().unwrap_or_default().chars().count() > 1024 {
            return Err(bad("Bad Request: message caption is too long"));
        }
        let document = &body["document"];
        if document["size"].as_u64().unwrap_or(0) == 0 {
            return Err(bad("Bad Request: file must be non-empty"));
        }
        self.place(chat, body)?;
        let field = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
        self.documents.push((chat, field("file_name"), field("content")));
        let id = self.next_message(chat);
        Ok(json!({ "message_id": id, "chat": self.chat_object(chat), "date": 0 }))
    }

    fn answer_callback_query(&mut self, body: &Value) -> Outcome {
        let id = body["callback_query_id"].as_str().unwrap_or_default();
        if body["text"].as_str().unwrap_or_default().chars().count() > 200 {
            return Err(bad("Bad Request: MESSAGE_TOO_LONG"));
        }
        let text = body["text"].clone();
        let known = self.callbacks.get_mut(id).filter(|answer| answer.is_none());
        let gone = "Bad Request: query is too old and response timeout expired or query ID is invalid";
        *known.ok_or_else(|| bad(gone))? = Some(text);
        Ok(json!(true))
    }

    fn set_my_commands(&mut self, body: &Value) -> Outcome {
        check::commands(body).map_err(bad)?;
        self.commands = body["commands"].as_array().cloned().unwrap_or_default();
        Ok(json!(true))
    }

    fn get_chat_member(&mut self, body: &Value) -> Outcome {
        let chat = self.known_chat(body)?;
        let user = body["user_id"].as_i64().unwrap_or(0);
        let status = self.chat(chat).members.get(&user).copied().unwrap_or("member");
        let admin = matches!(status, "creator" | "administrator");
        let mut member = json!({ "status": status, "user": { "id": user }, "can_manage_topics": admin, "can_delete_messages": admin });
        if status == "restricted" {
            (member["is_member"], member["can_send_messages"]) = (json!(true), json!(false));
        }
        Ok(member)
    }

    fn create_forum_topic(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        if !self.chat(chat).is_forum {
            return Err(bad("Bad Request: the chat is not a forum"));
        }
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        if !(1..=128).contains(&name.chars().count()) {
            return Err(bad("Bad Request: TOPIC_TITLE_EMPTY"));
        }
        let id = self.next_message(chat);
        self.chat(chat).topics.insert(id);
        Ok(json!({ "message_thread_id": id, "name": name, "icon_color": 0x6f_b9_f0 }))
    }

    fn edit_forum_topic(&mut self, body: &Value) -> Outcome {
        let chat = self.open_chat(body)?;
        let topic = body["message_thread_id"].as_i64().unwrap_or(0);
        let known = self.chat(chat).topics.contains(&topic);
        if known { Ok(json!(true)) } else { Err(bad("Bad Request: TOPIC_ID_INVALID")) }
    }

    fn get_file(&mut self, body: &Value) -> Outcome {
        let id = body["file_id"].as_str().unwrap_or_default();
        let (path, size) = self.file(id).ok_or_else(|| bad("Bad Request: invalid file_id"))?;
        if size > 20 << 20 {
            return Err(bad("Bad Request: file is too big"));
        }
        Ok(json!({ "file_id": id, "file_size": size, "file_path": path }))
    }

    fn known_chat(&self, body: &Value) -> Result<i64, Reply> {
        let id = body["chat_id"].as_i64().ok_or_else(|| bad("Bad Request: chat_id is empty"))?;
        self.chats.get(&id).map(|chat| chat.id).ok_or_else(|| bad("Bad Request: chat not found"))
    }

    /// A chat that can be written to.
    fn open_chat(&self, body: &Value) -> Result<i64, Reply> {
        let id = self.known_chat(body)?;
        match self.chats.get(&id) {
            Some(Chat { moved_to: Some(to), .. }) => Err(Reply::moved(*to)),
            Some(Chat { closed: Some(reason), .. }) => Err(Reply::refused(403, reason)),
            _ => Ok(id),
        }
    }

    /// Topic and message replied to, if they are there.
    fn place(&self, chat: i64, body: &Value) -> Result<(Option<i64>, Option<i64>), Reply> {
        let Some(chat) = self.chats.get(&chat) else { return Ok((None, None)) };
        let topic = body["message_thread_id"].as_i64();
        if topic.is_some_and(|topic| !chat.topics.contains(&topic)) {
            return Err(bad("Bad Request: message thread not found"));
        }
        let parameters = &body["reply_parameters"];
        let reply_to = body["reply_to_message_id"].as_i64().or_else(|| parameters["message_id"].as_i64());
        let lenient = [&body["allow_sending_without_reply"], &parameters["allow_sending_without_reply"]]
            .iter()
            .any(|value| value.as_bool().unwrap_or(value.as_str() == Some("true")));
        let there = reply_to.is_some_and(|id| chat.messages.get(&id).is_some_and(|message| !message.deleted));
        if reply_to.is_some() && !there && !lenient {
            return Err(bad("Bad Request: message to be replied not found"));
        }
        Ok((topic, reply_to.filter(|_| there)))
    }
}

fn bad(description: impl AsRef<str>) -> Reply {
    Reply::refused(400, description.as_ref())
}
